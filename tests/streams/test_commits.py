"""A group is safe whole or not at all, wherever its process dies: on Kafka by four steps, else as one batch."""

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scentline.models.facts import Access, AccessPack, Neighbour, SightingPack
from scentline.models.records import Decoder, Pack, encode
from scentline.streams.inbox import (
    KEPT,
    MARK,
    PACK_BYTES,
    PACK_FACTS,
    ROW_BYTES,
    Codec,
    LostShardError,
    Outbox,
    Shard,
    commit,
)
from scentline.streams.runtime import FencedError
from scentline.streams.stateful import Handler
from scentline.streams.topics import ACCESSES, APP_ID, SIGHTINGS, changelog_of
from scentline.streams.transport.commits import FourSteps
from scentline.streams.transport.database import Entry
from scentline.streams.transport.embedded import JournalBus
from scentline.streams.transport.journal import Journal, OneBatch
from tests.agents.shards import disk, write

CHANGELOG = changelog_of("rows")
USERS = ("ann", "bob", "cy")
decode = Decoder[AccessPack](AccessPack)


class Counting(Handler[int]):
    """Counts the accesses of each user and tells the count that each led to."""

    def absorb(self, shard: Shard[int], fact: Access) -> None:
        count = (shard.get(fact.user.encode()) or 0) + 1
        shard.put(fact.user.encode(), count)
        shard.emit(SIGHTINGS.name, 0, Access(fact.user, fact.url, float(count)))


def packed(messages: Sequence[Sequence[str]], source: str = "log", first: int = 0) -> list[bytes]:
    """Return inbox messages of users' accesses, each with an origin of its own where there is a source."""
    packs = [
        [(number, index, Access(user, "http://x/", 0.0)) for index, user in enumerate(users)]
        for number, users in enumerate(messages, first)
    ]
    return [encode(Pack(source=source, facts=facts)) for facts in packs]


def absorb(shard: Shard[int], offset: int, value: bytes | None, ack: Callable[[], None] = lambda: None) -> None:
    if offset > shard.mark.offset:
        for fact in shard.accept(offset, decode(value or b"")):
            Counting().absorb(shard, fact)
    message: Any = SimpleNamespace(ack=ack)
    shard.absorbed(message)


def told(journal: Journal) -> list[Access]:
    """Return what a receiver of the emissions accepts."""
    accepted: list[Access] = []
    last = (-1, -1)
    for entry in journal.read(SIGHTINGS.name, 0, 0, 100_000):
        for offset, index, fact in decode(entry.value or b"").facts:
            if (offset, index) > last:
                last = (offset, index)
                accepted.append(fact)
    return accepted


def check(journal: Journal, shard: Shard[int], users: list[str]) -> None:
    """Check that users' accesses, and nothing else, are counted, and each count told once, in order."""
    counts = {user: shard.get(user.encode()) or 0 for user in USERS}
    assert {user: count for user, count in counts.items() if count} == Counter(users)
    found = told(journal)
    assert [access.user for access in found] == users
    running: Counter[str] = Counter()
    for access in found:
        running[access.user] += 1
        assert access.time == running[access.user]


# four steps


class CrashError(Exception):
    """The process dies here."""


class CrashingBus(JournalBus):
    """Dies before, between or after its writes, when the fuse is burnt."""

    def __init__(self, journal: Journal, fuse: Iterator[bool], error: type[Exception]) -> None:
        super().__init__(journal, lambda: 0.0)
        self._fuse, self._error = fuse, error

    def _step(self) -> None:
        if next(self._fuse, False):
            raise self._error("another writer")

    async def send_all(self, entries: Any) -> None:
        self._step()
        # One by one: a broker may have some of them when the sender dies.
        for entry in entries:
            await super().send_all([entry])
            self._step()

    async def append_batch(self, topic: str, partition: int, records: Any) -> int:
        self._step()
        base = await super().append_batch(topic, partition, records)
        self._step()
        return base

    async def claim(self, topic: str, partition: int) -> int:
        return self.journal.end(topic, partition) - 1

    async def records(self, topic: str, partition: int, start: int, end: int) -> AsyncIterator[list[Entry]]:
        yield self.journal.read(topic, partition, start, min(3, end - start))


