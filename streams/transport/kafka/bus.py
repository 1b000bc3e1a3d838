"""Kafka's bus: each role has an app, and a consumer group, of its own."""

import asyncio
import os
import socket
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Self

import faust
from aiokafka import AIOKafkaConsumer, errors
from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType
from aiokafka.protocol.transaction import InitProducerIdRequest
from aiokafka.structs import TopicPartition

from scentline.streams.inbox import Message
from scentline.streams.runtime import FencedError
from scentline.streams.settings import Settings
from scentline.streams.topics import TABLES, TOPICS, changelog_of, group_of
from scentline.streams.transport.commits import FourSteps
from scentline.streams.transport.database import Entry, Place, Record
from scentline.streams.transport.embedded import create_app
from scentline.streams.transport.kafka.connection import (
    OUTAGE,
    REQUEST_SECONDS,
    KafkaError,
    addresses,
    aiokafka_arguments,
    faust_credentials,
    persist,
    wait_for_topics,
)
from scentline.streams.transport.kafka.consumer import Transport
from scentline.streams.transport.kafka.fetcher import Feed, Fetcher
from scentline.streams.transport.kafka.lane import Lane, Wire, Writer, parts

CLAIM = b"\x00claim"  #: The key of a claim; its value names the claimant.
RECORDS_AT_ONCE = 1_000  #: Records that `KafkaBus.records` fetches at a time.


def role_app(settings: Settings, role: str) -> faust.App:
    """Return a role's app, with a consumer group of its own."""
    kafka = settings.kafka
    app = create_app(
        settings,
        settings.named(group_of(role)),
        store="memory://",  # Faust has no table here, whose recovery may apply a record without those before it
        broker=";".join(f"kafka://{address}" for address in addresses(settings.broker)),
        broker_credentials=faust_credentials(settings),
        broker_session_timeout=kafka.session_seconds,
        broker_heartbeat_interval=kafka.heartbeat_seconds,
        broker_request_timeout=max(REQUEST_SECONDS, 2 * kafka.session_seconds),
        consumer_auto_offset_reset="earliest",
        topic_replication_factor=kafka.replication,
    )
    app.transport = app.producer_transport = Transport(app.conf.broker_consumer, app)
    return app


