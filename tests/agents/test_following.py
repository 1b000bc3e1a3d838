"""Logs that are still written to: each line counts once, through rotation, truncation and restarts."""

import asyncio
import gzip
import os
import shutil
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zstandard

from scentline.agents.observe import following
from scentline.agents.observe.agent import Feeder, read_positions
from scentline.agents.observe.following import Following
from scentline.agents.observe.logfile import Tail
from scentline.agents.observe.observer import Observer
from scentline.agents.operate.record import accesses
from scentline.agents.worker.connect import open_journal
from scentline.streams.inbox import Message
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, DEAD_LETTERS, STANDING
from scentline.streams.transport.embedded import JournalBus
from tests.agents.log_lines import combined
from tests.patience import PATIENCE


def lines(*numbers: int) -> bytes:
    times = {n: f"{n // 3600 % 24:02d}:{n // 60 % 60:02d}:{n % 60:02d}" for n in range(*numbers)}
    return b"".join(
        combined(f"http://example.org/{n}", client=f"192.0.2.{n % 5}", time=time) for n, time in times.items()
    )


def line(number: int) -> bytes:
    return lines(number, number + 1)


def pages(*numbers: int) -> Counter[str]:
    return Counter(f"http://example.org/{number}" for number in range(*numbers))


#: How many accesses to wait for, what to append to a log, or what else to do.
Step = int | tuple[Path, bytes] | Callable[[], object]


class Crawl:
    """A data directory that logs are fed to; ``log`` has five lines at first."""

    def __init__(self, directory: Path) -> None:
        self.settings = Settings.model_validate({"data": directory / "data"})
        self.log = directory / "access.log"
        self.log.write_bytes(lines(5))
        self.accepted: Callable[[], int] = lambda: 0

    def run(self, work: Callable[[Feeder], Coroutine[Any, Any, None]], way: Any = JournalBus) -> None:
        with open_journal(self.settings) as journal:
            observer = Observer(self.settings.observe, b"key")
            self.accepted = lambda: observer.counts.accepted
            bus = way(journal, lambda: 1.0)
            positions = asyncio.run(read_positions(bus, observer.reading))
            feeder = Feeder(observer, bus, positions, following.nobody, lambda _: None)
            asyncio.run(work(feeder))

    def feed(self, *sources: Path, way: Any = JournalBus) -> None:
        async def run(feeder: Feeder) -> None:
            for source in sources or (self.log,):
                await feeder.feed(str(source))

        self.run(run, way)

    def follow(self, *steps: Step, sources: Sequence[Path] = ()) -> None:
        """Follow logs while steps are taken: accesses are waited for, all else is done at once."""

        async def run(feeder: Feeder) -> None:
            paths = [str(source) for source in sources or (self.log,)]
            work = asyncio.ensure_future(Following(feeder, paths).run())
            async with asyncio.timeout(PATIENCE):
                for step in steps:
                    if isinstance(step, tuple):
                        self.append(*step)
                    elif not isinstance(step, int):
                        step()
                    while isinstance(step, int) and self.accepted() < step:
                        assert not work.done(), work.exception()
                        await asyncio.sleep(0.005)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

        self.run(run)

    def append(self, path: Path, data: bytes) -> None:
        with path.open("ab") as file:
            file.write(data)

    def beside(self, name: str, data: bytes = b"", changed: float = 0.0) -> Path:
        """Return the path of a file beside the log, written and ``changed`` then where it has data."""
        path = self.log.with_name(f"access.log.{name}")
        if data:
            path.write_bytes(data)
            os.utime(path, (changed, changed))
        return path

    def sent(self) -> Counter[str]:
        """Return how often each page's access was sent, repeats included."""
        with open_journal(self.settings) as journal:
            found = Counter(access.url for access in accesses(journal))
            packs = journal.read(ACCESSES.name, 0, 0, 100_000)
        assert sum(entry.value.count(b"http://example.org/") for entry in packs if entry.value) == found.total()
        return found

    def letters(self) -> int:
        with open_journal(self.settings) as journal:
            return journal.end(DEAD_LETTERS.name, 0)


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Crawl:
    monkeypatch.setattr(following, "POLL_SECONDS", 0.005)
    return Crawl(tmp_path)


def test_lines_come_as_they_are_written_and_a_line_counts_when_it_ends(crawl: Crawl) -> None:
    half, rest = line(8)[:40], line(8)[40:]
    crawl.follow((crawl.log, lines(5, 8) + half), 8, (crawl.log, rest), 9, (crawl.log, lines(9, 200)), 200)
    assert crawl.sent() == pages(200)
    assert crawl.letters() == 0


def test_rotation_by_renaming_loses_and_repeats_nothing(crawl: Crawl) -> None:
    steps: list[Step] = []
    for number in range(10, 40, 10):
        rotated = crawl.beside(f"{number}")
        steps += [partial(crawl.log.rename, rotated), (rotated, lines(number, number + 5))]  # not noticed yet
        steps += [(crawl.log, lines(number + 5, number + 9)), (rotated, line(number + 9)), number + 5]
    crawl.follow(5, *steps)
    assert crawl.sent() == pages(5) + pages(10, 40)


