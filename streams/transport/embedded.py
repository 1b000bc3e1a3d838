"""The embedded log's bus, and its transport for Faust: a journal in this process.

The broker's URL is ``embedded:///ABSOLUTE/DIRECTORY``. One process reads every partition of
``DIRECTORY/journal``; the consumer group is the app's id.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import faust
from faust.fixups import FIXUPS
from faust.sensors import Monitor
from faust.serializers import codecs
from faust.tables import TableManager
from faust.transport import base
from faust.transport.consumer import Consumer as FaustConsumer
from faust.transport.drivers import TRANSPORTS
from faust.transport.producer import Producer
from faust.types import TP, AppT, ConsumerMessage
from faust.types.assignor import LeaderAssignorT
from mode import Service

from scentline.streams.inbox import Message
from scentline.streams.settings import Settings
from scentline.streams.topics import APP_ID
from scentline.streams.transport.database import Entry, Record
from scentline.streams.transport.journal import Journal, OneBatch, finish

#: Bounds of one poll, shared by the partitions that have records; each gives at least one. The records fit in
#: the fifth of an agent's buffer that is left when Faust calls it full: else one agent blocks all.
POLL_RECORDS = 400
POLL_BUFFER_SHARE = 8
POLL_BYTES = 8 * 1024 * 1024
POLL_SECONDS = 1.0  #: Seconds that a poll waits for a record at most.

CLEAN_SECONDS = 60.0  #: Seconds between two removals of expired records: they may stay that much longer.


class Offering(FaustConsumer):
    """Offers records to the agents; while all of them are full, waits until one has room."""

    async def _idle(self, active: Iterable[TP], timeout: float) -> None:
        """Return when an active partition may have records, others became active, or after the timeout."""
        raise NotImplementedError

    def _wake(self) -> None:
        """End an `_idle`."""
        raise NotImplementedError

    def _new_offset(self, tp: TP) -> int | None:
        """Return up to where all is acknowledged; Faust passes one message there that is not."""
        waits = self._acked[tp] and min(self._acked[tp]) > (self._committed_offset[tp] or 0)
        return None if waits else super()._new_offset(tp)

    def on_buffer_drop(self, tp: TP) -> None:
        """An agent has room again: read its partition on at once."""
        super().on_buffer_drop(tp)
        self._wake()

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """Read the partitions again, at once."""
        super().resume_partitions(tps)
        self._wake()

    async def create_topic(self, *_: Any, **__: Any) -> None:
        """Do nothing: topics are made before, each with its configuration."""

    async def _wait_next_records(self, timeout: float) -> tuple[Any, Any]:
        active = self._get_active_partitions()
        if self.flow_active and not active:
            # every buffer is full: Faust's own consumer sleeps a second here
            await self._idle(active, timeout)
            return {}, active
        found: tuple[Any, Any] = await super()._wait_next_records(timeout)
        return found

    async def _offer(self, records: Mapping[TP, list[Entry]]) -> None:
        """Hand records over, each partition in turn, while the partitions are this worker's."""
        generation = self.app.consumer_generation_id
        for tp, record in self.scheduler.iterate(records):
            if not self.flow_active or self.app.consumer_generation_id != generation:
                break
            await self.callback(self._to_message(tp, record))

    def _to_message(self, tp: TP, record: Entry) -> ConsumerMessage:
        return ConsumerMessage(
            topic=tp.topic,
            partition=tp.partition,
            offset=record.offset,
            timestamp=record.timestamp,
            timestamp_type=0,
            headers=[],
            key=record.key,
            value=record.value,
            checksum=None,
            serialized_key_size=len(record.key or b""),
            serialized_value_size=len(record.value or b""),
            tp=tp,
            generation_id=self.app.consumer_generation_id,
        )


