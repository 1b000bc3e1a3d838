"""Logs are read line by line, packed or not, live or whole; each line becomes part of a pack or is counted."""

import gzip
import os
import queue
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import zstandard

from scentline.agents.observe.agent import Batch, packs
from scentline.agents.observe.logfile import WAITING, LogFile, LogFileError, Tail, arriving, fingerprint
from scentline.agents.observe.observer import Observer
from scentline.models.facts import Access
from scentline.models.records import DeadLetter, Decoder, Pack, partition_of
from scentline.streams.settings import ObserveSettings
from scentline.streams.topics import ACCESSES, DEAD_LETTERS
from tests.agents.log_lines import combined
from tests.agents.loopback import awaited
from tests.cases import each_case
from tests.shared import shared

Line = tuple[int, bytes]


def line(number: int) -> bytes:
    return combined(f"http://example.org/{number}", client=f"192.0.2.{number % 7}")


LINES = [line(number) for number in range(100)]
WHOLE = b"".join(LINES)


def written(tmp_path: Path, data: bytes, name: str = "access.log") -> str:
    path = tmp_path / name
    path.write_bytes(data)
    return str(path)


def read(source: str) -> list[Line]:
    with LogFile(source) as log:
        return list(log)


def observer() -> Observer:
    return Observer(ObserveSettings(), b"key")


def test_compressed_logs_of_any_number_of_members_are_seen_by_themselves(tmp_path: Path) -> None:
    for compress in (gzip.compress, zstandard.compress):
        members = compress(b"".join(LINES[:50])) + compress(b"".join(LINES[50:]))
        with LogFile(written(tmp_path, members)) as log:
            assert log.size == len(members)
            assert [line for _, line in log] == LINES
            assert log.consumed == log.size


def test_standard_input_is_read_and_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (WHOLE, gzip.compress(WHOLE)):
        out, into = os.pipe()
        with os.fdopen(out) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            with os.fdopen(into, "wb") as writer:
                writer.write(data)
            with LogFile("-") as log:
                assert log.size is None
                assert [line for _, line in log] == LINES
                assert log.consumed == 0
            assert not stdin.closed


def test_the_sample_is_the_first_lines_and_is_read_again(tmp_path: Path) -> None:
    for data, sample, count in (
        (WHOLE, [line.rstrip() for line in LINES[:20]], 100),
        (b"one without end", [b"one without end"], 1),
        (b"", [], 0),
    ):
        with LogFile(written(tmp_path, data)) as log:
            assert (log.sample, len(list(log))) == (sample, count)


MANY = [line(number * 7919) for number in range(20_000)]
FIRST, REST = zstandard.compress(b"".join(MANY[:3])), zstandard.compress(b"".join(MANY[3:]))
GZIP = gzip.compress(b"".join(MANY))


