"""Messages are delivered in their turn, each once, whatever a client brings in which order."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from faust.types import TP
from hypothesis import given
from hypothesis import strategies as st

from scentline.streams.transport.kafka.consumer import Consumer
from tests.agents.loopback import awaited

HERE = TP("sightings", 0)
END = 40


class Feeds(dict[TP, Any]):
    """What a reading fetches ahead of, without a broker; looked through, there is nothing."""

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class Reading(Consumer):
    """The consumer's rules over one partition, of a log that ends before ``END``, without a client."""

    def __init__(self, first: int) -> None:
        self.tp, self.at, self.first = HERE, first, 0
        self.delivered: list[int] = []
        self.went_back = self.asked = 0
        self.answered = asyncio.Event()
        self.answered.set()
        self.app = SimpleNamespace(rebalancing=False)
        self._next, self._read, self._kept, self._missed = {HERE: first}, {}, {}, set()
        self._deliver, self.flow_active = self._take, True
        self._thread: Any = SimpleNamespace(first_kept=self._first, polled=lambda: None)
        feeds: Any = Feeds({HERE: self})
        feeds.take, feeds.go = self.poll_client, self.go_back
        self._reading = feeds

    async def poll_client(self, wanted: set[TP], timeout: float) -> dict[TP, list[Any]]:
        """Take two messages, once the broker answers."""
        await self.answered.wait()
        self.at = max(self.at, self.first)
        offsets = range(self.at, min(self.at + 2, END))
        self.at = max(self.at, offsets.stop)
        found = [SimpleNamespace(tp=self.tp, offset=offset) for offset in offsets]
        return {self.tp: found} if found else {}

    def go_back(self, tp: TP, offset: int) -> None:
        assert tp == self.tp
        self.went_back += 1
        self.at = offset

    async def _take(self, message: Any) -> None:
        self.delivered.append(message.offset)

    async def _first(self, tp: TP) -> int:
        self.asked += 1
        return self.first

    async def poll(self) -> list[Any]:
        found: list[Any] = (await self._getmany({self.tp}, 1.0)).get(self.tp, [])
        return found

    async def offer(self, messages: list[Any]) -> None:
        for message in messages:
            await self._in_order(message)

    async def turn(self) -> None:
        """Poll once, and offer what came."""
        await self.offer(await self.poll())

    async def rest(self) -> None:
        """Poll until everything came; twice more, since the first may find that it has to go back."""
        while self.at < END:
            await self.turn()
        await self.turn()
        while self.at < END:
            await self.turn()


async def a_while(reading: Reading, events: list[str]) -> None:
    for event in events:
        match event:
            case "turn":
                await reading.turn()
            case "half":  # Faust stops amid what a poll brought
                await reading.offer((await reading.poll())[:1])
            case "lost":  # Faust drops all of it
                await reading.poll()
            case "ahead":  # it was read ahead of a seek
                reading.at = min(reading.at + 3, END - 1)
                await reading.turn()
            case "rebalance":
                reading.app.rebalancing = not reading.app.rebalancing


EVENTS = ("turn", "half", "lost", "ahead", "rebalance")


@given(st.lists(st.sampled_from(EVENTS), max_size=40))
@awaited
async def test_everything_is_delivered_once_whatever_faust_drops(events: list[str]) -> None:
    reading = Reading(5)
    await a_while(reading, events)
    reading.app.rebalancing = False
    await reading.rest()
    assert reading.delivered == list(range(5, END))


@awaited
async def test_what_comes_last_before_the_end_of_a_rebalance_needs_nothing_after_it() -> None:
    reading = Reading(END - 2)
    reading.app.rebalancing = True
    await reading.turn()
    reading.app.rebalancing = False
    assert not reading.delivered
    await reading.turn()
    assert reading.delivered == [END - 2, END - 1]


@awaited
async def test_what_the_broker_keeps_no_more_is_passed_over_and_it_is_asked_once_a_poll_for_that() -> None:
    reading = Reading(5)
    reading.first = 9
    await reading.turn()
    assert reading.delivered == [9, 10]
    reading = Reading(5)
    reading.at = 8
    for found in (([], 1, 0), ([5, 6], 1, 1)):
        await reading.turn()
        assert (reading.delivered, reading.asked, reading.went_back) == found


@awaited
async def test_a_poll_for_nothing_takes_nothing_be_it_only_so_when_its_turn_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, active = Reading(5), {HERE}

    async def meanwhile() -> None:
        active.clear()

    monkeypatch.setattr(reading, "_go_to_kept", meanwhile)
    assert (await reading._getmany(active, 1.0), reading.at) == ({}, 5)
