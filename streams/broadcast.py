"""Broadcast: a compacted topic that every worker reads whole, from the start, in no consumer group."""

import asyncio
from collections.abc import Callable, Mapping

from scentline.streams.attempts import Place
from scentline.streams.transport.publisher import LogReader

STEP_RECORDS = 500  #: Records applied before other tasks get their turn.


def raised(place: Place, error: Exception) -> None:
    """Quarantine nothing."""
    raise error


class Broadcast:
    """Applies every record of a topic, then each new one; those of one key in their order.

    ``apply`` gets key and value, None for a deleted key. Its error goes to ``quarantine`` with the record's
    place, and the next record follows unless that raises. An error while following goes to ``fail``, and ends
    it.
    """

    def __init__(
        self,
        reader: LogReader,
        topic: str,
        apply: Callable[[bytes | None, bytes | None], None],
        fail: Callable[[BaseException], None],
        quarantine: Callable[[Place, Exception], object] = raised,
    ) -> None:
        self._reader = reader
        self._topic = topic
        self._apply = apply
        self._fail = fail
        self._quarantine = quarantine
        self._positions: dict[int, int] = {}
        self._ends: Mapping[int, int] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Return when everything that was in the topic at the call is applied; an error there is raised."""
        ends = self._ends = await self._reader.ends(self._topic)
        self._positions = dict.fromkeys(ends, 0)
        while not self.reached(ends):
            await self._step()
        self._task = asyncio.create_task(self._follow(), name=f"broadcast of {self._topic}")

    def reached(self, ends: Mapping[int, int]) -> bool:
        """Return whether everything before these offsets, by partition, is applied."""
        return all(self._positions[partition] >= end for partition, end in ends.items())

    def behind(self) -> int:
        """Return how many records are known of and not applied yet, those that compaction took counted in."""
        return sum(max(0, end - self._positions[partition]) for partition, end in self._ends.items())

    async def stop(self) -> None:
        """Stop following."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _follow(self) -> None:
        try:
            while True:
                places = {(self._topic, partition): at for partition, at in self._positions.items()}
                ends = await self._reader.wait(places)
                self._ends = {partition: end for (_, partition), end in ends.items()}
                await self._step()
        except Exception as error:
            self._fail(error)

    async def _step(self) -> None:
        for partition, end in self._ends.items():
            position = self._positions[partition]
            if position >= end:
                continue
            entries = await self._reader.fetch(self._topic, partition, position, STEP_RECORDS)
            for entry in entries:
                try:
                    self._apply(entry.key, entry.value)
                except Exception as error:
                    self._quarantine(Place(self._topic, partition, entry.offset), error)
            self._positions[partition] = entries[-1].offset + 1 if entries else end
            await asyncio.sleep(0)
