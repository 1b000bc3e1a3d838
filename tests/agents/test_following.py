"""Logs that are still written to: each line counts once, through rotation, truncation and restarts."""

import asyncio
import gzip
import os
import queue
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
import zstandard

from scentline.agents.crawl import following
from scentline.agents.crawl.connect import open_journal
from scentline.agents.crawl.feeder import Feeder, nothing_waits
from scentline.agents.crawl.following import Following, check_followed
from scentline.agents.observe.live import WAITING, Tail, live_lines
from scentline.agents.observe.logfile import LogFile, LogFileError
from scentline.agents.observe.observer import Observer
from scentline.agents.observe.positions import read_positions
from scentline.agents.operate.inspect.record import accesses
from scentline.streams.configuration import ConfigurationError
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, DEAD_LETTERS, LOG_POSITIONS
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.publisher import JournalPublisher
from tests.patience import PATIENCE


def line(number: int) -> bytes:
    second = f"{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}"
    head = f"192.0.2.{number % 5} - - [17/May/2015:{second} +0000]"
    return f'{head} "GET http://example.org/{number} HTTP/1.1" 200 5 "-" "-"\n'.encode()


def lines(*numbers: int) -> bytes:
    return b"".join(map(line, range(*numbers)))


class Crawl:
    """A data directory that logs are fed to."""

    def __init__(self, directory: Path) -> None:
        self.settings = Settings.model_validate({"data": directory / "data"})
        self.log = directory / "access.log"
        self.observer = self.fresh()

    def fresh(self) -> Observer:
        return Observer(self.settings.observe, b"key")

    def feeder(self, journal: Journal) -> Feeder:
        self.observer = self.fresh()
        publisher = JournalPublisher(journal, lambda: 1.0)
        positions = asyncio.run(read_positions(journal, self.observer.reading))
        return Feeder(self.observer, publisher, positions, nothing_waits, lambda _: None)

    def feed(self, *sources: Path) -> None:
        async def run(feeder: Feeder) -> None:
            for source in sources:
                await feeder.feed(str(source))

        with open_journal(self.settings) as journal:
            asyncio.run(run(self.feeder(journal)))

    def follow(self, *steps: "int | Callable[[], object]", sources: Sequence[Path] = ()) -> None:
        """Follow logs while steps are taken: a number is of accesses to wait for, all else is done at once."""

        async def take() -> None:
            for step in steps:
                if isinstance(step, int):
                    while self.observer.accepted < step:
                        await asyncio.sleep(0.005)
                else:
                    step()

        async def run(feeder: Feeder) -> None:
            paths = [str(source) for source in sources or (self.log,)]
            work = asyncio.ensure_future(Following(feeder, paths).run())
            done = asyncio.ensure_future(asyncio.wait_for(take(), PATIENCE))
            await asyncio.wait((work, done), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                done.cancel()
                await work
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            await done

        with open_journal(self.settings) as journal:
            asyncio.run(run(self.feeder(journal)))

    def append(self, data: bytes, path: Path | None = None) -> Callable[[], object]:
        def step() -> None:
            with (path or self.log).open("ab") as file:
                file.write(data)

        return step

    def beside(self, name: str) -> Path:
        return self.log.with_name(f"access.log.{name}")

    def sent(self) -> Counter[str]:
        """Return how often each page's access was sent, repeats included."""
        found: Counter[str] = Counter()
        with open_journal(self.settings) as journal:
            found.update(access.url for access in accesses(journal))
            packs = journal.read(ACCESSES.name, 0, 0, 100_000)
        assert sum(entry.value.count(b"http://example.org/") for entry in packs if entry.value) == found.total()
        return found

    def letters(self) -> int:
        with open_journal(self.settings) as journal:
            return journal.end(DEAD_LETTERS.name, 0)


def pages(*numbers: int) -> Counter[str]:
    return Counter(f"http://example.org/{number}" for number in range(*numbers))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "POLL_SECONDS", 0.005)


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


def test_lines_come_as_they_are_written_and_a_line_counts_when_it_ends(crawl: Crawl) -> None:
    crawl.log.write_bytes(b"")
    half, rest = line(3)[:40], line(3)[40:]
    crawl.follow(crawl.append(lines(3) + half), 3, crawl.append(rest), 4, crawl.append(lines(4, 200)), 200)
    assert crawl.sent() == pages(200)
    assert crawl.letters() == 0


def test_rotation_by_renaming_loses_and_repeats_nothing(crawl: Crawl) -> None:
    crawl.log.write_bytes(lines(5))

    def rotate(turn: int) -> None:
        rotated = crawl.beside(f"{turn}")
        crawl.log.rename(rotated)
        crawl.append(lines(10 * turn, 10 * turn + 5), rotated)()  # the server has not noticed yet
        crawl.log.write_bytes(lines(10 * turn + 5, 10 * turn + 9))
        crawl.append(line(10 * turn + 9), rotated)()

    turns = [step for turn in range(1, 4) for step in (partial(rotate, turn), 5 + 10 * turn)]
    crawl.follow(5, *turns)
    assert crawl.sent() == pages(5) + pages(10, 40)


