"""The observe agent: turns raw lines of proxy logs into accesses; so does the feeder of logs into a crawl.

The agent reads `proxy-log`; it keeps nothing; it writes `accesses`, and dead letters of malformed lines with
only place and reason. It acknowledges messages once their results were sent, every few milliseconds; after a
crash they are redelivered, and receivers drop the facts by their origins.

The feeder sends a log as packs of accesses by partition and dead letters, no faster than they are absorbed. How
far the log was fed goes to `standing` in one batch with them.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from scentline.agents.observe.logfile import LogFile, LogFileError, NumberedLine, arriving, fingerprint
from scentline.agents.observe.observer import Malformed, Observer
from scentline.agents.worker.connect import Room
from scentline.models.accesslog.entry import MAX_LINE
from scentline.models.errors import EventLog
from scentline.models.facts import Access
from scentline.models.records import Decoder, LogPosition, RecordError, encode, partition_of
from scentline.streams.attempts import Place, bury
from scentline.streams.inbox import Message, Outbox
from scentline.streams.metrics import Reading
from scentline.streams.metrics.catalogue import LINES, TAKEN
from scentline.streams.runtime import Broadcast, Bus, Runtime
from scentline.streams.topics import ACCESSES, PROXY_LOG, STANDING

#: Accesses and dead letters of a batch, and lines after which it ends though it holds little.
BATCH, BATCH_LINES = 500, 20_000
KIND = b"log"  #: How keys of positions begin.

log = EventLog("observe")


class ObserveAgent:
    """Observes the lines that log shippers write; each partition is a log of its own.

    What earlier lines of a partition said (a head line of the W3C format, who requested robots.txt) is known
    until the process ends.
    """

    def __init__(self, runtime: Runtime, observer: Observer) -> None:
        self._runtime = runtime
        self._observers: dict[int, Observer] = {}
        self.observer = observer
        self._outboxes: dict[int, Outbox] = {}
        self._events: list[Any] = []
        self._timer: asyncio.TimerHandle | None = None
        self._lock = asyncio.Lock()
        self._taken = runtime.metrics.counter(TAKEN).labels(PROXY_LOG.name)
        runtime.watch(self._measure)
        runtime.watch_lag(PROXY_LOG)
        runtime.read(PROXY_LOG, "observe", self._run)

    async def _run(self, stream: Any) -> None:
        limits = self._runtime.settings.streams
        async for event in stream.noack().events():
            self.take(event.message)
            self._events.append(event)
            if len(self._events) >= limits.group_messages:
                await self.flush()
            elif self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(
                    limits.group_seconds, lambda: self._runtime.spawn(self.flush())
                )

    def take(self, message: Any) -> None:
        """Observe one line; quarantine one that raises, without quoting it."""
        partition, place = message.partition, Place(PROXY_LOG.name, message.partition, message.offset)
        outbox = self._outboxes.get(partition)
        if outbox is None:
            outbox = self._outboxes[partition] = Outbox(f"{PROXY_LOG.name}/{partition}")
            self._observers[partition] = self.observer.another()
        outbox.begin(message.offset)
        reason = self._runtime.deadly(place)
        if not reason:
            with self._runtime.attempts.taking(place):
                try:
                    # A shipper may send an empty message, without a line.
                    self._observe(outbox, place, message.value or b"")
                except Exception as error:
                    reason = self._runtime.quarantine(place, error)
        if reason:
            bury(outbox, place, b"", reason, "quarantine", self._runtime.clock())

    def _observe(self, outbox: Outbox, place: Place, line: bytes) -> None:
        seen = self._observers[place.partition].observe(line)
        if isinstance(seen, Access):
            outbox.emit(ACCESSES.name, self._runtime.partition(ACCESSES, seen.user), seen)
        elif isinstance(seen, Malformed) and seen.told:
            self._runtime.bury(outbox, place, b"", seen.reason, "line")

    async def flush(self) -> None:
        """Send the gathered results and acknowledge their messages."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        async with self._lock:
            events, self._events = self._events, []
            messages = [m for outbox in self._outboxes.values() if outbox.gathered for m in outbox.take()]
            if messages:
                await self._runtime.bus.send_all(messages)
            for event in events:
                event.ack()
            self._taken.inc(len(events))

    def _measure(self, reading: Reading) -> None:
        """Report the outcomes of all logs' lines, including the logs that this process feeds."""
        counts = self.observer.counts
        reading.add(LINES, counts.accepted, "accepted")
        reading.add(LINES, sum(counts.filtered.values()), "filtered")
        reading.add(LINES, counts.malformed, "malformed")


# feeding logs, each line once


class Batch(NamedTuple):
    """The messages of consecutive lines of a log, up to and including ``line`` (counted from 1).

    ``whole`` is the last complete line: one without an end may still be written to.
    """

    line: int
    whole: int
    messages: list[Message]


