"""A candidate's priority: by the policy, by the order of discovery, or inherited from a redirect.

What was expected of a page when it was chosen is a promise of the owners of the pages that link to it. Each
owner has a row in each partition, so a restart forgets nothing.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

from scentline.models.errors import EventLog, cause, quarantinable
from scentline.models.frontier.answers import MOST_LOGIT, Promised, Promises, believed
from scentline.models.frontier.keys import OWNER_PREFIX, Rows, owner_key, parent_of
from scentline.models.frontier.rows import HostRow, PageRow
from scentline.models.ledger import Ledger, Slots
from scentline.models.lessons import Lessons, lessons
from scentline.models.policy.combiner import Chances, Forecast
from scentline.models.policy.learned import LearnedScorer
from scentline.models.policy.ordering import Ordering
from scentline.models.policy.scoring import PaperScorer
from scentline.models.predicate import ANYTHING, Sought
from scentline.models.records import Weighting
from scentline.models.reuse import Cell
from scentline.models.semantic import SemanticTable
from scentline.models.settings import FrontierSettings, LearnSettings
from scentline.models.url import host, owner


class Scorer(Protocol):
    """Scores rows by what was learned of each predicate.

    ``ledger`` has the counts: report their changes by `learn`, and freed slots by `forget`.
    """

    ledger: Ledger

    def add_predicate(self, name: str, sought: Sought = ANYTHING) -> None:
        """Start keeping the knowledge of a predicate, beginning with ``sought``."""

    def remove_predicate(self, name: str) -> None:
        """Forget a predicate."""

    def learn(self, slots: Slots) -> None:
        """Apply changed counts in some slots; a slot may occur twice."""

    def forget(self, slots: Slots, names: Sequence[str]) -> None:
        """Drop forgotten features, whose slots may soon be reused."""

    def inherit(self, prior: Mapping[str, Mapping[str, Cell]]) -> None:
        """Apply the counts of earlier crawls: (pages, hits) by feature and predicate."""

    def take(self, predicate: str, weighting: Weighting) -> None:
        """Absorb a predicate's combiner, where the policy has one."""

    def bring_up(self, shard: Rows, linking: Iterable[bytes], beside: Iterable[bytes] = ()) -> None:
        """Apply new or extended verdicts on linking pages, by their identifiers, or on their targets.

        Verdicts on pages that users visited near those of ``beside`` are new or extended, too.
        """

    def forget_links(self) -> None:
        """Drop links and neighbours from memory: their rows may have changed."""

    def judged(self, predicate: str) -> int:
        """Return the number of pages judged by a predicate, or of requests, as far as known here."""

    def priorities(
        self, shard: Rows, rows: Sequence[PageRow], predicates: Collection[str]
    ) -> Sequence[Mapping[str, float]]:
        """Return each candidate's priorities, for these predicates at least; higher comes first."""

    def choose(self, shard: Rows, row: PageRow, predicate: str, explored: bool) -> Chances:
        """Record in the row what a choice was based on; return its chances, if the policy has any."""

    def forecasts(self, shard: Rows, rows: Sequence[PageRow], predicate: str) -> Sequence[Forecast]:
        """Return the chances of candidates for a predicate, and why; nothing is recorded."""


class OrderedScorer(PaperScorer):
    """Scores rows by an importance; keeps each predicate's topic and number of judged pages."""

    def __init__(self, settings: LearnSettings, ordering: Ordering) -> None:
        super().__init__(settings, Lessons())
        self._ordering = ordering
        self._topics: dict[str, tuple[str, ...]] = {}

    def add_predicate(self, name: str, sought: Sought = ANYTHING) -> None:
        """Start keeping a predicate's topic."""
        super().add_predicate(name)
        self._topics[name] = sought.topic

    def priority(self, shard: Rows, row: PageRow, predicate: str) -> float:
        """Return the importance of a page."""
        return self._ordering.value(shard, row, self._topics[predicate])


