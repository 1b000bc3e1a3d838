"""Faust's consumer over Kafka, mended where workers come and go; see `streams.transport.kafka.lane` too.

- A partition without a committed offset is read from its start after a rebalance. Faust goes on from its last
  position, and loses what it had prefetched.
- A failed commit of offsets is ignored: the messages come again, and their marks are known. Faust ends.
- Every message is delivered, and in order. Around a rebalance Faust may deliver records of a poll begun before
  it, skip those in between, and commit past them. It also empties the agents' queues after its seek to the
  committed offsets, and loses what was delivered in between: so nothing is, until it has. A poll begins where
  delivery ended: records read in vain are read again.
- A poll requests the partitions that are active at its turn: Faust's set may change meanwhile.
- It knows for how long the group has not heard from this worker.
- The client, in a thread of its own, is in the group and commits. It fetches nothing: one
  `streams.transport.kafka.fetcher.Fetcher` does for all roles, in the event loop where its records are used. A
  thread that wakes for each record costs more than the record.
- One task hands over the records of a poll: Faust starts four per message.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from aiokafka import errors
from aiokafka.errors import KafkaError as ClientError
from faust.transport.drivers import aiokafka as driver
from faust.transport.producer import Producer
from faust.types import TP

from scentline.models.errors import EventLog
from scentline.streams.transport.database import Entry, Place
from scentline.streams.transport.embedded import Offering
from scentline.streams.transport.kafka.connection import REQUEST_SECONDS
from scentline.streams.transport.kafka.fetcher import Fetcher, Reading

log = EventLog("kafka")

POLL_SECONDS = 0.3  #: Seconds that one poll takes at most: a rebalance waits for it. Faust's take a second.

_REFUSED = (errors.GroupAuthorizationFailedError, errors.TopicAuthorizationFailedError)


class Listener(driver.ConsumerRebalanceListener):
    """Notes that the group has just heard from this worker."""

    async def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        self._thread.alive_at = time.monotonic()
        await super().on_partitions_assigned(assigned)


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """The thread in which the client lives."""

    alive_at = float("-inf")  #: When the last sign of life was sent that reached the group.

    async def on_start(self) -> None:
        """Start the client, which fetches nothing, and time its heartbeats."""
        await super().on_start()
        consumer = self._ensure_consumer()
        consumer._fetcher._fetch_task.cancel()
        coordinator = consumer._coordinator
        beat = coordinator._do_heartbeat

        async def timed() -> bool:
            sent = time.monotonic()
            heard: bool = await beat()
            if heard:
                self.alive_at = sent
            return heard

        coordinator._do_heartbeat = timed

    def rejoin(self) -> None:
        """Request a rebalance of the group; from any thread."""
        coordinator = self._ensure_consumer()._coordinator
        self.thread_loop.call_soon_threadsafe(coordinator.request_rejoin)

    def polled(self) -> None:
        """Note a poll: the client leaves the group after a long time without one."""
        with self._ensure_consumer()._subscription.fetch_context():
            pass

    async def committed(self) -> Mapping[TP, int]:
        """Return the committed offsets, else the starts."""
        positions: Mapping[TP, int] = await self.call_thread(self._committed)
        return positions

    async def _committed(self) -> Mapping[TP, int]:
        consumer = self._ensure_consumer()
        found = {tp: await consumer.committed(driver.ensure_aiokafka_TP(tp)) for tp in self.assignment()}
        fresh = [driver.ensure_aiokafka_TP(tp) for tp, at in found.items() if not at]
        starts = await consumer.beginning_offsets(fresh) if fresh else {}
        return {tp: at or starts[driver.ensure_aiokafka_TP(tp)] for tp, at in found.items()}

    async def first_kept(self, tp: TP) -> int:
        found: int = await self.call_thread(self._first_kept, tp)
        return found

    async def _first_kept(self, tp: TP) -> int:
        place = driver.ensure_aiokafka_TP(tp)
        first: int = (await self._ensure_consumer().beginning_offsets([place]))[place]
        return first

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        held = {driver.ensure_aiokafka_TP(tp): at for tp, at in offsets.items() if tp in self.assignment()}
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                await self._ensure_consumer().commit(held)
        except _REFUSED as error:
            await self.crash(error)
            return False
        except (ClientError, errors.CommitFailedError, errors.IllegalStateError, TimeoutError) as error:
            log.info("offsets were not committed: their messages may come again", reason=type(error).__name__)
            return False
        return True


class Consumer(Offering, driver.Consumer):
    """Reads what the group assigns to this worker."""

    RebalanceListener = Listener

    def __init__(self, transport: Any, callback: Callable[[Any], Awaitable[None]], **options: Any) -> None:
        super().__init__(transport, callback, **options)
        self._deliver = callback
        self.callback = self._in_order
        self._reading: Reading = transport.fetcher.reading()
        self._next: dict[TP, int] = {}
        self._read: dict[TP, int] = {}
        self._kept: dict[TP, int] = {}
        self._missed: set[TP] = set()
        self._read_offset = _Unread()
        self._offering: asyncio.Task[None] | None = None

    # reading

    async def _drain_messages(self, fetcher: Any) -> None:
        """Hand records over until Faust stops; a rebalance interrupts the wait for an agent's room."""
        while not (self.should_stop or fetcher.should_stop):
            records, _ = await self._wait_next_records(POLL_SECONDS)
            if records and self.flow_active:
                self._offering = asyncio.create_task(self._offer(records))
                try:
                    await asyncio.wait([self._offering])
                finally:
                    self._offering.cancel()
                if not self._offering.cancelled():
                    self._offering.result()
            await asyncio.sleep(0)

    def stop_flow(self) -> None:
        """Stop delivering; records that wait for an agent's room are read again."""
        super().stop_flow()
        if self._offering is not None:
            self._offering.cancel()

    async def _idle(self, active: Iterable[TP], timeout: float) -> None:
        await self._reading.idle(timeout)

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Mapping[Place, list[Entry]]:
        self._read_again()
        await self._go_to_kept()
        if not (active_partitions and self.flow_active):
            return {}
        self._thread.polled()
        found = await self._reading.take(set(active_partitions), min(timeout, POLL_SECONDS))
        self._read.update({TP(*place): records[-1].offset + 1 for place, records in found.items()})
        return found

    def _read_again(self) -> None:
        """Seek back to what was read and not delivered: everything read has been offered by now."""
        self._missed.clear()
        if self.app.rebalancing:
            return
        back = {tp: due for tp, due in self._next.items() if self._read.get(tp, due) > due}
        self._read.update(back)
        for tp, offset in back.items():
            if self._reading.get(tp) is not None:
                self._reading.go(tp, offset)

    async def _go_to_kept(self) -> None:
        """Seek to the broker's first message where it has none at the position."""
        for place in [feed.place for feed in self._reading if feed.out_of_range]:
            with suppress(ClientError):  # the broker is away: the next poll retries
                first = await self._thread.first_kept(TP(*place))
                if self._reading.get(place) is not None:
                    self._reading.go(place, first)

    def _wake(self) -> None:
        self._reading.wake()

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        self._reading.leave(revoked)
        await super().on_partitions_revoked(revoked)

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Seek to the committed offsets, and deliver only what follows."""
        self._next = dict(await self._thread.committed())
        self._reading.clear()
        self._go(self._next)
        return self._next

    def _go(self, positions: Mapping[TP, int]) -> None:
        for tp, offset in positions.items():
            self._reading.go(tp, offset)

    async def position(self, tp: TP) -> int | None:
        feed = self._reading.get(tp)
        return None if feed is None else feed.position

    async def _in_order(self, message: Any) -> None:
        """Deliver a message if it is the next of its partition; if not, that one is read again."""
        tp = message.tp
        if tp in self._next and not self.app.rebalancing:
            due, offset = self._next[tp], message.offset
            if offset == due or (offset > due and await self.gone(tp, due, offset)):
                self._next[tp] = offset + 1
                await self._deliver(message)

    async def gone(self, tp: TP, due: int, offset: int) -> bool:
        """Return whether the broker keeps nothing from ``due`` to ``offset``; if it does, that is read.

        False may also mean that this poll has requested it before: the rest of it must be skipped.
        """
        if offset <= self._kept.get(tp, 0):
            return True
        if tp in self._missed:
            return False
        self._missed.add(tp)
        try:
            first: int = await self._thread.first_kept(tp)
        except ClientError:
            return False  # the broker is away: the message comes again
        self._kept[tp] = first
        if first > due:
            lost = {"topic": tp.topic, "partition": tp.partition, "lost": min(first, offset) - due}
            log.error("messages were lost: they expired at the broker", **lost)
        if first < offset:
            self._next[tp] = max(first, due)
        return first >= offset

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Check nothing: Faust would check its client, which fetches nothing. Metrics report the lag."""

    def in_session(self) -> bool:
        """Return whether the group heard from this worker in time; else others may have its partitions."""
        alive_at: float = self._thread.alive_at
        session: float = self.app.conf.broker_session_timeout
        return time.monotonic() - alive_at < session

    def rejoin(self) -> None:
        self._thread.rejoin()


class _Unread(dict[TP, int | None]):
    """The offsets that Faust believes it has read: none, so that it drops nothing by itself."""

    def __getitem__(self, tp: TP) -> None:
        return None


class Transport(driver.Transport):
    """Faust's transport for ``kafka://``; its producer sends nothing, and connects nowhere."""

    Consumer = Consumer
    Producer = Producer
    fetcher: Fetcher  #: Fetches for all roles of this process.
