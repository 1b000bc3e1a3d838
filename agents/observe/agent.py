"""The observe agent: turns raw proxy-log lines into accesses.

Reads `proxy-log`; keeps nothing; writes `accesses`, and malformed lines to `dead-letters`, only their place and
the reason. Messages are acknowledged once what they came to was sent, every few milliseconds; after a crash
they come again, and receivers drop the facts by their origins.
"""

import asyncio
from typing import Any

from scentline.agents.observe.observer import Malformed, Observer
from scentline.models.facts import Access
from scentline.streams.attempts import Place, bury
from scentline.streams.inbox import Outbox
from scentline.streams.metrics import Reading
from scentline.streams.metrics.catalogue import LINES, TAKEN
from scentline.streams.runtime import Runtime
from scentline.streams.topics import ACCESSES, PROXY_LOG


class ObserveAgent:
    """Observes the lines that log shippers write; each partition is a log of its own.

    What a partition's earlier lines said (a head line of the W3C format, who asked for robots.txt) is known
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
        """Observe one line; what raises is quarantined, without quoting the line."""
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
                    # A shipper may send an empty message, which is no line.
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

    def _measure(self, reading: Reading) -> None:
        """Tell what became of the lines of all logs, those that this process feeds itself among them."""
        counts = self.observer.counts
        reading.add(LINES, counts.accepted, "accepted")
        reading.add(LINES, sum(counts.filtered.values()), "filtered")
        reading.add(LINES, counts.malformed, "malformed")
