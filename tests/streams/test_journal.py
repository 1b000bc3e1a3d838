"""The embedded log keeps what it was given, in order, and whole through any crash."""

import asyncio
import itertools
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocksdict import Options, Rdict, WriteBatch

from scentline.streams.transport.database import (
    JournalInUseError,
    JournalMissingError,
    open_reader,
    open_writer,
)
from scentline.streams.transport.embedded import JournalBus, ageing
from scentline.streams.transport.journal import (
    Journal,
    JournalFormatError,
    TableMissingError,
    UnknownTopicError,
)
from tests.agents.shards import put
from tests.cases import each_case
from tests.patience import PATIENCE

KILLS = 6


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """A journal with the topics t, and keys, which is compacted, of two partitions each."""
    with Journal.open(tmp_path / "journal") as opened:
        opened.create_topic("t", 2, retention=10.0, compacted=False)
        opened.create_topic("keys", 2, retention=None, compacted=True)
        yield opened


def offsets(journal: Journal) -> list[int]:
    return [entry.offset for entry in journal.read("t", 0, 0, 1_000_000)]


def test_topics_and_partitions_are_known_and_their_number_stays(journal: Journal) -> None:
    journal.create_topic("t", 2, retention=5.0, compacted=False)
    assert (sorted(journal.topics()), journal.partitions("t")) == (["keys", "t"], 2)
    with pytest.raises(ValueError, match="topic t: 4 partitions; expected 2"):
        journal.create_topic("t", 4, retention=None, compacted=False)
    with pytest.raises(UnknownTopicError, match="no topic nope; expected one of: keys, t"):
        journal.append("nope", 0, None, b"", 0.0)
    with pytest.raises(UnknownTopicError, match="no partition 2; expected 0 to 1"):
        journal.read("t", 2, 0, 1)


# records

keys, values = st.none() | st.binary(max_size=9), st.none() | st.binary(max_size=30)


@given(st.lists(st.tuples(st.integers(0, 2), keys, values), max_size=60), st.integers(1, 7))
def test_records_and_what_groups_have_read_are_there_as_they_went_in_after_reopening(
    tmp_path_factory: Any, records: list[tuple[int, bytes | None, bytes | None]], limit: int
) -> None:
    path = tmp_path_factory.mktemp("j")
    with Journal.open(path) as journal:
        journal.create_topic("t", 3, retention=9.0, compacted=False)
        journal.append_all([("t", *record) for record in records], 2.5)
        journal.commit("group", {("t", 1): limit})
    with Journal.open(path) as journal:
        assert journal.topics()["t"].retention == 9.0
        for partition in range(3):
            read: list[tuple[bytes | None, bytes | None]] = []
            while entries := journal.read("t", partition, len(read), limit):
                assert [entry.offset for entry in entries] == list(range(len(read), len(read) + len(entries)))
                assert {entry.timestamp for entry in entries} == {2.5}
                read += [(entry.key, entry.value) for entry in entries]
            assert read == [(key, value) for number, key, value in records if number == partition]
            assert journal.end("t", partition) == len(read)
        places = [("group", 1), ("group", 0), ("other", 1)]
        assert [journal.committed(group, "t", number) for group, number in places] == [limit, None, None]


def test_a_read_stops_once_it_has_its_bytes_and_always_gives_one_record(journal: Journal) -> None:
    assert journal.append_batch("t", 0, [(None, bytes(1000))] * 10, 0.0) == 0
    assert journal.append("t", 0, None, b"", 0.0) == 10
    assert len(journal.read("t", 0, 0, 100, max_bytes=3500)) == 4
    assert len(journal.read("t", 0, 0, 100, max_bytes=1)) == 1


