"""What scores candidates: by the paper's rules, by the learned policy, by an ordering, or not at all."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from scentline.models.frontier.keys import Rows
from scentline.models.frontier.rows import PageRow
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
from scentline.models.settings import LearnSettings


class Scorer(Protocol):
    """Knows what was learned of each predicate, and scores rows by it.

    ``ledger`` has the counts: who changes them says so by `learn`, and by `forget` when slots were freed.
    """

    ledger: Ledger

    def add_predicate(self, name: str, sought: Sought = ANYTHING) -> None:
        """Start keeping what is known of a predicate, from what it tells on."""

    def remove_predicate(self, name: str) -> None:
        """Forget a predicate."""

    def learn(self, slots: Slots) -> None:
        """Note that the counts in some slots changed; a slot may be named twice."""

    def forget(self, slots: Slots, names: Sequence[str]) -> None:
        """Note that some features were forgotten: the slots that they were in may be others' soon."""

    def inherit(self, prior: Mapping[str, Mapping[str, Cell]]) -> None:
        """Apply what earlier crawls counted: by feature and predicate (pages, hits)."""

    def take(self, predicate: str, weighting: Weighting) -> None:
        """Absorb a predicate's combiner, where the policy has one."""

    def bring_up(self, shard: Rows, linking: Iterable[bytes], beside: Iterable[bytes] = ()) -> None:
        """Note that verdicts of linking pages, by their identifiers, or of their targets came or grew.

        So did verdicts on pages that users visited near those of ``beside``.
        """

    def forget_links(self) -> None:
        """Keep nothing in memory of what rows say of links and neighbours: they may be others now."""

    def judged(self, predicate: str) -> int:
        """Return the pages that were judged by a predicate, or the requests, as far as it is known here."""

    def priorities(
        self, shard: Rows, rows: Sequence[PageRow], predicates: Collection[str]
    ) -> Sequence[Mapping[str, float]]:
        """Return each candidate's priorities, for these predicates at least; higher comes first."""

    def choose(self, shard: Rows, row: PageRow, predicate: str, explored: bool) -> Chances:
        """Note in the row what a choice was made by; return what is expected of it, if the policy says so."""

    def forecasts(self, shard: Rows, rows: Sequence[PageRow], predicate: str) -> Sequence[Forecast]:
        """Return what is expected of candidates by a predicate, and why; nothing is noted of it."""


class OrderedScorer(PaperScorer):
    """Scores rows by an importance. Of a predicate it knows its topic, and how many pages it has judged."""

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
    """Return what scores candidates by an ordering or, without one, under a policy.

    ``printed`` is for the paper's, ``table`` for the learned one.
    """
    if ordering is not None:
        return OrderedScorer(settings, ordering)
    if rule == "learned":
        return LearnedScorer(table)
    return PaperScorer(settings, lessons(rule), printed=printed)
