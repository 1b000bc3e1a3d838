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


def test_everything_present_is_applied_before_start_returns_and_the_rest_followed(journal: Journal) -> None:
    count = 2 * STEP_RECORDS * PARTITIONS
    for number in range(count):
        put(journal, number, b"old")
    journal.append_batch(TOPIC, 0, [(b"a", b"%d" % number) for number in range(3000)], 0.0)  # leaves a hole

    async def run() -> None:
        readers = [State(), State()]
        broadcasts = [Broadcast(journal, TOPIC, state.apply, never) for state in readers]
        for broadcast, state in zip(broadcasts, readers, strict=True):
            await broadcast.start()
            assert (len(state), state[b"a"], broadcast.behind()) == (count + 1, b"2999", 0)
        expected = {b"%d" % number: b"old" for number in range(2, count)} | {b"0": b"new", b"a": b"2999"}
        put(journal, 0, b"new")
        put(journal, 1, None)
        for state in readers:
            await asyncio.wait_for(state.until(expected), PATIENCE)
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


def test_an_error_at_the_start_is_raised_and_one_while_following_is_handed_on(journal: Journal) -> None:
    def apply(key: bytes | None, value: bytes | None) -> None:
        raise ValueError(f"cannot apply {key!r}")

    async def run() -> None:
        failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        broadcast = Broadcast(journal, TOPIC, apply, failed.set_result)
        await broadcast.start()
        put(journal, 7, b"x")
        assert str(await asyncio.wait_for(failed, PATIENCE)) == "cannot apply b'7'"
        await broadcast.stop()
        with pytest.raises(ValueError, match="cannot apply b'7'"):
            await Broadcast(journal, TOPIC, apply, never).start()

    asyncio.run(run())
