"""The frontier agent: owns the candidates of its hosts and chooses the next fetches.

Reads `sightings`, `interests` and `predicates`; keeps the table `frontier` (a row a URL, a linking page, a
host); writes `evidence`, `fetches` and, for other partitions, `sightings`.
"""

import asyncio
from contextlib import suppress
from random import Random

from agents.frontier.behaviour import SitePatterns
from agents.frontier.book import Book
from agents.frontier.candidates import Candidates
from agents.frontier.instant import Instant
from agents.frontier.ordering import Informed
from agents.frontier.orderings import ordering
from agents.frontier.ranks import Ranks
from agents.frontier.rows import (
    CHOOSABLE,
    INSTANT,
    OPEN,
    TOTALS_KEY,
    Choice,
    FrontierRow,
    FrontierShard,
    HubRow,
    PageRow,
    TotalsRow,
    page_key,
    totals_of,
)
from agents.frontier.scorer import scorer
from agents.metrics.frontier import FrontierMetrics
from agents.metrics.instant import InstantMetrics
from models.frontier.politeness import HostClocks
from models.frontier.turns import Turns
from models.frontier.window import window
from models.predicate import parse
from models.url import host
from streams.inbox import Shard
from streams.logging import EventLog
from streams.records import (
    PAUSED,
    REMOVED,
    Decoder,
    Failed,
    FetchOrder,
    Interest,
    Judged,
    Postponed,
    PredicateDefinition,
    Redirected,
    Revisited,
    SightingPack,
    encode,
)
from streams.runtime import Runtime
from streams.stateful import Stateful
from streams.topics import EVIDENCE, FETCHES, SIGHTINGS

#: Hosts whose clocks are kept.
CLOCKS = 100_000
#: Seconds between two looks at leases and retries when nothing else happens.
IDLE_SECONDS = 0.25
#: Seconds between two looks at least, so that a full window does not make it turn round and round.
SHORT_SECONDS = 0.02
#: Choices between two steps of the sweep.
CHOICES_A_SWEEP = 20

log = EventLog("frontier")


