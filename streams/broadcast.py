"""Broadcast: a compacted topic that every worker reads whole, from the start, in no consumer group."""

import asyncio
from collections.abc import Callable, Mapping

from streams.transport.reader import LogReader

#: Records applied before other tasks get their turn.
STEP_RECORDS = 500


class Broadcast:
    """Applies every record of a topic, then each new one as it comes.

    ``apply`` gets key and value, None as the value of a deleted key; records of one key come in their order.
    An error that it raises while following is given to ``fail``, and nothing more is applied.
    """

    def __init__(
        self,
        reader: LogReader,
        topic: str,
        apply: Callable[[bytes | None, bytes | None], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._reader = reader
        self._topic = topic
        self._apply = apply
        self._fail = fail
        self._positions: dict[tuple[str, int], int] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Return when everything that was in the topic at the call is applied; an error there is raised."""
        reader, topic = self._reader, self._topic
        names = [(topic, partition) for partition in range(reader.partitions(topic))]
        ends = {name: reader.end(*name) for name in names}
        self._positions = dict.fromkeys(names, 0)
        while any(self._positions[name] < end for name, end in ends.items()):
            await self._step()
        self._task = asyncio.create_task(self._follow(), name=f"broadcast of {topic}")

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the ends of the topic's partitions as they are now."""
        return {name: self._reader.end(*name) for name in self._positions}

    def reached(self, ends: Mapping[tuple[str, int], int]) -> bool:
        """Return whether everything before ``ends``, which `ends` returned, is applied."""
        return all(self._positions[name] >= end for name, end in ends.items())

    async def stop(self) -> None:
        """Stop following."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _follow(self) -> None:
        try:
            while True:
                await self._reader.wait(self._positions)
                await self._step()
        except Exception as error:
            self._fail(error)

    async def _step(self) -> None:
        for (topic, partition), position in self._positions.items():
            end = self._reader.end(topic, partition)
            if position >= end:
                continue
            entries = self._reader.read(topic, partition, position, STEP_RECORDS)
            for entry in entries:
                self._apply(entry.key, entry.value)
            self._positions[topic, partition] = entries[-1].offset + 1 if entries else end
            await asyncio.sleep(0)
