"""A candidate's priority by the learned policy, from its rows and what the learner has published."""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from agents.frontier.rows import FrontierShard, PageRow, ParentRow, beside_of, parent_of
from models.crowd.together import SIXTHS
from models.learner.address import prefixes, url_words
from models.learner.calibration import Calibration, calibrated
from models.learner.candidate import NOBODY, Candidate, Crowd, InLink, Parent
from models.learner.combiner import Vector, probability
from models.learner.inputs import prior_covariance, prior_mean
from models.learner.knowledge import Knowledge
from models.learner.lessons import IN_LINKS
from models.learner.words import LinkingWords, Vocabulary
from models.url import identifier
from streams.records import COMBINER, Interest, Weighting

#: Linking pages whose numbered words are kept in memory, and of these the views of each predicate.
CACHED_PARENTS = 5_000
#: A linking page's partition and identifier: each partition has a row of its own, with its own link targets.
Place: TypeAlias = tuple[int, bytes]

#: URLs whose words are kept in memory.
CACHED_ADDRESSES = 100_000


class _Words:
    """The numbered words of a linking page's links, as far as they lead into one partition."""

    def __init__(self, row: ParentRow, vocabulary: Vocabulary) -> None:
        self.numbers = {page: number for number, page in enumerate(row.targets)}
        links = [(anchor.inside, anchor.around) for anchor in row.targets.values()]
        self.words: LinkingWords = vocabulary.linking(tuple(row.words), links)


class _Address(NamedTuple):
    """A URL's words, the same as places in the tables of words, and its prefixes."""

    words: tuple[str, ...]
    numbers: list[int]
    prefixes: tuple[str, ...]


class Known:
    """What is kept in memory of one predicate: its counts, its combiner, its view of linking pages."""

    def __init__(self, predicate: str, vocabulary: Vocabulary, keywords: tuple[str, ...]) -> None:
        self.predicate = predicate
        self.knowledge = Knowledge(predicate, vocabulary, keywords)
        self.mean: Vector = prior_mean()
        self.covariance: Vector = prior_covariance()
        self.shifts = Calibration().shifts
        self.parents: dict[Place, Parent] = {}

    def take(self, weighting: Weighting) -> None:
        """Take in the combiner as it was published."""
        self.mean = np.frombuffer(weighting.mean)
        self.covariance = np.frombuffer(weighting.covariance).reshape(len(self.mean), -1)
        self.shifts = weighting.shifts

    def logit(self, inputs: Sequence[float]) -> tuple[float, float]:
        """Return m'x and sqrt(x'Px) of the inputs x."""
        found = np.array(inputs)
        spread = float(found.dot(self.covariance.dot(found)))
        return float(found.dot(self.mean)), math.sqrt(max(0.0, spread))

    def parent(self, place: Place, row: ParentRow, words: LinkingWords) -> Parent:
        """Return the predicate's view of a linking page, brought up to its row."""
        view = self.parents.get(place)
        if view is None or view.words is not words:
            view = self.parents[place] = Parent(row.verdict.get(self.predicate, False), words)
        if len(view.children) < len(row.children):
            for verdict, position in row.children.values():
                if self.predicate in verdict:
                    view.judged(position, verdict[self.predicate])
        return view


