"""A candidate's priority by the learned policy, from its rows and what was learned."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from agents.frontier.behaviour import SitePatterns
from agents.frontier.keys import beside_of, children_of, parent_of
from agents.frontier.known import Known, Place
from agents.frontier.meanings import Texts
from agents.frontier.ordering import Ranks
from agents.frontier.rows import FrontierShard, PageRow, ParentRow
from models.crowd.together import SIXTHS
from models.interest.features import BASE
from models.learner.address import prefixes, url_words
from models.learner.calibration import calibrated
from models.learner.candidate import NOBODY, Candidate, Crowd, InLink
from models.learner.combiner import probability
from models.learner.inputs import log_rank
from models.learner.knowledge import WORDS
from models.learner.lessons import IN_LINKS
from models.learner.semantic import inputs_with
from models.learner.words import LinkingWords, Numbers, Vocabulary
from models.ledger import Cells
from models.reuse.learned import Cell
from models.semantic.table import SemanticTable
from models.url import identifier
from streams.records import Weighting

#: Linking pages whose numbered words are kept in memory, and of these the views of each predicate.
CACHED_PARENTS = 5_000
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


class LearnedScorer:
    """Scores rows by the upper bound of the combiner's logit; see `docs/learning.md`.

    With a ``table`` of word vectors there are the inputs of `models.learner.semantic` as well, with ``ranks``
    the log of PageRank, with ``patterns`` the weight of the URL's; ``names`` are those of all inputs.
    """

    def __init__(
        self,
        table: SemanticTable | None = None,
        ranks: Ranks | None = None,
        patterns: SitePatterns | None = None,
    ) -> None:
        self._vocabulary = Vocabulary()
        self._inputs = inputs_with(table is not None, ranks is not None, patterns is not None)
        self.names = tuple(entry.name for entry in self._inputs)
        self._table = table
        self._ranks = ranks
        self._patterns = patterns
        self._texts = None if table is None else Texts(table)
        self._known: dict[str, Known] = {}
        self._words: dict[Place, _Words] = {}
        self._addresses: dict[str, _Address] = {}

    def add_predicate(self, name: str, topic: tuple[str, ...] = ()) -> None:
        """Start keeping what is known of a predicate, starting from the words of its ``topic``."""
        if name not in self._known:
            self._known[name] = Known(name, self._vocabulary, topic, self._table, self._inputs)

    def known(self, predicate: str) -> Known:
        """Return what is known of a predicate."""
        return self._known[predicate]

    def learn(self, cells: Cells) -> None:
        """Take in the counts of some features; predicates never added are left."""
        words, others = self._split(cells.names)
        for predicate, pages, hits in cells.rows():
            if predicate not in self._known:
                continue
            known = self._known[predicate]
            for numbers, places in words:
                known.knowledge.words.put(numbers, pages[places], hits[places])
            for name, place in others:
                known.put(name, int(pages[place]), int(hits[place]))

    def _split(
        self, names: Sequence[str | None]
    ) -> tuple[list[tuple[Numbers, Numbers]], list[tuple[str, int]]]:
        """Tell words, by their numbers, from other features; each with its places among the names."""
        kinds: dict[str, list[int]] = {kind: [] for kind in WORDS}
        others: list[tuple[str, int]] = []
        for place, name in enumerate(names):
            if name is None:
                continue
            if name[:2] in kinds:
                kinds[name[:2]].append(place)
            else:
                others.append((name, place))
        words = [
            (
                self._vocabulary.places_of([str(names[place])[2:] for place in places], WORDS[kind]),
                np.array(places),
            )
            for kind, places in kinds.items()
            if places
        ]
        # The base last: each weight that it moves is taken anew then.
        return words, sorted(others, key=lambda other: other[0] == BASE)

    def inherit(self, prior: Mapping[str, Mapping[str, Cell]]) -> None:
        """Take in what earlier crawls counted, who may have had other predicates."""
        for predicate, known in self._known.items():
            found = ((feature, *cells[predicate]) for feature, cells in prior.items() if predicate in cells)
            known.knowledge.inherit(found)

    def take(self, predicate: str, weighting: Weighting) -> None:
        """Take in a predicate's combiner."""
        if predicate in self._known:
            self._known[predicate].take(weighting)

    def remove_predicate(self, name: str) -> None:
        """Forget a predicate."""
        self._known.pop(name, None)

    def judged(self, predicate: str) -> int:
        """Return the pages that were judged by a predicate, as far as it is known here."""
        known = self._known.get(predicate)
        return 0 if known is None else int(known.knowledge.pages)

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
        known = self._known[predicate]
        found = known.knowledge.inputs(self._candidate(shard, row, predicate))
        if self._texts is not None and known.meaning is not None:
            found += known.meaning.inputs(row.url, self._texts.vector(shard, row), known.knowledge.rate)
        if self._ranks is not None:
            found.append(log_rank(self._ranks.value(shard, row)))
        if self._patterns is not None:
            pattern = self._patterns.pattern_of(row.url)
            found.append(0.0 if pattern is None else known.knowledge.patterns.weight(pattern.name))
        return found

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
            view = known.parent(place, parent, children_of(shard, name), numbered.words)
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
