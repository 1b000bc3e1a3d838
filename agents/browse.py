"""The browse agent: keeps each user's last accesses in order and tells the frontier what was visited with what.

Reads `accesses`; keeps the table `users` (a bounded window of accesses a user); writes `sightings`.
"""

from typing import Any

import msgspec

from models.crowd.together import Pair, arrive
from models.crowd.window import Visit
from models.lessons import lessons
from models.url import host, identifier
from streams.inbox import Shard
from streams.records import Access, AccessPack, Beside, Decoder, Together, Visited
from streams.runtime import Runtime
from streams.stateful import Stateful
from streams.topics import ACCESSES, SIGHTINGS

USER_PREFIX = b"u"
#: URLs whose identifiers and partitions are kept in memory.
REMEMBERED = 50_000


class UserRow(msgspec.Struct, array_like=True):
    """A user's last accesses in time order, and how many there were in all."""

    window: list[Visit] = []
    accesses: int = 0


class BrowseAgent:
    """Absorbs accesses; a line that was read before changes nothing."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._settings = runtime.settings.browse
        self._places: dict[str, tuple[bytes, int]] = {}
        self._tells = lessons(runtime.settings.frontier.policy).counts_crowd
        self.inbox: Stateful[UserRow] = Stateful(
            runtime, ACCESSES, "users", UserRow, Decoder[AccessPack](AccessPack), self
        )

    def opened(self, shard: Shard[UserRow]) -> None:
        """Nothing is kept beside the rows."""

    def closed(self, shard: Shard[UserRow]) -> None:
        """Nothing is kept beside the rows."""

    def committed(self, shard: Shard[UserRow]) -> None:
        """Nothing waits for a commit."""

    def absorb(self, shard: Shard[UserRow], fact: Any) -> None:
        """Take in one access."""
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
        visited = Visited(access.url, access.user, access.time)
        shard.outbox.emit(SIGHTINGS.name, self._place(access.url)[1], visited)
        if self._tells:
            self._tell(shard, pairs)

    def _tell(self, shard: Shard[UserRow], pairs: list[Pair]) -> None:
        """Tell each page what changed between it and others: one sighting a page."""
        beside: dict[str, list[Beside]] = {}
        for url, other, times, sixths in pairs:
            beside.setdefault(url, []).append(Beside(*self._place(other), times, sixths))
            beside.setdefault(other, []).append(Beside(*self._place(url), times, sixths))
        for url, pages in beside.items():
            shard.outbox.emit(SIGHTINGS.name, self._place(url)[1], Together(url, tuple(pages)))

    def _place(self, url: str) -> tuple[bytes, int]:
        """Return a URL's identifier and partition; those of the last thousands of URLs are remembered."""
        place = self._places.get(url)
        if place is None:
            if len(self._places) >= REMEMBERED:
                self._places.clear()
            place = identifier(url), self._runtime.partition(SIGHTINGS, host(url))
            self._places[url] = place
        return place