def test_the_bus_writes_at_the_clocks_time(journal: Journal) -> None:
    bus = JournalBus(journal, clock=lambda: 12.0)
    asyncio.run(bus.send_all([("t", 0, b"k", b"v"), ("t", 1, None, b"w")]))
    assert asyncio.run(bus.append_batch("t", 0, [(b"l", b"x"), (b"m", None)])) == 1
    found = [entry[:3] for entry in journal.read("t", 0, 0, 9)]
    assert found == [(0, 12.0, b"k"), (1, 12.0, b"l"), (2, 12.0, b"m")]
    assert bus.partitions("t") == 2


# waiting


def test_every_waiter_is_woken_in_any_loop_and_an_abandoned_one_forgotten(journal: Journal) -> None:
    async def run() -> None:
        at = {("t", partition): journal.end("t", partition) for partition in range(2)}
        abandoned = asyncio.ensure_future(journal.wait(at))
        await asyncio.sleep(0)
        abandoned.cancel()
        await asyncio.wait([abandoned])
        assert not journal._waiting
        waiters = [asyncio.ensure_future(journal.wait(at)) for _ in range(3)]
        other = asyncio.ensure_future(journal.wait({("t", 1): at["t", 1]}))
        await asyncio.sleep(0)
        journal.append("t", 0, None, b"", 0.0)
        await asyncio.gather(*waiters)
        assert not other.done()
        journal.append("t", 1, None, b"", 0.0)
        await other

    asyncio.run(run())
    asyncio.run(run())


# retention


def test_retention_drops_what_is_older_and_read_and_keeps_offsets(journal: Journal) -> None:
    journal.create_topic("kept", 1, retention=None, compacted=False)
    journal.append("kept", 0, None, b"", 0.0)
    for second in range(30):
        journal.append("t", 0, None, b"%d" % second, float(second))
    journal.append_batch("t", 1, [(None, b"")] * 9, 0.0)
    journal.commit("slow", {("t", 1): 4})
    journal.drop_expired(now=35.0)
    assert offsets(journal) == [25, 26, 27, 28, 29]
    assert (journal.start("t", 0), journal.end("t", 0)) == (25, 30)
    journal.drop_expired(now=100.0)
    assert (journal.start("t", 0), journal.end("t", 0)) == (30, 30)
    assert journal.append("t", 0, None, b"", 100.0) == 30
    assert (journal.start("kept", 0), journal.start("t", 1)) == (0, 4), "what a group has yet to read stays"


def test_of_a_topic_with_a_bound_even_a_later_one_the_newest_records_are_kept(journal: Journal) -> None:
    journal.append_batch("t", 0, [(None, b"")] * 30, 100.0)
    journal.create_topic("t", 2, retention=10.0, compacted=False, most=5)
    journal.commit("fast", {("t", 0): 30})
    journal.drop_expired(now=100.0)
    assert offsets(journal) == [25, 26, 27, 28, 29]
    journal.commit("behind", {("t", 0): 27})
    journal.append_batch("t", 0, [(None, b"")] * 30, 100.0)
    for now in (100.0, 200.0):
        journal.drop_expired(now)
        assert journal.start("t", 0) == 27, "what a group has yet to read stays"


@each_case(("jump", "elapsed"), [(31_536_000.0, 60.0), (-3_600.0, -3_540.0), (0.0, 60.0)])
def test_a_clock_that_is_set_forward_ages_no_record(jump: float, elapsed: float) -> None:
    wall, steady = [1_700_000_000.0], [50.0]
    now = ageing(lambda: wall[0], lambda: steady[0])
    wall[0] += 60.0 + jump
    steady[0] += 60.0
    assert now() == 1_700_000_000.0 + elapsed


# compacted topics

CHANGES = st.lists(
    st.tuples(st.sampled_from([b"a", b"b", b"c", b"d"]), st.none() | st.binary(max_size=3)), max_size=9
)


