"""Users' sessions, a site each: what each view adds to them, told to the frontier by the agent browse.

What is kept of a user is in his row; beside it is known of each partition whether its log has referrers.
"""

from typing import TYPE_CHECKING

from models.depth.applications import unbrowsed
from models.depth.sessions import ELSEWHERE
from models.depth.trail import Browsing
from models.url import host, identifier
from streams.inbox import Shard
from streams.records import Access, Browsed

if TYPE_CHECKING:
    from agents.browse import UserRow

#: URLs of which it is remembered what they are.
REMEMBERED = 50_000


class Sessions:
    """Follows users' sessions: a function of each partition's accesses in their order."""

    def __init__(self) -> None:
        self._pages: dict[str, tuple[str, bytes | None]] = {}
        self._referred: set[int] = set()

    def open(self, shard: "Shard[UserRow]", prefix: bytes) -> None:
        """Take up a partition, whose users' keys begin with ``prefix``."""
        if any(row.browsing is not None and row.browsing.referred for _, row in shard.scan(prefix)):
            self._referred.add(shard.partition)

    def close(self, partition: int) -> None:
        """Forget a partition that another worker has now."""
        self._referred.discard(partition)

    def view(self, partition: int, row: "UserRow", access: Access) -> Browsed | None:
        """Take a user's view into his row; return what it adds to the sessions of its site, None for nothing.

        What is no browsing (`unbrowsed`) is no view, and as a referrer it is elsewhere.
        """
        site, page = self._pages.get(access.url) or self._page(access.url)
        if page is None:
            return None
        referrer: bytes | str | None = None
        if access.referrer is not None:
            self._referred.add(partition)
            came_from, found = self._pages.get(access.referrer) or self._page(access.referrer)
            referrer = found if found is not None and came_from == site else ELSEWHERE
        if row.browsing is None:
            row.browsing = Browsing()
        referrers = partition in self._referred
        told = row.browsing.view(site, access.time, page, referrer, referrers=referrers)
        return None if told is None else Browsed(page, *told)

    def _page(self, url: str) -> tuple[str, bytes | None]:
        """Return a URL's site, and its identifier where it is a page that is browsed; remember both."""
        if len(self._pages) >= REMEMBERED:
            self._pages.clear()
        found = self._pages[url] = host(url), None if unbrowsed(url) else identifier(url)
        return found
