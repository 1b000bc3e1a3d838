"""Fetch orders in flight, neither answered nor taken back; and what came of those that were."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from scentline.models.facts import Early, Missing, Moved, Page, Same
from scentline.models.frontier.politeness import HostClocks
from scentline.models.frontier.rows import INSTANT, Choice
from scentline.models.records import Visit
from scentline.models.url import host

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
    estimated. ``delays`` are the seconds from the publication of news to their fetch, until they are taken.
    """

    orders: Counter[tuple[str, str]] = field(default_factory=Counter)
    leases_lost: int = 0
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    visits: Counter[str] = field(default_factory=Counter)
    hub_visits: Counter[str] = field(default_factory=Counter)
    expected_unchanged: float = 0.0
    delays: list[float] = field(default_factory=list)

    def visited(self, outcome: str, unchanged: float) -> None:
        """Count a visit by one of `OUTCOMES`; no change was expected with probability ``unchanged``."""
        self.visits[outcome] += 1
        if outcome in TELLING:
            self.expected_unchanged += unchanged
