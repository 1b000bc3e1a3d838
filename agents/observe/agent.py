"""The observe agent: turns raw proxy-log lines into accesses.

Reads `proxy-log`; keeps nothing; writes `accesses`, and malformed lines to `dead-letters`, only their place and
the reason. Messages are acknowledged once what they came to was sent; after a crash they come again, and
receivers drop the facts by their origins.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from scentline.agents.observe.observer import Malformed, Observer
from scentline.models.facts import Access
from scentline.models.records import RecordError
from scentline.streams.attempts import Place, bury, why
from scentline.streams.inbox import Outbox
from scentline.streams.metrics.catalogue import LINES, TAKEN
from scentline.streams.metrics.registry import Reading
from scentline.streams.runtime import Runtime
from scentline.streams.topics import ACCESSES, PROXY_LOG, Topic


class Relay:
    """Runs ``handle(outbox, message)`` over a topic; its emissions are sent together every few milliseconds.

    A `RecordError` sends the message to the dead letters, any other error quarantines it, without quoting it.
    """

    def __init__(
        self, runtime: Runtime, topic: Topic, name: str, handle: Callable[[Outbox, Any], None]
    ) -> None:
        self._runtime = runtime
        self._topic = topic
        self._handle = handle
        self._outboxes: dict[int, Outbox] = {}
        self._events: list[Any] = []
        self._timer: asyncio.TimerHandle | None = None
        self._lock = asyncio.Lock()
        self._taken = runtime.metrics.counter(TAKEN).labels(topic.name)
        runtime.watch_lag(topic)
        runtime.read(topic, name, self._run)

    async def _run(self, stream: Any) -> None:
        async for event in stream.noack().events():
            self._take(event.message)
            self._events.append(event)
            if len(self._events) >= self._runtime.settings.streams.group_messages:
                await self.flush()
            elif self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(
                    self._runtime.settings.streams.group_seconds, lambda: self._runtime.spawn(self.flush())
                )

    def _take(self, message: Any) -> None:
        outbox = self._outbox(message.partition)
        outbox.begin(message.offset)
        place = Place(self._topic.name, message.partition, message.offset)
        reason = self._runtime.deadly(place)
        if not reason:
            with self._runtime.attempts.taking(place):
                try:
                    self._handle(outbox, message)
                except RecordError as error:
                    self._runtime.bury(outbox, place, message.value, str(error), why(error))
                except Exception as error:
                    reason = self._runtime.quarantine(place, error)
                    outbox.undo()
        if reason:
            bury(outbox, place, b"", reason, "quarantine", self._runtime.clock())

    def _outbox(self, partition: int) -> Outbox:
        if partition not in self._outboxes:
            self._outboxes[partition] = Outbox(f"{self._topic.name}/{partition}")
        return self._outboxes[partition]

    async def flush(self) -> None:
        """Send what was gathered and acknowledge the messages it was made from."""
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


class ObserveAgent:
    """Observes the lines that log shippers write; each partition is a log of its own.

    What a partition's earlier lines said (a head line of the W3C format, who asked for robots.txt) is known
    until the process ends.
    """

    def __init__(self, runtime: Runtime, observer: Observer) -> None:
        self._runtime = runtime
        self._observers: dict[int, Observer] = {}
        self.observer = observer
        runtime.watch(self._measure)
        self.relay = Relay(runtime, PROXY_LOG, "observe", self.handle)

    def handle(self, outbox: Outbox, message: Any) -> None:
        """Observe one line."""
        observer = self._observers.get(message.partition)
        if observer is None:
            observer = self._observers[message.partition] = self.observer.another()
        # A shipper may send an empty message, which is no line.
        seen = observer.observe(message.value or b"")
        if isinstance(seen, Access):
            outbox.emit(ACCESSES.name, self._runtime.partition(ACCESSES, seen.user), seen)
        elif isinstance(seen, Malformed) and seen.told:
            place = Place(PROXY_LOG.name, message.partition, message.offset)
            self._runtime.bury(outbox, place, b"", seen.reason, "line")

    def _measure(self, reading: Reading) -> None:
        """Tell what became of the lines of all logs, those that this process feeds itself among them."""
        counts = self.observer.counts
        reading.add(LINES, counts.accepted, "accepted")
        reading.add(LINES, sum(counts.filtered.values()), "filtered")
        reading.add(LINES, counts.malformed, "malformed")