def scorer(
    rule: str,
    settings: LearnSettings,
    table: SemanticTable | None = None,
    ordering: Ordering | None = None,
    *,
    printed: bool = False,
) -> Scorer:
    """Return the scorer of an ordering or, without one, of a policy.

    ``printed`` applies to the paper's policies, ``table`` to the learned one.
    """
    if ordering is not None:
        return OrderedScorer(settings, ordering)
    if rule == "learned":
        return LearnedScorer(table)
    return PaperScorer(settings, lessons(rule), printed=printed)


#: Part of a promise that a redirect within a site breaks, whatever its target turns out to be.
MOVED = 0.5
#: Linking pages of a page whose owners answer for it, at most.
SOURCES = 8
#: Linking pages whose owners are cached: candidates are scored by the same ones again and again.
REMEMBERED = 10_000


class LinkPromises:
    """Counts promises in rows, and keeps in memory their sums over the partitions held."""

    def __init__(self) -> None:
        self._promises = Promises()
        self._owners: dict[bytes, str] = {}

    def open(self, shard: Rows) -> None:
        """Load a partition's owners."""
        for _ in self.steps(shard):
            pass

    def steps(self, shard: Rows) -> Iterator[None]:
        """Load a partition's owners as `open` does, and yield after each."""
        for key, row in shard.scan(OWNER_PREFIX):
            if isinstance(row, HostRow) and row.promises is not None:
                self._promises.take_up(key[len(OWNER_PREFIX) :].decode(), row.promises)
            yield

    def close(self, held: Iterable[Rows]) -> None:
        """Forget the owners of a partition that another worker has now; reload those ``held``."""
        self._promises = Promises()
        for shard in held:
            self.open(shard)

    def ended(self, shard: Rows, row: PageRow, hit: bool, part: float = 1.0) -> None:
        """Count the outcome of a page that the policy chose: a ``hit`` or not, for ``part`` of its promise."""
        choice = row.choice
        if choice is None or choice.promised is None or row.seed:
            return
        expected = part * choice.promised
        for name in sorted(set(self._sources(shard, row))):
            found = shard.get(owner_key(name))
            kept = found if isinstance(found, HostRow) else HostRow()
            kept.promises = kept.promises or Promised()
            kept.promises.add(expected, hit)
            shard.put(owner_key(name), kept)
            self._promises.ended(name, expected, hit)

    def judged(self, shard: Rows, row: PageRow) -> None:
        """Count the outcome of a judged page."""
        verdict = row.verdict or {}
        self.ended(shard, row, row.choice is not None and verdict.get(row.choice.predicate, False))

    def __bool__(self) -> bool:
        """Return whether any owner may be believed less."""
        return bool(self._promises)

    def belief(self, shard: Rows, row: PageRow) -> float:
        """Return how far the owners of a candidate's linking pages are believed."""
        return self._promises.belief(self._sources(shard, row) if row.parents else (owner(host(row.url)),))

    def redirected(self, shard: Rows, row: PageRow, target: str) -> None:
        """Count a redirect: to another owner it breaks the promise, within a site `MOVED` of it."""
        self.ended(shard, row, hit=False, part=MOVED if owner(host(target)) == owner(host(row.url)) else 1.0)

    def _sources(self, shard: Rows, row: PageRow) -> Iterator[str]:
        if not row.parents:
            yield owner(host(row.url))
        for parent in islice(row.parents, SOURCES):
            yield self._owners.get(parent) or self._owner(shard, parent)

    def _owner(self, shard: Rows, parent: bytes) -> str:
        if len(self._owners) >= REMEMBERED:
            self._owners.clear()
        found = self._owners[parent] = owner(host(parent_of(shard, parent).url))
        return found


#: The depth, under breadth-first, of URLs that no fetched page links to.
UNLINKED_DEPTH = 1e9
#: Policies whose priorities depend on the row alone, as it was last offered.
FIXED = ("breadth-first", "random")
#: The priority of a candidate that can't be scored: it comes last.
UNSCORED = -1e12
#: The priority of a seed, where candidates are the paper's: above any sum of logs.
SEED = 1e9

log = EventLog("frontier")


