"""The embedded log keeps what it was given, in order, and whole through any crash."""

import asyncio
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocksdict import Options, Rdict, WriteBatch

from scentline.streams.transport.database import (
    JournalFormatError,
    JournalInUseError,
    JournalMissingError,
    TableMissingError,
)
from scentline.streams.transport.journal import Journal, UnknownTopicError
from scentline.streams.transport.partition import Clock
from scentline.streams.transport.publisher import JournalPublisher, Publisher
from tests.agents.shards import put
from tests.cases import each_case
from tests.patience import PATIENCE

KILLS = 6


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path / "journal") as opened:
        yield opened


def offsets(journal: Journal, topic: str, partition: int = 0) -> list[int]:
    return [entry.offset for entry in journal.read(topic, partition, 0, 1_000_000)]


def state(journal: Journal, topic: str) -> dict[bytes | None, bytes | None]:
    newest = {entry.key: entry.value for entry in journal.read(topic, 0, 0, 1_000_000)}
    return {key: value for key, value in newest.items() if value is not None}


# topics


def test_creating_a_topic_twice_changes_nothing(journal: Journal) -> None:
    journal.create_topic("t", 3, retention=5.0, compacted=False)
    journal.create_topic("t", 3, retention=5.0, compacted=False)
    assert journal.partitions("t") == 3
    assert list(journal.topics()) == ["t"]


def test_another_partition_count_is_refused_with_both_numbers(journal: Journal) -> None:
    journal.create_topic("t", 3, retention=None, compacted=False)
    with pytest.raises(ValueError, match=r"topic t: 4 partitions; expected 3"):
        journal.create_topic("t", 4, retention=None, compacted=False)


def test_an_unknown_topic_or_partition_is_named(journal: Journal) -> None:
    journal.create_topic("pages", 2, retention=None, compacted=False)
    with pytest.raises(UnknownTopicError, match=r"no topic nope; expected one of: pages"):
        journal.append("nope", 0, None, b"", 0.0)
    with pytest.raises(UnknownTopicError, match="no partition 2; expected 0 to 1"):
        journal.read("pages", 2, 0, 1)


# records


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.none() | st.binary(max_size=9), st.none() | st.binary(max_size=30)),
        max_size=60,
    ),
    st.integers(1, 7),
)
def test_records_come_back_as_they_went_in(
    tmp_path_factory: Any, records: list[tuple[int, bytes | None, bytes | None]], limit: int
) -> None:
    with Journal.open(tmp_path_factory.mktemp("j")) as journal:
        journal.create_topic("t", 3, retention=None, compacted=False)
        journal.append_all([("t", *record) for record in records], 2.5)
        for partition in range(3):
            read: list[tuple[bytes | None, bytes | None]] = []
            while entries := journal.read("t", partition, len(read), limit):
                assert [entry.offset for entry in entries] == list(range(len(read), len(read) + len(entries)))
                assert {entry.timestamp for entry in entries} == {2.5}
                read += [(entry.key, entry.value) for entry in entries]
            assert read == [(key, value) for number, key, value in records if number == partition]
            assert journal.end("t", partition) == len(read)


def test_a_read_stops_once_it_has_its_bytes_and_always_gives_one_record(journal: Journal) -> None:
    journal.create_topic("t", 1, retention=None, compacted=False)
    journal.append_batch("t", 0, [(None, bytes(1000))] * 10, 0.0)
    assert len(journal.read("t", 0, 0, 100, max_bytes=3500)) == 4
    assert len(journal.read("t", 0, 0, 100, max_bytes=1)) == 1


def test_a_batch_gives_the_offset_of_its_first_record(journal: Journal) -> None:
    journal.create_topic("t", 1, retention=None, compacted=False)
    assert journal.append_batch("t", 0, [(b"a", b"1"), (b"b", b"2")], 0.0) == 0
    assert journal.append("t", 0, b"c", b"3", 0.0) == 2