def test_a_renamed_log_is_left_when_nothing_comes_any_more(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "QUIET_SECONDS", 0.02)
    crawl.log.write_bytes(lines(5))

    def rotate() -> None:
        crawl.append(line(5).rstrip())()
        crawl.log.rename(crawl.beside("1"))
        crawl.log.write_bytes(lines(6, 8))

    crawl.follow(5, rotate, 8)
    assert crawl.sent() == pages(8)


def test_copying_and_truncating_loses_and_repeats_nothing(crawl: Crawl) -> None:
    crawl.log.write_bytes(lines(5))

    def rotate() -> None:
        crawl.append(lines(5, 5000))()
        shutil.copy(crawl.log, crawl.beside("1"))
        os.truncate(crawl.log, 0)
        crawl.append(lines(5000, 5010))()

    crawl.follow(5, rotate, 5015)  # the first five are read again in the copy
    assert crawl.sent() == pages(5010)


def test_a_log_that_is_truncated_and_at_once_longer_than_before_is_noticed(crawl: Crawl) -> None:
    crawl.log.write_bytes(lines(5))
    crawl.follow(5, lambda: crawl.log.write_bytes(lines(100, 200)), 105)
    assert crawl.sent() == pages(5) + pages(100, 200)


def test_several_logs_are_followed_at_once_and_finished_ones_are_fed(crawl: Crawl, tmp_path: Path) -> None:
    other, packed, squeezed = (tmp_path / name for name in ("b.log", "c.log.gz", "d.log.zst"))
    crawl.log.write_bytes(lines(1))
    other.write_bytes(lines(10, 11))
    packed.write_bytes(gzip.compress(lines(20, 30)))
    squeezed.write_bytes(zstandard.compress(lines(30, 35)) + zstandard.compress(lines(35, 40)))
    steps = [(crawl.append(line(n)), crawl.append(line(10 + n), other), 22 + 2 * n) for n in range(1, 10)]
    crawl.follow(*(step for turn in steps for step in turn), sources=(crawl.log, packed, squeezed, other))
    assert crawl.sent() == pages(40)


def test_a_restart_goes_on_where_it_was(crawl: Crawl) -> None:
    crawl.log.write_bytes(lines(100))
    crawl.follow(100)
    crawl.append(lines(100, 150) + b"no line\n")()
    crawl.follow(150)
    crawl.append(lines(150, 160))()
    crawl.follow(160)
    assert crawl.sent() == pages(160)
    assert crawl.letters() == 1


def test_what_was_rotated_while_nobody_followed_is_read_first(crawl: Crawl) -> None:
    crawl.log.write_bytes(lines(10))
    older, second, first = (crawl.beside(name) for name in ("3.gz", "2.gz", "1"))
    older.write_bytes(gzip.compress(lines(1000, 1010)))
    os.utime(older, (1.0, 1.0))
    crawl.follow(10)
    second.write_bytes(gzip.compress(lines(15)))
    first.write_bytes(lines(15, 25))
    os.utime(second, (2.0, 2.0))
    os.utime(first, (3.0, 3.0))
    crawl.log.write_bytes(lines(25, 30))
    crawl.follow(30)
    assert crawl.sent() == pages(30)
    crawl.follow(5)
    assert crawl.sent() == pages(30)


def test_a_broken_file_beside_the_log_is_passed_over(crawl: Crawl) -> None:
    crawl.log.write_bytes(lines(10))
    crawl.follow(10)
    crawl.log.rename(crawl.beside("1"))
    crawl.beside("2.gz").write_bytes(gzip.compress(lines(10))[:-9])
    crawl.log.write_bytes(lines(10, 20))
    crawl.follow(10)
    assert crawl.sent() == pages(20)


def test_a_log_fed_twice_is_sent_once_whatever_it_is_called_and_packed(crawl: Crawl, tmp_path: Path) -> None:
    crawl.log.write_bytes(lines(1200) + b"damaged\n")
    packed = tmp_path / "monday.zst"
    packed.write_bytes(zstandard.compress(lines(1200) + b"damaged\n" + lines(1200, 1300)))
    crawl.feed(crawl.log)
    crawl.feed(crawl.log, packed)
    assert crawl.observer.accepted == 2500
    assert crawl.sent() == pages(1300)
    assert crawl.letters() == 1


def test_a_last_line_without_an_end_is_read_again_when_it_has_one(crawl: Crawl) -> None:
    crawl.log.write_bytes(lines(5) + line(5)[:60])
    crawl.feed(crawl.log)
    crawl.append(line(5)[60:] + lines(6, 8))()
    crawl.feed(crawl.log)
    assert crawl.sent() == pages(8)


def test_a_log_is_read_anew_by_other_settings(crawl: Crawl) -> None:
    crawl.log.write_bytes(lines(5).replace(b"http://example.org", b""))
    crawl.feed(crawl.log)
    assert crawl.sent() == Counter()
    crawl.settings = Settings.model_validate(
        {"data": crawl.settings.data, "observe": {"base_url": "http://example.org"}}
    )
    crawl.feed(crawl.log)
    assert crawl.sent() == pages(5)


