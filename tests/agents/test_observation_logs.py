import gzip
import os
import sys
import tracemalloc
from pathlib import Path

import pytest

from scentline.agents.crawl.feeder import Batch, packs
from scentline.agents.observe.logfile import LogFile, LogFileError, fingerprint
from scentline.agents.observe.observer import Observer
from scentline.streams.facts import Access
from scentline.streams.records import DeadLetter, Decoder, Pack, encode
from scentline.streams.settings import ObserveSettings
from scentline.streams.topics import partition_of
from tests.cases import each_case
from tests.shared import shared

LINE = b'192.0.2.%d - - [17/May/2015:10:05:03 +0000] "GET http://example.org/%d HTTP/1.1" 200 5 "-" "-"\n'
LINES = [LINE % (number % 7, number) for number in range(100)]


def written(tmp_path: Path, data: bytes, name: str = "access.log") -> str:
    path = tmp_path / name
    path.write_bytes(data)
    return str(path)


def read(source: str) -> list[tuple[int, bytes]]:
    with LogFile(source) as log:
        return list(log)


def observer() -> Observer:
    return Observer(ObserveSettings(), b"key")


def test_compressed_logs_of_any_number_of_members_are_seen_by_themselves(tmp_path: Path) -> None:
    members = gzip.compress(b"".join(LINES[:50])) + gzip.compress(b"".join(LINES[50:]))
    assert [line for _, line in read(written(tmp_path, members))] == LINES
    with LogFile(written(tmp_path, members)) as log:
        assert log.size == len(members)
        list(log)
        assert log.consumed == log.size


def test_standard_input_is_read_and_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (b"".join(LINES), gzip.compress(b"".join(LINES))):
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
    with LogFile(written(tmp_path, b"".join(LINES))) as log:
        assert log.sample == [line.rstrip() for line in LINES[:20]]
        assert len(list(log)) == 100
    with LogFile(written(tmp_path, b"one without end")) as log:
        assert log.sample == [b"one without end"]
    with LogFile(written(tmp_path, b"")) as log:
        assert log.sample == []
        assert list(log) == []


def test_a_line_of_a_hundred_megabytes_is_never_held(tmp_path: Path) -> None:
    huge = gzip.compress(b"a" * 100_000_000 + b"\n", compresslevel=1)
    source = written(tmp_path, gzip.compress(LINES[0]) + huge + gzip.compress(LINES[1]))
    tracemalloc.start()
    try:
        lines = read(source)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [(number, len(line)) for number, line in lines] == [
        *((1, len(LINES[0])), (2, 8193), (3, len(LINES[1])))
    ]
    assert peak < 2_000_000
    reader = observer()
    (batch,) = packs(reader, lines, 1, "s")
    assert (reader.accepted, reader.malformed) == (2, 1)
    assert [(letter.offset, letter.reason) for letter in batch.letters] == [(2, "more than 8192 bytes")]


