"""The metrics of a frontier at a scrape: its orders, its revisits, and where its candidates are."""

from collections import Counter
from typing import Final

from scentline.models.frontier.core import Frontier
from scentline.models.frontier.flights import OUTCOMES
from scentline.models.frontier.freshness import Kept
from scentline.models.frontier.standing import WHY, hosts_of, queues_of
from scentline.streams.metrics import Reading
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
from scentline.streams.runtime import Runtime

#: Outcomes of the revisit of a hub: one that brings no page stays a hub.
HUB_OUTCOMES: Final = ("changed", "unchanged", "early", "moved", "retry", "failed", "lost")
#: Kinds of changes of a predicate's matches (`models.published.Change`).
KINDS: Final = ("appeared", "changed", "left", "moved")
#: What chooses a fetch.
CHOSEN: Final = ("policy", "chance", "instant", "revisit")


class FrontierMetrics:
    """Reads the figures of one frontier; those of a predicate start at 0 with its definition."""

    def __init__(self, runtime: Runtime, core: Frontier) -> None:
        self._label = runtime.metrics.predicate
        self._delay = runtime.metrics.histogram(NEWS_DELAY)
        self.told = runtime.metrics.counter(PUBLISHED)
        self._clock = runtime.clock
        self._core = core
        #: Predicates ever defined here: the counts of a removed one stay.
        self._known: set[str] = set()
        runtime.watch(self.measure)

    def measure(self, reading: Reading) -> None:
        """Add the current figures."""
        self._known.update(self._core.candidates.queues)
        self._measure_urls(reading)
        self._measure_candidates(reading)
        self._measure_orders(reading)
        self._measure_visits(reading)

    def _measure_urls(self, reading: Reading) -> None:
        totals = self._core.totals()
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
        reading.add(FEATURES, self._core.ledger.features)
        reading.add(FORGOTTEN, totals.forgotten)

    def _measure_candidates(self, reading: Reading) -> None:
        candidates = self._core.candidates
        flights = candidates.flights.values()
        flying = Counter(flight.predicate for flight in flights if flight.visit == "first")
        for name in candidates.queues:
            label = self._label(name)
            reading.add(QUEUED, sum(map(len, queues_of(candidates, name))), label)
            reading.add(HOSTS, len(hosts_of(candidates, name)), label)
            reading.add(IN_FLIGHT, flying.pop(name, 0), label)
        for name, number in flying.items():  # of predicates that were removed
            reading.add(IN_FLIGHT, number, self._label(name))
        reading.add(QUEUE_LIMIT, candidates.settings.queue)
        reading.add(RETRYING, candidates.retries.urls)
        reading.add(UNSCORED, candidates.priorities.unscored)
        reading.add(HOSTS_WAITING, candidates.clocks.waiting(self._clock()))
        used = self._core.standing.slots()
        reading.add(SLOTS_USED, 1.0 if used is None else used.used)
        for why in WHY:
            reading.add(HOSTS_HELD, used.held if used is not None and used.why == why else 0, why)
        reading.add(LARGEST_OWNER, candidates.fairness.shares.largest)

    def _measure_orders(self, reading: Reading) -> None:
        tally = self._core.tally
        for name in self._known:
            for by in CHOSEN:
                reading.add(ORDERS, tally.orders[name, by], self._label(name), by)
            for kind in KINDS:
                reading.add(CHANGES, tally.changes[name, kind], self._label(name), kind)
        reading.add(LEASES_LOST, tally.leases_lost)

    def _measure_visits(self, reading: Reading) -> None:
        core, tally = self._core, self._core.tally
        for outcome in OUTCOMES:
            reading.add(REVISITS, tally.visits[outcome], outcome)
            of_hubs = outcome if outcome in HUB_OUTCOMES else "failed"
            reading.add(HUB_REVISITS, tally.hub_visits[outcome], of_hubs)
        reading.add(EXPECTED_UNCHANGED, tally.expected_unchanged)
        reading.add(HUBS, 0 if core.instant is None else core.instant.hubs)
        reading.add(NEW_NEWS, 0 if core.instant is None else core.instant.waiting)
        for delay in tally.delays:
            self._delay.observe(delay)
        tally.delays.clear()
        figures = core.freshness(self._clock())
        for name in self._known | figures.keys():
            label, kept = self._label(name), figures.get(name, Kept())
            reading.add(MATCHES, kept.matches, label)
            reading.add(MATCHES_CURRENT, kept.current, label)
            reading.add(MATCHES_AGE, kept.age, label)
