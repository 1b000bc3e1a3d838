"""Feeding logs without a crawl, and following those still written to, through rotation and from run to run."""

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from scentline.agents.crawl.connect import connect
from scentline.agents.crawl.directory import make_directory
from scentline.agents.crawl.feeder import Feeder, read_positions
from scentline.agents.observe.live import NumberedLine, Tail
from scentline.agents.observe.logfile import LogFile, LogFileError, fingerprint
from scentline.agents.observe.observer import Counts, Observer
from scentline.agents.observe.pseudonym import KEY_FILE, user_key
from scentline.agents.signals import told_to_end
from scentline.agents.worker.backpressure import Room, downstream
from scentline.models.accesslog.formats import LogFormatError
from scentline.models.events import EventLog
from scentline.streams.configuration import ConfigurationError
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES

#: Seconds between two looks at the logs when nothing is new.
POLL_SECONDS = 0.25
#: A log that was renamed is read on until nothing has come for so long: servers write to it for a while.
QUIET_SECONDS = 60.0

log = EventLog("observe")


def check_followed(sources: Sequence[str]) -> None:
    """Raise `ConfigurationError` for what can't be followed."""
    if "-" in sources:
        raise ConfigurationError("--follow: standard input is followed anyway; expected files, not -")


class Following:
    """Follows logs by their paths, all at once, without end; a compressed log is fed once.

    Rotated files beside a log, with its name and an ending, are fed where an earlier run began one, and newer
    ones.
    """

    def __init__(self, feeder: Feeder, sources: Sequence[str]) -> None:
        self._feeder = feeder
        self._paths = [Path(source) for source in sources]
        self._read: list[_Reading] = []

    async def run(self) -> None:
        """Follow until cancelled; raises `LogFileError` where a log can't be opened at the start."""
        try:
            for path in self._paths:
                await self._start(path)
            while True:
                moved = [await self._step(reading) for reading in list(self._read)]
                if not any(moved):
                    await asyncio.sleep(POLL_SECONDS)
        finally:
            for reading in self._read:
                reading.tail.close()

    async def _start(self, path: Path) -> None:
        with LogFile(str(path)) as found:
            compressed = found.compressed
        if compressed:
            await self._feeder.feed(str(path))
            return
        for rotated in self._unread(path):
            await self._finish(rotated)
        self._read.append(_Reading(Tail(path)))

    async def _step(self, reading: "_Reading") -> bool:
        lines = reading.tail.read()
        if lines is None:
            await self._truncated(reading)
            return True
        if lines:
            await self._send(reading, lines)
            return True
        if not reading.left and reading.tail.moved and reading.tail.path.exists():
            reading.left = True
            self._read.append(_Reading(Tail(reading.tail.path)))
            return True
        if reading.left and reading.quiet > QUIET_SECONDS:
            await self._send(reading, reading.tail.last())
            self._forget(reading)
        return False

    async def _truncated(self, reading: "_Reading") -> None:
        """Go on at the start; what was not read in time is in the copy that was made before, if any."""
        self._forget(reading)
        if not reading.left:
            self._read.append(_Reading(Tail(reading.tail.path)))
        for rotated in _rotated(reading.tail.path):
            if reading.name and _name(rotated) == reading.name:
                await self._finish(rotated)

    async def _send(self, reading: "_Reading", lines: list[NumberedLine]) -> None:
        reading.heard = time.monotonic()
        waiting = reading.waiting + lines
        if reading.tail.first is None:
            reading.waiting = waiting[-_HEAD_LINES:]
            return
        reading.waiting = []
        if reading.observer is None:
            reading.name = fingerprint(reading.tail.first)
            reading.observer = self._feeder.observer.another()
            try:
                reading.observer.recognise([line for _, line in waiting])
            except LogFormatError as error:
                log.warning(str(error), log=reading.tail.path.name)
        async for _ in self._feeder.send(reading.observer, waiting, reading.name, reading.tail.path.name):
            pass

    async def _finish(self, path: Path) -> None:
        """Feed a log that nobody writes to any more; a broken one, or one that is gone, is told of."""
        try:
            await self._feeder.feed(str(path))
        except (LogFileError, LogFormatError) as error:
            log.warning(str(error), log=path.name)

    def _forget(self, reading: "_Reading") -> None:
        reading.tail.close()
        self._read.remove(reading)

    def _unread(self, path: Path) -> Iterator[Path]:
        """Yield what rotation left of a log and was not fed to its end, the oldest first."""
        rotated = [(file, _name(file)) for file in _rotated(path)]
        known = [
            number for number, (_, name) in enumerate(rotated) if name and self._feeder.positions.line(name)
        ]
        if not known:
            return
        # The last two that were begun: the one before the last may have been read on when the run ended.
        for number, (file, name) in enumerate(rotated[known[-2:][0] :], start=known[-2:][0]):
            fed = self._feeder.positions.line(name)
            if name and (number > known[-1] or fed) and _lines(file) > fed:
                yield file