class Stepping:
    """A counting agent whose groups are committed in four steps, with a journal in the place of a broker."""

    def __init__(self, directory: Path, inbox: list[bytes]) -> None:
        self.journal = Journal.open(directory / "journal")
        for topic in (SIGHTINGS.name, CHANGELOG):
            self.journal.create_topic(topic, 1, retention=None, compacted=False)
        # The partition moves to another worker after each crash, and back.
        bus = CrashingBus(self.journal, iter(()), CrashError)
        self.workers = [FourSteps(bus, "rows", directory / name) for name in ("one", "two")]
        self.inbox = inbox
        self.acknowledged: set[int] = set()

    def close(self) -> None:
        for worker in self.workers:
            worker.close()
        self.journal.close()

    async def recover(self) -> Shard[int]:
        """Claim the table, with what its changelog has and it has not, and open it."""
        store = await self.steps().claim(0)
        return Shard(0, "inbox/0", store, Codec[int](int), cached=2 * ROW_BYTES)

    def steps(self, *fuse: bool, error: type[Exception] = CrashError) -> FourSteps:
        self.workers[0]._publisher = CrashingBus(self.journal, iter(fuse), error)
        return self.workers[0]

    async def run(self, group: int, steps: FourSteps) -> None:
        shard = Shard(0, "inbox/0", await steps.claim(0), Codec[int](int), cached=2 * ROW_BYTES)
        start = next((n for n in range(len(self.inbox)) if n not in self.acknowledged), len(self.inbox))
        for offset in range(start, len(self.inbox)):
            self.absorb(shard, offset)
            if shard.size()[0] >= group:
                await commit(shard, steps, lambda: True)
        await commit(shard, steps, lambda: True)

    def absorb(self, shard: Shard[int], offset: int) -> None:
        absorb(shard, offset, self.inbox[offset], lambda: self.acknowledged.add(offset))


messages_ = st.lists(st.lists(st.sampled_from(USERS), max_size=4), max_size=20)


@given(
    messages=messages_,
    group=st.integers(1, 5),
    fuses=st.lists(st.integers(0, 12), max_size=6),
    source=st.sampled_from(["log", ""]),
    repeated=st.booleans(),
)
@example(messages=[["ann"], ["bob"]], group=2, fuses=[3], source="", repeated=False)  # all but acknowledged
def test_counts_and_emissions_are_those_of_a_run_without_a_crash(
    messages: list[list[str]], group: int, fuses: list[int], source: str, repeated: bool
) -> None:
    # Without a source the mark alone tells what came before.
    inbox = packed(messages, source) * (2 if repeated and source else 1)
    with tempfile.TemporaryDirectory() as directory:
        world = Stepping(Path(directory), inbox)
        for fuse in fuses:
            try:
                asyncio.run(world.run(group, world.steps(*[False] * fuse, True)))
            except CrashError:
                world.workers.reverse()
        asyncio.run(world.run(group, world.steps()))
        check(world.journal, asyncio.run(world.recover()), [user for users in messages for user in users])
        assert world.acknowledged == set(range(len(inbox)))
        world.close()


#: What the changelog's owner is, what becomes of the write to it, and what is there of a group afterwards.
LOST = [(False, [], "another owner", 0), (True, [False, False, True], "another writer", 1)]


@pytest.mark.parametrize(("owned", "fuse", "why", "emissions"), LOST, ids=["its own look", "the broker"])
def test_of_the_group_of_a_worker_that_lost_its_partition_no_row_is_written_and_no_message_acknowledged(
    tmp_path: Path, owned: bool, fuse: list[bool], why: str, emissions: int
) -> None:
    world = Stepping(tmp_path, packed([["ann", "bob"]]))
    shard = asyncio.run(world.recover())
    world.absorb(shard, 0)
    with pytest.raises(LostShardError, match=why):
        asyncio.run(commit(shard, world.steps(*fuse, error=FencedError), lambda: owned))
    assert (world.journal.end(SIGHTINGS.name, 0), world.journal.end(CHANGELOG, 0)) == (emissions, 0)
    assert list(shard.store.scan(b"")) == []
    assert not world.acknowledged
    world.close()


# a shard's rows


def test_rows_are_seen_as_changed_while_their_group_is_open_flying_and_safe(tmp_path: Path) -> None:
    with disk(tmp_path) as rows:
        shard = rows.shard(int, ACCESSES)
        for expected in (1, None):
            if expected:
                shard.put(b"u1", expected)
            else:
                shard.delete(b"u1")
            assert shard.get(b"u1") == expected
            shard.close_group()
            assert shard.get(b"u1") == expected
        shard = rows.shard(int, ACCESSES, cached=2 * ROW_BYTES)
        for number in range(10):
            shard.put(b"u%d" % number, number)
        write(shard)
        assert [shard.get(b"u%d" % number) for number in range(10)] == list(range(10))
        assert dict(shard.scan(b"u", b"u7")) == {b"u8": 8, b"u9": 9}
        assert MARK not in dict(shard.scan(b"u"))


@given(st.lists(st.lists(st.integers(0, 9))), st.integers(1, 9))
def test_rows_that_were_not_asked_for_longest_leave_memory_first(asked: list[list[int]], bound: int) -> None:
    codec, read = Codec[int](int), list[bytes]()
    keys = [b"u%d" % number for number in range(10)]
    at_rest = {key: codec.encode(number) for number, key in enumerate(keys)}

    def get(key: bytes) -> bytes | None:
        read.append(key)
        return at_rest.get(key)

    store: Any = SimpleNamespace(get=get)
    shard = Shard(0, "inbox/0", store, codec, cached=bound * (ROW_BYTES + 1))
    read.clear()
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
        for number in group[-1:]:  # what is written anew counts once
            shard.put(keys[number], number)
        shard.close_group()
        shard.landed()
        if len(held) > bound:
            held = held[-int(KEPT * bound) :] if int(KEPT * bound) else []
        assert read == missed


