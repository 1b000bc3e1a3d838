"""The observe agent: turns raw proxy-log lines into accesses.

Reads `proxy-log`; keeps nothing; writes `accesses`, and malformed lines to `dead-letters` (their place and the
reason only: a raw line names a user).
"""

from typing import Any

from agents.observe.observer import Malformed, Observer
from streams.attempts import Place
from streams.metrics.catalogue import LINES
from streams.metrics.reading import Reading
from streams.outbox import Outbox
from streams.records import Access
from streams.relay import Relay
from streams.runtime import Runtime
from streams.topics import ACCESSES, PROXY_LOG


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
        observer = self.observer
        reading.add(LINES, observer.accepted, "accepted")
        reading.add(LINES, sum(observer.filtered.values()), "filtered")
        reading.add(LINES, observer.malformed, "malformed")
