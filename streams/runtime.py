"""What every agent runs with: app, settings, clock, metrics, and the bus, its connection to the log.

`Broadcast` applies a topic's records in every worker.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from scentline.models.errors import EventLog, ScentlineError, cause, quarantinable
from scentline.models.records import partition_of
from scentline.streams.attempts import Attempts, Place, Why, bury
from scentline.streams.inbox import Committer, Message, Outbox
from scentline.streams.metrics import Metrics, Reading
from scentline.streams.metrics.catalogue import DEAD_LETTERS, LAG, PARTITIONS
from scentline.streams.settings import Settings
from scentline.streams.topics import Topic
from scentline.streams.transport.database import Entry, Record

if TYPE_CHECKING:  # most commands read only what a crawl has kept, and Faust takes half a second to import
    import faust

STEP_RECORDS = 500  #: Records of a broadcast applied before other tasks get their turn.
WHY_ANY: tuple[Why, ...] = ("unreadable", "version", "quarantine")  #: Why a message of any topic may be buried.
ENDS_SECONDS = 2.0  #: Seconds that the log may take to return a topic's ends.
Ends = Callable[[str], Awaitable[Mapping[int, int]]]  #: Returns what `Bus.ends` does.
Work = Callable[[Any], Coroutine[Any, Any, None]]  #: An agent's body: it reads its stream without end.

log = EventLog("runtime")


class FencedError(ScentlineError):
    """Another writer has claimed the partition since: this one may no longer write there."""

    explains_itself = False


class Bus(Protocol):
    """A connection to a log with every topic made: the embedded one, or Kafka."""

    def app(self, role: str) -> "faust.App":
        """Return the Faust app that a role runs in; several roles may share one."""

    def lost_seconds(self) -> float:
        """Return for how long the log has not answered, 0 while it does; from any thread."""

    def partitions(self, topic: str) -> int:
        """Return the number of partitions of a topic."""

    async def send_all(self, entries: Sequence[Message]) -> None:
        """Send messages (topic, partition, key, value); return when the log has them."""

    async def take_over(self, topic: str, partition: int) -> None:
        """Become the writer of a partition's batches: after its first one, earlier writers are refused."""

    def release(self, topic: str, partition: int) -> None:
        """Give a partition up; appends in flight there end with `FencedError`."""

    async def append_batch(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        """Append records, all or none; return the first offset. Raises `FencedError` after a later claim."""

    def committer(self, app: "faust.App", table: str, topic: str) -> Committer:
        """Make the table and the committer of the stateful agent whose inbox is ``topic``."""

    async def fetch(self, topic: str, partition: int, offset: int, limit: int) -> Sequence[Entry]:
        """Return records from ``offset`` on, up to ``limit``; empty when none is kept from there to the end."""

    async def ends(self, topic: str) -> Mapping[int, int]:
        """Return the offset that the next record of each partition will have."""

    async def wait(self, positions: Mapping[tuple[str, int], int]) -> Mapping[tuple[str, int], int]:
        """Wait until one of the partitions, all of one topic, ends past its position; return the known ends."""


@dataclass
class Runtime:
    """What every agent runs with; the roles of a process share its ``metrics`` and ``attempts``."""

    app: "faust.App"
    settings: Settings
    bus: Bus
    fail: Callable[[BaseException], None]  #: Ends the program: no state may be written past the error.
    clock: Callable[[], float] = time.time
    metrics: Metrics = field(default_factory=Metrics)
    attempts: Attempts = field(default_factory=Attempts)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _brief: set[asyncio.Task[None]] = field(default_factory=set)
    _closed: bool = False

    def __post_init__(self) -> None:
        self._assignment = self.metrics.assignment(self.app)
        self._counts = cache(self.bus.partitions)  # once per link

    def partition(self, topic: Topic, key: str) -> int:
        """Return the partition of ``key`` in a topic."""
        count = self._counts(topic.name)
        return 0 if count == 1 else partition_of(key, count)

    def read(self, topic: Topic, name: str, work: Work) -> None:
        """Run ``work`` on a topic as the Faust agent ``name``; `faust.App.agent` would scan all modules."""
        for why in WHY_ANY:  # there at 0, so that the first one shows
            self.metrics.counter(DEAD_LETTERS).labels(topic.name, why)
        channel = self.app.topic(
            self.settings.named(topic.name), key_type=bytes, value_type=bytes, key_serializer="raw",
            value_serializer="raw", partitions=self.bus.partitions(topic.name),
        )  # fmt: skip
        agent: Any = self.app.conf.Agent
        self.app.agents[name] = agent(self.guarded(work), name=name, app=self.app, channel=channel)

    def bury(self, outbox: Outbox, place: Place, value: bytes, reason: str, why: Why) -> None:
        """Gather a dead letter for the message at ``place``, and count it."""
        bury(outbox, place, value, reason, why, self.clock())
        self.metrics.counter(DEAD_LETTERS).labels(place.topic, why).inc()

    def quarantine(self, place: Place, error: Exception) -> str:
        """Return why a message, or a fact of it, is quarantined; raise an error that is not its own."""
        if not quarantinable(error):
            raise error
        return self._quarantined(place, f"could not be taken in: {cause(error)}")

    def deadly(self, place: Place, noted: Place | None = None) -> str:
        """Return why a message that ended processes is quarantined, else an empty text."""
        deaths = self.attempts.deaths(noted or place)
        if deaths < self.settings.streams.deaths:
            return ""
        return self._quarantined(place, f"{deaths} processes ended while it was taken in")

    def _quarantined(self, place: Place, reason: str) -> str:
        self.metrics.counter(DEAD_LETTERS).labels(place.topic, "quarantine").inc()
        log.error("a message is quarantined", place=str(place), reason=reason)
        return reason

    def watch(self, read: Callable[[Reading], None]) -> None:
        """Call ``read`` to add its gauges at each scrape, except while partitions change hands."""

        async def source(reading: Reading) -> None:
            if self._assignment.settled:
                read(reading)

        self.metrics.watch(source)

    def watch_lag(self, topic: Topic, positions: Callable[[], Mapping[int, int]] | None = None) -> None:
        """Report at each scrape how many messages of an inbox wait from ``positions`` on.

        These are the next offsets of the held partitions: by default the first not acknowledged.
        """

        async def source(reading: Reading) -> None:
            if self._assignment.settled:
                held = self._unacknowledged(topic) if positions is None else positions()
                await read_lag(reading, topic.name, held, self.bus.ends)

        self.metrics.watch(source)

    def _unacknowledged(self, topic: Topic) -> Mapping[int, int]:
        consumer, name = self.app.consumer, self.settings.named(topic.name)
        held = [tp for tp in consumer.assignment() if tp.topic == name]
        # Faust has no public name for how far it has committed.
        return {tp.partition: consumer._committed_offset.get(tp) or 0 for tp in held}

    def guarded(self, work: Work) -> Work:
        """Return an agent's body that ends the program on an error, where Faust would skip the message."""

        async def run(stream: Any) -> None:
            try:
                await work(stream)
            except Exception as error:
                self.fail(error)
                await asyncio.Event().wait()  # until the app stops: nothing more is absorbed

        return run

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run ``work`` beside the agents; an error in it ends the program. Once closed, it never starts."""
        task = asyncio.ensure_future(work)
        if self._closed:
            task.cancel()  # of a message that came after: it comes again
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def finish(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work``, which ends soon, beside the agents; `close` waits for it."""
        self._brief.add(self.spawn(work))

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._brief.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)

    async def close(self) -> None:
        """Cancel what `spawn` started and still runs, and wait for what `finish` started."""
        self._closed = True
        tasks = list(self._tasks)
        for task in self._tasks - self._brief:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def read_lag(reading: Reading, topic: str, positions: Mapping[int, int], ends: Ends) -> None:
    """Add the held partitions of a topic, and the messages beyond ``positions`` if the log returns its ends.

    The ends are fetched: those that came with the last messages are stale where work piles up.
    """
    reading.add(PARTITIONS, len(positions), topic)
    # Whatever a transport may raise: the other figures are still worth reporting.
    with suppress(Exception):
        async with asyncio.timeout(ENDS_SECONDS):
            found = await ends(topic)
        waiting = (found[partition] - next_ for partition, next_ in positions.items())
        reading.add(LAG, sum(max(0, number) for number in waiting), topic)


