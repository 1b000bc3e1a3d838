"""The browse agent: keeps each user's last accesses in order and reports visits and co-visits to the frontier.

Reads `accesses`; keeps the table `users` (a bounded window of accesses per user); writes `sightings`.
"""

from collections.abc import Iterable
from functools import lru_cache, partial
from typing import Any

import msgspec

from scentline.models.facts import Access, AccessPack, Beside, Together, Viewed, Visited
from scentline.models.lessons import lessons
from scentline.models.papers.news import day_of
from scentline.models.papers.trail import ELSEWHERE, Browsing, unbrowsed
from scentline.models.records import Decoder
from scentline.models.trace import Pair, Visit, arrive
from scentline.models.url import host, identifier
from scentline.streams.inbox import Shard
from scentline.streams.runtime import Runtime
from scentline.streams.stateful import Handler, Stateful
from scentline.streams.topics import ACCESSES, SIGHTINGS

USER_PREFIX = b"u"
#: URLs whose site and identifier are cached, and hosts whose partition is.
REMEMBERED = 50_000


class UserRow(msgspec.Struct, array_like=True, gc=False):
    """A user's last accesses in time order, and how many there were in all.

    ``browsing`` has the open sessions, where each site has a depth limit of its own.
    """

    window: list[Visit] = []
    accesses: int = 0
    browsing: Browsing | None = None


class BrowseAgent(Handler[UserRow]):
    """Absorbs accesses; a line that is read again changes nothing."""

    def __init__(self, runtime: Runtime) -> None:
        self._settings = runtime.settings.browse
        self._partition = lru_cache(REMEMBERED)(partial(runtime.partition, SIGHTINGS))
        self._tells = lessons(runtime.settings.frontier.rule).counts_crowd
        self._instant = runtime.settings.frontier.mode == "instant"
        self._ways = runtime.settings.behaviour
        self._again = runtime.settings.frontier.revisit > 0
        self._sessions = Sessions() if runtime.settings.frontier.depth == "auto" else None
        self.inbox: Stateful[UserRow] = Stateful(
            runtime, ACCESSES, "users", UserRow, Decoder[AccessPack](AccessPack), self
        )

    def opened(self, shard: Shard[UserRow]) -> None:
        """Open a partition's sessions."""
        if self._sessions is not None:
            self._sessions.open(shard, USER_PREFIX)

    def closed(self, shard: Shard[UserRow]) -> None:
        """Forget a partition's sessions."""
        if self._sessions is not None:
            self._sessions.close(shard.partition)

    def absorb(self, shard: Shard[UserRow], fact: Any) -> None:
        """Absorb one access."""
        access: Access = fact
        key = USER_PREFIX + access.user.encode()
        row = shard.get(key) or UserRow()
        visit = Visit(access.time, access.url)
        settings = self._settings
        pairs = arrive(row.window, visit, access.referrer, limit=settings.window, reach=settings.reach)
        if pairs is None:
            return
        row.accesses += 1
        shard.put(key, row)
        first = self._instant and _first_of_day(row.window, visit)
        view = self._sessions.view(shard.partition, row, access) if self._sessions is not None else None
        visited = Visited(
            access.url, access.user, access.time, access.referrer if first or self._ways else None,
            access.size if self._again else 0, first, view,
        )  # fmt: skip
        shard.emit(SIGHTINGS.name, self._partition(host(access.url)), visited)
        if self._tells and pairs:
            self._tell(shard, pairs)

    def _tell(self, shard: Shard[UserRow], pairs: list[Pair]) -> None:
        """Send each page its changed co-visits, in one sighting per page."""
        beside: dict[str, list[Beside]] = {}
        for url, other, times, sixths in pairs:
            beside.setdefault(url, []).append(Beside(*self._place(other), times, sixths))
            beside.setdefault(other, []).append(Beside(*self._place(url), times, sixths))
        for url, pages in beside.items():
            shard.emit(SIGHTINGS.name, self._partition(host(url)), Together(url, tuple(pages)))

    def _place(self, url: str) -> tuple[bytes, int]:
        return identifier(url), self._partition(host(url))


def _first_of_day(window: Iterable[Visit], visit: Visit) -> bool:
    """Return whether a visit is the only one of its page on its day in the window, which includes it."""
    day = day_of(visit.time)
    return sum(other.url == visit.url and day_of(other.time) == day for other in window) == 1


class Sessions:
    """Tracks users' sessions: a function of each partition's accesses in order."""

    def __init__(self) -> None:
        self._pages: dict[str, tuple[str, bytes | None]] = {}
        self._referred: set[int] = set()

    def open(self, shard: Shard[UserRow], prefix: bytes) -> None:
        """Open a partition; ``prefix`` begins its users' keys."""
        if any(row.browsing is not None and row.browsing.referred for _, row in shard.scan(prefix)):
            self._referred.add(shard.partition)

    def close(self, partition: int) -> None:
        """Forget a partition that another worker owns now."""
        self._referred.discard(partition)

    def view(self, partition: int, row: UserRow, access: Access) -> Viewed | None:
        """Apply a view to its user's row; return what it adds to its site's sessions, None for nothing.

        An `unbrowsed` URL is not a view; as a referrer it counts as elsewhere.
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
        return None if told is None else Viewed(*told)

    def _page(self, url: str) -> tuple[str, bytes | None]:
        """Return a URL's site, and its identifier unless it is `unbrowsed`; cache both."""
        if len(self._pages) >= REMEMBERED:
            self._pages.clear()
        found = self._pages[url] = host(url), None if unbrowsed(url) else identifier(url)
        return found