class KafkaBus:
    """A broker's topics, for all roles of this process and one event loop.

    Entering connects, once a broker answers and has all topics; raises `KafkaError`. Topics go by the crawl's
    own names (`streams.settings.Settings.named`); feeds, lanes and requests use the broker's. A partition is
    read directly, in no consumer group, by one reader at a time.
    """

    _publishing: AIOKafkaClient
    _asking: AIOKafkaConsumer
    _writer: Writer

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._named = settings.named
        self._arguments = aiokafka_arguments(settings)
        self._apps: dict[str, faust.App] = {}
        self._counts: Mapping[str, int] = {}
        self._fetcher = Fetcher(settings)
        self._reading = self._fetcher.reading()
        self._followed: set[Place] = set()  #: Partitions that `wait` follows: they are read ahead.
        self._locks: defaultdict[Place, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._lanes: dict[Place, Lane] = {}
        self._claimed: dict[Place, Lane] = {}
        self._name = f"{socket.gethostname()}-{os.getpid()}".encode()
        self._resources = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self._resources.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._resources.aclose()

    async def _start(self) -> None:
        changelogs = (changelog_of(table) for table in TABLES)
        wanted = [*(topic.name for topic in TOPICS), *changelogs]
        self._counts = await wait_for_topics(self._settings, wanted)
        await self._fetcher.start()
        self._resources.push_async_callback(self._fetcher.stop)
        self._asking = AIOKafkaConsumer(
            **self._arguments, client_id="scentline-reader", enable_auto_commit=False
        )
        self._resources.push_async_callback(self._asking.stop)
        await self._asking.start()
        await asyncio.sleep(0)  # the client's tasks can't be cancelled before they start
        self._publishing = AIOKafkaClient(**self._arguments, client_id="scentline-publisher")
        self._resources.push_async_callback(self._publishing.close)
        await self._publishing.bootstrap()
        self._wire = Wire(self._publishing)
        self._resources.callback(self._close_lanes)
        self._writer = await self._writer_of(None)

    def _close_lanes(self) -> None:
        """Fail the records that are not delivered."""
        for lane in (*self._lanes.values(), *self._claimed.values()):
            lane.close(KafkaError("Kafka: the publisher was stopped"))

    def app(self, role: str) -> faust.App:
        found = self._apps.get(role)
        if found is None:
            found = self._apps[role] = role_app(self._settings, role)
            transport: Any = found.transport
            transport.fetcher = self._fetcher
        return found

    def lost_seconds(self) -> float:
        return OUTAGE.seconds()

    def committer(self, app: faust.App, table: str, topic: str) -> FourSteps:
        steps = FourSteps(self, table, self._settings.data / "tables")
        self._resources.callback(steps.close)
        return steps

    # reading

    def partitions(self, topic: str) -> int:
        name = self._named(topic)
        count = self._counts.get(name)
        if count is None:
            raise KafkaError(f"Kafka: there is no topic {name}; expected those of scentline topics create")
        return count

    async def ends(self, topic: str) -> Mapping[int, int]:
        name = self._named(topic)
        places = [(name, partition) for partition in range(self.partitions(topic))]
        found = await self._ask(f"asking for the ends of {name}", "end_offsets", places)
        return {partition: found[name, partition] for name, partition in places}

    async def _ask(self, what: str, question: str, places: Sequence[Place]) -> Mapping[Place, int]:
        named = [TopicPartition(*place) for place in places]
        found: dict[Any, int] = await persist(
            self._asking._client, what, lambda: getattr(self._asking, question)(named)
        )
        return {tuple(place): offset for place, offset in found.items()}

    async def fetch(self, topic: str, partition: int, offset: int, limit: int) -> Sequence[Entry]:
        place = (self._named(topic), partition)
        async with self._locks[place]:
            feed = self._reading.get(place)
            if feed is None or not feed.stands_at(offset):
                feed = self._reading.go(place, offset)
            while not feed.entries and not 0 <= feed.end <= feed.position:
                await self._reading.idle()
                feed = await self._within(feed)
            found = feed.take(limit)
            if place not in self._followed and not feed.entries:
                self._reading.leave([place])
            return found

    async def records(self, topic: str, partition: int, start: int, end: int) -> AsyncIterator[list[Entry]]:
        """Yield the kept records of a partition from offset ``start`` to before ``end``, some at a time."""
        while start < end and (found := await self.fetch(topic, partition, start, RECORDS_AT_ONCE)):
            yield [entry for entry in found if entry.offset < end]
            start = found[-1].offset + 1
        place = (self._named(topic), partition)
        async with self._locks[place]:
            if place not in self._followed:
                self._reading.leave([place])

    async def _within(self, feed: Feed) -> Feed:
        if not feed.out_of_range:
            return feed
        starts = await self._ask(f"asking for the start of {feed.place}", "beginning_offsets", [feed.place])
        return self._reading.go(feed.place, starts[feed.place])

    async def wait(self, positions: Mapping[Place, int]) -> Mapping[Place, int]:
        self._followed.update((self._named(topic), partition) for topic, partition in positions)
        while True:
            ends = {}
            for (topic, partition), position in positions.items():
                place = (self._named(topic), partition)
                known = self._reading.get(place) or self._reading.go(place, position)
                feed = await self._within(known)
                ends[topic, partition] = max(feed.end, feed.position)
            if any(end > positions[place] for place, end in ends.items()):
                return ends
            await self._reading.idle()

    # publishing

    async def send_all(self, entries: Sequence[Message]) -> None:
        """Send messages, in as few batches per partition as possible; return when the log has all."""
        by_place: dict[Place, list[Record]] = {}
        for topic, partition, key, value in entries:
            by_place.setdefault((topic, partition), []).append((key, value))
        await asyncio.gather(
            *(self._lane(place).append(part) for place, found in by_place.items() for part in parts(found))
        )

    def _lane(self, place: Place) -> Lane:
        lane = self._lanes.get(place)
        if lane is None:
            topic, partition = place
            lane = self._lanes[place] = Lane(self._wire, self._named(topic), partition, self._writer)
        return lane

    async def claim(self, topic: str, partition: int) -> int:
        """Claim a partition; raises `FencedError` if another writer claims it at the same time."""
        lane = await self._next_lane(topic, partition)
        at = await lane.append([(CLAIM, self._name)])
        self.release(topic, partition)
        self._claimed[topic, partition] = lane
        return at

    async def take_over(self, topic: str, partition: int) -> None:
        """Claim a partition with its first batch: people read this topic, and a claim would be a record."""
        lane = await self._next_lane(topic, partition)
        self.release(topic, partition)
        self._claimed[topic, partition] = lane

    async def _next_lane(self, topic: str, partition: int) -> Lane:
        name = self._named(topic)
        return Lane(self._wire, name, partition, await self._writer_of(f"{name}/{partition}"))

    def release(self, topic: str, partition: int) -> None:
        lane = self._claimed.pop((topic, partition), None)
        if lane is not None:
            lane.close(FencedError(f"writing to {topic}/{partition}: it was given up"))

    async def append_batch(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        lane = self._claimed.get((topic, partition))
        if lane is None:
            raise FencedError(f"writing to {topic}/{partition}: it was not claimed")
        return await lane.append(records)

    async def _writer_of(self, transactional_id: str | None) -> Writer:
        client = self._publishing

        async def ask() -> Writer:
            node, group = client.get_random_node(), ConnectionGroup.DEFAULT
            if transactional_id is not None:
                node = await client.coordinator_lookup(CoordinationType.TRANSACTION, transactional_id)
                group = ConnectionGroup.COORDINATION
            response = await client.send(node, InitProducerIdRequest(transactional_id, 60_000), group=group)
            error = errors.for_code(response.error_code)
            if error is not errors.NoError:
                # Another claim is in progress: retry.
                raise errors.NodeNotReadyError if error is errors.ConcurrentTransactions else error
            return Writer(response.producer_id, response.producer_epoch)

        what = f"claiming {transactional_id}" if transactional_id else "asking for a producer id"
        try:
            return await persist(client, what, ask)
        except errors.KafkaError as error:
            raise KafkaError(f"{what}: {type(error).__name__}: {error}") from error