def test_a_renamed_log_is_left_once_it_is_quiet(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "QUIET_SECONDS", 0.02)
    rename = partial(crawl.log.rename, crawl.beside("1"))
    crawl.follow(5, (crawl.log, line(5).rstrip()), rename, (crawl.log, lines(6, 8)), 8)
    assert crawl.sent() == pages(8)


def test_copying_and_truncating_loses_and_repeats_nothing(crawl: Crawl) -> None:
    copy, truncate = partial(shutil.copy, crawl.log, crawl.beside("1")), partial(os.truncate, crawl.log, 0)
    rotate: list[Step] = [(crawl.log, lines(5, 5000)), copy, truncate, (crawl.log, lines(5000, 5010))]
    crawl.follow(5, *rotate, 5015)  # the first five are read again in the copy
    assert crawl.sent() == pages(5010)


def test_a_log_that_is_truncated_and_at_once_longer_than_before_is_noticed(crawl: Crawl) -> None:
    crawl.follow(5, partial(crawl.log.write_bytes, lines(100, 200)), 105)
    assert crawl.sent() == pages(5) + pages(100, 200)


def test_several_logs_are_followed_at_once_and_finished_ones_are_fed(crawl: Crawl, tmp_path: Path) -> None:
    other, packed, squeezed = (tmp_path / name for name in ("b.log", "c.log.gz", "d.log.zst"))
    other.write_bytes(lines(10, 11))
    packed.write_bytes(gzip.compress(lines(20, 30)))
    squeezed.write_bytes(zstandard.compress(lines(30, 35)) + zstandard.compress(lines(35, 40)))
    steps: list[Step] = [26]
    for n in range(1, 6):
        steps += [(crawl.log, line(4 + n)), (other, line(10 + n)), 26 + 2 * n]
    crawl.follow(*steps, sources=(crawl.log, packed, squeezed, other))
    assert crawl.sent() == pages(16) + pages(20, 40)


def test_of_head_lines_without_end_before_the_first_one_few_are_held(crawl: Crawl) -> None:
    async def run(feeder: Feeder) -> None:
        tail = Tail(crawl.log)
        await Following(feeder, [])._send(reading := following._Reading(tail), tail.read() or [])
        tail.close()
        assert len(reading.waiting) == 100

    crawl.log.write_bytes(b"# a comment\n" * 500)
    crawl.run(run)


def test_what_was_rotated_while_nobody_followed_is_read_first(crawl: Crawl) -> None:
    crawl.beside("3.gz", gzip.compress(lines(1000, 1010)), 1.0)
    crawl.follow(5)
    crawl.beside("2.gz", gzip.compress(lines(15) + b"no line\n"), 2.0)
    crawl.beside("1", lines(15, 25), 3.0)
    crawl.log.write_bytes(lines(25, 30))
    crawl.follow(30)
    assert crawl.sent() == pages(30)
    crawl.append(crawl.log, line(30))
    crawl.follow(6)
    assert crawl.sent() == pages(31)
    assert crawl.letters() == 1


def test_a_broken_file_beside_the_log_is_passed_over(crawl: Crawl) -> None:
    crawl.follow(5)
    crawl.log.rename(crawl.beside("1"))
    crawl.beside("2.gz").write_bytes(gzip.compress(lines(5))[:-9])
    crawl.log.write_bytes(lines(5, 15))
    crawl.follow(10)
    assert crawl.sent() == pages(15)


def test_a_log_fed_twice_is_sent_once_whatever_it_is_called_and_packed(crawl: Crawl, tmp_path: Path) -> None:
    crawl.log.write_bytes(lines(1200) + b"damaged\n")
    packed = tmp_path / "monday.zst"
    packed.write_bytes(zstandard.compress(lines(1200) + b"damaged\n" + lines(1200, 1300)))
    crawl.feed()
    crawl.feed(crawl.log, packed)
    assert crawl.accepted() == 2500
    assert crawl.sent() == pages(1300)
    assert crawl.letters() == 1


def test_a_last_line_without_an_end_is_read_again_when_it_has_one(crawl: Crawl) -> None:
    crawl.append(crawl.log, line(5)[:60])
    crawl.feed()
    crawl.append(crawl.log, line(5)[60:] + lines(6, 8))
    crawl.feed()
    assert crawl.sent() == pages(8)


def test_a_log_is_read_anew_by_other_settings(crawl: Crawl) -> None:
    crawl.log.write_bytes(lines(5).replace(b"http://example.org", b""))
    crawl.feed()
    assert crawl.sent() == Counter()
    named = {"data": crawl.settings.data, "observe": {"base_url": "http://example.org"}}
    crawl.settings = Settings.model_validate(named)
    crawl.feed()
    assert crawl.sent() == pages(5)


def test_a_process_that_is_killed_between_two_batches_goes_on_exactly_there(crawl: Crawl) -> None:
    crawl.log.write_bytes(lines(3000))
    sent: list[list[str]] = []

    class Killed(JournalBus):
        async def send_all(self, entries: Sequence[Message]) -> None:
            sent.append(sorted({topic for topic, *_ in entries}))
            if len(sent) == 4:
                raise KeyboardInterrupt
            await super().send_all(entries)

    with pytest.raises(KeyboardInterrupt):
        crawl.feed(way=Killed)
    assert crawl.sent() == pages(1500)
    assert sent == [[ACCESSES.name, STANDING.name]] * 4
    crawl.feed()
    assert crawl.sent() == pages(3000)