def packs(
    observer: Observer,
    lines: Iterable[NumberedLine],
    partitions: int,
    source: str,
    size: int = BATCH,
    name: str = "log",
    now: Callable[[], float] = time.time,
    after: int = 0,
) -> Iterator[Batch]:
    """Observe numbered ``lines`` and yield batches of ``size`` accesses and letters, of at most 20,000 lines.

    Lines up to the number ``after`` were sent before: they are only observed, since later lines depend on them.
    Origins are line numbers in the stream ``source``, the log's fingerprint. ``name`` is the log's in dead
    letters, which never quote a line, since it identifies its user. A `LogFileError` of ``lines`` is raised
    after the batch of the lines before it.
    """
    outbox, gathered, done, number, line = Outbox(source), 0, 0, 0, b""
    broken: LogFileError | None = None
    try:
        for number, line in lines:
            observed = observer.observe(line)
            if number > after and isinstance(observed, Access):
                outbox.begin(number)
                outbox.emit(ACCESSES.name, partition_of(observed.user, partitions), observed)
                gathered += 1
            elif number > after and isinstance(observed, Malformed) and observed.told:
                long = f" (line of {len(line)} bytes)" if len(line) <= MAX_LINE else ""
                bury(outbox, Place(name, 0, number), b"", f"{observed.reason}{long}", "line", now())
                gathered += 1
            if gathered == size or number % BATCH_LINES == 0:
                yield Batch(number, _whole(number, line), outbox.take())
                gathered, done = 0, number
    except LogFileError as error:
        broken = error
    if number > done:
        yield Batch(number, _whole(number, line), outbox.take())
    if broken is not None:
        raise broken


def _whole(number: int, line: bytes) -> int:
    return number if line.endswith(b"\n") or len(line) > MAX_LINE else number - 1


class Positions:
    """The positions of all logs; each holds only for the settings that the log was read by (``reading``)."""

    def __init__(self, reading: str) -> None:
        self._reading = reading
        self._lines: dict[str, int] = {}
        self._decode = Decoder[LogPosition](LogPosition)

    def hear(self, key: bytes | None, value: bytes | None) -> None:
        """Apply a message of `standing` if it is a log's position."""
        kind, _, name = (key or b"").partition(b" ")
        if kind == KIND and value is not None:
            try:
                position = self._decode(value)
            except RecordError as error:
                log.warning("skipped a log's position that can't be read", reason=str(error))
                return
            line = position.line if position.reading == self._reading else 0
            self._lines[name.decode(errors="replace")] = line

    def line(self, name: str) -> int:
        """Return the number of the last line fed of the log with this fingerprint, 0 for none."""
        return self._lines.get(name, 0)

    def passed(self, name: str, line: int) -> list[Message]:
        """Note that a log was fed up to a line; return the message that says so, if the line is new."""
        if line <= self.line(name):
            return []
        self._lines[name] = line
        position = LogPosition(line=line, reading=self._reading)
        return [(STANDING.name, 0, b"%s %s" % (KIND, name.encode()), encode(position))]


async def read_positions(bus: Bus, reading: str) -> Positions:
    """Return the current positions of all logs."""

    def fail(error: BaseException) -> None:
        raise error

    positions = Positions(reading)
    broadcast = Broadcast(bus, STANDING.name, positions.hear, fail)
    await broadcast.start()
    await broadcast.stop()
    return positions


class Feeder:
    """Sends the accesses of logs to the browse agent and their malformed lines to the dead letters.

    ``room`` waits until the accesses' reader has room; ``progress`` is called with the share of the log that
    was read, None where unknown. A log that was fed before is still read from its start: lines depend on
    earlier ones.
    """

    def __init__(
        self,
        observer: Observer,
        bus: Bus,
        positions: Positions,
        room: Room,
        progress: Callable[[float | None], None],
    ) -> None:
        self.observer = observer
        self.positions = positions
        self._bus = bus
        self._room = room
        self._progress = progress

    async def feed(self, source: str) -> None:
        """Feed a log to its end; "-" is standard input.

        Raises `LogFileError` where the log can't be read (to its end), `LogFormatError` for an unknown format.
        """
        live = source == "-"
        # Its first lines may be as slow to arrive as any other.
        with await anext(arriving(map(LogFile, [source]))) if live else LogFile(source) as lines:
            if lines.first is None:
                log.warning("the log is empty", log=Path(source).name)
                return
            observer = self.observer.another()
            observer.recognise(lines.sample)
            name = fingerprint(lines.first)
            async for chunk in arriving(lines.blocks()) if live else _at_once(lines):
                async for _ in self.send(observer, chunk, name, lines.name):
                    self._progress(lines.consumed / lines.size if lines.size else None)

    async def send(
        self, observer: Observer, lines: Iterable[NumberedLine], name: str, called: str
    ) -> AsyncIterator[Batch]:
        """Observe lines of the log with the fingerprint ``name``, send the results, yield each batch."""
        partitions = self._bus.partitions(ACCESSES.name)
        sent = self.positions.line(name)
        for batch in packs(observer, lines, partitions, name, name=called, after=sent):
            await self._room()
            messages = batch.messages + self.positions.passed(name, batch.whole)
            if messages:
                await self._bus.send_all(messages)
            yield batch
            await asyncio.sleep(0)


async def _at_once(lines: LogFile) -> AsyncIterator[Iterable[NumberedLine]]:
    """Yield the lines of a file as one chunk: they never keep a reader waiting."""
    yield lines