def test_everything_is_there_after_reopening(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal.create_topic("t", 2, retention=9.0, compacted=False)
        journal.append_batch("t", 1, [(b"a", b"1"), (b"b", None)], 4.0)
        journal.commit("group", {("t", 1): 1})
    with Journal.open(tmp_path) as journal:
        assert [entry[2:] for entry in journal.read("t", 1, 0, 9)] == [(b"a", b"1"), (b"b", None)]
        assert (journal.end("t", 0), journal.end("t", 1)) == (0, 2)
        assert journal.topics()["t"].retention == 9.0
        assert journal.committed("group", "t", 1) == 1
        assert journal.committed("group", "t", 0) is None
        assert journal.committed("other", "t", 1) is None


# waiting


def test_every_waiter_is_woken_by_an_append_to_its_partition(journal: Journal) -> None:
    journal.create_topic("t", 2, retention=None, compacted=False)

    async def run() -> None:
        waiters = [asyncio.ensure_future(journal.wait({("t", 0): 0, ("t", 1): 0})) for _ in range(3)]
        other = asyncio.ensure_future(journal.wait({("t", 1): 0}))
        await asyncio.sleep(0)
        journal.append("t", 0, None, b"", 0.0)
        await asyncio.gather(*waiters)
        assert not other.done()
        journal.append("t", 1, None, b"", 0.0)
        await other

    asyncio.run(run())


def test_waiting_works_in_one_event_loop_after_another(journal: Journal) -> None:
    journal.create_topic("t", 1, retention=None, compacted=False)

    async def run() -> None:
        waiter = asyncio.ensure_future(journal.wait({("t", 0): journal.end("t", 0)}))
        await asyncio.sleep(0)
        journal.append("t", 0, None, b"", 0.0)
        await waiter

    asyncio.run(run())
    asyncio.run(run())


def test_no_append_is_missed_between_reading_and_waiting(journal: Journal) -> None:
    journal.create_topic("t", 1, retention=None, compacted=False)

    async def follow(count: int) -> int:
        position = 0
        while position < count:
            await journal.wait({("t", 0): position})
            position += len(journal.read("t", 0, position, 3))
        return position

    async def run() -> None:
        followers = [asyncio.ensure_future(follow(200)) for _ in range(2)]
        for number in range(200):
            journal.append("t", 0, None, b"", 0.0)
            if number % 7 == 0:
                await asyncio.sleep(0)
        assert await asyncio.gather(*followers) == [200, 200]

    asyncio.run(run())


def test_an_abandoned_wait_leaves_nothing_behind(journal: Journal) -> None:
    journal.create_topic("t", 1, retention=None, compacted=False)

    async def run() -> None:
        waiter = asyncio.ensure_future(journal.wait({("t", 0): 0}))
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)

    asyncio.run(run())
    assert not journal.waiters._waiting
    journal.append("t", 0, None, b"", 0.0)


# retention


def test_retention_drops_what_is_older_and_keeps_offsets(journal: Journal) -> None:
    journal.create_topic("t", 1, retention=10.0, compacted=False)
    for second in range(30):
        journal.append("t", 0, None, b"%d" % second, float(second))
    journal.drop_expired(now=35.0)
    assert offsets(journal, "t") == [25, 26, 27, 28, 29]
    assert (journal.start("t", 0), journal.end("t", 0)) == (25, 30)
    journal.drop_expired(now=100.0)
    assert (journal.start("t", 0), journal.end("t", 0)) == (30, 30)
    assert journal.append("t", 0, None, b"", 100.0) == 30


def test_retention_keeps_what_a_group_has_yet_to_read(journal: Journal) -> None:
    journal.create_topic("t", 2, retention=10.0, compacted=False)
    for partition in range(2):
        journal.append_batch("t", partition, [(None, b"")] * 9, 0.0)
    journal.commit("slow", {("t", 0): 4})
    journal.commit("fast", {("t", 0): 9})
    journal.drop_expired(now=100.0)
    assert (journal.start("t", 0), journal.start("t", 1)) == (4, 9)


def test_of_a_topic_with_a_bound_the_newest_records_are_kept(journal: Journal) -> None:
    journal.create_topic("t", 1, retention=10.0, compacted=False, most=5)
    journal.append_batch("t", 0, [(None, b"")] * 30, 100.0)
    journal.drop_expired(now=100.0)
    assert offsets(journal, "t") == [25, 26, 27, 28, 29]
    journal.commit("slow", {("t", 0): 27})
    journal.append_batch("t", 0, [(None, b"")] * 30, 100.0)
    journal.drop_expired(now=100.0)
    assert journal.start("t", 0) == 27, "what a group has yet to read stays"
    journal.drop_expired(now=200.0)
    assert journal.start("t", 0) == 27


