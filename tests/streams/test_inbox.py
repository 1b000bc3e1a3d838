"""The inbox counts every fact once, wherever the process dies between the four steps of a commit on Kafka."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import faust
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rocksdict import Options, Rdict

from scentline.streams.facts import Access, AccessPack
from scentline.streams.inbox import KEPT, MARK, ROW_BYTES, Codec, Committer, LostShardError, Shard, commit
from scentline.streams.records import Decoder, Pack, encode
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.kafka.four_steps import FourSteps, Recovered
from scentline.streams.transport.partition import Entry
from scentline.streams.transport.publisher import FencedError

CHANGELOG = "scentline-rows-changelog"
decode = Decoder[AccessPack](AccessPack)


class CrashError(Exception):
    """The process dies here."""


class InboxMessage:
    """An inbox message: acknowledged when its group is safe."""

    def __init__(self, offset: int, acknowledged: set[int]) -> None:
        self.offset = offset
        self._acknowledged = acknowledged

    def ack(self) -> None:
        self._acknowledged.add(self.offset)


class CrashingPublisher:
    """A publisher on a journal that dies before, between or after its writes, when the fuse is burnt."""

    def __init__(self, journal: Journal, fuse: Iterator[bool]) -> None:
        self._journal = journal
        self._fuse = fuse

    def _step(self) -> None:
        if next(self._fuse, False):
            raise CrashError

    async def send_all(self, entries: Any) -> None:
        self._step()
        # One by one: a broker may have some of them when the sender dies.
        for entry in entries:
            self._journal.append_all([entry], 0.0)
            self._step()

    def partitions(self, topic: str) -> int:
        raise NotImplementedError

    async def take_over(self, topic: str, partition: int) -> None:
        raise NotImplementedError

    def committer(self, app: faust.App, table: str, topic: str) -> Committer:
        raise NotImplementedError

    async def claim(self, topic: str, partition: int, known: int) -> Sequence[Entry]:
        return ()

    def release(self, topic: str, partition: int) -> None: ...

    async def append_batch(self, topic: str, partition: int, records: Any) -> int:
        self._step()
        base = self._journal.append_batch(topic, partition, records, 0.0)
        self._step()
        return base


class World:
    """A counting agent: it counts accesses by user and tells the count that each access led to."""

    def __init__(self, directory: Path, inbox: list[bytes]) -> None:
        self.journal = Journal.open(directory / "journal")
        for topic in ("told", CHANGELOG):
            self.journal.create_topic(topic, 1, retention=None, compacted=False)
        self.db = Rdict(str(directory / "rows"), Options(raw_mode=True))
        self.inbox = inbox
        self.acknowledged: set[int] = set()

    def close(self) -> None:
        self.db.close()
        self.journal.close()

    def recover(self) -> Shard[int]:
        """Bring the table up to its changelog, as Faust does after a crash, and open it."""
        store = Recovered(self.db)
        offset = store.changelog_offset() + 1
        while entries := self.journal.read(CHANGELOG, 0, offset, 1000):
            for entry in entries:
                store.write_at(entry.offset, {entry.key or b"": entry.value})
            offset = entries[-1].offset + 1
        return Shard(0, "inbox/0", store, Codec[int](int), cached=2 * ROW_BYTES)

    async def run(self, group: int, fuse: Iterator[bool]) -> None:
        shard = self.recover()
        steps = self.steps(*fuse)
        start = next((n for n in range(len(self.inbox)) if n not in self.acknowledged), len(self.inbox))
        for offset in range(start, len(self.inbox)):
            self.absorb(shard, offset)
            if shard.size()[0] >= group:
                await commit(shard, steps, lambda: True)
        await commit(shard, steps, lambda: True)

    def steps(self, *fuse: bool) -> FourSteps:
        return FourSteps(CrashingPublisher(self.journal, iter(fuse)), "rows", lambda _: Recovered(self.db))

    def absorb(self, shard: Shard[int], offset: int) -> None:
        if shard.fresh(offset):
            for access in shard.accept(offset, decode(self.inbox[offset])):
                key = access.user.encode()
                count = (shard.get(key) or 0) + 1
                shard.put(key, count)
                shard.outbox.emit("told", 0, Access(access.user, access.url, float(count)))
        shard.absorbed(InboxMessage(offset, self.acknowledged))

    def told(self) -> list[Access]:
        """What a receiver of the emissions accepts."""
        accepted: list[Access] = []
        last = (-1, -1)
        for entry in self.journal.read("told", 0, 0, 100_000):
            for offset, index, fact in decode(entry.value or b"").facts:
                if (offset, index) > last:
                    last = (offset, index)
                    accepted.append(fact)
        return accepted

    def counts(self) -> dict[bytes, int]:
        shard = self.recover()
        return dict(shard.scan(b"u"))


def packed(messages: list[list[int]], source: str = "log") -> list[bytes]:
    """Inbox messages of accesses by user number; origins count over all of them, where there is a source."""
    origin = iter(range(10_000))
    packs = [
        Pack(
            source=source, facts=[(next(origin), 0, Access(f"u{user}", f"http://x/{user}", 0.0)) for user in m]
        )
        for m in messages
    ]
    return [encode(pack) for pack in packs]


@given(
    messages=st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=12),
    group=st.integers(1, 5),
    fuses=st.lists(st.integers(0, 12), max_size=6),
    source=st.sampled_from(["log", ""]),
    repeated=st.booleans(),
)
@example(messages=[[0], [1]], group=2, fuses=[3], source="", repeated=False)  # all but acknowledged
def test_counts_and_emissions_are_those_of_a_run_without_a_crash(
    messages: list[list[int]], group: int, fuses: list[int], source: str, repeated: bool
) -> None:
    expected = Counter(f"u{user}".encode() for message in messages for user in message)
    inbox = packed(messages, source)
    inbox = (
        inbox * 2 if repeated and source else inbox
    )  # without a source the mark alone tells what came before
    with tempfile.TemporaryDirectory() as directory:
        world = World(Path(directory), inbox)
        for fuse in fuses:
            burning = iter([False] * fuse + [True])
            try:
                asyncio.run(world.run(group, burning))
            except CrashError:
                continue
        asyncio.run(world.run(group, iter(())))
        assert world.counts() == expected
        running: Counter[str] = Counter()
        for access in world.told():
            running[access.user] += 1
            assert access.time == running[access.user]
        assert {user.encode(): n for user, n in running.items()} == expected
        assert world.acknowledged == set(range(len(inbox)))
        world.close()


def test_a_worker_that_lost_its_partition_writes_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, packed([[1, 2]]))
    shard = world.recover()
    world.absorb(shard, 0)
    with pytest.raises(LostShardError, match="another owner"):
        asyncio.run(commit(shard, world.steps(), lambda: False))
    assert world.journal.end(CHANGELOG, 0) == 0
    assert world.journal.end("told", 0) == 0
    assert not world.acknowledged
    world.close()


def test_of_a_group_that_the_changelog_refuses_no_row_is_written_and_no_message_acknowledged(
    tmp_path: Path,
) -> None:
    class Fenced(CrashingPublisher):
        async def append_batch(self, topic: str, partition: int, records: Any) -> int:
            raise FencedError("another writer")

    world = World(tmp_path, packed([[1, 2]]))
    shard = world.recover()
    world.absorb(shard, 0)
    steps = FourSteps(Fenced(world.journal, iter(())), "rows", lambda _: Recovered(world.db))
    with pytest.raises(LostShardError, match="another writer"):
        asyncio.run(commit(shard, steps, lambda: True))
    assert list(Recovered(world.db).scan(b"")) == []
    assert not world.acknowledged
    world.close()


def test_rows_are_seen_as_changed_while_their_group_is_open_flying_and_safe(tmp_path: Path) -> None:
    world = World(tmp_path, [])
    shard = world.recover()
    shard.put(b"u1", 1)
    assert shard.get(b"u1") == 1
    shard.close_group()
    assert shard.get(b"u1") == 1
    shard.delete(b"u1")
    assert shard.get(b"u1") is None
    shard.close_group()
    assert shard.get(b"u1") is None
    world.close()


def test_the_cache_is_bounded_and_evicted_rows_are_read_again(tmp_path: Path) -> None:
    world = World(tmp_path, [])
    shard = world.recover()
    for number in range(10):
        shard.put(b"u%d" % number, number)
    asyncio.run(commit(shard, world.steps(), lambda: True))
    assert [shard.get(b"u%d" % number) for number in range(10)] == list(range(10))
    assert dict(shard.scan(b"u", b"u7")) == {b"u8": 8, b"u9": 9}
    assert MARK not in dict(shard.scan(b"u"))
    world.close()


class Rows(dict[bytes, bytes]):
    """Rows at rest; ``read`` are the keys that were read."""

    def __init__(self, rows: dict[bytes, bytes]) -> None:
        super().__init__(rows)
        self.read: list[bytes] = []

    def get(self, key: bytes, default: Any = None) -> Any:
        self.read.append(key)
        return super().get(key, default)

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        raise NotImplementedError

    def size(self) -> tuple[int, int]:
        return len(self), 0


@given(st.lists(st.lists(st.integers(0, 9))), st.integers(1, 9))
def test_rows_that_were_not_asked_for_longest_leave_memory_first(asked: list[list[int]], bound: int) -> None:
    keys = [b"u%d" % number for number in range(10)]
    rows, codec = Rows({}), Codec[int](int)
    rows |= {key: codec.encode(number) for number, key in enumerate(keys)}
    size = ROW_BYTES + 1
    shard = Shard(0, "inbox/0", rows, codec, cached=bound * size)
    rows.read.clear()
    held: list[bytes] = []  # the slow twin, the one that was asked for last at its end
    missed: list[bytes] = []
    for group in asked:
        for number in group:
            assert shard.get(keys[number]) == number
            if keys[number] in held:
                held.remove(keys[number])
            else:
                missed.append(keys[number])
            held.append(keys[number])
        shard.let_go_of_excess()
        if len(held) > bound:
            held = held[-int(KEPT * bound) :] if int(KEPT * bound) else []
        assert rows.read == missed
