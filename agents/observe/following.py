"""Feeding logs without a crawl, and following live logs through rotation and from run to run."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from scentline.agents.observe.agent import BATCH, Feeder, read_positions
from scentline.agents.observe.logfile import LogFile, LogFileError, NumberedLine, Tail, fingerprint
from scentline.agents.observe.observer import Counts, Observer
from scentline.agents.observe.pseudonym import KEY_FILE, user_key
from scentline.agents.signals import told_to_end
from scentline.agents.worker.connect import Downstream, Room, connect
from scentline.agents.worker.directory import make_directory
from scentline.models.accesslog.formats import LogFormatError
from scentline.models.errors import EventLog
from scentline.streams.inbox import PACK_FACTS
from scentline.streams.settings import ConfigurationError, Settings
from scentline.streams.topics import ACCESSES

#: Seconds between two polls of the logs when nothing is new, and between two lines of progress.
POLL_SECONDS, LINE_SECONDS = 0.25, 5.0
#: Seconds without a line after which a renamed log is done: servers write to it for a while.
QUIET_SECONDS = 60.0
#: Head lines kept while no other line has come.
_HEAD_LINES = 100

log = EventLog("observe")


def check_followed(sources: Sequence[str]) -> None:
    """Raise `ConfigurationError` for what can't be followed."""
    if "-" in sources:
        raise ConfigurationError("--follow: standard input is followed anyway; expected files, not -")


@dataclass(eq=False)
class _Reading:
    """A followed log: its tail, and its observer once the log is identified.

    ``left`` says that another log has its path now, ``heard`` when lines came last.
    """

    tail: Tail
    name: str = ""
    observer: Observer | None = None
    waiting: list[NumberedLine] = field(default_factory=list)
    left: bool = False
    heard: float = field(default_factory=time.monotonic)


class Following:
    """Follows logs by their paths, all at once, without end; feeds a compressed log once.

    Rotated files beside a log, with its name and a suffix, are fed from the one that an earlier run began.
    """

    def __init__(self, feeder: Feeder, sources: Sequence[str]) -> None:
        self._feeder = feeder
        self._paths = [Path(source) for source in sources]
        self._read: list[_Reading] = []

    async def run(self) -> None:
        """Follow until cancelled; raises `LogFileError` where a log can't be opened at the start."""
        try:
            for path in self._paths:
                with LogFile(str(path)) as found:
                    compressed = found.compressed
                if compressed:
                    await self._feeder.feed(str(path))
                    continue
                for rotated in self._unread(path):
                    await self._finish(rotated)
                self._read.append(_Reading(Tail(path)))
            while True:
                if not any([await self._step(reading) for reading in list(self._read)]):
                    await asyncio.sleep(POLL_SECONDS)
        finally:
            for reading in self._read:
                reading.tail.close()

    async def _step(self, reading: _Reading) -> bool:
        """Send a log's new lines; return whether there was any change."""
        tail = reading.tail
        lines = tail.read()
        if lines is None:
            await self._truncated(reading)
        elif lines:
            await self._send(reading, lines)
        elif not reading.left and tail.moved and tail.path.exists():
            reading.left = True
            self._read.append(_Reading(Tail(tail.path)))
        else:
            if reading.left and time.monotonic() > reading.heard + QUIET_SECONDS:
                await self._send(reading, tail.last())
                self._forget(reading)
            return False
        return True

    async def _truncated(self, reading: _Reading) -> None:
        """Restart a truncated log; the lines that were not read in time are in its rotated copy, if any."""
        self._forget(reading)
        if not reading.left:
            self._read.append(_Reading(Tail(reading.tail.path)))
        for rotated in _rotated(reading.tail.path):
            if reading.name and _name(rotated) == reading.name:
                await self._finish(rotated)

    async def _send(self, reading: _Reading, lines: list[NumberedLine]) -> None:
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
        """Feed a log that is no longer written to; log a warning for a broken or missing one."""
        try:
            await self._feeder.feed(str(path))
        except (LogFileError, LogFormatError) as error:
            log.warning(str(error), log=path.name)

    def _forget(self, reading: _Reading) -> None:
        reading.tail.close()
        self._read.remove(reading)

    def _unread(self, path: Path) -> Iterator[Path]:
        """Yield a log's rotated files that were not fed to their end, the oldest first."""
        rotated = [(file, _name(file)) for file in _rotated(path)]
        fed = [self._feeder.positions.line(name) if name else 0 for _, name in rotated]
        begun = [number for number, line in enumerate(fed) if line]
        # From the last two begun: the one before the last may still have been read when the run ended.
        for number in range(begun[-2:][0], len(rotated)) if begun else ():
            file, name = rotated[number]
            if name and (number > begun[-1] or fed[number]) and _lines(file) > fed[number]:
                yield file


def _rotated(path: Path) -> list[Path]:
    """Return the files beside a log that have its name and a suffix, in the order of their last changes."""
    found = []
    for file in path.parent.iterdir():
        if file.name.startswith(path.name) and file.name[len(path.name) :][:1] in (".", "-", "_"):
            with suppress(OSError):  # it was renamed or removed just now
                found.append((file.stat().st_mtime_ns, file))
    return [file for _, file in sorted(found)]


def _name(path: Path) -> str:
    """Return a log's fingerprint, "" where it has none or can't be read."""
    with suppress(LogFileError), LogFile(str(path)) as found:
        return fingerprint(found.first) if found.first is not None else ""
    return ""


def _lines(path: Path) -> int:
    with suppress(LogFileError), LogFile(str(path)) as found:
        return sum(1 for _ in found)
    return 0


# without a crawl


def feed_alone(settings: Settings, sources: Sequence[str], follow: bool = False) -> tuple[Counts, bool]:
    """Feed logs, or follow them until Ctrl-C or SIGTERM; return the counts of their lines, and whether such a
    signal ended it.

    Raises `JournalInUseError` while a crawl runs on the directory.
    """
    if follow:
        check_followed(sources)
    make_directory(settings.data)
    observer = Observer(settings.observe, user_key(settings.observe, settings.data / KEY_FILE))
    asyncio.run(_feed(settings, observer, sources, follow=follow))
    return observer.counts, follow


async def _feed(settings: Settings, observer: Observer, sources: Sequence[str], *, follow: bool) -> None:
    tell = _progress(observer.counts)
    async with connect(settings) as bus:
        positions = await read_positions(bus, observer.reading)
        room: Room = nobody
        if settings.on_kafka:
            batch = bus.partitions(ACCESSES.name) + BATCH // PACK_FACTS  # packs at most
            room = Downstream(settings, batch, lambda why: tell(f"; {why}")).room
        feeder = Feeder(
            observer, bus, positions, room,
            lambda part: tell("" if part is None else f", {part:.0%} of the log"),
        )  # fmt: skip
        if follow:
            work = asyncio.ensure_future(Following(feeder, sources).run())
            with told_to_end(work.cancel), suppress(asyncio.CancelledError):
                await work
            return
        for source in sources:
            await feeder.feed(source)


async def nobody() -> None:
    """Return at once: no agent absorbs the accesses before a crawl runs."""


def _progress(counts: Counts) -> Callable[[str], None]:
    """Return a function that writes how many lines were read, and more, if it is time."""
    last = time.monotonic()

    def tell(more: str) -> None:
        nonlocal last
        if time.monotonic() >= last + LINE_SECONDS:
            last = time.monotonic()
            sys.stderr.write(f"{counts.lines} lines read{more}\n")
            sys.stderr.flush()

    return tell