def test_a_topic_made_before_there_was_a_bound_is_given_one(journal: Journal) -> None:
    journal.create_topic("t", 1, retention=10.0, compacted=False)
    journal.append_batch("t", 0, [(None, b"")] * 30, 100.0)
    journal.create_topic("t", 1, retention=10.0, compacted=False, most=5)
    journal.drop_expired(now=100.0)
    assert journal.start("t", 0) == 25


@each_case(("jump", "elapsed"), [(31_536_000.0, 60.0), (-3_600.0, -3_540.0), (0.0, 60.0)])
def test_a_clock_that_is_set_forward_ages_no_record(jump: float, elapsed: float) -> None:
    wall, steady = [1_700_000_000.0], [50.0]
    now = Clock(lambda: wall[0], lambda: steady[0])
    wall[0] += 60.0 + jump
    steady[0] += 60.0
    assert now() == 1_700_000_000.0 + elapsed


def test_a_topic_without_retention_is_kept(journal: Journal) -> None:
    journal.create_topic("t", 1, retention=None, compacted=False)
    journal.append("t", 0, None, b"", 0.0)
    journal.drop_expired(now=1e9)
    assert offsets(journal, "t") == [0]


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
    for changes in batches:
        with Journal.open(path) as journal:
            journal.create_topic("t", 1, retention=None, compacted=True)
            journal.append_batch("t", 0, changes, 0.0)
    with Journal.open(path) as journal:
        journal.create_topic("t", 1, retention=None, compacted=True)
        kept = journal.read("t", 0, 0, 1000)
        assert [entry.offset for entry in kept] == sorted(offset for offset, _ in newest.values())
        assert {entry.key: (entry.offset, entry.value) for entry in kept} == newest
        assert journal.end("t", 0) == len(appended)


def test_a_compacted_topic_takes_no_record_without_a_key(journal: Journal) -> None:
    journal.create_topic("t", 1, retention=None, compacted=True)
    with pytest.raises(ValueError, match="compacted topic at 0: no key"):
        journal.append("t", 0, None, b"x", 0.0)


# tables