class _Reading:
    """A log that is being followed: its tail, and how it is observed once it is known which it is."""

    def __init__(self, tail: Tail) -> None:
        self.tail = tail
        self.name = ""
        self.observer: Observer | None = None
        self.waiting: list[NumberedLine] = []
        self.left = False
        self.heard = time.monotonic()

    @property
    def quiet(self) -> float:
        return time.monotonic() - self.heard


#: Head lines kept while no other line has come.
_HEAD_LINES = 100


def _rotated(path: Path) -> list[Path]:
    """Return the files beside a log that have its name and an ending, in the order of their last changes."""
    found = []
    for file in path.parent.iterdir():
        if file.name.startswith(path.name) and file.name[len(path.name) :][:1] in (".", "-", "_"):
            try:
                found.append((file.stat().st_mtime_ns, file))
            except OSError:
                continue  # it was renamed or removed just now
    return [file for _, file in sorted(found)]


def _name(path: Path) -> str:
    """Return a log's fingerprint, "" where it has none or can't be read."""
    try:
        with LogFile(str(path)) as found:
            first = found.first
    except LogFileError:
        return ""
    return fingerprint(first) if first is not None else ""


def _lines(path: Path) -> int:
    try:
        with LogFile(str(path)) as found:
            return sum(1 for _ in found)
    except LogFileError:
        return 0


#: Seconds between two lines of progress.
LINE_SECONDS = 5.0


class _Progress:
    """Writes how far a log was read, every few seconds."""

    def __init__(self, out: TextIO, counts: Counts) -> None:
        self._out = out
        self._counts = counts
        self._last = time.monotonic()

    def reads(self, part: float | None) -> None:
        """Write how far it is, if it is time."""
        self._write(f", {part:.0%} of the log" if part is not None else "")

    def waits(self, why: str) -> None:
        """Write what is waited for, if it is time."""
        self._write(f"; {why}")

    def _write(self, more: str) -> None:
        now = time.monotonic()
        if now - self._last >= LINE_SECONDS:
            self._last = now
            self._out.write(f"{self._counts.lines} lines read{more}\n")
            self._out.flush()


def feed_alone(settings: Settings, sources: Sequence[str], follow: bool = False) -> tuple[Counts, bool]:
    """Feed logs, or follow them until Ctrl-C or SIGTERM; return what became of their lines, and whether it was
    such a signal that ended it.

    Raises `JournalInUseError` while a crawl runs on the directory.
    """
    if follow:
        check_followed(sources)
    make_directory(settings.data)
    observer = Observer(settings.observe, user_key(settings.observe, settings.data / KEY_FILE))
    return observer.counts, asyncio.run(_feed(settings, observer, sources, follow=follow))


async def _feed(settings: Settings, observer: Observer, sources: Sequence[str], *, follow: bool) -> bool:
    async with connect(settings) as bus:
        positions = await read_positions(bus, observer.reading)
        progress = _Progress(sys.stderr, observer.counts)
        room: Room = _nobody
        if settings.on_kafka:
            room = downstream(settings, bus.partitions(ACCESSES.name), progress.waits)
        feeder = Feeder(observer, bus, positions, room, progress.reads)
        if follow:
            return await _follow(feeder, sources)
        for source in sources:
            await feeder.feed(source)
    return False


async def _nobody() -> None:
    """Wait for nobody: nobody takes the accesses in before a crawl runs."""


async def _follow(feeder: Feeder, sources: Sequence[str]) -> bool:
    work = asyncio.ensure_future(Following(feeder, sources).run())
    with told_to_end(work.cancel), suppress(asyncio.CancelledError):
        await work
    return True
