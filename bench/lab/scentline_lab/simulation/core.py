"""The crawl's own frontier in a virtual crawl, in memory; without prices, owners' shares, redirects, time."""

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Generic

from scentline.agents.learn import LearnRow, ModelRow, ModelStore, model_key
from scentline.agents.operate.reuse import facts
from scentline.models.facts import Fetched, Found, Label, Linked, Missing, Prior, Sighting
from scentline.models.facts import Page as Came
from scentline.models.frontier.candidates import CLOCKS
from scentline.models.frontier.core import Frontier
from scentline.models.frontier.keys import BESIDE_PREFIX, TOTALS_KEY, page_key
from scentline.models.frontier.politeness import HostClocks
from scentline.models.frontier.rows import BesideRow, FrontierRow, PageRow, TotalsRow
from scentline.models.frontier.rows import Choice as Chosen
from scentline.models.page import FAILED, Page
from scentline.models.policy.combiner import Combining
from scentline.models.policy.estimates import Estimates
from scentline.models.policy.features import SUBJECT
from scentline.models.policy.learned import LearnedScorer
from scentline.models.policy.priorities import Scorer
from scentline.models.records import HostAnswer, Interests
from scentline.models.reuse import WEIGHT, Learned, State, learned
from scentline.models.semantic import page_subject
from scentline.models.trace import Trace
from scentline.models.url import identifier
from scentline.streams.inbox import Codec, Row, Shard
from scentline.streams.settings import Settings
from scentline_lab.simulation.virtual import Choice, Ready, Task, anywhere

NAME = "p"  #: The name of a virtual crawl's one predicate.
_CODEC: Codec[FrontierRow] = Codec(FrontierRow)


class Memory(dict[bytes, bytes]):
    """A partition of a table that keeps its rows in memory."""

    def put(self, rows: Mapping[bytes, bytes | None]) -> None:
        for key, value in rows.items():
            self.pop(key, None)
            if value is not None:
                self[key] = value

    def size(self) -> tuple[int, int]:
        return len(self), sum(map(len, self.values()))

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        keys = (key for key in self if key.startswith(prefix) and (after is None or key > after))
        yield from ((key, self[key]) for key in sorted(keys))


class MemoryShard(Shard[Row], Generic[Row]):
    """Rows in memory over the encoded rows of ``base``, which never change."""

    def __init__(self, codec: Codec[Row], base: Mapping[bytes, bytes]) -> None:
        super().__init__(0, "sightings/0", Memory(), codec, 0)
        self.labels: list[Label] = []  #: Those that were emitted.
        self._base = base
        self._rows: dict[bytes, Row] = {}
        self._keys = sorted(base)

    def emit(self, topic: str, partition: int, fact: Any) -> None:
        if isinstance(fact, Label):
            self.labels.append(fact)

    def get(self, key: bytes) -> Row | None:
        row = self._rows.get(key)
        if row is None and key in self._base:
            row = self._rows[key] = self._codec.decode(self._base[key])
        return row

    def put(self, key: bytes, row: Row) -> None:
        if key not in self._rows and key not in self._base:
            insort(self._keys, key)
        self._rows[key] = row

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, Row]]:
        start = bisect_left(self._keys, prefix) if after is None else bisect_right(self._keys, after)
        for key in self._keys[start:]:
            row = self.get(key) if key.startswith(prefix) else None
            if row is None:
                return
            yield key, row


@lru_cache(4)
def rows_of(trace: Trace) -> Mapping[bytes, bytes]:
    """Return the rows that a log leaves, as `models.frontier.teaching.Crowd` makes them of visits."""
    names = {url: identifier(url) for url in trace.accesses.keys() | trace.keepers.keys()}
    found: dict[bytes, FrontierRow] = {TOTALS_KEY: TotalsRow(discovered=len(trace.accesses))}
    for number, (url, visits) in enumerate(trace.accesses.items()):
        near = trace.together.get(url, {})
        found[page_key(url)] = PageRow(
            url, 1, number, visits=visits, visitors=list(trace.visitors[url]),
            together={names[other]: [0, *cell] for other, cell in near.items()}, told=[0] if near else [],
        )  # fmt: skip
    for url, keepers in trace.keepers.items():
        found[BESIDE_PREFIX + names[url]] = BesideRow(pages=dict.fromkeys(map(names.__getitem__, keepers)))
    return {key: _CODEC.encode(row) for key, row in found.items()}


class _Asked(HostClocks):
    ask: Ready = staticmethod(anywhere)

    def ready(self, host: str, now: float) -> bool:
        return self.ask(host)


