"""The frontier of one worker: it absorbs facts, and writes rows, evidence and orders.

It has no clock, random numbers or connections of its own: `Frontier` is given the time, a generator and `Rows`,
which are a table's partition in a crawl and a dictionary in the laboratory.
"""

import math
from collections.abc import Callable
from random import Random
from typing import Any

from scentline.models.facts import SIGHTINGS, Sighting
from scentline.models.frontier.book import book_of
from scentline.models.frontier.flights import Tally
from scentline.models.frontier.freshness import Kept
from scentline.models.frontier.instant import Instant
from scentline.models.frontier.keys import Rows
from scentline.models.frontier.leases import Landing, Leases, Orders, Visiting
from scentline.models.frontier.ledger import FrontierLedger
from scentline.models.frontier.queue import ANSWERS_A_SWEEP
from scentline.models.frontier.revisits import Revisits
from scentline.models.frontier.selection import Budget, Selection
from scentline.models.frontier.standing import Standings
from scentline.models.frontier.steered import Steered
from scentline.models.frontier.turns import ProportionalTurns
from scentline.models.policy.estimates import Estimates
from scentline.models.policy.explain import Explainer
from scentline.models.predicate import parse
from scentline.models.published import PAUSED, REMOVED, Exclusion, Limit, Pausing, PredicateDefinition, Steering
from scentline.models.records import FETCHES, FetchOrder, Interests, Visit
from scentline.models.settings import CrawlSettings

#: Seconds between two checks of leases and retries while idle.
IDLE_SECONDS = 0.25
#: Least seconds between two choices, so that a full window does not make it spin.
SHORT_SECONDS = 0.02
#: Seconds between two choices while waiting for a host of an owner below its share.
WAIT_SECONDS = 0.1
#: Seconds for which candidates are loaded at a time.
TAKE_UP_SECONDS = 0.01
#: Seconds between two updates of what the shards held start with.
NOTE_SECONDS = 60.0
#: Choices between two steps of the sweep while nothing is in flight.
LOOKS_A_SWEEP = 20