def test_a_truncated_log_gives_its_whole_lines_and_then_an_error(tmp_path: Path) -> None:
    lines = [LINE % (number % 7, number * 7919) for number in range(20_000)]
    data = gzip.compress(b"".join(lines))
    seen = []
    with (
        LogFile(written(tmp_path, data[: len(data) // 2])) as log,
        pytest.raises(LogFileError, match=r"access\.log is broken after line \d+: Compressed file ended"),
    ):
        for _, line in log:
            seen.append(line)
    assert len(seen) > 5_000
    assert seen == lines[: len(seen)]


def test_the_fingerprint_is_the_first_lines_whatever_its_line_end() -> None:
    assert fingerprint(LINES[0]) == fingerprint(LINES[0].rstrip()) == fingerprint(LINES[0].rstrip() + b"\r\n")
    assert fingerprint(LINES[0]) != fingerprint(LINES[1])
    assert len(fingerprint(b"")) == 24


@each_case(
    ("source", "why"),
    [
        ("absent.log", r"absent\.log can't be opened: No such file or directory"),
        (".", "can't be opened: Is a directory"),
        ("short.log", "can't be read: Compressed file ended"),
    ],
)
def test_a_log_that_can_t_be_read_is_named(tmp_path: Path, source: str, why: str) -> None:
    written(tmp_path, gzip.compress(b"a")[:5], "short.log")
    with pytest.raises(LogFileError, match=why):
        LogFile(str(tmp_path / source))


def test_the_longest_line_is_read_whole_and_a_letter_tells_nothing_of_a_line(tmp_path: Path) -> None:
    longest = LINES[0].rstrip()[:-1].ljust(8191, b"x") + b'"'
    for end in (b"", b"\n", b"\r\n"):
        reader = observer()
        list(packs(reader, read(written(tmp_path, longest + end + LINES[1])), 1, "s"))
        assert reader.accepted == (2 if end else 0)  # without a line end the two are one
    lines = [(7, b"alice was here\n"), (8, LINES[0])]
    (batch,) = packs(observer(), lines, 1, "s", name="access.log", now=lambda: 5.0)
    reason = "of no known format (squid, combined, common, w3c, json) (line of 15 bytes)"
    letter = DeadLetter(topic="access.log", partition=0, offset=7, reason=reason, value=b"", time=5.0)
    assert batch.letters == [letter]
    filtered = [(number, LINES[0].replace(b"GET", b"PUT")) for number in range(1, 4)]
    assert list(packs(observer(), filtered, 1, "s")) == [Batch(line=3, whole=3)]
    assert list(packs(observer(), [], 1, "s")) == []


def test_packs_hold_each_users_accesses_in_its_partition_with_ascending_origins() -> None:
    mixed = [*LINES[:40], b"malformed\n", LINES[40].replace(b"GET", b"PUT"), *LINES[41:]]
    batches = list(packs(observer(), enumerate(mixed, start=1), 3, "s", size=30))
    origins: dict[int, list[int]] = {}
    for batch in batches:
        for partition, pack in batch.packs.items():
            assert pack.source == "s"
            for offset, index, access in pack.facts:
                assert index == 0
                assert partition_of(access.user, 3) == partition
                assert access.url == f"http://example.org/{offset - 1 - (offset > 41)}"
                origins.setdefault(partition, []).append(offset)
    assert all(offsets == sorted(set(offsets)) for offsets in origins.values())
    assert sum(map(len, origins.values())) == 99
    assert [sum(len(pack.facts) for pack in batch.packs.values()) for batch in batches] == [30, 29, 30, 10]
    assert batches[-1].line == len(mixed)
    assert (
        Decoder[Pack[Access]](Pack[Access])(encode(batches[0].packs[partition])) == batches[0].packs[partition]
    )


def test_a_log_of_rubbish_leaves_few_letters_and_every_line_is_counted() -> None:
    reader = observer()
    lines = [(number, b"rubbish\n") for number in range(1, 35_001)]
    parts = (lines[:900], lines[900:2_000], lines[2_000:])
    letters = [letter for part in parts for batch in packs(reader, part, 1, "s") for letter in batch.letters]
    assert (len(letters), reader.malformed) == (1_000, 35_000)
    assert [letter.offset for letter in letters] == list(range(1, 1_001))
    assert "further ones are only counted" in letters[-1].reason
    again = [letter for batch in packs(reader.another(), lines, 1, "s", after=500) for letter in batch.letters]
    assert [letter.offset for letter in again] == list(range(501, 1_001)), (
        "what is told depends on the log alone"
    )


def test_what_was_read_before_a_break_is_packed_before_the_error(tmp_path: Path) -> None:
    source = written(tmp_path, gzip.compress(b"".join(LINES)) + b"damage")
    reader = observer()
    with LogFile(source) as log:
        batches = packs(reader, log, 1, "s", size=80)
        assert [next(batches).line, next(batches).line] == [80, 100]
        with pytest.raises(LogFileError, match="after line 100"):
            next(batches)
    assert reader.accepted == 100


SUNDOG = {"method": 41_100, "status": 9_466, "media": 24_808}
SEMICOMPLETE = {"method": 48, "status": 371, "media": 5_400}


@each_case(
    ("log_name", "base_url", "accepted", "filtered", "malformed"),
    [
        (
            *("logs/sundog.log.gz", "http://sundog-soft.com", 7_773),
            *({**SUNDOG, "robot by agent": 19_640, "robot by robots.txt": 182}, [19_223, 19_224, 19_225]),
        ),
        (
            *("logs/sundog.log.gz", None, 0),
            *(
                {**SUNDOG, "robot by agent": 19_640, "robot by robots.txt": 182, "site": 7_773},
                [19_223, 19_224, 19_225],
            ),
        ),
        (
            *("logs/semicomplete.log.gz", "http://semicomplete.com", 1_786),
            *({**SEMICOMPLETE, "robot by agent": 2_272, "robot by robots.txt": 122}, [8_899]),
        ),
        ("wikispeedia/access.log.gz", None, 116_388, {}, []),
    ],
)
def test_every_line_of_a_real_log_is_accounted_for(
    log_name: str, base_url: str | None, accepted: int, filtered: dict[str, int], malformed: list[int]
) -> None:
    reader = Observer(ObserveSettings(base_url=base_url), b"key")
    letters: list[int] = []
    facts = last = 0
    with LogFile(str(shared(log_name))) as log:
        reader.recognise(log.sample)
        for batch in packs(reader, log, 4, fingerprint(log.sample[0]), name=log.name):
            letters += [letter.offset for letter in batch.letters]
            facts += sum(len(pack.facts) for pack in batch.packs.values())
            last = batch.line
    assert (reader.accepted, reader.filtered, reader.malformed) == (accepted, filtered, len(malformed))
    assert reader.lines == last
    assert (facts, letters) == (accepted, malformed)
    assert last in (102_972, 10_000, 116_388)