class Consumer(Offering):
    """Reads the assigned partitions of the journal; wakes at once when one of them gets a record."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._assigned: set[TP] = set()
        self._positions: dict[TP, int] = {}
        self._generation = 0
        self._idling: asyncio.Future[None] | None = None

    async def on_start(self) -> None:
        self._journal = Journal.open(self.transport.path)
        await super().on_start()
        self.add_future(self._clean())

    async def on_shutdown(self) -> None:
        await super().on_shutdown()
        self._journal.close()

    # assignment

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Assign every partition of the topics to this worker."""
        assigned = {TP(name, number) for name in topics for number in range(self._journal.partitions(name))}
        if assigned != self._assigned:
            # a rebalance waits for this call's return: it must run beside it
            self.add_future(self._rebalance(assigned))

    async def _rebalance(self, assigned: set[TP]) -> None:
        self.app.on_rebalance_start()
        if self._assigned:
            await self.on_partitions_revoked(set(self._assigned))
        self._assigned = assigned
        # Faust resumes partitions before it seeks: nothing may be read of one that has no position yet
        self._positions = {}
        self.app.assignor.assigned = frozenset(assigned)
        self._generation += 1
        # Faust silently drops events of another generation
        self.app.consumer_generation_id = self._generation
        await self.on_partitions_assigned(set(assigned), self._generation)

    def assignment(self) -> set[TP]:
        return set(self._assigned)

    # positions

    def _not_asked(self, *_: Any) -> Any:
        """Faust calls this only for tables and producers, and has neither on this log."""
        raise NotImplementedError

    topic_partitions = key_partition = position = _not_asked
    highwater = highwaters = earliest_offsets = seek_wait = _seek = _not_asked

    async def seek_to_committed(self) -> Mapping[TP, int]:
        positions = {tp: self._resumption(tp) for tp in self._assigned}
        self._positions.update(positions)
        self._wake()
        return positions

    def _resumption(self, tp: TP) -> int:
        return max(self._journal.start(*tp), self._journal.committed(self.app.conf.id, *tp) or 0)

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        group, journal = self.app.conf.id, self._journal
        # A stateful agent's offsets are written with its groups.
        news = {tp: offset for tp, offset in offsets.items() if journal.committed(group, *tp) != offset}
        if news:
            journal.commit(group, news)
        return True

    # reading

    def _new_topicpartition(self, topic: str, partition: int) -> TP:
        return TP(topic, partition)

    async def _drain_messages(self, fetcher: Any) -> None:
        """Hand records over until Faust stops; its own loop starts four tasks per message."""
        while not (self.should_stop or fetcher.should_stop):
            records, _ = await self._wait_next_records(POLL_SECONDS)
            await self._offer(records)
            await asyncio.sleep(0)

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Mapping[TP, list[Entry]]:
        active = self._assigned if active_partitions is None else active_partitions
        ready = self._ready(active)
        if not ready:
            await self._idle(active, timeout)
            ready = self._ready(active)
        return self._poll(ready)

    def _ready(self, active: Iterable[TP]) -> list[TP]:
        return [TP(*place) for place in self._journal.beyond(self._positions, active)]

    def _poll(self, ready: Sequence[TP]) -> dict[TP, list[Entry]]:
        limit = min(POLL_RECORDS, self.app.conf.stream_buffer_maxsize // POLL_BUFFER_SHARE)
        records: dict[TP, list[Entry]] = {}
        for tp in ready:
            topic, partition = tp
            entries = self._journal.read(
                topic, partition, self._positions[tp], 1 + limit // len(ready), POLL_BYTES // len(ready)
            )
            if entries:
                records[tp] = entries
            self._positions[tp] = entries[-1].offset + 1 if entries else self._journal.end(topic, partition)
        return records

    async def _idle(self, active: Iterable[TP], timeout: float) -> None:
        """Return after the next append to an active partition, a change of what is active, or the timeout."""
        loop = asyncio.get_running_loop()
        self._idling = future = loop.create_future()
        timer = loop.call_later(timeout, finish, future)
        try:
            await self._journal.join(future, active)
        finally:
            timer.cancel()
            self._idling = None

    def _wake(self) -> None:
        if self._idling is not None:
            finish(self._idling)

    # a group of one

    def in_session(self) -> bool:
        return True

    async def gone(self, tp: Any, due: int, offset: int) -> bool:
        return True

    def rejoin(self) -> None:
        """Do nothing."""

    # cleaning

    async def _clean(self) -> None:
        now = ageing()
        while not self.should_stop:
            await self.sleep(CLEAN_SECONDS)
            self._journal.drop_expired(now())


def ageing(
    wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
) -> Callable[[], float]:
    """Return the clock by which records age: it does not follow a wall clock that is set ahead."""
    ahead = wall() - steady()
    return lambda: min(wall(), steady() + ahead)


class Assignor:
    """Reports to Faust what `Consumer` assigned; its own assignor needs a round of Kafka's protocol."""

    def __init__(self, app: AppT, replicas: int = 0) -> None:
        self.assigned: frozenset[TP] = frozenset()

    def assigned_actives(self) -> set[TP]:
        return set(self.assigned)

    def assigned_standbys(self) -> set[TP]:
        return set()


class Leader(Service, LeaderAssignorT):
    """Reports to Faust that this worker leads: it is the only one."""

    def __init__(self, app: AppT, **given: Any) -> None:
        super().__init__(**given)
        self.app = app

    def is_leader(self) -> bool:
        return True


SCHEME = "embedded"


class Tables(TableManager):
    """Faust's tables, which do not wait a second for further ones: all exist before an app starts."""

    async def sleep(self, n: Any) -> None:
        """Return at once; the tables sleep only at their start."""


class Rebalances(Monitor):
    """Faust's monitor without messages: counting them takes 1 % of a page's time, and nothing reads it."""

    def _ignore(self, *_: Any) -> None: ...

    on_message_in = on_stream_event_in = on_stream_event_out = on_message_out = _ignore


class Transport(base.Transport):
    """The transport of a broker URL ``embedded:///ABSOLUTE/DIRECTORY``; its producer sends nothing."""

    Consumer = Consumer
    Producer = Producer
    driver_version = SCHEME
    default_port = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.path = journal_path(self.url)


def journal_path(urls: Sequence[Any]) -> Path:
    """Return the directory of the journal that a broker URL names. Raises `ValueError`."""
    if len(urls) != 1 or urls[0].host or not urls[0].path.strip("/"):
        shown = ";".join(map(str, urls))
        raise ValueError(f"broker {shown}: expected {SCHEME}:///ABSOLUTE/DIRECTORY")
    return Path(urls[0].path) / "journal"


def create_app(settings: Settings, name: str = APP_ID, **of_log: Any) -> faust.App:
    """Return an app without agents, on the embedded log unless ``of_log`` has the options of another one."""
    known: tuple[Any, ...] = (FIXUPS, TRANSPORTS)
    for drivers in known:
        drivers.namespaces.clear()  # Faust would look through all installed packages for more, once for each
    codecs._extensions_finalized["faust.codecs"] = True  # as above
    TRANSPORTS.aliases.setdefault(SCHEME, f"{__name__}:Transport")
    embedded = {
        "broker": settings.broker, "store": "memory://",  # Faust has no table here
        "topic_replication_factor": 1, "PartitionAssignor": Assignor, "LeaderAssignor": Leader,
        "Monitor": Rebalances,
    }  # fmt: skip
    return faust.App(
        name,
        TableManager=Tables,
        datadir=str(settings.data.resolve()),
        autodiscover=False,
        web_enabled=False,
        key_serializer="raw",
        value_serializer="raw",
        topic_partitions=settings.streams.partitions,
        broker_commit_interval=settings.streams.commit_seconds,
        # An uncommitted group comes again: a stop or a rebalance need not wait for it.
        stream_wait_empty=False,
        # Counted in messages, and one may be a page of megabytes.
        stream_buffer_maxsize=256,
        stream_recovery_delay=0.0,
        # Topics are made before, by `scentline topics create` or with the data directory, each configured.
        topic_allow_declare=False,
        topic_disable_leader=True,
        **(of_log or embedded),
    )


async def watch(app: faust.App, fail: Callable[[BaseException], None]) -> None:
    """Call ``fail`` when an app crashes: it would stop without a word."""
    await app.wait_until_stopped()
    if app.crashed:
        fail(app.crash_reason or RuntimeError(f"{app.conf.id} ended"))


class JournalBus:
    """The bus of a journal in this process; ``clock`` returns the time of day in seconds.

    All roles share one ``app``, whose messages never leave the process. The journal's opener closes it.
    """

    def __init__(
        self, journal: Journal, clock: Callable[[], float] = time.time, app: faust.App | None = None
    ) -> None:
        self.journal = journal
        self.partitions, self.wait = journal.partitions, journal.wait
        self._clock = clock
        self._app = app

    def app(self, role: str) -> faust.App:
        assert self._app is not None, "only who runs roles has an app"
        return self._app

    def lost_seconds(self) -> float:
        return 0.0

    async def send_all(self, entries: Sequence[Message]) -> None:
        self.journal.append_all(entries, self._clock())

    async def take_over(self, topic: str, partition: int) -> None:
        """Do nothing: a journal has one writer."""

    def release(self, topic: str, partition: int) -> None:
        """Do nothing: nothing is in flight in a journal."""

    async def append_batch(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        return self.journal.append_batch(topic, partition, records, self._clock())

    async def fetch(self, topic: str, partition: int, offset: int, limit: int) -> Sequence[Entry]:
        return self.journal.read(topic, partition, offset, limit)

    async def ends(self, topic: str) -> Mapping[int, int]:
        return {number: self.journal.end(topic, number) for number in range(self.partitions(topic))}

    def committer(self, app: faust.App, table: str, topic: str) -> OneBatch:
        return OneBatch(self.journal, app.conf.id, table, topic, self._clock)