async def every(seconds: float, tick: Callable[[], Awaitable[None]]) -> None:
    """Call ``tick`` again and again, ``seconds`` apart."""
    while True:
        await asyncio.sleep(seconds)
        await tick()


class Broadcast:
    """Applies every record of a topic from its start, then each new one; those of one key in their order.

    ``apply`` gets key and value, None for a deleted key. Its errors go to ``quarantine``, if given, with
    the record's place, and the next record follows unless that raises. An error while following goes to
    ``fail``, and ends it.
    """

    def __init__(
        self,
        bus: Bus,
        topic: str,
        apply: Callable[[bytes | None, bytes | None], None],
        fail: Callable[[BaseException], None],
        quarantine: Callable[[Place, Exception], object] | None = None,
    ) -> None:
        self._bus = bus
        self._topic = topic
        self._apply = apply
        self._fail = fail
        self._quarantine = quarantine
        self._positions: dict[int, int] = {}
        self._ends: Mapping[int, int] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Apply all that the topic holds at the call, raising errors; then follow it in a task."""
        ends = self._ends = await self._bus.ends(self._topic)
        self._positions = dict.fromkeys(ends, 0)
        while not self.reached(ends):
            await self._step()
        self._task = asyncio.create_task(self._follow(), name=f"broadcast of {self._topic}")

    def reached(self, ends: Mapping[int, int]) -> bool:
        """Return whether everything before these offsets, by partition, is applied."""
        return all(self._positions[partition] >= end for partition, end in ends.items())

    def behind(self) -> int:
        """Return how many known records are not applied yet, including those lost to compaction."""
        return sum(max(0, end - self._positions[partition]) for partition, end in self._ends.items())

    async def measure(self, reading: Reading) -> None:
        """Report how many messages wait for this worker."""
        reading.add(LAG, self.behind(), self._topic)

    async def stop(self) -> None:
        """Stop following."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _follow(self) -> None:
        try:
            while True:
                places = {(self._topic, partition): at for partition, at in self._positions.items()}
                ends = await self._bus.wait(places)
                self._ends = {partition: end for (_, partition), end in ends.items()}
                await self._step()
        except Exception as error:
            self._fail(error)

    async def _step(self) -> None:
        for partition, end in self._ends.items():
            position = self._positions[partition]
            if position >= end:
                continue
            entries = await self._bus.fetch(self._topic, partition, position, STEP_RECORDS)
            for entry in entries:
                try:
                    self._apply(entry.key, entry.value)
                except Exception as error:
                    if self._quarantine is None:
                        raise
                    self._quarantine(Place(self._topic, partition, entry.offset), error)
            self._positions[partition] = entries[-1].offset + 1 if entries else end
            await asyncio.sleep(0)
