"""Messages are delivered in their turn, each once, whatever a client brings in which order."""

import asyncio
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from faust.types import TP
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.transport.kafka.consumer import Consumer

HERE, CHANGELOG = TP("sightings", 0), TP("scentline-frontier-changelog", 0)


class Reading(Consumer):
    """The consumer's rules over a partition of its own, without a client."""

    def __init__(self, first: int) -> None:
        self.delivered: list[int] = []
        self.position = first
        self.app = SimpleNamespace(rebalancing=False, flow_control=SimpleNamespace(acquire=self._flows))
        self._next = {HERE: first}
        self._kept = {}
        self._went_back = {}
        self._deliver = self._take
        self._polling = asyncio.Lock()
        self._outdated = False
        self._thread: Any = SimpleNamespace(first_kept=self._first, getmany=self._poll, seek_wait=self._go)
        self.first = 0
        self.answered = asyncio.Event()

    async def _flows(self) -> None:
        """Nothing has to be waited for."""

    async def _poll(self, _: Any, timeout: float) -> list[int]:
        """Take what comes next, once the broker answers."""
        await self.answered.wait()
        found = [self.position, self.position + 1]
        self.position += 2
        return found

    async def _go(self, positions: Mapping[TP, int]) -> None:
        self.position = positions[CHANGELOG]

    async def _take(self, message: Any) -> None:
        self.delivered.append(message.offset)

    async def _first(self, tp: TP) -> int:
        return self.first

    async def seek(self, partition: TP, offset: int) -> None:
        self.position = offset

    def _is_changelog_tp(self, tp: TP) -> bool:
        return bool(tp == CHANGELOG)

    def bring(self, tp: TP, offsets: Iterable[int]) -> None:
        asyncio.run(self.bring_all(tp, offsets))

    async def bring_all(self, tp: TP, offsets: Iterable[int]) -> None:
        for offset in offsets:
            await self._in_order(SimpleNamespace(tp=tp, offset=offset))


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 30), max_size=40))
def test_what_an_older_poll_brought_is_neither_lost_nor_delivered_twice(strays: list[int]) -> None:
    reading = Reading(5)
    for stray in strays:
        reading.bring(HERE, [stray])
        reading.bring(HERE, [reading.position])
        reading.position += 1
    while reading.position < 40:
        reading.bring(HERE, [reading.position])
        reading.position += 1
    assert reading.delivered == list(range(5, reading.delivered[-1] + 1))
    assert reading.delivered[-1] == 39


def test_messages_that_the_broker_keeps_no_more_are_passed_over() -> None:
    reading = Reading(5)
    reading.first = 9
    reading.bring(HERE, [9, 10])
    assert reading.delivered == [9, 10]


def test_nothing_is_delivered_while_partitions_change_hands() -> None:
    reading = Reading(5)
    reading.app.rebalancing = True
    reading.bring(HERE, [5, 6])
    reading.app.rebalancing = False
    reading.bring(HERE, [7])
    assert (reading.delivered, reading.position) == ([], 5)


def test_what_was_read_ahead_is_passed_over_without_going_back_for_each() -> None:
    reading = Reading(5)
    reading.bring(HERE, [8])
    assert reading.position == 5
    reading.position = 9
    reading.bring(HERE, [9, 10, 11])
    assert (reading.delivered, reading.position) == ([], 9)


def test_changelogs_have_gaps() -> None:
    reading = Reading(5)
    reading.bring(CHANGELOG, [1, 4, 9])
    assert reading.delivered == [1, 4, 9]


def test_a_poll_that_is_under_way_takes_nothing_of_what_a_recovery_is_to_read() -> None:
    async def run() -> Reading:
        reading = Reading(5)
        poll = asyncio.create_task(reading._getmany(None, 1.0))
        await asyncio.sleep(0)
        recovery = asyncio.create_task(reading.seek_wait({CHANGELOG: 2}))
        await asyncio.sleep(0)
        reading.answered.set()
        earlier = await poll
        await recovery
        await reading.bring_all(CHANGELOG, earlier)
        await reading.bring_all(CHANGELOG, await reading._getmany(None, 1.0))
        return reading

    assert asyncio.run(run()).delivered == [2, 3]