def test_how_far_a_log_was_fed_is_told_in_the_batch_of_its_lines(crawl: Crawl) -> None:
    """A process that is killed between two batches goes on exactly there."""
    crawl.log.write_bytes(lines(3000))
    sent: list[list[str]] = []

    class Killed(JournalPublisher):
        async def send_all(self, entries: Sequence[tuple[str, int, bytes | None, bytes | None]]) -> None:
            sent.append(sorted({topic for topic, *_ in entries}))
            if len(sent) == 4:
                raise KeyboardInterrupt
            await super().send_all(entries)

    with open_journal(crawl.settings) as journal:
        observer = crawl.fresh()
        positions = asyncio.run(read_positions(journal, observer.reading))
        feeder = Feeder(observer, Killed(journal, lambda: 1.0), positions, nothing_waits, lambda _: None)
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(feeder.feed(str(crawl.log)))
    assert crawl.sent() == pages(1500)
    assert sent == [[ACCESSES.name, LOG_POSITIONS.name]] * 4
    crawl.feed(crawl.log)
    assert crawl.sent() == pages(3000)


def test_what_can_not_be_followed_is_told_at_once(crawl: Crawl, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="standard input"):
        check_followed(["access.log", "-"])
    with pytest.raises(LogFileError, match=r"absent\.log can't be opened"):
        crawl.follow(1, sources=(tmp_path / "absent.log",))


def test_the_lines_of_a_tail_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    data = b"a\n\n" + b"b" * 8191 + b"\r\n" + b"c" * 8193 + b"\n" + b"d" * 3_000_000 + b"\r\ne\r\n"
    path.write_bytes(data)
    tail = Tail(path)
    found: list[tuple[int, bytes]] = []
    while got := tail.read():
        found += got
    with LogFile(str(path)) as whole:
        assert [(number, text.rstrip(b"\r\n")) for number, text in found] == [
            (number, text.rstrip(b"\r\n")) for number, text in whole
        ]
    assert tail.first == b"a\n"
    assert tail.read() == []
    tail.close()


def test_a_log_is_known_by_its_first_line_though_a_head_line_before_it_is_endless(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    path.write_bytes(b"#" * 100_000 + b"\n\n" + lines(3))
    tail = Tail(path)
    assert [number for number, _ in tail.read() or ()] == [1, 2, 3, 4, 5]
    assert tail.first == line(0)
    assert tail.read() == []
    tail.close()


@pytest.mark.parametrize("cut", [1, 5, 30, -1])
def test_a_zstandard_log_that_ends_early_or_is_damaged_is_broken(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "access.log.zst"
    data = zstandard.compress(lines(5000))
    path.write_bytes(zstandard.compress(lines(3)) + data[:cut])
    with LogFile(str(path)) as log, pytest.raises(LogFileError, match="broken after line"):
        list(log)
    path.write_bytes(zstandard.compress(lines(3)) + b"something else")
    with LogFile(str(path)) as log, pytest.raises(LogFileError, match="broken after line 3"):
        list(log)


def test_a_zstandard_log_of_a_gigabyte_is_never_held(tmp_path: Path) -> None:
    path = tmp_path / "access.log.zst"
    path.write_bytes(zstandard.compress(b"a" * 200_000_000) + zstandard.compress(b"\n" + line(1)))
    with LogFile(str(path)) as log:
        assert [len(text) for _, text in log] == [8193, len(line(1))]


# lines of a thread

Line = tuple[int, bytes]


def of(source: "queue.Queue[Line | None]") -> Iterator[Line]:
    while (line := source.get()) is not None:
        yield line


def test_a_line_is_there_before_the_next_one_is_written() -> None:
    source: queue.Queue[Line | None] = queue.Queue()

    async def follow() -> list[list[Line]]:
        chunks = live_lines(of(source))
        seen = []
        for number in (1, 2):
            source.put((number, b"line"))
            seen.append(await anext(chunks))
        source.put(None)
        return seen + [chunk async for chunk in chunks]

    assert asyncio.run(follow()) == [[(1, b"line")], [(2, b"line")]]


def test_every_line_comes_once_and_in_order_however_many_there_are() -> None:
    many = [(number, b"x") for number in range(3 * WAITING + 7)]

    async def follow() -> list[Line]:
        return [line async for chunk in live_lines(iter(many)) for line in chunk]

    assert asyncio.run(follow()) == many


def test_an_error_of_the_log_comes_after_its_lines() -> None:
    def broken() -> Iterator[Line]:
        yield 1, b"line"
        raise OSError("gone")

    async def follow() -> list[Line]:
        seen: list[Line] = []
        with pytest.raises(OSError, match="gone"):
            async for chunk in live_lines(broken()):
                seen += chunk
        return seen

    assert asyncio.run(follow()) == [(1, b"line")]
