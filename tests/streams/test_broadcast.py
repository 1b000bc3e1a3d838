"""A broadcast reader sees the whole of a topic, then everything new, and never hides an error."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from scentline.streams.broadcast import STEP_RECORDS, Broadcast
from scentline.streams.transport.journal import Journal
from tests.patience import PATIENCE

TOPIC = "interests"
PARTITIONS = 3


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path) as opened:
        opened.create_topic(TOPIC, PARTITIONS, retention=None, compacted=True)
        yield opened


class State(dict[bytes | None, bytes]):
    """What a reader knows; somebody may wait for a key to have a value."""

    def __init__(self) -> None:
        super().__init__()
        self.changed = asyncio.Event()

    def apply(self, key: bytes | None, value: bytes | None) -> None:
        if value is None:
            self.pop(key, None)
        else:
            self[key] = value
        self.changed.set()

    async def until(self, expected: dict[bytes, bytes]) -> None:
        while dict(self) != expected:
            self.changed.clear()
            await self.changed.wait()


def never(error: BaseException) -> None:
    raise AssertionError("no error was expected") from error


def put(journal: Journal, number: int, value: bytes | None) -> None:
    journal.append(TOPIC, number % PARTITIONS, b"%d" % number, value, 0.0)


def test_everything_present_is_applied_before_start_returns(journal: Journal) -> None:
    count = 2 * STEP_RECORDS * PARTITIONS
    for number in range(count):
        put(journal, number, b"v")

    async def run() -> int:
        state = State()
        broadcast = Broadcast(journal, TOPIC, state.apply, never)
        await broadcast.start()
        known = len(state)
        await broadcast.stop()
        return known

    assert asyncio.run(run()) == count


def test_it_follows_after_the_start(journal: Journal) -> None:
    async def run() -> None:
        put(journal, 1, b"old")
        readers = [State(), State()]
        broadcasts = [Broadcast(journal, TOPIC, state.apply, never) for state in readers]
        for broadcast in broadcasts:
            await broadcast.start()
        put(journal, 2, b"new")
        put(journal, 1, None)
        put(journal, 5, b"x")
        for state in readers:
            await asyncio.wait_for(state.until({b"2": b"new", b"5": b"x"}), PATIENCE)
        for broadcast in broadcasts:
            await broadcast.stop()

    asyncio.run(run())


def test_no_update_is_lost_while_records_keep_coming(journal: Journal) -> None:
    async def write(expected: dict[bytes, bytes]) -> None:
        for number in range(600):
            key, value = number % 50, b"%d" % number
            put(journal, key, value)
            expected[b"%d" % key] = value
            if number % 11 == 0:
                await asyncio.sleep(0)

    async def run() -> None:
        state, expected = State(), dict[bytes, bytes]()
        writing = asyncio.ensure_future(write(expected))
        broadcast = Broadcast(journal, TOPIC, state.apply, never)
        await broadcast.start()
        await writing
        await asyncio.wait_for(state.until(expected), PATIENCE)
        await broadcast.stop()

    asyncio.run(run())


def test_it_goes_on_where_replaced_records_left_a_hole(journal: Journal) -> None:
    journal.append_batch(TOPIC, 0, [(b"a", b"%d" % number) for number in range(3000)], 0.0)

    async def run() -> None:
        state = State()
        broadcast = Broadcast(journal, TOPIC, state.apply, never)
        await broadcast.start()
        assert dict(state) == {b"a": b"2999"}
        await broadcast.stop()

    asyncio.run(run())


def test_an_error_while_following_is_given_to_whoever_answers_for_it(journal: Journal) -> None:
    async def run() -> None:
        failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()

        def apply(key: bytes | None, value: bytes | None) -> None:
            raise ValueError(f"cannot apply {key!r}")

        broadcast = Broadcast(journal, TOPIC, apply, failed.set_result)
        await broadcast.start()
        put(journal, 7, b"x")
        error = await asyncio.wait_for(failed, PATIENCE)
        assert str(error) == "cannot apply b'7'"
        await broadcast.stop()

    asyncio.run(run())


def test_an_error_at_the_start_is_raised(journal: Journal) -> None:
    put(journal, 7, b"x")

    def apply(key: bytes | None, value: bytes | None) -> None:
        raise ValueError("cannot apply")

    async def run() -> None:
        broadcast = Broadcast(journal, TOPIC, apply, never)
        with pytest.raises(ValueError, match="cannot apply"):
            await broadcast.start()
        await broadcast.stop()

    asyncio.run(run())