class Frontier:
    """Absorbs facts, keeps the candidates scored, and orders fetches while the window has room.

    ``partitions`` returns the number of partitions of a topic, ``estimates`` score candidates. ``soon`` commits
    rows that changed without a message, ``stopwatch`` measures work in seconds; the run begins at ``now``.
    """

    def __init__(
        self,
        settings: CrawlSettings,
        partitions: Callable[[str], int],
        estimates: Estimates,
        random: Random,
        soon: Callable[[Rows], None],
        stopwatch: Callable[[], float],
        now: float,
    ) -> None:
        self.settings = settings.frontier
        self._stopwatch = stopwatch
        self.tally = tally = Tally()
        self._estimates = estimates
        self.patterns = estimates.patterns
        self.steered = Steered()
        self.book = book = book_of(settings, partitions)
        self.candidates = candidates = estimates.candidates(book, random)
        candidates.shards.partitions = partitions(SIGHTINGS)
        self.totals = candidates.shards.totals
        self.turns = ProportionalTurns()
        self._orders = orders = Orders(candidates, partitions(FETCHES), soon)
        self.instant: Instant | None = None
        self.schedule: Revisits | None = None
        if self.settings.mode == "instant":
            self.instant = Instant(settings.news, candidates, book, orders, tally)
        if book.visits is not None:
            by = settings.revisit.importance
            self.schedule = Revisits(by, candidates, book.visits, orders, tally, stopwatch)
        self._again = [each for each in (self.instant, self.schedule) if each is not None]
        visiting: dict[Visit, Visiting[Any]] = {each.visit: each for each in self._again}
        self.leases = Leases(candidates, orders, tally, visiting)
        self.budget = Budget(candidates)
        again = self.instant, self.schedule
        self.selection = Selection(candidates, self.turns, self.budget, self.leases, *again, settings.fetch)
        self.standing = Standings(
            settings.fetch, candidates, self.budget, self.selection, lambda: self.state, now
        )
        self.explainer = Explainer(
            settings, candidates.shards.of, candidates.scorer, candidates.priorities, candidates.queues,
            self.steered, self.patterns, candidates.fairness.shares,
        )  # fmt: skip
        self._landing = Landing(candidates, self.turns, self.selection.pace, visiting)
        bounds = settings.learn.features, self.settings.features
        self.ledger = FrontierLedger(candidates.scorer, *bounds, partitions(SIGHTINGS))
        #: Whether the crawl is paused: nothing is ordered, and fetches in flight land.
        self.paused = False
        #: Budgets that people set, to be published again with the settings that they replace.
        self.limits: list[Limit] = []
        self._idle = 0
        self._next_sweep = 0
        self._dry = False
        self._noted = math.inf
        self._rests = 0.0

    # what others publish

    def heard_interests(self, told: Interests) -> None:
        """Apply what learners and other frontiers publish."""
        self.ledger.hear(told)
        self.candidates.learned()

    def heard_predicate(self, definition: PredicateDefinition) -> None:
        """Apply a predicate's definition: a new one, or a change of its share or state."""
        name = definition.name
        if definition.state == REMOVED:
            self.candidates.remove_predicate(name)
            self.turns.remove(name)
        else:
            if name not in self.candidates.queues:
                self.candidates.add_predicate(name, parse(definition.expression).sought)
                self.ledger.tell_all()
            paused = definition.state == PAUSED
            (self.candidates.paused.add if paused else self.candidates.paused.discard)(name)
            if paused:
                self.turns.remove(name)
            else:
                self.turns.set_share(name, definition.share)
        self._dry = False

    def steer(self, told: Steering) -> None:
        """Apply a steering record: a pause, an exclusion, a budget, or a longer delay of a host."""
        if isinstance(told, Pausing):
            self.paused = told.on
        elif isinstance(told, Exclusion):
            self.candidates.exclude(told)
            if self.schedule is not None and not told.on:
                self.schedule.renew()
        elif isinstance(told, Limit):
            limit = self.budget.limit(told)
            self.limits += [limit] if limit != told else []
        else:
            self.candidates.clocks.steer(told.name, told.seconds)
        self._dry = False

    # rows

    def open(self, shard: Rows, now: float) -> None:
        """Load what a partition starts with; `take_up` loads its candidates."""
        self.book.spaces.open(shard)
        self.book.promises.open(shard)
        self.ledger.open(shard)
        self._estimates.open(shard)
        if self.instant is not None:
            self.instant.prepare(shard)
        self.candidates.open(shard, now)
        for each in self._again:
            each.open(shard, now)
        self.standing.changed()

    def close(self, shard: Rows) -> None:
        """Drop a partition's candidates; its next owner counts what was judged and not committed."""
        self.book.evidence.take(shard)
        self.ledger.close(shard.partition)
        self.candidates.scorer.forget_links()
        self.candidates.close(shard)
        self.standing.changed()
        self.book.promises.close(self.candidates.shards.values())
        if self.book.stops is not None:
            self.book.stops.forget()
        for each in self._again:
            each.close(shard)
        self._estimates.close(shard)

    def restore(self, shard: Rows, now: float) -> None:
        """Reload the state kept beside the rows; orders that were not sent yet are discarded."""
        self.book.evidence.take(shard)
        self.candidates.scorer.forget_links()
        self._estimates.close(shard)
        self._estimates.open(shard)
        for each in self._again:
            each.close(shard)
        if self.instant is not None:
            self.instant.prepare(shard)
        for each in self._again:
            each.open(shard, now)
        if self.book.stops is not None:
            self.book.stops.forget()
        self.candidates.restore(shard, now)

    def absorb(self, shard: Rows, fact: Sighting) -> None:
        """Change rows and counts by one fact; candidates are scored once the rows are committed."""
        self._estimates.absorb(shard, fact)
        self.candidates.fairness.absorb(shard, fact)
        self.book.absorb(shard, fact)

    def close_group(self, shard: Rows) -> None:
        """Count what was absorbed since the last call: its rows are committed together."""
        self.ledger.count(shard.partition, self.book.evidence.take(shard))

    def committed(self, shard: Rows, now: float) -> None:
        """Land the fetches of a committed group, and score the pages that it touched."""
        self.ledger.committed(shard.partition)
        self.candidates.learned()
        touched = self.book.touched.pop(shard.partition, set())
        noted, beside = (told.pop(shard.partition, set()) for told in (self.book.noted, self.book.beside))
        # Words are numbered in this order, which decides how sums round: a set's order differs in each run.
        self.candidates.scorer.bring_up(shard, sorted(noted), beside)
        ended, self.book.ended = self.book.ended, []
        for end in ended:
            self._landing.land(end, now)
        if not self.candidates.opening:
            self.candidates.fairness.settle()
        if self._estimates.sweep(shard):
            self.candidates.sweep.renew()
        self.candidates.refresh(shard, sorted(touched), now)
        for each in self._again:
            each.settle(now)
        # A revisit that found no change leaves nothing new for a sweep to find.
        if touched or not all(end.visit == "again" for end in ended):
            self._dry = False

    def reorder(self) -> None:
        """Have the sweep score all candidates again, by the patterns that were mined."""
        if self._estimates.ordering is not None or self.settings.visited_patterns_only:
            self.candidates.sweep.renew()
        self._dry = False

    def note_start(self) -> None:
        """Store what the partitions held start with the next time."""
        self.candidates.note_start(whole=True)

    # choosing

    def take_up(self, now: float) -> None:
        """Load more of the opened shards; while pages are in flight, for at most half of the time."""
        begun = self._stopwatch()
        if self.candidates.flights and begun < self._rests:
            return
        while self.candidates.opening and self._stopwatch() < begun + TAKE_UP_SECONDS:
            self.candidates.take_up(now)
        self._rests = 2 * self._stopwatch() - begun

    def choose(self, now: float) -> list[Rows]:
        """Do what is due, and order fetches; return the shards that have orders to send."""
        self.keep_time(now)
        mining = self.patterns is not None and self.patterns.starting
        changed = [] if mining or self.paused else self.selection.choose(now)
        if not changed:
            self.look_for_more()
        return changed

    def rest(self, now: float, *, ordered: bool) -> float:
        """Return the seconds until the next choice, should nothing change before."""
        if self.candidates.sweep.filling:
            return 0.0
        if self.candidates.opening:
            return TAKE_UP_SECONDS if self.candidates.flights else 0.0
        if self.paused or ordered:
            return IDLE_SECONDS if self.paused else SHORT_SECONDS
        if self.schedule is not None and self.schedule.busy:
            return TAKE_UP_SECONDS
        if self.candidates.fairness.waits:
            return WAIT_SECONDS
        # This looks at every host with candidates: only while idle.
        return min(IDLE_SECONDS, max(SHORT_SECONDS, self.candidates.next_ready(now) - now))

    def keep_time(self, now: float) -> None:
        """Do what is due: end leases and waits, step the sweep, look for news, store what shards start with."""
        self.leases.end(now)
        self.candidates.wake(now)
        if self.candidates.sweep.filling:
            self._fill(now)
        elif not self.candidates.opening:
            self._sweep_in_turn(now)
        for each in self._again:
            each.look(now)
        self.standing.sample(now)
        if math.isinf(self._noted):
            self._noted = now
        if now >= self._noted + NOTE_SECONDS:
            self._noted = now
            for shard in self.candidates.note_start():
                self._orders.soon(shard)

    def _fill(self, now: float) -> None:
        self.candidates.sweep.step(now)
        if not self.candidates.sweep.filling:
            self._dry = not self.candidates.queued

    def _sweep_in_turn(self, now: float) -> None:
        # Paced by answered requests, so that no clock affects scores; and now and then while none is in flight,
        # as the queues may be full of URLs that may not be fetched.
        answered = self.totals().requests
        if answered >= self._next_sweep or self._idle >= LOOKS_A_SWEEP:
            self._next_sweep, self._idle = answered + ANSWERS_A_SWEEP, 0
            self.candidates.sweep.step(now)

    def look_for_more(self) -> None:
        """Note that nothing could be ordered; begin a round of the sweep if the queues are empty."""
        candidates = self.candidates
        self._idle += not candidates.flights
        if candidates.opening or candidates.sweep.filling or candidates.queued or self._dry:
            return
        if self.book.stops is not None:
            self.book.stops.catch_up()
        candidates.sweep.begin()

    def expect(self, order: FetchOrder, now: float) -> None:
        """Note an order that was sent, but not stored in its row before the process died."""
        self.leases.expect(order, now)

    def awaits(self, order: FetchOrder) -> bool:
        """Return whether the answer to an order is still to come."""
        return self.leases.awaits(order)

    # standing

    @property
    def refused_seeds(self) -> frozenset[str]:
        """The seeds that were refused in this run."""
        return frozenset(self._landing.refused_seeds)

    def freshness(self, now: float) -> dict[str, Kept]:
        """Return how current the matches of each predicate are; empty where pages are not visited again."""
        return {} if self.schedule is None else self.schedule.freshness.figures(now)

    @property
    def state(self) -> str:
        """The frontier's state as in `models.published.Standing`, except "ended"."""
        if self.paused:
            return "paused"
        if self.candidates.unknown:
            return "starting"
        return "spent" if self.budget.spent else "done" if self.finished else "running"

    @property
    def finished(self) -> bool:
        """Whether nothing is in flight and nothing is left to do: the budget is spent or all is fetched.

        With hubs, and where judged pages are visited again without a budget, something is always left.
        """
        if self.paused or self.candidates.flights or self.candidates.opening or not self.candidates.shards:
            return False
        if self.patterns is not None and self.patterns.due:
            return False
        hubs = self.instant is not None and self.instant.hubs > 0
        again = self.schedule is not None and not self.budget.limited
        left = bool(self.candidates.retries) or self.candidates.sweep.filling or hubs or again
        return self.budget.spent or (self._dry and not left)
