"""The frontier agent: owns the candidates of its hosts and chooses the next fetches.

What it reads and writes is in `streams.topics`; its table is `frontier`.
"""

import asyncio
import math
import time
from contextlib import suppress
from typing import Any

import msgspec

from scentline.agents.frontier.answers import Answers
from scentline.agents.frontier.book import book_of
from scentline.agents.frontier.estimates import Estimates
from scentline.agents.frontier.explain import Explainer
from scentline.agents.frontier.instant import Instant
from scentline.agents.frontier.keys import check_release
from scentline.agents.frontier.leases import Landing, Leases, Visiting
from scentline.agents.frontier.ledger import FrontierLedger, Telling
from scentline.agents.frontier.metrics import FrontierMetrics, InstantMetrics, RevisitMetrics
from scentline.agents.frontier.revisits import Revisits
from scentline.agents.frontier.rows import FrontierRow, FrontierShard
from scentline.agents.frontier.selection import Budget, Selection
from scentline.agents.frontier.standing import StandingTeller
from scentline.agents.frontier.steered import Steered
from scentline.models.frontier.queue import ANSWERS_A_SWEEP
from scentline.models.frontier.slots import Slots
from scentline.models.frontier.turns import ProportionalTurns
from scentline.models.predicate import parse
from scentline.streams.facts import SightingPack
from scentline.streams.inbox import Shard
from scentline.streams.published import (
    PAUSED,
    REMOVED,
    Exclusion,
    Limit,
    Pausing,
    PredicateDefinition,
    Steering,
    control_key,
)
from scentline.streams.records import Decoder, FetchOrder, Interests, Visit
from scentline.streams.runtime import Runtime
from scentline.streams.stateful import Handler, Stateful
from scentline.streams.topics import CONTROL, SIGHTINGS

#: Seconds between two looks at leases and retries when nothing else happens.
IDLE_SECONDS = 0.25
#: Seconds between two looks at least, so that a full window does not make it turn round and round.
SHORT_SECONDS = 0.02
#: Seconds between two looks while a host that had less than its share is waited for.
WAIT_SECONDS = 0.1
#: Seconds for which candidates are taken up at a time.
TAKE_UP_SECONDS = 0.01
#: Seconds between two notes of what the shards held start with.
NOTE_SECONDS = 60.0
#: Looks between two steps of the sweep while nothing is in flight.
LOOKS_A_SWEEP = 20