class LearnedScorer:
    """Scores rows by the upper bound of the combiner's logit; see `docs/learning.md`."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._known: dict[str, Known] = {}
        self._words: dict[Place, _Words] = {}
        self._addresses: dict[str, _Address] = {}

    def add_predicate(self, name: str, keywords: tuple[str, ...] = ()) -> None:
        """Start keeping what is known of a predicate, from its ``keywords``."""
        if name not in self._known:
            self._known[name] = Known(name, self._vocabulary, keywords)

    def known(self, predicate: str) -> Known:
        """Return what is known of a predicate."""
        return self._known[predicate]

    def learn(self, interest: Interest) -> None:
        """Take in what is known of a feature, or a predicate's combiner; predicates never added are left."""
        if interest.weighting is not None:
            known = self._known.get(interest.feature[len(COMBINER) :])
            if known is not None:
                known.take(interest.weighting)
        for name, (pages, hits) in interest.counts.items():
            if name in self._known:
                self._known[name].knowledge.put(interest.feature, pages, hits)
        for name, (earlier_pages, earlier_hits) in interest.prior.items():
            if name in self._known:  # an earlier crawl may have had others
                self._known[name].knowledge.inherit([(interest.feature, earlier_pages, earlier_hits)])

    @property
    def judged(self) -> int:
        """Judged pages that the published base rates know of."""
        return int(max((known.knowledge.pages for known in self._known.values()), default=0))

    def priority(self, shard: FrontierShard, row: PageRow, predicate: str) -> float:
        """Return m'x + sqrt(x'Px) of the page's inputs x."""
        mean, deviation = self._known[predicate].logit(self.inputs(shard, row, predicate))
        return mean + deviation

    def choose(self, shard: FrontierShard, row: PageRow, predicate: str, explored: bool) -> float | None:
        """Note the inputs of a page that is chosen, for each predicate; return how probable a hit is.

        A page that is chosen for what a URL that redirects to it promised keeps the inputs of that one.
        """
        inputs = {name: tuple(self.inputs(shard, row, name)) for name in self._known}
        inherited = row.inherited.get(predicate)
        if inherited is None or sum(self._known[predicate].logit(inputs[predicate])) >= inherited:
            row.inputs = inputs
        handed = row.inputs.get(predicate)
        return None if handed is None else self.expected(handed, predicate, explored)

    def expected(self, inputs: Sequence[float], predicate: str, explored: bool = False) -> float:
        """Return how probable a hit is of a page with these inputs, which is selected or explored."""
        known = self._known[predicate]
        return calibrated(probability(*known.logit(inputs)), known.shifts[explored])

    def inputs(self, shard: FrontierShard, row: PageRow, predicate: str) -> list[float]:
        """Return the inputs of a candidate."""
        return self._known[predicate].knowledge.inputs(self._candidate(shard, row, predicate))

    def _candidate(self, shard: FrontierShard, row: PageRow, predicate: str) -> Candidate:
        known = self._known[predicate]
        k, m = row.links.get(predicate, (0, 0))
        links, crowd = self._in_links(shard, row, known), _crowd(shard, row, predicate)
        return Candidate(*self._address(row.url), links, k, m, crowd)

    def _in_links(self, shard: FrontierShard, row: PageRow, known: Known) -> list[InLink]:
        found = []
        page = identifier(row.url)
        for name in row.parents[:IN_LINKS]:
            parent = parent_of(shard, name)
            place = (shard.partition, name)
            numbered = self._numbered(place, parent)
            view = known.parent(place, parent, numbered.words)
            found.append(InLink(view, numbered.numbers[page], parent.targets[page].position))
        return found

    def _numbered(self, place: Place, parent: ParentRow) -> _Words:
        numbered = self._words.get(place)
        if numbered is None:
            if len(self._words) >= CACHED_PARENTS:
                self._words.clear()
                for known in self._known.values():
                    known.parents.clear()
            numbered = self._words[place] = _Words(parent, self._vocabulary)
        return numbered

    def _address(self, url: str) -> _Address:
        found = self._addresses.get(url)
        if found is None:
            if len(self._addresses) >= CACHED_ADDRESSES:
                self._addresses.clear()
            words = url_words(url)
            found = self._addresses[url] = _Address(words, self._vocabulary.numbers(words), prefixes(url))
        return found


def _crowd(shard: FrontierShard, row: PageRow, predicate: str) -> Crowd:
    if not row.visits:
        return NOBODY
    covisits = covisit_hits = near = near_hits = 0
    for other, (_, times, sixths) in row.together.items():
        verdict = beside_of(shard, other).verdict
        if verdict is not None and predicate in verdict:
            covisits += sixths
            near += times
            if verdict[predicate]:
                covisit_hits += sixths
                near_hits += times
    visitors = tuple(row.visitors)
    return Crowd(row.visits, visitors, covisits / SIXTHS, covisit_hits / SIXTHS, near, near_hits)