# its emissions

sightings = Decoder[Any](SightingPack)
#: How many facts a message gives rise to, for which partition, and their sizes.
emissions = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from([10, 10, 200_000, PACK_BYTES // 2, 3 * PACK_BYTES]),
        st.integers(1, 3),
    ),
    max_size=6,
)


@given(emissions)
def test_packs_are_bounded_and_each_fact_is_sent_once_in_order(emitted: list[tuple[int, int, int]]) -> None:
    outbox = Outbox("pages/3")
    expected: dict[int, list[tuple[int, int, Neighbour]]] = {0: [], 1: []}
    for offset, (partition, size, times) in enumerate(emitted):
        outbox.begin(offset)
        for index in range(times):
            fact = Neighbour(b"u" * size)
            outbox.emit("sightings", partition, fact)
            expected[partition].append((offset, index, fact))
    sent: dict[int, list[tuple[int, int, Neighbour]]] = {0: [], 1: []}
    for _, partition, _, value in outbox.take():
        pack = sightings(value or b"")
        assert pack.source == "pages/3"
        assert len(value or b"") <= PACK_BYTES or len(pack.facts) == 1
        sent[partition] += pack.facts
    assert sent == expected
    assert not outbox.gathered


def test_a_pack_that_fits_is_not_cut_by_its_bytes() -> None:
    outbox = Outbox("pages/3")
    outbox.begin(0)
    for _ in range(PACK_FACTS + 1):
        outbox.emit("sightings", 0, Neighbour(b"u" * (PACK_BYTES // PACK_FACTS - 40)))
    assert [len(sightings(value or b"").facts) for _, _, _, value in outbox.take()] == [PACK_FACTS, 1]


# one batch: what a loss of power leaves


@contextmanager
def batching(data: Path) -> Iterator[tuple[Journal, Shard[int]]]:
    """Open a counting agent's journal and its shard, without Faust."""
    with Journal.open(data / "journal") as journal:
        for topic in (ACCESSES, SIGHTINGS):
            journal.create_topic(topic.name, 1, retention=None, compacted=False)
        journal.create_table("users", 1)
        store = journal.table("users")[0]
        yield journal, Shard(0, f"{ACCESSES.name}/0", store, Codec[int](int), cached=2 * ROW_BYTES)


def run(journal: Journal, shard: Shard[int], inbox: list[bytes], group: int, flush: int = -1) -> None:
    """Append the messages that are missing and absorb all; at message ``flush`` a memtable is full."""
    one_batch = OneBatch(journal, APP_ID, "users", ACCESSES.name, lambda: 1.0)
    for offset in range(shard.mark.offset + 1, len(inbox)):
        if offset == journal.end(ACCESSES.name, 0):
            journal.append(ACCESSES.name, 0, None, inbox[offset], 1.0)
        [entry] = journal.read(ACCESSES.name, 0, offset, 1)
        absorb(shard, offset, entry.value)
        if (offset + 1) % group == 0:
            asyncio.run(commit(shard, one_batch, lambda: True))
        if offset == flush:
            journal._db.columns["users/0"].db.flush()
    asyncio.run(commit(shard, one_batch, lambda: True))


def prefix(journal: Journal, shard: Shard[int], messages: list[list[str]]) -> int:
    """Check that all is there of some of the groups, and nothing of the others; return their messages."""
    absorbed = shard.mark.offset + 1
    assert absorbed <= journal.end(ACCESSES.name, 0), "a message that is not there was absorbed"
    assert (journal.committed(APP_ID, ACCESSES.name, 0) or 0) == absorbed
    check(journal, shard, [user for users in messages[:absorbed] for user in users])
    return absorbed


def cut(journal: Path, share: int) -> None:
    """Cut the newest part of the write-ahead log: of it only so many thousandths came to the disk."""
    newest = max(journal.glob("*.log"))
    with newest.open("r+b") as log:
        log.truncate(newest.stat().st_size * share // 1000)


@given(messages_.filter(bool), st.integers(1, 5), st.integers(-1, 19), st.integers(0, 1000))
def test_a_log_cut_anywhere_is_a_prefix(messages: list[list[str]], group: int, flush: int, share: int) -> None:
    inbox = packed(messages)
    with tempfile.TemporaryDirectory() as directory:
        data, left = Path(directory) / "data", Path(directory) / "left"
        with batching(data) as (journal, shard):
            run(journal, shard, inbox, group, flush)
            assert prefix(journal, shard, messages) == len(messages)
            shutil.copytree(data, left)
        cut(left / "journal", share)
        with batching(left) as (journal, shard):
            absorbed = prefix(journal, shard, messages)
            assert share < 1000 or absorbed == len(messages)
            run(journal, shard, inbox, group)
            assert prefix(journal, shard, messages) == len(messages)
