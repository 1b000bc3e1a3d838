"""A candidate's priority by the paper's rules, from its rows and what was learned."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scentline.models.frontier.keys import PARENT_PREFIX, Rows, beside_of, children_of
from scentline.models.frontier.linking import ChildrenRow, ParentRow, links_to
from scentline.models.frontier.rows import BesideRow, PageRow
from scentline.models.ledger import Ledger, Slots
from scentline.models.lessons import Lessons
from scentline.models.policy.candidate import Naming
from scentline.models.policy.combiner import Chances, Forecast
from scentline.models.policy.factors import SIGNERS, kept, locality_log, region_log, sibling_log, signature
from scentline.models.policy.features import BASE, PAPER, SIGNATURE, TOKEN, USER, WORD, Weighed
from scentline.models.policy.inputs import NAMED
from scentline.models.policy.vocabulary import Numbers, Vocabulary
from scentline.models.policy.weights import (
    Contribution,
    CrowdEvidence,
    Evidence,
    Weights,
    contributions,
    crowd_contributions,
    ordered,
)
from scentline.models.predicate import ANYTHING, Sought
from scentline.models.records import Weighting
from scentline.models.settings import LearnSettings
from scentline.models.url import identifier, tokens

#: Pages whose words, and whose judged targets for a predicate, are kept in memory.
CACHED_PAGES = 50_000
#: Words kept in memory before uncounted ones are forgotten.
MOST_WORDS = 250_000
NO_PLACES = np.zeros(0, np.intp)


class Children(NamedTuple):
    """A linking page's judged targets for one predicate: all of them, and those that satisfy it.

    ``verdicts`` is how many were noted or extended when this was computed.
    """

    verdicts: int
    visited: frozenset[bytes]
    satisfying: frozenset[bytes]


class Known:
    """A predicate in memory: its weights, and what scoring needs of linking pages.

    ``naming`` orders candidates before the first hit.
    """

    def __init__(self, weights: Weights, naming: Naming) -> None:
        self.weights = weights
        self.naming = naming
        self._children: dict[tuple[int, bytes], Children] = {}

    def siblings(self, shard: Rows, parents: Iterable[bytes]) -> tuple[int, int]:
        """Return the distinct visited siblings of a candidate, and how many of them satisfy the predicate."""
        rows = [(page, children_of(shard, page)) for page in parents]
        found = [self._judged((shard.partition, page), row) for page, row in rows if row.positions]
        if len(found) == 1:
            return len(found[0].visited), len(found[0].satisfying)
        visited = frozenset().union(*(children.visited for children in found))
        satisfying = frozenset().union(*(children.satisfying for children in found))
        return len(visited), len(satisfying)

    def _judged(self, place: tuple[int, bytes], row: ChildrenRow) -> Children:
        # A verdict reaches each partition in its own time, so equal numbers need not be the same verdicts.
        children = self._children.get(place)
        if children is None or children.verdicts != row.noted:
            name = self.weights.predicate
            verdicts = {child: verdict[name] for child, verdict in row.judged.items() if name in verdict}
            satisfying = frozenset(child for child, holds in verdicts.items() if holds)
            children = Children(row.noted, frozenset(verdicts), satisfying)
            if len(self._children) > CACHED_PAGES:
                self._children.clear()
            self._children[place] = children
        return children


class PaperScorer:
    """Scores rows by links, by users, or by both, as ``lessons`` says (Aggarwal 2004).

    While a predicate has no hit every ratio is 1: until then, unless ``printed``, its candidates are ordered by
    how far their URLs and links name its topic. ``drift`` is that of `models.policy.features.Significant`.
    """

    def __init__(
        self,
        settings: LearnSettings,
        lessons: Lessons,
        drift: float = 0.02,
        *,
        printed: bool = False,
        words: int = MOST_WORDS,
    ) -> None:
        self.ledger = Ledger()
        self._vocabulary = Vocabulary(self.ledger, PAPER)
        self._least_words = self._most_words = words
        #: By kind and page the places of its words.
        self._pages: dict[tuple[str, bytes], Numbers] = {}
        self._settings = settings
        self._lessons = lessons
        self._drift = drift
        self._printed = printed
        self._known: dict[str, Known] = {}
        self._prior: dict[str, Mapping[str, Weighed]] = {}

    def add_predicate(self, name: str, sought: Sought = ANYTHING) -> None:
        """Start keeping a predicate's weights; its topic counts until there is a hit."""
        if name not in self._known:
            t, test = self._settings.t, self._settings.significance
            weights = Weights(name, self._vocabulary, t, test, self._drift)
            weights.inherit(self._prior)
            self._known[name] = Known(weights, Naming(() if self._printed else sought.topic))

    def weights(self, predicate: str) -> Weights:
        """Return a predicate's weights."""
        return self._known[predicate].weights

    def learn(self, slots: Slots) -> None:
        """Apply changed counts in some slots; predicates never added are ignored."""
        self._learn(self._vocabulary.places_in(slots))

    def forget(self, slots: Slots, names: Sequence[str]) -> None:
        """Drop forgotten features, in these slots."""
        self._learn(self._vocabulary.forget(slots))

    def _learn(self, places: Numbers) -> None:
        for known in self._known.values():
            known.weights.learn(places)

    def inherit(self, prior: Mapping[str, Mapping[str, Weighed]]) -> None:
        """Add the counts of earlier crawls."""
        self._prior.update(prior)
        for known in self._known.values():
            known.weights.inherit(prior)

    def take(self, predicate: str, weighting: Weighting) -> None:
        """Do nothing: the paper's ratios are added up as they are."""

    def remove_predicate(self, name: str) -> None:
        """Forget a predicate."""
        self._known.pop(name, None)

    def bring_up(self, shard: Rows, linking: Iterable[bytes], beside: Iterable[bytes] = ()) -> None:
        """Do nothing: rows are read when a candidate is scored."""

    def forget_links(self) -> None:
        """Do nothing: only words of linking pages are kept, and siblings by their row's number of verdicts."""

    def judged(self, predicate: str) -> int:
        """Return the number of pages judged by a predicate, as far as known here."""
        return self.ledger.get(BASE, predicate)[0]

    def priorities(
        self, shard: Rows, rows: Sequence[PageRow], predicates: Collection[str]
    ) -> list[dict[str, float]]:
        """Return each candidate's priorities for some predicates."""
        if len(self._vocabulary) > self._most_words:
            self._forget_words()
        return [{name: self.priority(shard, row, name) for name in predicates} for row in rows]

    def _forget_words(self) -> None:
        all_known = [known.weights for known in self._known.values()]
        before = self._vocabulary.compact(
            np.concatenate([NO_PLACES, *(weights.beside for weights in all_known)])
        )
        for weights in all_known:
            weights.renumber(before)
        self._pages.clear()
        self._most_words = max(self._least_words, 2 * len(self._vocabulary))

    def _log_of_any(
        self, weights: Weights, kind: str, pages: Iterable[tuple[bytes, ParentRow | BesideRow]]
    ) -> float:
        """Return the sum of the logs of the distinct words of some pages."""
        if len(self._pages) > CACHED_PAGES:
            self._pages.clear()
        groups = []
        for page, row in pages:
            places = self._pages.get((kind, page))
            if places is None:
                numbers = self._vocabulary.numbers(row.words, PAPER[kind])
                places = self._pages[kind, page] = np.array(numbers, np.intp)
            groups.append(places)
        return weights.words.of_any(groups)

    def priority(self, shard: Rows, row: PageRow, predicate: str) -> float:
        """Return the sum of the logs of the policy's interest ratios, or `_by_words` before the first hit."""
        if not self._known[predicate].weights.base.hits:
            return self._by_words(shard, row, predicate)
        total = self._by_links(shard, row, predicate) if self._lessons.links else 0.0
        return total + (self._by_users(shard, row, predicate) if self._lessons.users else 0.0)

    def choose(self, shard: Rows, row: PageRow, predicate: str, explored: bool) -> Chances:
        """Return unknown chances: the paper's ratios give no probability."""
        return Chances()

    def forecasts(self, shard: Rows, rows: Sequence[PageRow], predicate: str) -> list[Forecast]:
        """Return what each feature adds to candidates' priorities; users are summed."""
        return [Forecast(adds=self._adds(shard, row, predicate)) for row in rows]

    def contributions(self, shard: Rows, row: PageRow, predicate: str) -> list[Contribution]:
        """Return what each feature adds to a candidate's priority, the largest effect first."""
        weights = self.weights(predicate)
        parts: list[Contribution] = []
        if self._lessons.links:
            parts += contributions(self.evidence(shard, row, predicate), weights)
        if self._lessons.users:
            parts += crowd_contributions(crowd_of(shard, row, predicate), weights)
        named = 0.0 if weights.base.hits else self._by_words(shard, row, predicate)
        if named:
            parts.append(Contribution(NAMED, 0, 0, math.exp(named), 0.0, named))
        return ordered(parts)

    def _adds(self, shard: Rows, row: PageRow, predicate: str) -> list[tuple[str, float]]:
        found: dict[str, float] = {}
        for part in self.contributions(shard, row, predicate):
            name = "users" if part.feature.startswith(USER) else part.feature
            found[name] = found.get(name, 0.0) + part.log
        return list(found.items())

    def _by_words(self, shard: Rows, row: PageRow, predicate: str) -> float:
        """Return how far a candidate's URL, or the best of its kept in-links, names the predicate's topic."""
        naming, page = self._known[predicate].naming, identifier(row.url)
        if not naming:
            return 0.0
        links = links_to((parent for _, parent in linking_pages(shard, row)), page)
        return max(naming.by_url(row.url), *map(naming.by_link, links), 0.0)

    def _by_links(self, shard: Rows, row: PageRow, predicate: str) -> float:
        """Return PriorityValue (section 3)."""
        known = self._known[predicate]
        weights = known.weights
        parents = linking_pages(shard, row)
        k, m = row.links.get(predicate, (0, 0))
        content, of_tokens, of_links, of_siblings = self._settings.weights
        return (
            content * self._log_of_any(weights, WORD, parents)
            + of_tokens * weights.sum(TOKEN, tokens(row.url))
            + of_links * locality_log(k, m, weights.links, weights.base)
            + of_siblings * sibling_log(*known.siblings(shard, row.parents), weights.base)
        )

    def _by_users(self, shard: Rows, row: PageRow, predicate: str) -> float:
        """Return log I^C (equation 14); a page that is not in the log has the factor 1."""
        if not row.visits:
            return 0.0
        known = self._known[predicate]
        weights = known.weights
        near = pages_beside(shard, row)
        return (
            weights.sum(USER, row.visitors)
            + self._log_of_any(weights, SIGNATURE, ((page, near[page]) for page in signers(row, near)))
            + region_log(_within(near, predicate), weights.region, weights.base)
        )

    def evidence(self, shard: Rows, row: PageRow, predicate: str) -> Evidence:
        """Return the full link evidence of a candidate, for an explanation."""
        parents = linking_pages(shard, row)
        v, s = self._known[predicate].siblings(shard, row.parents)
        k, m = row.links.get(predicate, (0, 0))
        words = tuple(parent.words for _, parent in parents)
        return Evidence(words, tokens(row.url), k=k, m=m, v=v, s=s)