class FrontierAgent:
    """Absorbs sightings, keeps the candidates scored, and orders fetches while the windows have room."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.settings = runtime.settings.frontier
        self.patterns = SitePatterns(self.settings.ways, self._reorder) if runtime.settings.behaviour else None
        self.ordering = ordering(self.settings, self.patterns)
        ranks = Ranks() if runtime.settings.importance else None
        estimates = (self.patterns, self.ordering, ranks)
        self._informed: list[Informed] = [each for each in estimates if each is not None]
        self._learns_patterns = runtime.settings.patterns
        patterns = self.patterns if self._learns_patterns else None
        self.scorer = scorer(self.settings.rule, runtime.settings.learn, self.ordering, ranks, patterns)
        fetch = runtime.settings.fetch
        clocks = HostClocks(fetch.delay_seconds, CLOCKS, fetch.delay_factor, fetch.host_connections)
        self._connections = fetch.connections
        random = Random(runtime.settings.random_seed)
        self.candidates = Candidates(self.settings, self.scorer, clocks, random)
        self.turns = Turns(self.settings.even)
        self._metrics = FrontierMetrics(runtime, self.candidates, self.totals)
        self.dry = False
        self._wake = asyncio.Event()
        self._heard = asyncio.Event()
        self._choices = 0
        publisher = runtime.publisher
        self._partitions = publisher.partitions(SIGHTINGS.name)
        evidence, news = publisher.partitions(EVIDENCE.name), runtime.settings.news
        self.book = Book(self.settings, evidence, self._partitions, fetch.redirects, news)
        self.candidates.spent = self.book.spaces.spent
        self.candidates.stops = self.book.stops
        if self.patterns is not None and self.settings.visited_patterns_only:
            self.candidates.unvisited = self.patterns.unvisited
        decode = Decoder[SightingPack](SightingPack)
        self.inbox: Stateful[FrontierRow] = Stateful(runtime, SIGHTINGS, "frontier", FrontierRow, decode, self)
        self.instant: Instant | None = None
        metrics = InstantMetrics(runtime)
        if self.settings.mode == "instant":
            self.instant = Instant(runtime, self.candidates, self.book, self.inbox, metrics)

    # what others publish

    def heard_interest(self, interest: Interest) -> None:
        """Take in what is known of a feature."""
        self.scorer.learn(interest)
        if not interest.feature:
            self._heard.set()

    def heard_predicate(self, definition: PredicateDefinition) -> None:
        """Take in a predicate's definition: a new one, or a change of its share or state."""
        name = definition.name
        if definition.state == REMOVED:
            self.candidates.remove_predicate(name)
            self.turns.remove(name)
        else:
            if name not in self.candidates.queues:
                self.candidates.add_predicate(name, parse(definition.expression).topic)
                self._metrics.known(name)
            self._give_turns(definition)
        self.dry = False
        self._wake.set()

    def _give_turns(self, definition: PredicateDefinition) -> None:
        if definition.state == PAUSED:
            self.candidates.paused.add(definition.name)
            self.turns.remove(definition.name)
        else:
            self.candidates.paused.discard(definition.name)
            self.turns.set_share(definition.name, definition.share)

    # the inbox

    def opened(self, shard: FrontierShard) -> None:
        """Take up a partition's candidates."""
        self.book.spaces.open(shard)
        for each in self._informed:
            each.open(shard)
        if self.instant is not None:
            self.instant.prepare(shard)
        self.candidates.open(shard, self._partitions)
        if self.instant is not None:
            self.instant.open(shard, self.runtime.clock())
        self._wake.set()

    def closed(self, shard: FrontierShard) -> None:
        """Forget a partition's candidates."""
        self.candidates.close(shard)
        if self.book.stops is not None:
            self.book.stops.forget()
        if self.instant is not None:
            self.instant.close(shard)
        for each in self._informed:
            each.close(shard)

    def absorb(self, shard: FrontierShard, fact: object) -> None:
        """Change rows and emit evidence for one sighting; candidates are scored when the message is done."""
        for each in self._informed:
            each.absorb(shard, fact)
        self.book.absorb(shard, fact)

    def committed(self, shard: Shard[FrontierRow]) -> None:
        """Score what the group touched, and choose again."""
        self._settle(shard)
        self._wake.set()

    def _settle(self, shard: FrontierShard) -> None:
        now = self.runtime.clock()
        touched = self.book.touched.pop(shard.partition, set())
        ended, self.book.ended = self.book.ended, []
        for sighting in ended:
            flight = self.candidates.land(sighting.url, now)
            self._learn_host(sighting, now)
            if isinstance(sighting, Judged):
                self.candidates.withdraw(sighting.url)
            elif isinstance(sighting, Failed):
                self._tell_of_seeds(sighting)
            elif isinstance(sighting, Revisited) and self.instant is not None:
                self.instant.ended(sighting)
            by_policy = flight is not None and not flight.explored and not flight.instant
            if flight is not None and by_policy and isinstance(sighting, Judged):
                self.turns.brought(flight.predicate, sighting.verdict.get(flight.predicate, False))
        swept = [each.sweep(shard) for each in self._informed]  # each is asked, whatever the others say
        # Under the learned policy rows are scored anew little by little, whatever changes.
        if any(swept) and self.ordering is not None:
            self.candidates.reorder()
        self.candidates.refresh(shard, touched, now)
        if self.instant is not None:
            self.instant.settle()
        self.dry = False

    def _tell_of_seeds(self, failed: Failed) -> None:
        """Say so where a seed came to nothing: a crawl without its seeds would end without a word."""
        found = self.candidates.find(failed.url)
        if found is not None and found[1].seed and found[1].state not in OPEN:
            advice = "name it in fetch.allow" if failed.reason.startswith("address") else "look at it"
            log.warning("a seed could not be fetched", url=failed.url, reason=failed.reason, advice=advice)

    def _learn_host(self, sighting: Judged | Failed | Redirected | Postponed | Revisited, now: float) -> None:
        clocks, name = self.candidates.clocks, host(sighting.url)
        revisit = sighting.outcome if isinstance(sighting, Revisited) else ""
        asked = not isinstance(sighting, Postponed) and revisit != "early"
        if sighting.server:
            clocks.serves(sighting.server, name, asked=asked)
        if sighting.crawl_delay:
            clocks.crawl_delay(name, sighting.crawl_delay)
        if isinstance(sighting, Postponed) or not asked:
            return
        if sighting.elapsed:
            clocks.answered(name, sighting.elapsed)
        if isinstance(sighting, Failed) and sighting.kind == "retry":
            clocks.failed(name, now, sighting.retry_after, overloaded=sighting.overloaded)
        elif isinstance(sighting, Revisited) and revisit == "retry":
            clocks.failed(name, now, sighting.wait, overloaded=sighting.overloaded)
        elif isinstance(sighting, Judged) or sighting.elapsed:  # robots.txt may refuse without asking the host
            clocks.succeeded(name, now)

    def _reorder(self) -> None:
        """Choose anew by patterns that changed."""
        if self.ordering is not None or self.settings.visited_patterns_only:
            self.candidates.reorder()
        self.dry = False
        self._wake.set()

    # choosing

    async def run(self) -> None:
        """Choose whenever something changed, and now and then; never returns."""
        pause = 0.0
        while True:
            with suppress(TimeoutError):
                # Not wait_for: before Python 3.12 it may swallow a cancellation.
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            self._wake.clear()
            if self.candidates.opening:
                self.candidates.take_up(self.runtime.clock())
                pause = 0.0
                continue
            await self._hear_of_verdicts()
            now = self.runtime.clock()
            self._end_leases(now)
            self.candidates.wake(now)
            if self.candidates.filling:
                self.candidates.sweep(now)
            if self.instant is not None:
                self.instant.look(now)
            changed = self._choose(now)
            for shard in changed:
                await self.inbox.commit(shard)
            pause = SHORT_SECONDS
            if not changed:
                self._look_for_more(now)
                # Looks at every host with candidates: only where there is time for it.
                pause = min(IDLE_SECONDS, max(SHORT_SECONDS, self.candidates.next_ready(now) - now))
            if self.candidates.filling:
                pause = 0.0

    async def _hear_of_verdicts(self) -> None:
        """Wait a moment until the learner has published what the last verdicts taught."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.settings.settle_seconds):
                while self._unheard():
                    self._heard.clear()
                    await self._heard.wait()

    def _unheard(self) -> bool:
        judged = self.totals().verdicts
        return any(self.scorer.judged(name) < judged.get(name, 0) for name in self.candidates.queues)

    def _choose(self, now: float) -> list[FrontierShard]:
        changed: dict[int, FrontierShard] = {}
        if self.patterns is not None and self.patterns.starting:
            return []
        judged = self.totals().judged
        room = window(judged, self.settings.window_share, self.settings.window_max)
        names = set(self.candidates.queues)
        room -= self.candidates.prompt(now)
        room -= self._choose_at_once(now, room, changed, spare=False)
        while names and self._fits(room) and self._within_budget():
            predicate = self.turns.next(names)
            if predicate is None:
                break
            picked = self.candidates.pick(predicate, now)
            if picked is None:
                names.discard(predicate)
                continue
            shard, row, explored, probability = picked
            priority = row.priorities.get(predicate, 0.0)
            expected = self.scorer.choose(shard, row, predicate, explored)
            policy = self.settings.rule
            choice = Choice(predicate, policy, explored, probability, priority, now, expected)
            self._order(shard, row, choice, now)
            self.turns.charge(predicate)
            room -= 1
            changed[shard.partition] = shard
            if self.instant is not None:
                self.instant.earn()
        self._choose_at_once(now, room, changed, spare=True)
        return list(changed.values())

    def _choose_at_once(self, now: float, room: int, changed: dict[int, FrontierShard], *, spare: bool) -> int:
        """Order instant fetches; return how many. ``spare`` says that there is no other to make."""
        names = sorted(self.candidates.queues.keys() - self.candidates.paused or self.candidates.queues)
        ordered = 0
        while self.instant is not None and names and self._fits(room - ordered) and self._within_budget():
            picked = self.instant.next(now, spare=spare)
            if picked is None:
                break
            shard, row = picked
            if isinstance(row, HubRow):
                self.instant.order(shard, row, now)
            else:
                priority, predicate = max((row.priorities.get(name, 0.0), name) for name in names)
                self._order(shard, row, Choice(predicate, INSTANT, False, 1.0, priority, now), now)
            ordered += 1
            changed[shard.partition] = shard
        return ordered

    def _fits(self, room: int) -> bool:
        return room > 0 and len(self.candidates.flights) < self._connections

    def _within_budget(self) -> bool:
        budget = self.settings.budget
        flying = sum(not flight.revisit for flight in self.candidates.flights.values())
        return not budget or self._judged_by_all() + flying < budget

    def _judged_by_all(self) -> int:
        """Return the pages judged, those of other workers too as far as the learner has told of them."""
        return max([self.totals().judged, *(self.scorer.judged(name) for name in self.candidates.queues)])

    def _order(self, shard: FrontierShard, row: PageRow, choice: Choice, now: float) -> None:
        row.attempts += 1
        row.lease = now + self.settings.lease_seconds
        self._lease(shard, row, choice, now)
        order = FetchOrder(
            url=row.url,
            order=row.attempts,
            predicate=choice.predicate,
            policy=choice.policy,
            explored=choice.explored,
            probability=choice.probability,
            priority=choice.priority,
            depth=row.depth,
            lease=row.lease,
            expected=choice.expected,
            pattern=self._pattern(row.url),
        )
        partition = self.runtime.partition(FETCHES, host(row.url))
        shard.outbox.send(FETCHES.name, partition, None, encode(order))
        by = INSTANT if choice.policy == INSTANT else "chance" if choice.explored else "policy"
        self._metrics.ordered(choice.predicate, by)

    def _pattern(self, url: str) -> str:
        pattern = self.patterns.pattern_of(url) if self.patterns is not None and self._learns_patterns else None
        return "" if pattern is None else pattern.name

    def expect(self, order: FetchOrder) -> None:
        """Take note of an order that was sent although the death of this process kept it out of the row."""
        now = self.runtime.clock()
        if order.revisit is not None:
            if self.instant is not None:
                self.instant.expect(order, now)
            return
        found = self.candidates.find(order.url)
        if found is None or found[1].state not in CHOOSABLE or order.lease < now:
            return
        shard, row = found
        row.attempts = order.order
        row.lease = order.lease
        choice = Choice(
            predicate=order.predicate,
            policy=order.policy,
            explored=order.explored,
            probability=order.probability,
            priority=order.priority,
            time=now,
            expected=order.expected,
        )
        self._lease(shard, row, choice, now)
        self.inbox.commit_soon(shard)

    def _lease(self, shard: FrontierShard, row: PageRow, choice: Choice, now: float) -> None:
        row.state = "leased"
        row.choice = choice
        shard.put(page_key(row.url), row)
        self.candidates.take(row, choice, now)

    def _end_leases(self, now: float) -> None:
        """Take back the URLs whose fetch was never answered."""
        for url in self.candidates.overdue(now):
            flight = self.candidates.land(url, now)
            if flight is not None and flight.revisit and self.instant is not None:
                self.instant.lease_ended(url, now)
                continue
            found = self.candidates.find(url)
            if found is None or found[1].state != "leased":
                continue
            shard, row = found
            self._metrics.lease_lost()
            log.warning("lease ran out", url=url, attempts=row.attempts)
            row.state = "candidate" if row.attempts - row.postponed < self.settings.attempts else "given up"
            row.reason = "no answer within the lease"
            shard.put(page_key(url), row)
            if row.state == "candidate":
                self.candidates.offer(shard, row, now)
            else:
                totals = totals_of(shard)
                totals.count(row.state, 1)
                shard.put(TOTALS_KEY, totals)
            self.inbox.commit_soon(shard)

    def _look_for_more(self, now: float) -> None:
        """Sweep: a step now and then, a whole round when the queues are empty."""
        self._choices += 1
        if not self.candidates.queued and not self.dry:
            if self.book.stops is not None:
                self.book.stops.catch_up()
            while not self.candidates.sweep(now):
                pass
            self.dry = not self.candidates.queued
            if not self.dry:
                self._wake.set()
        elif self._choices % CHOICES_A_SWEEP == 0:
            self.candidates.sweep(now)

    # totals

    def totals(self) -> TotalsRow:
        """Return the totals over the partitions held."""
        total = TotalsRow()
        for shard in self.candidates.shards.values():
            total.add(totals_of(shard))
        return total

    @property
    def spent(self) -> bool:
        """Whether the budget of pages is spent."""
        return bool(self.settings.budget) and self._judged_by_all() >= self.settings.budget

    @property
    def finished(self) -> bool:
        """Whether nothing is in flight and nothing is left to do: the budget is spent or all is fetched.

        While there are hubs to revisit, there is always something left.
        """
        if self.candidates.flights or self.candidates.opening or not self.candidates.shards:
            return False
        if self.patterns and self.patterns.busy:
            return False
        waiting = self.candidates.next_wake is not None or (self.instant is not None and self.instant.hubs > 0)
        return self.spent or (self.dry and not waiting)