class CoreCrawler:
    """A policy of the crawl for one predicate, by the crawl's own `Frontier`. A label changes the combiner one
    answer later, as in a crawl. The counts of an earlier crawl's ``state`` are multiplied by ``weight``.
    """

    def __init__(
        self, task: Task, settings: Settings, scorer: Scorer, state: State | None = None, weight: float = WEIGHT
    ) -> None:
        self._rule, self._scorer = settings.frontier.rule, scorer
        estimates = Estimates(settings, None)
        estimates.scorer, nothing = scorer, lambda _: None
        self._frontier = Frontier(settings, lambda _: 1, estimates, task.random, nothing, lambda: 0.0, 0.0)
        self._candidates = candidates = self._frontier.candidates
        candidates.clocks = self._clocks = _Asked(0.0, CLOCKS, nothing)
        candidates.priorities.promises = None
        self._shard = MemoryShard(_CODEC, rows_of(task.trace))
        candidates.add_predicate(NAME, task.sought)
        self._frontier.open(self._shard, 0.0)
        # Known from the start, and scored with the first choice, after the seeds.
        self._unscored = [*map(page_key, task.trace.accesses)]
        self._models = ModelStore(scorer.all_inputs()) if isinstance(scorer, LearnedScorer) else None
        self._combiners = MemoryShard(Codec[LearnRow](LearnRow), {})
        self._earlier: dict[str, list[tuple[str, float, float]]] = {}
        self._answers = 0
        if state is not None:
            self._start(state, weight)

    def _start(self, state: State, weight: float) -> None:
        self._earlier = {each.name: list(each.counts(weight)) for each in state.learned}
        prior: dict[str, dict[str, tuple[float, float]]] = {}
        for _, fact in facts(state, weight):
            if isinstance(fact, Prior):
                prior[fact.feature] = fact.counts
            elif self._models is not None and self._models.start(self._combiners, fact):
                self._publish(self._models, fact.predicate)
        self._frontier.heard_interests(Interests(prior=prior))

    def export_state(self) -> State:
        """Return what was learned, including what the crawl started with (Aggarwal 2004, section 4.1)."""
        self._learn()
        names = (NAME,) if self._models is None else (FAILED, NAME)
        return State(self._rule, [self._learned(name) for name in names])

    def _learned(self, name: str) -> Learned:
        counts = (entry for entry in self._scorer.ledger.items_of(name) if not entry[0].startswith(SUBJECT))
        row, combining = self._combiners.get(model_key(name)), None
        if isinstance(self._scorer, LearnedScorer) and isinstance(row, ModelRow):
            combining = Combining(self._scorer.names, row.mean, row.covariance, row.calibration)
        return learned(name, "", chain(counts, self._earlier.get(name, ())), combining)

    def _learn(self) -> None:
        labels, self._shard.labels = self._shard.labels, []
        if self._models is not None:
            for label in labels:
                self._models.learn(self._combiners, label)
            for name in {label.predicate for label in labels}:
                self._publish(self._models, name)

    def _publish(self, models: ModelStore, name: str) -> None:
        self._scorer.take(name, models.weighting(self._combiners, name))

    def add_seed(self, url: str) -> None:
        self._settle(Found(url, seed=True))
        self._unscored.append(page_key(url))

    def judged(self, page: Page, holds: bool) -> None:
        url, verdict, now = page.url, {NAME: holds}, self._answer()
        linked = Linked(identifier(url), url, self._row(url).depth, verdict, page.words, page.links, (0,), now)
        came = Came(verdict, page.words, page_subject(url, page.title))
        self._settle(linked, Fetched(url, 0, "first", now, HostAnswer(elapsed=1.0), came))

    def failed(self, url: str) -> None:
        now, row = self._answer(), self._row(url)
        row.state = "leased"  # a seed asked without a choice is not
        answer = HostAnswer(elapsed=1.0)
        self._settle(Fetched(url, row.attempts, "first", now, answer, Missing("gone", "")))

    def _row(self, url: str) -> PageRow:
        row = self._shard.get(page_key(url))
        if not isinstance(row, PageRow):
            raise KeyError(url)
        return row

    def _answer(self) -> float:
        self._learn()
        self._answers += 1
        return float(self._answers)

    def _settle(self, *facts: Sighting) -> None:
        for fact in facts:
            self._frontier.absorb(self._shard, fact)
        self._frontier.close_group(self._shard)
        self._frontier.committed(self._shard, float(self._answers))

    def next(self, ready: Ready = anywhere) -> Choice | None:
        candidates, now = self._candidates, float(self._answers)
        self._clocks.ask = ready
        self._frontier.take_up(now)
        candidates.refresh(self._shard, self._unscored, now)
        self._unscored = []
        self._frontier.keep_time(now)
        picked = candidates.pick(NAME, now)
        if picked is None:
            return None
        shard, row, explored, probability = picked
        priority = candidates.priorities_of(row.url)[NAME]
        chances = candidates.priorities.choose(shard, row, NAME, explored)
        row.attempts, row.lease = row.attempts + 1, math.inf
        choice = Chosen(NAME, self._rule, explored, probability, priority, now, *chances)
        candidates.lease(shard, row, choice, now)
        return Choice(row.url, chances.expected, explored)