def test_the_partitions_of_a_table_are_apart_and_are_there_after_reopening(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        for name in ("rows", "other"):
            journal.create_table(name, 2)
        put(journal.table("rows")[1], {b"a1": b"x", b"a2": b"y", b"b": b"z"})
    with Journal.open(tmp_path) as journal:
        journal.create_table("rows", 2)
        parts = journal.table("rows")
        assert list(parts[1].scan(b"a")) == [(b"a1", b"x"), (b"a2", b"y")]
        assert list(parts[1].scan(b"a", after=b"a1")) == [(b"a2", b"y")]
        assert parts[0].get(b"b") is None
        assert list(journal.table("other")[1].scan(b"")) == []
        assert parts[1].size()[0] == 3
        with pytest.raises(TableMissingError, match="the table none"):
            journal.table("none")


def test_a_new_journal_is_made_with_its_tables_and_one_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    with Journal.open(tmp_path, tables={"rows": 2}) as journal:
        put(journal.table("rows")[1], {b"a": b"x"})
    with Journal.open(tmp_path, tables={"rows": 3, "other": 1}) as journal:
        assert list(journal.table("rows")) == [0, 1]
        assert journal.table("rows")[1].get(b"a") == b"x"
        with pytest.raises(TableMissingError):
            journal.table("other")


def test_records_rows_and_offsets_of_one_batch_are_written_together(journal: Journal) -> None:
    journal.create_topic("t", 1, retention=None, compacted=False)
    journal.create_topic("keys", 1, retention=None, compacted=True)
    journal.create_table("rows", 1)
    rows = journal.table("rows")[0]

    def write(key: bytes | None) -> None:
        batch = WriteBatch(raw_mode=True)
        rows.stage(batch, {b"row": b"1"})
        journal.stage_commit(batch, "group", {("t", 0): 7})
        journal.append_all([("t", 0, None, b"v"), ("keys", 0, key, b"v")], 1.0, batch)

    with pytest.raises(ValueError, match="no key"):
        write(None)
    assert (journal.end("t", 0), rows.get(b"row"), journal.committed("group", "t", 0)) == (0, None, None)
    write(b"k")
    assert (journal.end("t", 0), rows.get(b"row"), journal.committed("group", "t", 0)) == (1, b"1", 7)


@pytest.mark.parametrize("read_only", [False, True])
def test_the_journal_of_another_version_is_refused_with_what_to_do(tmp_path: Path, read_only: bool) -> None:
    db = Rdict(str(tmp_path / "journal"), Options(raw_mode=True))
    db[b"tpages"] = b"as an earlier version wrote it"
    db.close()
    for _ in range(2):
        with pytest.raises(JournalFormatError, match=r"begin anew in another directory .*state export"):
            Journal.open(tmp_path / "journal", read_only=read_only)


# processes


def test_one_process_shares_one_journal(tmp_path: Path) -> None:
    first = Journal.open(tmp_path)
    second = Journal.open(tmp_path / "." / "")
    assert first is second
    first.close()
    second.create_topic("t", 1, retention=None, compacted=False)
    second.close()
    third = Journal.open(tmp_path)
    assert third is not first
    third.close()


def python(script: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(script), *arguments]


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
    for topic in ("a", "b"):
        for partition in range(2):
            entries = journal.read(topic, partition, 0, 1_000_000)
            assert [entry.offset for entry in entries] == list(range(journal.end(topic, partition)))
            for entry in entries:
                assert entry.value is not None
                name, index, size = json.loads(entry.value)
                seen.setdefault(name, []).append(index)
                sizes[name] = size
    for name, indices in seen.items():
        once, twice = list(range(sizes[name])), sorted(list(range(sizes[name])) * 2)
        assert sorted(indices) in (once, twice), f"batch {name} is torn"
    return sum(map(len, seen.values()))


def test_a_writer_killed_again_and_again_leaves_no_gap_and_no_torn_batch(tmp_path: Path) -> None:
    records = 0
    for kill in range(KILLS):
        with subprocess.Popen(
            python(WRITER, str(tmp_path), str(kill)), stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            for line in writer.stdout:
                if int(line) >= 20 * (kill + 1):
                    break
            writer.kill()
        with Journal.open(tmp_path) as journal:
            now = check_whole(journal)
            assert now > records
            records = now
            values = set(state(journal, "table").values())
            assert len(state(journal, "table")) == 5
            assert len(values) == 1, "a batch of changes is torn"
            assert len(journal.read("table", 0, 0, 1_000_000)) == 5


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Any]:
    with subprocess.Popen(
        python(WRITER, str(tmp_path / "journal"), "1"), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_a_second_process_is_told_that_the_journal_is_in_use(tmp_path: Path, writer: Any) -> None:
    with pytest.raises(JournalInUseError, match=r"journal.*: another process writes to it; stop that one"):
        Journal.open(tmp_path / "journal")
    assert writer.poll() is None


def test_a_reader_follows_the_writer_of_another_process(tmp_path: Path, writer: Any) -> None:
    with Journal.open(tmp_path / "journal", read_only=True) as journal:
        seen = journal.end("a", 0)
        assert seen == len(journal.read("a", 0, 0, 1_000_000))
        positions = {("a", 0): seen}
        asyncio.run(asyncio.wait_for(journal.wait(positions), PATIENCE))
        assert journal.end("a", 0) > seen
        for _ in range(3):
            journal.refresh()
            check_whole(journal)
            assert len(state(journal, "table")) == 5
    assert writer.poll() is None


def test_reading_a_journal_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(JournalMissingError, match="nothing there"):
        Journal.open(tmp_path / "none", read_only=True)
    assert not (tmp_path / "none").exists()


def test_a_reader_in_the_writers_process_gets_the_writer(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as writing, Journal.open(tmp_path, read_only=True) as reading:
        assert writing is reading


# publishing


def test_the_publisher_writes_at_the_clocks_time(journal: Journal) -> None:
    journal.create_topic("t", 2, retention=None, compacted=False)
    publisher: Publisher = JournalPublisher(journal, clock=lambda: 12.0)

    async def run() -> int:
        await publisher.send_all([("t", 0, b"k", b"v"), ("t", 1, None, b"w")])
        return await publisher.append_batch("t", 0, [(b"l", b"x"), (b"m", None)])

    assert asyncio.run(run()) == 1
    assert publisher.partitions("t") == 2
    assert [entry[:4] for entry in journal.read("t", 0, 0, 9)] == [
        (0, 12.0, b"k", b"v"),
        (1, 12.0, b"l", b"x"),
        (2, 12.0, b"m", None),
    ]
