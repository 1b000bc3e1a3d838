"""The browse agent: keeps each user's last accesses in order and tells the frontier what was visited.

Reads `accesses`; keeps the table `users` (a bounded window of accesses a user); writes `sightings`.
"""

from typing import Any

import msgspec

from models.crowd.window import Visit, insert
from models.url import host
from streams.inbox import Shard
from streams.records import Access, AccessPack, Decoder, Visited
from streams.runtime import Runtime
from streams.stateful import Stateful
from streams.topics import ACCESSES, SIGHTINGS

USER_PREFIX = b"u"


class UserRow(msgspec.Struct, array_like=True):
    """A user's last accesses in time order, and how many there were in all."""

    window: list[Visit] = []
    accesses: int = 0


class BrowseAgent:
    """Absorbs accesses; a line that was read before changes nothing."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._limit = runtime.settings.browse.window
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
        if not insert(row.window, Visit(access.time, access.url), self._limit):
            return
        row.accesses += 1
        shard.put(key, row)
        partition = self._runtime.partition(SIGHTINGS, host(access.url))
        shard.outbox.emit(SIGHTINGS.name, partition, Visited(access.url, access.user, access.time))