class Priorities:
    """Computes priorities; a higher one comes first."""

    def __init__(self, settings: FrontierSettings, scorer: Scorer) -> None:
        self._rule = settings.rule
        #: Whether scoring a queued candidate again gives the same priority.
        self.fixed = settings.rule in FIXED
        self._seeds_first = settings.candidates == "paper"
        #: Priorities that can be below the threshold are sums of logs, or a logit.
        self._learns = settings.learns
        #: The least priority of a candidate that is kept, if any.
        self.least = settings.threshold if settings.learns else None
        self._scorer = scorer
        #: How far the owners of linking pages are believed, if known.
        self.promises: LinkPromises | None = None
        #: Times that a candidate could not be scored.
        self.unscored = 0

    def of(self, shard: Rows, rows: Sequence[PageRow], predicates: Collection[str]) -> list[dict[str, float]]:
        """Return candidates' priorities under the policy, at least those inherited from redirects to them.

        Random and breadth-first only order candidates. Seeds come first where candidates are the paper's: at
        the start there are no others (Aggarwal 2004, Figure 1).
        """
        if self.fixed:
            return [dict.fromkeys(predicates, self._order(row)) for row in rows]
        found = []
        promises = self.promises if self._rule == "learned" and self.promises else None
        for row, scores in zip(rows, self._scores(shard, rows, predicates), strict=True):
            belief = 1.0 if promises is None else promises.belief(shard, row)
            if self._seeds_first and row.seed:
                found.append(dict.fromkeys(predicates, SEED))
            elif belief == 1 and not row.inherited and not math.isnan(sum(scores.values())):
                found.append({name: scores[name] for name in predicates})
            else:
                found.append({name: _priority(row, name, scores[name], belief) for name in predicates})
        return found

    def _order(self, row: PageRow) -> float:
        if self._rule == "random":
            return 0.0
        # A page known from the log alone has no distance from the seeds: it comes last.
        near = row.seed or row.links or row.inherited or row.found
        return -float(row.depth) if near else -UNLINKED_DEPTH

    def _scores(
        self, shard: Rows, rows: Sequence[PageRow], predicates: Collection[str]
    ) -> Sequence[Mapping[str, float]]:
        """Return the scorer's priorities; where it fails, score each candidate by itself."""
        try:
            found = self._scorer.priorities(shard, rows, predicates)
        except Exception as error:
            if len(rows) == 1:
                return [dict.fromkeys(predicates, self._failed(rows[0], error))]
            if not quarantinable(error):
                raise
            return [self._scores(shard, [row], predicates)[0] for row in rows]
        return found

    def choose(self, shard: Rows, row: PageRow, predicate: str, explored: bool) -> Chances:
        """Record in the row what a choice was based on; return its chances, if any."""
        try:
            return self._scorer.choose(shard, row, predicate, explored)
        except Exception as error:
            self._failed(row, error)
            return Chances()

    def _failed(self, row: PageRow, error: Exception) -> float:
        """Count a candidate that can't be scored: its rows fail that candidate alone."""
        if not quarantinable(error):
            raise error
        self.unscored += 1
        log.error("a candidate could not be scored", url=row.url, reason=cause(error))
        return UNSCORED

    def of_part(self, priority: float, part: float) -> float:
        """Return the priority of a candidate that is worth a ``part`` of one; orders have no parts."""
        if self._rule == "learned":
            return believed(priority, part)
        return priority + math.log(part) if self._learns else priority

    def worth(self, priority: float) -> float:
        """Return the log of what a priority is worth beside others: of the probability, if it has one.

        High products of interest ratios are overestimates: candidates above the base rate are worth the same.
        Orders have no scale: all candidates are worth the same.
        """
        if self._rule == "learned":
            return -math.log1p(math.exp(-priority)) if priority > -MOST_LOGIT else priority
        return min(0.0, priority) if self._learns else 0.0

    def chance(self, priority: float) -> float:
        """Return the probability of a hit that a priority stands for: an upper bound, or 1 if it has none."""
        return math.exp(self.worth(priority))


def _priority(row: PageRow, predicate: str, score: float, belief: float) -> float:
    found = believed(UNSCORED if math.isnan(score) else score, belief)
    inherited = row.inherited.get(predicate)
    return found if inherited is None else max(found, inherited)
