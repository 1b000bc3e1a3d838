"""What a door's clients may see of the frontier in the same process, and have it do.

Lists and counts read every row of a URL, some at a time between two steps of the frontier's own work: they are
for people who look, not for polling. Excluded URLs are left out: to a client they are deleted.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec

from scentline.agents.operate.requests import RefusedError
from scentline.models.frontier.core import Frontier
from scentline.models.frontier.keys import PAGE_PREFIX, Rows, visit_of
from scentline.models.frontier.rows import OPEN, PageRow
from scentline.models.published import Exclusion, Steering
from scentline.models.url import host, prefixes_of
from scentline.streams.runtime import Bus
from scentline.streams.stateful import Stateful

#: Rows read at a time.
_TOGETHER = 200
#: Seconds between two looks at the frontier, and the most that a call waits for it.
_LOOK_SECONDS, _MOST_SECONDS = 0.01, 5.0


class Listing:
    """Reads the rows of a frontier, ``core``, which reads ``inbox``, and steers it by ``carry_out``."""

    def __init__(
        self,
        core: Frontier,
        inbox: Stateful[Any],
        bus: Bus,
        carry_out: Callable[[bytes], Awaitable[str]] | None,
    ) -> None:
        self._core, self._inbox, self._bus, self._carry_out = core, inbox, bus, carry_out

    async def caught_up(self) -> None:
        """Wait until the frontier's rows have what the log has now, for a few seconds at most."""
        ends = await self._bus.ends(self._inbox.topic.name)
        with suppress(TimeoutError):
            async with asyncio.timeout(_MOST_SECONDS):
                while not self._inbox.absorbed(ends):
                    await asyncio.sleep(_LOOK_SECONDS)
        await self._inbox.flush()

    async def rows(self, name: str = "") -> AsyncIterator[tuple[Rows, PageRow]]:
        """Yield the rows of URLs that are not excluded, of the host ``name`` if given, each with its shard."""
        await self.caught_up()
        shards, excluded = self._core.candidates.shards, self._core.candidates.scope.exclusions
        held = [shards.get(shards.partition_of(name))] if name else list(shards.values())
        for shard in filter(None, held):
            after: bytes | None = None
            while found := list(islice(shard.scan(PAGE_PREFIX, after), _TOGETHER)):
                after = found[-1][0]
                for _, row in found:
                    if isinstance(row, PageRow) and name in ("", host(row.url)) and not excluded.has(row.url):
                        yield shard, row
                await asyncio.sleep(0)

    async def find(self, url: str) -> tuple[Rows, PageRow] | None:
        """Return the row of a URL that is known and not excluded, with its shard."""
        await self.caught_up()
        candidates = self._core.candidates
        return None if candidates.scope.exclusions.has(url) else candidates.shards.find(url)

    async def hosts(self, *, closed: bool, most: int) -> list[str]:
        """Return hosts with URLs still to be fetched, or with any, ``most`` of them at most."""
        found: dict[str, None] = {}
        async for _, row in self.rows():
            if closed or row.state in OPEN:
                found[host(row.url)] = None
            if len(found) >= most:
                break
        return list(found)

    async def steer(self, asked: Steering) -> None:
        """Carry out a request, and return once the frontier goes by it; raises `RefusedError`."""
        if self._carry_out is None:
            raise RefusedError("requests come by the log here; expected one by the command line")
        await self._carry_out(msgspec.json.encode(asked))

    async def exclude(self, name: str) -> int:
        """Exclude a host; return how many URLs of it are known."""
        found = await counted(self.rows(name))
        for prefix in prefixes_of(name) if found else ():
            await self.steer(Exclusion(prefix=prefix))
        return found


async def counted(rows: AsyncIterator[object]) -> int:
    """Return how many rows there are."""
    number = 0
    async for _ in rows:
        number += 1
    return number


def due_of(shard: Rows, row: PageRow) -> int:
    """Return when a URL may be fetched, in seconds since the epoch, at least 1; 0 for never again."""
    visit = visit_of(shard, row.url)
    if visit is not None:
        return int(visit.due)
    return max(1, int(row.not_before)) if row.state in OPEN else 0