@given(st.lists(CHANGES, max_size=9))
def test_a_compacted_topic_keeps_the_newest_record_of_each_key(
    tmp_path_factory: Any, batches: list[list[tuple[bytes, bytes | None]]]
) -> None:
    path = tmp_path_factory.mktemp("j")
    appended = [change for changes in batches for change in changes]
    newest = {key: (offset, value) for offset, (key, value) in enumerate(appended)}
    for changes in [*batches, []]:
        with Journal.open(path) as journal:
            journal.create_topic("t", 1, retention=None, compacted=True)
            journal.append_batch("t", 0, changes, 0.0)
            kept, end = journal.read("t", 0, 0, 1000), journal.end("t", 0)
    assert [entry.offset for entry in kept] == sorted(offset for offset, _ in newest.values())
    assert {entry.key: (entry.offset, entry.value) for entry in kept} == newest
    assert end == len(appended)


# tables


def test_the_partitions_of_a_table_are_apart_and_are_there_after_reopening(tmp_path: Path) -> None:
    with Journal.open(tmp_path, tables={"rows": 2}) as journal:
        journal.create_table("other", 2)
        put(journal.table("rows")[1], {b"a1": b"x", b"a2": b"y", b"b": b"z"})
    with Journal.open(tmp_path, tables={"rows": 3, "none": 1}) as journal:
        journal.create_table("rows", 2)
        parts = journal.table("rows")
        assert list(parts) == [0, 1], "one that is there is left as it is"
        assert list(parts[1].scan(b"a")) == [(b"a1", b"x"), (b"a2", b"y")]
        assert list(parts[1].scan(b"a", after=b"a1")) == [(b"a2", b"y")]
        assert (parts[0].get(b"b"), parts[1].size()[0]) == (None, 3)
        assert list(journal.table("other")[1].scan(b"")) == []
        with pytest.raises(TableMissingError, match="the table none"):
            journal.table("none")


def test_records_rows_and_offsets_of_one_batch_are_written_together(journal: Journal) -> None:
    journal.create_table("rows", 1)
    rows = journal.table("rows")[0]

    def write(key: bytes | None) -> None:
        batch = WriteBatch(raw_mode=True)
        rows.stage(batch, {b"row": b"1"})
        journal.stage_commit(batch, "group", {("t", 0): 7})
        journal.append_all([("t", 0, None, b"v"), ("keys", 0, key, b"v")], 1.0, batch)

    with pytest.raises(ValueError, match="compacted topic at 0: no key"):
        write(None)
    assert (journal.end("t", 0), rows.get(b"row"), journal.committed("group", "t", 0)) == (0, None, None)
    write(b"k")
    assert (journal.end("t", 0), rows.get(b"row"), journal.committed("group", "t", 0)) == (1, b"1", 7)


# opening, and processes


@pytest.mark.parametrize("read_only", [False, True])
def test_the_journal_of_another_version_is_refused_with_what_to_do(tmp_path: Path, read_only: bool) -> None:
    db = Rdict(str(tmp_path / "journal"), Options(raw_mode=True))
    db[b"tpages"] = b"as an earlier version wrote it"
    db.close()
    for _ in range(2):
        with pytest.raises(JournalFormatError, match=f"data {tmp_path}: another version .*state export"):
            Journal.open(tmp_path / "journal", read_only=read_only)


def test_one_process_shares_one_journal_and_reading_none_says_so(tmp_path: Path) -> None:
    with pytest.raises(JournalMissingError, match="nothing there"):
        Journal.open(tmp_path / "journal", read_only=True)
    assert not (tmp_path / "journal").exists()
    first, second = Journal.open(tmp_path), Journal.open(tmp_path / "." / "")
    with Journal.open(tmp_path, read_only=True) as reading:
        assert first is second is reading
    first.close()
    second.create_topic("t", 1, retention=None, compacted=False)
    second.close()
    with Journal.open(tmp_path) as third:
        assert third is not first


@contextmanager
def writer(path: Path, seed: int) -> Iterator[Iterator[int]]:
    """Run a process that writes batches to a journal, whose numbers are given, and kill it."""
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(path), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield map(int, process.stdout)
        assert process.poll() is None
        process.kill()


