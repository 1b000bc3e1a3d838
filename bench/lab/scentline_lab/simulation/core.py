"""The crawl's own frontier in a virtual crawl: its rows, candidates, scores and combiners, in memory.

What a crawl does beside that is left out: prices, shares of owners and broken promises, redirects, time.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

from scentline.agents.frontier.book import Book
from scentline.agents.frontier.candidates import CLOCKS, Candidates
from scentline.agents.frontier.keys import TOTALS_KEY, beside_key, page_key, totals_of
from scentline.agents.frontier.learned import LearnedScorer
from scentline.agents.frontier.ledger import FrontierLedger
from scentline.agents.frontier.rows import BesideRow, FrontierRow, PageRow, TotalsRow
from scentline.agents.frontier.rows import Choice as Chosen
from scentline.agents.frontier.scorer import Scorer
from scentline.agents.operate.reuse import facts
from scentline.models.frontier.politeness import HostClocks
from scentline.models.frontier.queue import ANSWERS_A_SWEEP
from scentline.models.interest.features import SUBJECT
from scentline.models.interest.trace import Trace
from scentline.models.learner.combiner import Combining, Learner
from scentline.models.learner.requests import failing
from scentline.models.learner.semantic import page_subject
from scentline.models.page import Page
from scentline.models.reuse import WEIGHT, Learned, State, learned
from scentline.models.url import identifier
from scentline.models.verdict import FAILED
from scentline.streams.facts import Failed, Judged, Label, Linked, Prior, Seeded
from scentline.streams.inbox import Codec, Shard
from scentline.streams.outbox import Outbox
from scentline.streams.records import Interests, Weighting
from scentline.streams.settings import Settings
from scentline_lab.simulation.crawler import Choice, Ready, Task, anywhere

#: What a virtual crawl calls its one predicate.
NAME = "p"
_SOURCE = "sightings/0"
_CODEC: Codec[FrontierRow] = Codec(FrontierRow)


class _NoTable:
    """What there is on disk: nothing."""

    def get(self, key: bytes) -> bytes | None:
        return None

    def size(self) -> tuple[int, int]:
        return 0, 0

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        return iter(())


class _Labels(Outbox):
    """Keeps the labels of what is emitted; counts are taken from who emits them."""

    def __init__(self) -> None:
        super().__init__(_SOURCE)
        self.labels: list[Label] = []

    def emit(self, topic: str, partition: int, fact: Any) -> tuple[int, int]:
        if isinstance(fact, Label):
            self.labels.append(fact)
        self.skip()
        return self._offset, self._index


class MemoryShard(Shard[FrontierRow]):
    """Rows in memory, on top of those of ``base``, written as in a table, which stay as they are."""

    def __init__(self, base: Mapping[bytes, bytes]) -> None:
        super().__init__(0, _SOURCE, _NoTable(), _CODEC, 0)
        self.outbox = self.told = _Labels()
        self._base = base
        self._rows: dict[bytes, FrontierRow] = {}
        self._keys = sorted(base)

    def get(self, key: bytes) -> FrontierRow | None:
        """Return a row."""
        row = self._rows.get(key)
        if row is None and key in self._base:
            row = self._rows[key] = _CODEC.decode(self._base[key])
        return row

    def put(self, key: bytes, row: FrontierRow) -> None:
        """Keep a row."""
        if key not in self._rows and key not in self._base:
            insort(self._keys, key)
        self._rows[key] = row

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, FrontierRow]]:
        """Yield the rows with ``prefix`` in key order."""
        start = bisect_left(self._keys, prefix) if after is None else bisect_right(self._keys, after)
        for key in self._keys[start:]:
            row = self.get(key) if key.startswith(prefix) else None
            if row is None:
                return
            yield key, row


@lru_cache(4)
def rows_of(trace: Trace) -> Mapping[bytes, bytes]:
    """Return the rows that a log leaves, as `agents.frontier.crowd.Crowd` makes them of visits."""
    names = {url: identifier(url) for url in trace.accesses.keys() | trace.keepers.keys()}
    found: dict[bytes, FrontierRow] = {TOTALS_KEY: TotalsRow(discovered=len(trace.accesses))}
    for number, (url, visits) in enumerate(trace.accesses.items()):
        near = trace.together.get(url, {})
        found[page_key(url)] = PageRow(
            url, 1, number, visits=visits, visitors=list(trace.visitors[url]),
            together={names[other]: [0, *cell] for other, cell in near.items()}, told=[0] if near else [],
        )  # fmt: skip
    for url, keepers in trace.keepers.items():
        found[beside_key(names[url])] = BesideRow(pages=dict.fromkeys(map(names.__getitem__, keepers)))
    return {key: _CODEC.encode(row) for key, row in found.items()}


class _Asked(HostClocks):
    """The hosts that may be asked, as the virtual crawl has it."""

    ask: Ready = staticmethod(anywhere)

    def ready(self, host: str, now: float) -> bool:
        return self.ask(host)


class CoreCrawler:
    """A policy of the crawl at work for one predicate; a `simulation.crawler.Crawler`.

    ``settings`` are the crawl's, ``scorer`` knows what the policy learns. A label changes the combiner an
    answer later, as in a crawl, where the frontier counts a verdict itself and chooses before the learner has
    published the new weights. An earlier crawl's ``state`` is taken up, its counts multiplied by ``weight``.
    """

    def __init__(
        self, task: Task, settings: Settings, scorer: Scorer, state: State | None = None, weight: float = WEIGHT
    ) -> None:
        self._rule = settings.frontier.rule
        self._scorer = scorer
        self._shard = MemoryShard(rows_of(task.trace))
        self._book = Book(settings.frontier, 1, 1, redirects=0)
        self._candidates = candidates = Candidates(settings, scorer, task.random)
        candidates.clocks = self._clocks = _Asked(0.0, CLOCKS, lambda host: None)
        candidates.scope.spent = self._book.spaces.spent
        candidates.shards[0] = self._shard
        candidates.add_predicate(NAME, task.sought)
        self._ledger = FrontierLedger(settings.frontier.features, scorer)
        #: What is known from the start, until it is scored.
        self._unscored = [*map(page_key, task.trace.accesses)]
        self._seeds: list[bytes] = []
        self._learners: dict[str, Learner] = {}
        if isinstance(scorer, LearnedScorer):
            inputs = scorer.all_inputs()
            self._learners = {FAILED: Learner(inputs=failing(inputs)), NAME: Learner(inputs=inputs)}
        self._earlier: dict[str, list[tuple[str, float, float]]] = {}
        self._answers = self._next_sweep = 0
        if state is not None:
            self._start(state, weight)

    # an earlier crawl, and a later one

    def _start(self, state: State, weight: float) -> None:
        self._earlier = {each.name: list(each.counts(weight)) for each in state.learned}
        priors = (fact for _, fact in facts(state, weight) if isinstance(fact, Prior))
        self._ledger.hear(Interests(prior={prior.feature: prior.counts for prior in priors}))
        for each in state.learned:
            if each.combining is not None and each.name in self._learners:
                self._learners[each.name].start(each.combining)
                self._publish(each.name)

    def export_state(self) -> State:
        """Return what was learned, with what the crawl started with included (section 4.1)."""
        self._learn()
        return State(self._rule, [self._learned(name) for name in self._learners or (NAME,)])

    def _learned(self, name: str) -> Learned:
        counts = (entry for entry in self._scorer.ledger.items_of(name) if not entry[0].startswith(SUBJECT))
        combining = None
        if isinstance(self._scorer, LearnedScorer):
            state = self._learners[name].state()
            combining = Combining(self._scorer.names, state.mean, state.covariance, state.calibration)
        return learned(name, "", chain(counts, self._earlier.get(name, ())), combining)

    def _learn(self) -> None:
        labels, self._shard.told.labels = self._shard.told.labels, []
        for label in labels:
            self._learners[label.predicate].learn(label.inputs, label.holds, label.chosen)
        for name in {label.predicate for label in labels}:
            self._publish(name)

    def _publish(self, name: str) -> None:
        learner = self._learners[name]
        combiner = learner.combiner
        self._scorer.take(
            name, Weighting(combiner.mean.tobytes(), combiner.covariance.tobytes(), learner.shifts)
        )

    # answers

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate to start from."""
        self._book.absorb(self._shard, Seeded(url))
        self._seeds.append(page_key(url))
        self._book.touched.clear()

    def judged(self, page: Page, holds: bool) -> None:
        """Absorb the facts that the judge sends of a page."""
        url, verdict, now = page.url, {NAME: holds}, self._answer()
        depth = self._row(url).depth
        linked = Linked(identifier(url), url, depth, verdict, page.words, page.links, (0,), now)
        subject = page_subject(url, page.title)
        self._settle(linked, Judged(url, verdict, now, words=page.words, elapsed=1.0, subject=subject))

    def failed(self, url: str) -> None:
        """Absorb the fact that a request brought no page."""
        now, row = self._answer(), self._row(url)
        row.state = "leased"  # as it is not of a seed that was asked without a choice
        self._settle(Failed(url, row.attempts, "gone", "", now, elapsed=1.0))

    def _row(self, url: str) -> PageRow:
        key = page_key(url)
        row = self._shard.get(key)
        if not isinstance(row, PageRow):
            raise KeyError(url)
        return row

    def _answer(self) -> float:
        self._learn()
        self._answers += 1
        return float(self._answers)

    def _settle(self, *ends: Linked | Judged | Failed) -> None:
        """Absorb how a request ended, and do what the frontier does when that is safe."""
        shard, candidates = self._shard, self._candidates
        for fact in ends:
            self._book.absorb(shard, fact)
        self._ledger.count(_SOURCE, self._book.evidence.take(shard))
        candidates.learned()
        self._scorer.bring_up(shard, sorted(self._book.noted.pop(0, ())), self._book.beside.pop(0, ()))
        candidates.flights.land(ends[-1].url, self._answers)
        candidates.withdraw(ends[-1].url)
        self._book.ended.clear()
        self._offer(sorted(self._book.touched.pop(0, ())))  # equal ones go by their order

    def _offer(self, keys: Iterable[bytes]) -> None:
        self._candidates.refresh(self._shard, keys, self._answers)

    # choices

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Take out the best candidate on a ready host, now and then one drawn by chance."""
        candidates, now = self._candidates, float(self._answers)
        self._clocks.ask = ready
        if self._unscored or self._seeds:
            self._offer(chain(self._unscored, self._seeds))
            self._unscored, self._seeds = [], []
        answered = totals_of(self._shard).requests
        if answered >= self._next_sweep:
            self._next_sweep = answered + ANSWERS_A_SWEEP
            candidates.sweep.step(now)
        picked = candidates.pick(NAME, now)
        if picked is None:
            return None
        shard, row, explored, probability = picked
        priority = candidates.priorities_of(row.url)[NAME]
        chances = candidates.priorities.choose(shard, row, NAME, explored)
        choice = Chosen(NAME, self._rule, explored, probability, priority, now, *chances)
        candidates.lease(shard, row, choice, now)
        return Choice(row.url, chances.expected, explored)
