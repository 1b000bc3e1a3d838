"""Fetching and reading: one long poll at a time to each broker, for all partitions that this process reads.

A poll costs a client about the same whatever it brings, so one serves all readers. The first record ends it. A
pause between two lets more gather under load; without load nothing waits.

A partition is polled further while its records wait to be taken, up to a bound. A position is the next offset
to fetch, not that of a record: compaction, and markers of others' transactions, leave offsets without one.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from operator import attrgetter
from typing import Any

from aiokafka import errors
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.structs import TopicPartition

from scentline.streams.settings import Settings
from scentline.streams.transport.database import Entry, Place
from scentline.streams.transport.journal import finish
from scentline.streams.transport.kafka.connection import GATHER_SECONDS, KafkaError, aiokafka_arguments, persist

#: Milliseconds that a broker waits for records; partitions wanted meanwhile are requested after that.
WAIT_MS = 100
#: Bytes that one poll brings of a partition, unless a single batch is larger, and of all.
PARTITION_BYTES, POLL_BYTES = 1024 * 1024, 50 * 1024 * 1024


class Feed:
    """A reader's progress through one partition.

    ``news`` is called after each answer that changes it, ``wanted`` when it wants more again.
    """

    def __init__(self, place: Place, start: int, news: Callable[[], None], wanted: Callable[[], None]) -> None:
        self.place = TopicPartition(*place)
        self.start = self.position = start  #: The offsets that are taken next, and fetched next.
        self.entries: list[Entry] = []  #: Fetched and not taken yet.
        self.end = -1  #: The offset after the last record, -1 while unknown.
        #: Whether the broker has nothing at the position: it expired, or was never there.
        self.out_of_range = False
        self.served = 0  #: The last poll that served it.
        self.news = news
        self._wanted = wanted
        self._bytes = 0

    @property
    def wanting(self) -> bool:
        """Whether more is to be fetched."""
        return self._bytes < PARTITION_BYTES and not self.out_of_range

    def stands_at(self, offset: int) -> bool:
        """Return whether the next record taken is the first from an offset on."""
        return self.start <= offset <= (self.entries[0].offset if self.entries else self.position)

    def take_in(self, batches: bytes, end: int) -> None:
        """Add the batches of a poll; an incomplete one at the end comes again."""
        before = (self.position, self.end)
        records = MemoryRecords(batches)
        self._bytes += len(batches)
        self.end = end
        while records.has_next():
            batch: Any = records.next_batch()
            if not batch.validate_crc():
                raise errors.CorruptRecordException(f"invalid checksum in {self.place}")
            if not batch.is_control_batch:
                self.entries += [
                    Entry(record.offset, record.timestamp / 1000, record.key, record.value)
                    for record in batch
                    if record.offset >= self.position
                ]
            self.position = max(self.position, batch.next_offset)
        if (self.position, self.end) != before:
            self.news()

    def take(self, limit: int | None = None) -> list[Entry]:
        """Remove and return the fetched records, ``limit`` at most."""
        found, self.entries = self.entries[:limit], ([] if limit is None else self.entries[limit:])
        self.start = found[-1].offset + 1 if self.entries else self.position
        if not self.entries:
            full, self._bytes = not self.wanting, 0
            if full:
                self._wanted()
        return found


class Reading:
    """The partitions of one reader, each with its feed."""

    def __init__(self, fetcher: "Fetcher") -> None:
        self._fetcher = fetcher
        self._feeds: dict[Place, Feed] = {}
        self._waiting: set[asyncio.Future[None]] = set()

    def __iter__(self) -> Iterator[Feed]:
        return iter(self._feeds.values())

    def get(self, place: Place) -> Feed | None:
        """Return the feed of a partition, if it is read."""
        return self._feeds.get(place)

    def go(self, place: Place, offset: int) -> Feed:
        """Read a partition from an offset on, and drop what was fetched before."""
        feed = self._feeds[place] = Feed(place, offset, self.wake, self._fetcher.look)
        self._fetcher.look()
        return feed

    def leave(self, places: Iterable[Place]) -> None:
        """Stop reading these partitions."""
        for place in places:
            self._feeds.pop(place, None)

    def clear(self) -> None:
        """Stop reading."""
        self._feeds.clear()

    async def take(self, places: Collection[Place], timeout: float) -> dict[Place, list[Entry]]:
        """Return the fetched records of these partitions, after one wait (`idle`) if there are none."""
        if not self._came(places):
            await self.idle(timeout)
        return {place: self._feeds[place].take() for place in self._came(places)}

    def _came(self, places: Iterable[Place]) -> list[Place]:
        return [place for place in places if (feed := self._feeds.get(place)) is not None and feed.entries]

    async def idle(self, timeout: float | None = None) -> None:
        """Return after news of any partition, `wake`, or the timeout in seconds; raises `KafkaError`."""
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        timer = None if timeout is None else loop.call_later(timeout, finish, waiter)
        self._waiting.add(waiter)
        try:
            if self._fetcher.failure is None:
                await waiter
        finally:
            self._waiting.discard(waiter)
            if timer is not None:
                timer.cancel()
        if self._fetcher.failure is not None:
            raise self._fetcher.failure

    def wake(self) -> None:
        """Wake all that wait in `idle`."""
        for waiter in self._waiting:
            finish(waiter)


class Fetcher:
    """Polls for all readers of this process. Use it from one event loop."""

    def __init__(self, settings: Settings) -> None:
        self.failure: KafkaError | None = None
        self._settings = settings
        self._readings: list[Reading] = []
        self._polls: dict[int, asyncio.Task[None]] = {}
        self._change = asyncio.Event()
        self._turn = 0
        self._client: AIOKafkaClient
        self._leading: asyncio.Task[None]

    async def start(self) -> None:
        """Connect."""
        self._client = AIOKafkaClient(**aiokafka_arguments(self._settings), client_id="scentline-fetcher")
        try:
            await self._client.bootstrap()
        except BaseException:
            await self._client.close()
            raise
        self._client.cluster.add_listener(lambda _: self.look())
        self._leading = asyncio.create_task(self._guarded(self._lead()), name="leaders of what is read")

    async def stop(self) -> None:
        """Disconnect."""
        tasks = (self._leading, *self._polls.values())
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await self._client.close()

    def reading(self) -> Reading:
        """Return a new reader; several of one partition read it in turn."""
        reading = Reading(self)
        self._readings.append(reading)
        return reading

    def look(self) -> None:
        """Check again what is wanted."""
        self._change.set()
        self._change.clear()

    async def _lead(self) -> None:
        """Poll each leader of a partition that is read."""
        while True:
            leaders = {self._leader(feed) for feed in self._feeds()}
            for leader in leaders - self._polls.keys():
                if leader is not None:
                    poll = self._guarded(self._poll_all(leader))
                    self._polls[leader] = asyncio.create_task(poll, name=f"polls to broker {leader}")
            if None in leaders:
                await persist(self._client, "looking for leaders", self._find_leaders)
            else:
                await self._change.wait()

    def _feeds(self) -> Iterator[Feed]:
        return (feed for reading in self._readings for feed in reading)

    def _leader(self, feed: Feed) -> int | None:
        leader: int | None = self._client.cluster.leader_for_partition(feed.place)
        return None if leader == -1 else leader

    async def _find_leaders(self) -> None:
        if any(self._leader(feed) is None for feed in self._feeds()):
            raise errors.LeaderNotAvailableError

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            self.failure = KafkaError(f"reading: {type(error).__name__}: {error}")
            for reading in self._readings:
                reading.wake()

    async def _poll_all(self, leader: int) -> None:
        while True:
            gathered = time.monotonic() + GATHER_SECONDS
            if await persist(self._client, f"reading from broker {leader}", lambda: self._poll(leader)):
                await asyncio.sleep(max(0.0, gathered - time.monotonic()))
            else:
                await self._change.wait()

    async def _poll(self, leader: int) -> bool:
        """Poll once if anything is wanted, and return whether it is; at its end raise a partition's error."""
        # A batch beyond the bound comes only if its partition is the first that has anything.
        feeds = (feed for feed in self._feeds() if feed.wanting and self._leader(feed) == leader)
        wanted = sorted(feeds, key=attrgetter("served"))
        if not wanted:
            return False
        asked: dict[TopicPartition, Feed] = {}
        for feed in wanted:
            asked.setdefault(feed.place, feed)
        failures: list[Exception] = []
        for topic, partitions in (await self._client.send(leader, _request(asked.values()))).topics:
            for partition, code, end, *_, batches in partitions:
                feed, error = asked[TopicPartition(topic, partition)], errors.for_code(code)
                if error is errors.NoError:
                    feed.take_in(batches, end)
                elif error is errors.OffsetOutOfRangeError:
                    feed.out_of_range = True
                    feed.news()
                else:
                    failures.append(error(f"{topic}/{partition}"))
                if batches or len(asked) < len(wanted):
                    feed.served = self._turn
        self._turn += 1
        if failures:
            raise failures[0]
        return True


def _request(feeds: Iterable[Feed]) -> FetchRequest:
    topics: dict[str, list[tuple[int, int, int]]] = {}
    for feed in feeds:
        topics.setdefault(feed.place.topic, []).append((feed.place.partition, feed.position, PARTITION_BYTES))
    return FetchRequest(WAIT_MS, 1, POLL_BYTES, 0, list(topics.items()))
