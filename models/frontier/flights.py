"""Fetches in flight, neither answered nor taken back, what came of those that were, and URLs that wait."""

import math
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Final

from scentline.models.facts import Early, Missing, Moved, Page, Same
from scentline.models.frontier.politeness import HostClocks
from scentline.models.frontier.rows import INSTANT, Choice
from scentline.models.records import Visit
from scentline.models.url import host

#: Delays of news that are kept until somebody takes them.
MOST_DELAYS = 1_000
#: Seconds in flight after which a fetch no longer takes a place in the window.
SLOW_SECONDS = 3.0


@dataclass(frozen=True)
class Flight:
    """A fetch that was ordered: for which predicate, until when its answer is waited for, and since when.

    An ``instant`` one was not chosen by the policy; only a first ``visit`` brings a new page to judge.
    """

    predicate: str
    lease: float
    explored: bool
    since: float
    instant: bool = False
    visit: Visit = "first"

    @classmethod
    def of(cls, choice: Choice, lease: float, since: float) -> "Flight":
        """Return the flight of a page that was chosen."""
        return cls(choice.predicate, lease, choice.explored, since, instant=choice.policy == INSTANT)


class Flights(Mapping[str, Flight]):
    """The fetches in flight, by URL; the clocks of their hosts know of each.

    One that was ``put_off`` keeps its place in the budget until its lease ends: where its order came again, as
    after a worker's death, the page that it brought may be in the log.
    """

    def __init__(self, clocks: HostClocks) -> None:
        self._clocks = clocks
        #: In the order in which they were ordered.
        self._flights: dict[str, Flight] = {}
        self._firsts = 0
        #: No lease ends before.
        self._lease = math.inf
        self.put_off: dict[str, Flight] = {}

    def __getitem__(self, url: str) -> Flight:
        return self._flights[url]

    def __iter__(self) -> Iterator[str]:
        return iter(self._flights)

    def __len__(self) -> int:
        return len(self._flights)

    def fly(self, url: str, flight: Flight) -> None:
        """Note that a fetch was ordered."""
        before = self._flights.pop(url, None)
        if before is None:
            self._clocks.started(host(url), flight.since)
        self._flights[url] = flight
        self._firsts += (flight.visit == "first") - (before is not None and before.visit == "first")
        self._lease = min(self._lease, flight.lease)
        self.put_off.pop(url, None)

    def land(self, url: str, now: float, *, put_off: bool = False) -> Flight | None:
        """Note that a fetch ended, or was ``put_off``; return what it was, None where it was not waited for."""
        flight = self._flights.pop(url, None)
        self.put_off.pop(url, None)
        if flight is not None:
            self._clocks.finished(host(url), now)
            self._firsts -= flight.visit == "first"
            if put_off:
                self.put_off[url] = flight
        return flight

    def overdue(self, now: float) -> list[str]:
        """Return the URLs whose leases ran out; those that were put off lose their places."""
        if self.put_off:
            self.put_off = {url: flight for url, flight in self.put_off.items() if flight.lease > now}
        if now < self._lease:
            return []
        found = [url for url, flight in self._flights.items() if flight.lease <= now]
        self._lease = min((flight.lease for flight in self._flights.values()), default=math.inf)
        return found

    def prompt(self, now: float) -> int:
        """Return how many are not slow: what waits for a slow host holds up no other."""
        flights = self._flights.values()
        slow = next(
            (slow for slow, each in enumerate(flights) if now - each.since < SLOW_SECONDS), len(flights)
        )
        return len(flights) - slow

    @property
    def pages(self) -> int:
        """How many may bring a page to judge."""
        return len(self.put_off) + self._firsts


#: What may come of the visit of a judged page, or of its lease; and which of these tell of the page.
OUTCOMES: Final = ("changed", "unchanged", "gone", "refused", "moved", "early", "retry", "failed", "lost")
TELLING: Final = frozenset({"changed", "unchanged", "gone", "refused", "moved"})