@each_case(
    ("data", "least", "why"),
    [
        (GZIP[: len(GZIP) // 2], 5_000, "Compressed file ended"),
        (FIRST + REST[: len(REST) // 2], 5_000, "Compressed file ended"),
        *((FIRST + REST[:cut], 3, "") for cut in (1, 5, 30, -1)),
        (FIRST + b"something else", 3, "Not a Zstandard file"),
    ],
)
def test_a_damaged_log_gives_its_whole_lines(tmp_path: Path, data: bytes, least: int, why: str) -> None:
    seen: list[bytes] = []
    with (
        LogFile(written(tmp_path, data)) as log,
        pytest.raises(LogFileError, match=rf"access\.log is broken after line \d+: {why}") as error,
    ):
        seen.extend(line for _, line in log)
    assert f"after line {len(seen)}:" in str(error.value)
    assert len(seen) >= least
    assert seen == MANY[: len(seen)]


def test_the_fingerprint_is_the_first_lines_whatever_its_line_end() -> None:
    assert fingerprint(LINES[0]) == fingerprint(LINES[0].rstrip()) == fingerprint(LINES[0].rstrip() + b"\r\n")
    assert fingerprint(LINES[0]) != fingerprint(LINES[1])
    assert len(fingerprint(b"")) == 24


def test_a_log_that_can_t_be_read_is_named(tmp_path: Path) -> None:
    short = written(tmp_path, gzip.compress(b"a")[:5], "short.log")
    with pytest.raises(LogFileError, match=r"short\.log can't be read: Compressed file ended"):
        LogFile(short)
    with pytest.raises(LogFileError, match="can't be opened: Is a directory"):
        LogFile(str(tmp_path))


def sent(batches: Iterable[Batch], partition: int = 0) -> list[Pack[Access]]:
    """Return the packs for a partition."""
    decode = Decoder[Pack[Access]](Pack[Access])
    found = [message for batch in batches for message in batch.messages]
    return [decode(value or b"") for topic, to, _, value in found if (topic, to) == (ACCESSES.name, partition)]


def letters(batches: Iterable[Batch]) -> list[DeadLetter]:
    decode = Decoder[DeadLetter](DeadLetter)
    found = [message for batch in batches for message in batch.messages]
    return [decode(value or b"") for topic, _, _, value in found if topic == DEAD_LETTERS.name]


def test_the_longest_line_is_read_whole_and_a_letter_tells_nothing_of_a_line(tmp_path: Path) -> None:
    longest = LINES[0].rstrip()[:-1].ljust(8191, b"x") + b'"'
    for end in (b"", b"\n", b"\r\n"):
        reader = observer()
        list(packs(reader, read(written(tmp_path, longest + end + LINES[1])), 1, "s"))
        assert reader.counts.accepted == (2 if end else 0)  # without a line end the two are one
    lines = [(7, b"alice was here\n"), (8, LINES[0])]
    batches = list(packs(observer(), lines, 1, "s", name="access.log", now=lambda: 5.0))
    reason = "of no known format (squid, combined, common, w3c, json) (line of 15 bytes)"
    assert letters(batches) == [
        DeadLetter(topic="access.log", partition=0, offset=7, reason=reason, value=b"", time=5.0, why="line")
    ]
    filtered = [(number, LINES[0].replace(b"GET", b"PUT")) for number in range(1, 4)]
    assert list(packs(observer(), filtered, 1, "s")) == [Batch(3, 3, [])]
    assert list(packs(observer(), [], 1, "s")) == []


def test_packs_hold_each_users_accesses_in_its_partition_with_ascending_origins() -> None:
    mixed = [*LINES[:40], b"malformed\n", LINES[40].replace(b"GET", b"PUT"), *LINES[41:]]
    batches = list(packs(observer(), enumerate(mixed, start=1), 3, "s", size=30))
    origins: dict[int, list[int]] = {}
    for partition, pack in [(number, pack) for number in range(3) for pack in sent(batches, number)]:
        assert pack.source == "s"
        for offset, index, access in pack.facts:
            assert (index, partition_of(access.user, 3)) == (0, partition)
            assert access.url == f"http://example.org/{offset - 1 - (offset > 41)}"
            origins.setdefault(partition, []).append(offset)
    assert all(offsets == sorted(set(offsets)) for offsets in origins.values())
    assert sum(map(len, origins.values())) == 99
    facts = [sum(len(pack.facts) for number in range(3) for pack in sent([batch], number)) for batch in batches]
    assert facts == [30, 29, 30, 10]
    assert batches[-1].line == len(mixed)


def test_a_log_of_rubbish_leaves_few_letters_and_every_line_is_counted() -> None:
    reader = observer()
    lines = [(number, b"rubbish\n") for number in range(1, 35_001)]
    parts = (lines[:900], lines[900:2_000], lines[2_000:])
    told = letters(batch for part in parts for batch in packs(reader, part, 1, "s"))
    assert reader.counts.malformed == 35_000
    assert [letter.offset for letter in told] == list(range(1, 1_001))
    assert "further ones are only counted" in told[-1].reason
    again = letters(packs(reader.another(), lines, 1, "s", after=500))
    assert [letter.offset for letter in again] == list(range(501, 1_001)), "the log alone says what is told"


def test_what_was_read_before_a_break_is_packed_before_the_error(tmp_path: Path) -> None:
    reader = observer()
    with LogFile(written(tmp_path, gzip.compress(WHOLE) + b"damage")) as log:
        batches = packs(reader, log, 1, "s", size=80)
        assert [next(batches).line, next(batches).line] == [80, 100]
        with pytest.raises(LogFileError, match="after line 100"):
            next(batches)
    assert reader.counts.accepted == 100


SUNDOG = {"method": 41_100, "status": 9_466, "media": 24_808}
SUNDOG |= {"robot by agent": 19_640, "robot by robots.txt": 182}
SEMICOMPLETE = {"method": 48, "status": 371, "media": 5_400}
SEMICOMPLETE |= {"robot by agent": 2_272, "robot by robots.txt": 122}


@each_case(
    ("log_name", "base_url", "accepted", "filtered", "malformed"),
    [
        ("logs/sundog.log.gz", "http://sundog-soft.com", 7_773, SUNDOG, [19_223, 19_224, 19_225]),
        ("logs/semicomplete.log.gz", "http://semicomplete.com", 1_786, SEMICOMPLETE, [8_899]),
        ("wikispeedia/access.log.gz", None, 116_388, {}, []),
    ],
)
def test_every_line_of_a_real_log_is_accounted_for(
    log_name: str, base_url: str | None, accepted: int, filtered: dict[str, int], malformed: list[int]
) -> None:
    reader = Observer(ObserveSettings(base_url=base_url), b"key")
    with LogFile(str(shared(log_name))) as log:
        reader.recognise(log.sample)
        batches = list(packs(reader, log, 4, fingerprint(log.sample[0]), name=log.name))
    assert (reader.counts.accepted, reader.counts.filtered, reader.counts.malformed) == (
        accepted, filtered, len(malformed),
    )  # fmt: skip
    assert sum(len(pack.facts) for partition in range(4) for pack in sent(batches, partition)) == accepted
    assert [letter.offset for letter in letters(batches)] == malformed
    assert reader.counts.lines == batches[-1].line in (102_972, 10_000, 116_388)


def all_of(tail: Tail) -> list[Line]:
    found: list[Line] = []
    while got := tail.read():
        found += got
    assert got == []
    tail.close()
    return found


def test_the_lines_of_a_tail_are_those_of_the_file(tmp_path: Path) -> None:
    data = b"a\n\n" + b"b" * 8191 + b"\r\n" + b"c" * 8193 + b"\n" + b"d" * 3_000_000 + b"\r\ne\r\n"
    tail = Tail(Path(written(tmp_path, data)))
    found, whole = all_of(tail), read(str(tail.path))
    assert [(number, text.rstrip()) for number, text in found] == [(n, text.rstrip()) for n, text in whole]
    assert tail.first == b"a\n"


def test_a_log_is_known_by_its_first_line_though_a_head_line_before_it_is_endless(tmp_path: Path) -> None:
    tail = Tail(Path(written(tmp_path, b"#" * 100_000 + b"\n\n" + b"".join(LINES[:3]))))
    assert [number for number, _ in all_of(tail)] == [1, 2, 3, 4, 5]
    assert tail.first == LINES[0]


@awaited
async def test_a_line_is_there_before_the_next_one_is_written() -> None:
    source: queue.Queue[Line | None] = queue.Queue()
    chunks = arriving(iter(source.get, None))
    for number in (1, 2):
        source.put((number, b"line"))
        assert await anext(chunks) == (number, b"line")
    source.put(None)
    assert [chunk async for chunk in chunks] == []


@awaited
async def test_every_line_comes_once_and_in_order_and_an_error_of_the_log_after_them() -> None:
    many = [(number, b"x") for number in range(3 * WAITING + 7)]
    seen: list[Line] = []

    def broken() -> Iterator[Line]:
        yield from many
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        async for arrived in arriving(broken()):
            seen += [arrived]
    assert seen == many
