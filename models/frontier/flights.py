"""Fetches in flight, the outcomes of those that ended, and URLs that wait for a retry."""

import math
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Final

from scentline.models.facts import Early, Missing, Moved, Page, Same
from scentline.models.frontier.politeness import HostClocks
from scentline.models.frontier.rows import INSTANT, Choice, PageRow
from scentline.models.records import Visit
from scentline.models.url import host

#: Most delays of news that are kept until they are read.
MOST_DELAYS = 1_000
#: Seconds in flight after which a fetch no longer counts in the window.
SLOW_SECONDS = 3.0


@dataclass(frozen=True)
class Flight:
    """A fetch in flight: its predicate, the end of its lease, and since when it is in flight.

    The policy did not choose an ``instant`` one; only a first ``visit`` brings a new page to judge.
    """

    predicate: str
    lease: float
    explored: bool
    since: float
    instant: bool = False
    visit: Visit = "first"
    render: bool = False

    @classmethod
    def of(cls, choice: Choice, row: PageRow, since: float) -> "Flight":
        """Return the flight of a chosen page."""
        instant = choice.policy == INSTANT
        return cls(choice.predicate, row.lease, choice.explored, since, instant=instant, render=row.render)


class Flights(Mapping[str, Flight]):
    """The fetches in flight, by URL; each is noted in the clock of its host.

    One that was ``put_off`` counts in the budget until its lease ends: if its order was delivered twice, as
    after a worker's death, the page may be in the log already.
    """

    def __init__(self, clocks: HostClocks) -> None:
        self.clocks = clocks
        #: Oldest order first.
        self._flights: dict[str, Flight] = {}
        self._firsts = 0
        self.rendering = 0  #: How many a browser renders.
        #: No lease ends before this time.
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
            self.clocks.started(host(url), flight.since)
        self._flights[url] = flight
        self._firsts += (flight.visit == "first") - (before is not None and before.visit == "first")
        self.rendering += flight.render - (before is not None and before.render)
        self._lease = min(self._lease, flight.lease)
        self.put_off.pop(url, None)

    def land(self, url: str, now: float, *, put_off: bool = False) -> Flight | None:
        """Note that a fetch ended, or was ``put_off``; return its flight, None where it was not in flight."""
        flight = self._flights.pop(url, None)
        self.put_off.pop(url, None)
        if flight is not None:
            self.clocks.finished(host(url), now)
            self._firsts -= flight.visit == "first"
            self.rendering -= flight.render
            if put_off:
                self.put_off[url] = flight
        return flight

    def overdue(self, now: float) -> list[str]:
        """Return the URLs whose leases ran out; drop those put off whose leases did."""
        if self.put_off:
            self.put_off = {url: flight for url, flight in self.put_off.items() if flight.lease > now}
        if now < self._lease:
            return []
        found = [url for url, flight in self._flights.items() if flight.lease <= now]
        self._lease = min((flight.lease for flight in self._flights.values()), default=math.inf)
        return found

    def prompt(self, now: float) -> int:
        """Return how many are not slow: slow hosts hold up no others."""
        flights = self._flights.values()
        slow = next(
            (slow for slow, each in enumerate(flights) if now - each.since < SLOW_SECONDS), len(flights)
        )
        return len(flights) - slow

    @property
    def pages(self) -> int:
        """How many may bring a page to judge."""
        return len(self.put_off) + self._firsts


#: Outcomes of the revisit of a judged page, or of its lease; and those that are evidence about the page.
OUTCOMES: Final = ("changed", "unchanged", "gone", "refused", "moved", "early", "retry", "failed", "lost")
TELLING: Final = frozenset({"changed", "unchanged", "gone", "refused", "moved"})


def outcome_of(result: Page | Moved | Missing | Same | Early) -> str:
    """Return the outcome of a revisit, one of `OUTCOMES`."""
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
    """Counters of what this process ordered, and of the outcomes; they only grow.

    ``orders`` counts by predicate and chooser: "policy", "chance", "instant" or "revisit". ``changes`` counts
    changes of matches by predicate and kind (`models.published.Change`). ``visits`` counts revisits of judged
    pages by `OUTCOMES`, ``hub_visits`` those of hubs. ``expected_unchanged`` is how many of the `TELLING` ones
    were expected to find no change: a spot check of the estimated freshness. ``delays`` are the latest seconds
    from the publication of news to their fetch, until read.
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
    """Waiting URLs by the time when they are due, in seconds since the epoch: the ``most`` that are due first.

    The others are known from their rows alone; the time when the first of them is due is kept here, and rows
    need no scan before. A URL that is put off again also comes up at its earlier time: the caller checks its
    row.

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
        """Return whether any URL waits, here or in its row alone."""
        return bool(self._heap) or self._beyond is not None

    @property
    def urls(self) -> int:
        """How many URLs wait here."""
        return len(self._until)

    @property
    def next(self) -> float | None:
        """When the next wait ends, None where no URL waits."""
        first = self._heap[0][0] if self._heap else self._beyond
        return first if self._beyond is None or first is None else min(first, self._beyond)

    def put(self, url: str, until: float) -> None:
        """Have a URL wait until a time; a repeated call changes nothing."""
        if self._until.get(url) == until or (self._beyond is not None and until >= self._beyond):
            return
        self._until[url] = until
        heappush(self._heap, (until, url))
        if len(self._until) > self._most:
            self._leave()
        elif len(self._heap) > 2 * len(self._until) + _SLACK:
            self._rebuild()

    def due(self, now: float) -> Iterator[str]:
        """Remove and yield the URLs here that are due, the earliest first."""
        while self._heap and self._heap[0][0] <= now:
            time, url = heappop(self._heap)
            if self._until.get(url) == time:
                del self._until[url]
            yield url

    def passed(self, now: float) -> bool:
        """Return whether URLs that are not here are due: the rows have to be scanned."""
        return self._beyond is not None and self._beyond <= now

    def look_again(self) -> None:
        """Note that a scan of all rows begins: it puts the waiting URLs here again."""
        self._beyond = None

    def _leave(self) -> None:
        """Evict the tenth that is due last, and all that are due with the first of these."""
        self._beyond = sorted(self._until.values())[-max(1, self._most // 10)]
        self._until = {url: until for url, until in self._until.items() if until < self._beyond}
        self._rebuild()

    def _rebuild(self) -> None:
        self._heap = [(until, url) for url, until in self._until.items()]
        heapify(self._heap)