WRITER = """
    import json, random, sys
    from pathlib import Path
    from scentline.streams.transport.journal import Journal
    journal = Journal.open(Path(sys.argv[1]))
    for topic in ("a", "b", "table"):
        journal.create_topic(topic, 2, retention=None, compacted=topic == "table")
    rng = random.Random(int(sys.argv[2]))
    batch = 0
    while True:
        batch += 1
        name = f"{sys.argv[2]}.{batch}"
        size = rng.randrange(1, 9)
        value = lambda i: json.dumps([name, i, size]).encode()
        journal.append_batch("a", rng.randrange(2), [(None, value(i)) for i in range(size)], 0.0)
        journal.append_all([("ab"[i % 2], rng.randrange(2), None, value(i)) for i in range(size)], 0.0)
        changes = [(b"count%d" % (i % 5), b"%d" % (batch * 10)) for i in range(100)]
        journal.append_batch("table", 0, changes, 0.0)
        print(batch, flush=True)
"""


def check_whole(journal: Journal) -> int:
    """Every offset there, every batch whole; returns the number of records."""
    seen: dict[str, list[int]] = {}
    sizes: dict[str, int] = {}
    for topic, partition in itertools.product(("a", "b"), range(2)):
        entries = journal.read(topic, partition, 0, 1_000_000)
        assert [entry.offset for entry in entries] == list(range(journal.end(topic, partition)))
        for entry in entries:
            name, index, sizes[name] = json.loads(entry.value or b"")
            seen.setdefault(name, []).append(index)
    for name, indices in seen.items():
        once = list(range(sizes[name]))
        assert sorted(indices) in (once, sorted(once * 2)), f"batch {name} is torn"
    changes = journal.read("table", 0, 0, 1_000_000)
    assert len(changes) == len({entry.key for entry in changes}) == 5
    assert len({entry.value for entry in changes}) == 1, "a batch of changes is torn"
    return sum(map(len, seen.values()))


def test_a_writer_killed_again_and_again_leaves_no_gap_and_no_torn_batch(tmp_path: Path) -> None:
    records = 0
    for kill in range(KILLS):
        with writer(tmp_path, kill) as batches:
            next(number for number in batches if number >= 20 * (kill + 1))
        with Journal.open(tmp_path) as journal:
            now = check_whole(journal)
            assert now > records
            records = now


def test_a_second_process_may_read_and_follows_the_writer(tmp_path: Path) -> None:
    with writer(tmp_path / "journal", 1) as batches:
        next(batches)
        with pytest.raises(JournalInUseError, match=r"journal.*: another process writes to it; stop that one"):
            Journal.open(tmp_path / "journal")
        with Journal.open(tmp_path / "journal", read_only=True) as journal:
            seen = journal.end("a", 0)
            assert seen == len(journal.read("a", 0, 0, 1_000_000))
            asyncio.run(asyncio.wait_for(journal.wait({("a", 0): seen}), PATIENCE))
            assert journal.end("a", 0) > seen
            for _ in range(3):
                journal.refresh()
                check_whole(journal)


def test_a_flush_while_a_reader_catches_up_leaves_no_hole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = open_writer(tmp_path / "journal")
    reading = open_reader(tmp_path / "journal", str(tmp_path / "scratch"))
    native, flushed = reading._db, False

    class Raced:
        """The manifest is read before the writer flushes, the write-ahead logs afterwards."""

        def try_catch_up_with_primary(self) -> None:
            nonlocal flushed
            native.try_catch_up_with_primary()
            if not flushed:
                flushed = True
                writing.put(b"flushed", b"1")
                writing.log.db.flush()

    monkeypatch.setattr(reading, "_db", Raced())
    reading.catch_up()
    assert (flushed, reading.get(b"flushed")) == (True, b"1")
    monkeypatch.undo()
    reading.close()
    writing.close()
