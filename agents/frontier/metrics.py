"""What is told of the frontier: the orders it gives, and where its candidates are."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

from scentline.agents.frontier.candidates import Candidates
from scentline.agents.frontier.rows import TotalsRow
from scentline.models.frontier.slots import WHY, Slots
from scentline.streams.facts import Early, Missing, Moved, Page, Same
from scentline.streams.metrics.catalogue import (
    CHANGES,
    EXPECTED_UNCHANGED,
    FEATURES,
    FORGOTTEN,
    FOUND,
    HOSTS,
    HOSTS_HELD,
    HOSTS_WAITING,
    HUB_REVISITS,
    HUBS,
    IN_FLIGHT,
    LARGEST_OWNER,
    LEASES_LOST,
    MATCHES,
    MATCHES_AGE,
    MATCHES_CURRENT,
    NEW_NEWS,
    NEWS_DELAY,
    ORDERS,
    PUBLISHED,
    QUEUE_LIMIT,
    QUEUED,
    REQUESTS,
    RETRYING,
    REVISITS,
    SLOTS_USED,
    UNSCORED,
)
from scentline.streams.metrics.registry import ByPredicate, Outcomes, Reading
from scentline.streams.runtime import Runtime

#: What comes of the revisit of a hub, or of its lease.
HUB_OUTCOMES: Final = ("changed", "unchanged", "early", "moved", "retry", "failed", "lost")
#: What comes of the revisit of a judged page: a page that tells of itself (`TELLING`), or none.
REVISIT_OUTCOMES: Final = (
    "changed", "unchanged", "gone", "refused", "moved", "early", "retry", "failed", "lost",
)  # fmt: skip
TELLING: Final = frozenset({"changed", "unchanged", "gone", "refused", "moved"})
#: What becomes of a predicate's matches (`streams.published.Change`).
KINDS: Final = ("appeared", "changed", "left", "moved")
#: What chooses a fetch.
CHOSEN: Final = ("policy", "chance", "instant", "revisit")


def outcome_of(result: Page | Moved | Missing | Same | Early) -> str:
    """Return what came of a page that was visited again, one of `REVISIT_OUTCOMES`."""
    match result:
        case Page(changed=changed):
            return "changed" if changed else "unchanged"
        case Moved(permanent=permanent):
            return "moved" if permanent else "failed"
        case Missing(kind=kind):
            return "gone" if kind == "unfit" else kind
        case _:
            return "early" if isinstance(result, Early) else "unchanged"


class FrontierMetrics:
    """Counts orders, and reads the candidates and totals of one frontier agent."""

    def __init__(
        self,
        runtime: Runtime,
        candidates: Candidates,
        totals: Callable[[], TotalsRow],
        slots: Callable[[], Slots | None],
        features: Callable[[], int],
    ) -> None:
        metrics = runtime.metrics
        self._label = metrics.predicate
        self._clock = runtime.clock
        self._candidates = candidates
        self._totals = totals
        self._slots = slots
        self._features = features
        self._orders = {by: ByPredicate(metrics, ORDERS, by) for by in CHOSEN}
        self._leases_lost = metrics.counter(LEASES_LOST)
        self._told = metrics.counter(PUBLISHED)
        runtime.watch(self.measure)

    def known(self, predicate: str) -> None:
        """Have a predicate in the figures before anything is ordered for it."""
        for orders in self._orders.values():
            orders.count(predicate, 0)

    def ordered(self, predicate: str, by: str) -> None:
        """Count an order, by one of `CHOSEN`."""
        self._orders[by].count(predicate)

    def lease_lost(self) -> None:
        """Count an order that was not answered in time."""
        self._leases_lost.inc()

    def told(self, features: int) -> None:
        """Count the features that other frontiers were told of."""
        self._told.inc(features)

    def measure(self, reading: Reading) -> None:
        """Tell where URLs, candidates and hosts are, and what is counted."""
        self._measure_urls(reading)
        reading.add(FEATURES, self._features())
        candidates = self._candidates
        flights = candidates.flights.values()
        flying = Counter(flight.predicate for flight in flights if flight.visit == "first")
        for name, queue in candidates.queues.items():
            label = self._label(name)
            reading.add(QUEUED, len(queue), label)
            reading.add(HOSTS, len(queue.hosts()), label)
            reading.add(IN_FLIGHT, flying.pop(name, 0), label)
        for name, number in flying.items():  # of predicates that were removed
            reading.add(IN_FLIGHT, number, self._label(name))
        reading.add(QUEUE_LIMIT, candidates.settings.queue)
        reading.add(RETRYING, candidates.retries.urls)
        reading.add(UNSCORED, candidates.priorities.unscored)
        reading.add(HOSTS_WAITING, candidates.clocks.waiting(self._clock()))
        used = self._slots()
        reading.add(SLOTS_USED, 1.0 if used is None else used.used)
        for why in WHY:
            reading.add(HOSTS_HELD, used.held if used is not None and used.why == why else 0, why)
        reading.add(LARGEST_OWNER, candidates.fairness.shares.largest)

    def _measure_urls(self, reading: Reading) -> None:
        totals = self._totals()
        ended = {
            "judged": totals.judged,
            "gone": totals.gone,
            "refused": totals.refused,
            "moved": totals.moved,
            "given_up": totals.given_up,
            "trapped": totals.trapped,
        }
        for state, number in ended.items():
            reading.add(FOUND, number, state)
        reading.add(FOUND, totals.discovered - sum(ended.values()), "open")
        reading.add(REQUESTS, totals.requests)
        reading.add(FORGOTTEN, totals.forgotten)


class Figures(Protocol):
    """What is read at a scrape."""

    @property
    def hubs(self) -> int:
        """How many hubs are revisited."""

    @property
    def waiting(self) -> int:
        """How many new links to news wait."""


class InstantMetrics:
    """Counts the revisits to hubs of one frontier agent; all is 0 while no ``figures`` are given."""

    def __init__(self, runtime: Runtime) -> None:
        self.figures: Figures | None = None
        self._revisits = Outcomes(runtime.metrics, HUB_REVISITS, HUB_OUTCOMES)
        self._delay = runtime.metrics.histogram(NEWS_DELAY)
        runtime.watch(self.measure)

    def revisited(self, outcome: str) -> None:
        """Count a revisit by what came of it: a hub that brings no page stays one."""
        self._revisits.count(outcome if outcome in HUB_OUTCOMES else "failed")

    def fetched(self, delay: float) -> None:
        """Count a new link to news that was fetched ``delay`` seconds after its publication."""
        self._delay.observe(delay)

    def measure(self, reading: Reading) -> None:
        """Tell of hubs and of what waits."""
        reading.add(HUBS, 0 if self.figures is None else self.figures.hubs)
        reading.add(NEW_NEWS, 0 if self.figures is None else self.figures.waiting)


class Kept(NamedTuple):
    """How current the matches of a predicate are: how many there are, and how many are expected to be current.

    A match is current while its page is as it was at its last visit; ``age`` is the seconds since these visits,
    ``revisits`` are how often they were visited again, both added up.
    """

    matches: int = 0
    current: float = 0.0
    age: float = 0.0
    revisits: int = 0


class RevisitMetrics:
    """Counts the revisits to judged pages of one frontier agent, and what became of the predicates' matches.

    ``figures`` returns how current the matches of each predicate are in the partitions held; it is asked at a
    scrape, and all is 0 while there is none. ``visits`` and ``changes`` are counted in this process.
    """

    def __init__(self, runtime: Runtime) -> None:
        metrics = runtime.metrics
        self.figures: Callable[[], Mapping[str, Kept]] = dict
        self.visits = 0
        self.changes = 0
        self._label = metrics.predicate
        self._predicates: set[str] = set()
        self._outcomes = Outcomes(metrics, REVISITS, REVISIT_OUTCOMES)
        self._expected = metrics.counter(EXPECTED_UNCHANGED)
        self._kinds = {kind: ByPredicate(metrics, CHANGES, kind) for kind in KINDS}
        runtime.watch(self.measure)

    def known(self, predicate: str) -> None:
        """Have a predicate in the figures before anything became of its matches."""
        self._predicates.add(predicate)
        for changes in self._kinds.values():
            changes.count(predicate, 0)

    def ended(self, outcome: str, unchanged: float) -> None:
        """Count a revisit by one of `REVISIT_OUTCOMES`; no change was expected with probability ``unchanged``.

        Each that tells is a spot check of the freshness that is estimated: among many, the expected ones that
        are unchanged are as many as those found so. KeyError for another outcome.
        """
        self._outcomes.count(outcome)
        if outcome in TELLING:
            self.visits += 1
            self._expected.inc(unchanged)

    def changed(self, predicate: str, kind: str) -> None:
        """Count what became of a predicate's match, by one of `KINDS`; KeyError for another."""
        self._kinds[kind].count(predicate)
        self.changes += 1

    def measure(self, reading: Reading) -> None:
        """Tell how current each predicate's matches are."""
        figures = self.figures()
        for predicate in self._predicates | figures.keys():
            label, kept = self._label(predicate), figures.get(predicate, Kept())
            reading.add(MATCHES, kept.matches, label)
            reading.add(MATCHES_CURRENT, kept.current, label)
            reading.add(MATCHES_AGE, kept.age, label)