class FrontierAgent(Handler[FrontierRow]):
    """Absorbs sightings, keeps the candidates scored, and orders fetches while the windows have room."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.settings = settings = runtime.settings.frontier
        self._estimates = Estimates(runtime.settings, self._reorder)
        self.patterns = self._estimates.patterns
        self._partitions = runtime.bus.partitions(SIGHTINGS.name)
        self.steered = Steered()
        self.book = book_of(runtime.settings, runtime.bus.partitions)
        self.candidates = candidates = self._estimates.candidates(self.book)
        self.totals = candidates.shards.totals
        self.turns = ProportionalTurns()
        self._metrics = metrics = FrontierMetrics(
            runtime, candidates, self.totals, self._slots, lambda: self.ledger.features
        )
        self.revisits, instant = RevisitMetrics(runtime), InstantMetrics(runtime)  # there in every mode
        decode = Decoder[SightingPack](SightingPack)
        self.inbox: Stateful[FrontierRow] = Stateful(runtime, SIGHTINGS, "frontier", FrontierRow, decode, self)
        self.instant: Instant | None = None
        self.schedule: Revisits | None = None
        if settings.mode == "instant":
            self.instant = Instant(runtime, candidates, self.book, self.inbox, instant)
        if self.book.visits is not None:
            self.schedule = Revisits(runtime, candidates, self.book.visits, self.inbox, metrics, self.revisits)
        self._again = [each for each in (self.instant, self.schedule) if each is not None]
        visiting: dict[Visit, Visiting[Any]] = {each.visit: each for each in self._again}
        self.leases = Leases(runtime, candidates, self.inbox, metrics, visiting)
        self.budget = Budget(candidates)
        fetch = runtime.settings.fetch
        by = self.instant, self.schedule
        self.selection = Selection(candidates, self.turns, self.budget, self.leases, *by, fetch)
        self.standing = StandingTeller(runtime, candidates, self.budget, self.selection, lambda: self.state)
        explainer = Explainer(
            runtime.settings, candidates.shards.of, candidates.scorer, candidates.priorities, candidates.queues,
            self.steered, self.patterns, candidates.fairness.shares,
        )  # fmt: skip
        self.answers = Answers(self.standing, explainer)
        self._landing = Landing(candidates, self.turns, self.selection.pace, visiting)
        bounds = runtime.settings.learn.features, settings.features
        self.ledger = FrontierLedger(candidates.scorer, *bounds, self._partitions)
        self.telling = Telling(runtime, self.ledger, metrics.told)
        #: Whether people paused the crawl: nothing is ordered, and what is in flight lands.
        self.paused = False
        self._to_tell: list[Limit] = []
        self._wake = asyncio.Event()
        self._idle = 0
        self._next_sweep = 0
        self._dry = False
        self._noted = math.inf
        self._rests = 0.0

    # what others publish

    def heard_interests(self, told: Interests) -> None:
        """Apply what learners and other frontiers tell."""
        self.ledger.hear(told)
        self.candidates.learned()

    def heard_predicate(self, definition: PredicateDefinition) -> None:
        """Absorb a predicate's definition: a new one, or a change of its share or state."""
        name = definition.name
        if definition.state == REMOVED:
            self.candidates.remove_predicate(name)
            self.turns.remove(name)
        else:
            if name not in self.candidates.queues:
                self.candidates.add_predicate(name, parse(definition.expression).sought)
                self.ledger.tell_all()
                self._metrics.known(name)
                self.revisits.known(name)
            paused = definition.state == PAUSED
            (self.candidates.paused.add if paused else self.candidates.paused.discard)(name)
            if paused:
                self.turns.remove(name)
            else:
                self.turns.set_share(name, definition.share)
        self._dry = False
        self._wake.set()

    def hear_steering(self, value: bytes | None) -> None:
        """Absorb a message of `control` that steers; one that can't be read is passed over."""
        told = self.steered.hear(value)
        if told is not None:
            self.steer(told)

    def steer(self, told: Steering) -> None:
        """Do as people ask: pause, leave URLs out, go by another budget, or by a longer delay of a host."""
        if isinstance(told, Pausing):
            self.paused = told.on
        elif isinstance(told, Exclusion):
            self.candidates.exclude(told)
            if self.schedule is not None and not told.on:
                self.schedule.renew()
        elif isinstance(told, Limit):
            limit = self.budget.limit(told)
            self._to_tell += [limit] if limit != told else []
        else:
            self.candidates.clocks.steer(told.name, told.seconds)
        self._dry = False
        self._wake.set()

    async def _tell_limits(self) -> None:
        told, self._to_tell = self._to_tell, []
        await self.runtime.bus.send_all(
            [(CONTROL.name, 0, control_key(limit).encode(), msgspec.json.encode(limit)) for limit in told]
        )

    # the inbox

    def opened(self, shard: FrontierShard) -> None:
        """Take up a partition's candidates; `ConfigurationError` for rows of an earlier release."""
        check_release(shard)
        self.book.spaces.open(shard)
        self.book.promises.open(shard)
        self.ledger.open(shard)
        shard.closing = lambda: self.ledger.count(shard.partition, self.book.evidence.take(shard))
        self._estimates.open(shard)
        if self.instant is not None:
            self.instant.prepare(shard)
        self.candidates.open(shard, self._partitions, self.runtime.clock())
        for each in self._again:
            each.open(shard, self.runtime.clock())
        self.standing.changed()
        self._wake.set()

    def closed(self, shard: FrontierShard) -> None:
        """Forget a partition's candidates; what it judged and did not commit is counted by its next owner."""
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

    def restored(self, shard: FrontierShard) -> None:
        """Take up again what is kept beside the rows; orders that were not sent yet are none."""
        now = self.runtime.clock()
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

    def absorb(self, shard: FrontierShard, fact: object) -> None:
        """Change rows, and count what one sighting says; candidates are scored when the group is safe."""
        self._estimates.absorb(shard, fact)
        self.candidates.fairness.absorb(shard, fact)
        self.book.absorb(shard, fact)

    def committed(self, shard: Shard[FrontierRow]) -> None:
        """Score what the group touched, and choose again."""
        self.ledger.committed(shard.partition)
        self.candidates.learned()
        self._settle(shard)
        self._wake.set()

    def _settle(self, shard: FrontierShard) -> None:
        now = self.runtime.clock()
        touched = self.book.touched.pop(shard.partition, set())
        noted, beside = (told.pop(shard.partition, set()) for told in (self.book.noted, self.book.beside))
        self.candidates.scorer.bring_up(shard, noted, beside)
        ended, self.book.ended = self.book.ended, []
        for end in ended:
            self._landing.land(end, now)
        if not self.candidates.opening:
            self.candidates.fairness.settle()
        if self._estimates.sweep(shard):
            self.candidates.sweep.renew()
        self.candidates.refresh(shard, touched, now)
        for each in self._again:
            each.settle(now)
        # A page that was looked at again, and is as it was, leaves nothing to be found among all rows.
        if touched or not all(end.visit == "again" for end in ended):
            self._dry = False

    def _reorder(self) -> None:
        if self._estimates.ordering is not None or self.settings.visited_patterns_only:
            self.candidates.sweep.renew()
        self._dry = False
        self._wake.set()

    # choosing

    async def run(self) -> None:
        """Choose whenever something changed, and now and then; never returns."""
        pause = 0.0
        self._noted = self.runtime.clock()
        self.steered.tell()
        while True:
            with suppress(TimeoutError):
                # Not wait_for: before Python 3.12 it may swallow a cancellation.
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            self._wake.clear()
            if self._to_tell:
                await self._tell_limits()
            if self.candidates.opening:
                self._take_up()
            pause = 0.0 if self.candidates.unknown else await self._choose(self.runtime.clock())

    def _take_up(self) -> None:
        """Go on with what was opened: for half of the time at most while pages are in flight."""
        begun = time.perf_counter()
        if self.candidates.flights and begun < self._rests:
            return
        while self.candidates.opening and time.perf_counter() < begun + TAKE_UP_SECONDS:
            self.candidates.take_up(self.runtime.clock())
        self._rests = 2 * time.perf_counter() - begun

    async def finish(self) -> None:
        """Note what the shards held start with the next time."""
        self.candidates.note_start(whole=True)

    async def report(self) -> None:
        """Tell how it stands at a clean end: by what is committed, what other roles' last words were too."""
        await self.inbox.rest()
        await self.standing.finish()

    async def _choose(self, now: float) -> float:
        """Choose once; return the seconds after which it is time again, should nothing change before."""
        self._keep_time(now)
        mining = self.patterns is not None and self.patterns.starting
        changed = [] if mining or self.paused else self.selection.choose(now)
        for shard in changed:
            await self.inbox.commit(shard)
        if not changed:
            self._look_for_more()
        if self.candidates.sweep.filling:
            return 0.0
        if self.candidates.opening:
            return TAKE_UP_SECONDS if self.candidates.flights else 0.0
        if self.paused or changed:
            return IDLE_SECONDS if self.paused else SHORT_SECONDS
        if self.schedule is not None and self.schedule.busy:
            return TAKE_UP_SECONDS
        if self.candidates.fairness.waits:
            return WAIT_SECONDS
        # Looks at every host with candidates: only where there is time for it.
        return min(IDLE_SECONDS, max(SHORT_SECONDS, self.candidates.next_ready(now) - now))

    def _keep_time(self, now: float) -> None:
        """Do what it is time for: end leases and waits, go on with a sweep that is needed, and with news."""
        self.leases.end(now)
        self.candidates.wake(now)
        if self.candidates.sweep.filling:
            self._sweep(now)
        elif not self.candidates.opening:
            self._sweep_in_turn(now)
        for each in self._again:
            each.look(now)
        self.standing.sample(now)
        if now >= self._noted + NOTE_SECONDS:
            self._noted = now
            for shard in self.candidates.note_start():
                self.inbox.commit_soon(shard)

    def _sweep(self, now: float) -> None:
        self.candidates.sweep.step(now)
        if not self.candidates.sweep.filling:
            self._dry = not self.candidates.queued

    def expect(self, order: FetchOrder) -> None:
        """Note an order that was sent although the death of this process kept it out of the row."""
        self.leases.expect(order, self.runtime.clock())

    def _look_for_more(self) -> None:
        """Note that there was nothing to order; begin a round of the sweep where the queues are empty."""
        candidates = self.candidates
        self._idle += not candidates.flights
        if candidates.opening or candidates.sweep.filling or candidates.queued or self._dry:
            return
        if self.book.stops is not None:
            self.book.stops.catch_up()
        candidates.sweep.begin()

    def _sweep_in_turn(self, now: float) -> None:
        # By requests that were answered, so that no clock decides on scores; now and then while none is in
        # flight: the queues may be full of what may not be fetched.
        answered = self.totals().requests
        if answered >= self._next_sweep or self._idle >= LOOKS_A_SWEEP:
            self._next_sweep, self._idle = answered + ANSWERS_A_SWEEP, 0
            self.candidates.sweep.step(now)

    # totals

    @property
    def refused_seeds(self) -> frozenset[str]:
        """The seeds that this run found to be no business of the crawl."""
        return frozenset(self._landing.refused_seeds)

    def _slots(self) -> Slots | None:
        return self.standing.slots()

    @property
    def state(self) -> str:
        """How the frontier goes on, as `streams.published.Standing` has it, but for its end."""
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
        if self.patterns is not None and self.patterns.busy:
            return False
        hubs = self.instant is not None and self.instant.hubs > 0
        again = self.schedule is not None and not self.budget.limited
        left = bool(self.candidates.retries) or self.candidates.sweep.filling or hubs or again
        return self.budget.spent or (self._dry and not left)