def crowd_of(shard: Rows, row: PageRow, predicate: str) -> CrowdEvidence:
    """Return the full user evidence of a page, with the words of its signature."""
    if not row.visits:
        return CrowdEvidence()
    near = pages_beside(shard, row)
    words = signature(near[page].words for page in signers(row, near))
    return CrowdEvidence(tuple(row.visitors), words, _within(near, predicate))


def _within(near: Mapping[bytes, BesideRow], predicate: str) -> bool:
    return any(found.verdict and found.verdict.get(predicate) for found in near.values())


def pages_beside(shard: Rows, row: PageRow) -> dict[bytes, BesideRow]:
    """Return the judged pages in whose region of temporal locality a page lies, by identifier."""
    found = {other: beside_of(shard, other) for other, cell in row.together.items() if cell[1] > 0}
    return {other: beside for other, beside in found.items() if beside.verdict is not None}


def signers(row: PageRow, near: Iterable[bytes]) -> list[bytes]:
    """Return the judged pages ``near`` a page whose words are its signature."""
    return kept(near, identifier(row.url), SIGNERS)


def linking_pages(shard: Rows, row: PageRow) -> list[tuple[bytes, ParentRow]]:
    """Return the kept linking pages of a page, with their identifiers."""
    found = ((page, shard.get(PARENT_PREFIX + page)) for page in row.parents)
    return [(page, parent) for page, parent in found if isinstance(parent, ParentRow)]