def outcome_of(result: Page | Moved | Missing | Same | Early) -> str:
    """Return what came of a page that was visited again, one of `OUTCOMES`."""
    match result:
        case Page(changed=changed):
            return "changed" if changed else "unchanged"
        case Moved(permanent=permanent):
            return "moved" if permanent else "failed"
        case Missing(kind=kind):
            return "gone" if kind == "unfit" else kind
        case _:
            return "early" if isinstance(result, Early) else "unchanged"


@dataclass
class Tally:
    """What this process ordered, and what came of it: figures that only grow.

    ``orders`` counts by predicate and by what chose: "policy", "chance", "instant" or "revisit". ``changes`` of
    predicates' matches are counted by predicate and kind (`models.published.Change`). ``visits`` to judged
    pages are counted by `OUTCOMES`, those to hubs as ``hub_visits``. Of the visits that tell, so many as
    ``expected_unchanged`` were expected to find a page as it was: a spot check of the freshness that is
    estimated. ``delays`` are the latest seconds from the publication of news to their fetch, until taken.
    """

    orders: Counter[tuple[str, str]] = field(default_factory=Counter)
    leases_lost: int = 0
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    visits: Counter[str] = field(default_factory=Counter)
    hub_visits: Counter[str] = field(default_factory=Counter)
    expected_unchanged: float = 0.0
    delays: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_DELAYS))

    def visited(self, outcome: str, unchanged: float) -> None:
        """Count a visit by one of `OUTCOMES`; no change was expected with probability ``unchanged``."""
        self.visits[outcome] += 1
        if outcome in TELLING:
            self.expected_unchanged += unchanged


# The heap may hold twice what waits and this much more before it is rebuilt.
_SLACK = 32


class Retries:
    """URLs by the time that they wait for, in seconds since the epoch: the ``most`` that are due first.

    Of the others their rows alone tell, and here from when on there are such: all that wait for less are here,
    so that nobody need look for them before. A URL that is put off again is met at its earlier time too: who
    takes it looks at its row.

    >>> retries = Retries(2)
    >>> for url, until in (("a", 30.0), ("b", 10.0), ("c", 20.0), ("d", 40.0)):
    ...     retries.put(url, until)
    >>> retries.urls, retries.passed(29.0), retries.passed(30.0)
    (2, False, True)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[float, str]] = []
        self._until: dict[str, float] = {}
        self._beyond: float | None = None

    def __bool__(self) -> bool:
        """Return whether any URL waits, here or as its row alone tells."""
        return bool(self._heap) or self._beyond is not None

    @property
    def urls(self) -> int:
        """How many URLs wait here."""
        return len(self._until)

    @property
    def next(self) -> float | None:
        """When the next wait ends, None where none is waited for."""
        first = self._heap[0][0] if self._heap else self._beyond
        return first if self._beyond is None or first is None else min(first, self._beyond)

    def put(self, url: str, until: float) -> None:
        """Have a URL wait until a time; it is no more than said again where it does."""
        if self._until.get(url) == until or (self._beyond is not None and until >= self._beyond):
            return
        self._until[url] = until
        heappush(self._heap, (until, url))
        if len(self._until) > self._most:
            self._leave()
        elif len(self._heap) > 2 * len(self._until) + _SLACK:
            self._rebuild()

    def due(self, now: float) -> Iterator[str]:
        """Take out the URLs here whose wait is over, the first first."""
        while self._heap and self._heap[0][0] <= now:
            time, url = heappop(self._heap)
            if self._until.get(url) == time:
                del self._until[url]
            yield url

    def passed(self, now: float) -> bool:
        """Return whether the wait of some that are not here is over: the rows have to be looked through."""
        return self._beyond is not None and self._beyond <= now

    def look_again(self) -> None:
        """Note that all rows are looked through from now on: what waits is put here once more."""
        self._beyond = None

    def _leave(self) -> None:
        """Have the tenth that waits longest leave, and all that wait as long as the first of these."""
        self._beyond = sorted(self._until.values())[-max(1, self._most // 10)]
        self._until = {url: until for url, until in self._until.items() if until < self._beyond}
        self._rebuild()

    def _rebuild(self) -> None:
        self._heap = [(until, url) for url, until in self._until.items()]
        heapify(self._heap)
