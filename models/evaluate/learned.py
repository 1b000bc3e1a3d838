"""The learned policy in memory, for one predicate."""

from collections.abc import Iterable
from itertools import chain, count
from typing import NamedTuple

import numpy as np

from models.crowd.together import SIXTHS
from models.evaluate.crawler import Choice, Task
from models.evaluate.queue import LazyQueue
from models.evaluate.taken import NAME
from models.interest.contribution import link_features
from models.interest.features import user
from models.interest.parents import rank
from models.learner.address import prefixes, url_words
from models.learner.batch import inputs_of
from models.learner.calibration import EXPLORED, SELECTED, Calibration, calibrated
from models.learner.candidate import Candidate, Crowd
from models.learner.combiner import BayesianLogisticRegression, Vector, logits, probabilities
from models.learner.inputs import log_rank
from models.learner.knowledge import Knowledge
from models.learner.lessons import IN_LINKS, LinkWords, link_lessons, own_lessons
from models.learner.linking import NEAR, LinkingPage, LinkTable
from models.learner.semantic import Meaning, Sense, inputs_with, page_subject, subject
from models.learner.state import CombinerKind, combiner
from models.learner.words import Vocabulary
from models.ledger import Ledger
from models.ordering.estimate import Crawled
from models.ordering.rank import Rank
from models.page import Page
from models.reuse.learned import WEIGHT, Combining, Learned, learned
from models.semantic.table import SemanticTable
from models.url import identifier

#: Candidates looked at together at a choice: those that are not fresh are scored anew.
FEW = 10
#: Candidates scored anew at a choice at most, as `frontier.rescored` has it.
RESCORED = 50


class _InLink(NamedTuple):
    """A link to a page: its rank among those (`models.interest.parents`), where it is, and its words."""

    rank: int
    source: LinkingPage
    place: int
    position: int
    words: LinkWords


class _Known:
    """What is kept of one URL."""

    __slots__ = (
        "chance",
        "covisit_hits",
        "covisits",
        "id",
        "inputs",
        "links",
        "near",
        "near_hits",
        "numbers",
        "parents",
        "positive",
        "prefixes",
        "satisfies",
        "sense",
        "url",
    )

    def __init__(self, url: str, vocabulary: Vocabulary) -> None:
        self.url = url
        self.id = identifier(url)
        self.numbers = vocabulary.numbers(url_words(url))
        self.prefixes = prefixes(url)
        self.links: list[_InLink] = []
        self.parents = self.positive = 0
        self.covisits = self.covisit_hits = 0
        self.near = self.near_hits = 0
        self.inputs: Vector | None = None
        self.chance: float | None = None
        self.satisfies: bool | None = None
        self.sense: Sense | None = None


class LearnedCrawler:
    """The policy ``learned``: see `docs/learning.md`. ``knowledge`` holds what was counted.

    ``explore`` of the choices are left to chance. A page's inputs are those of when it was chosen, which is
    what trains the combiner; seeds train nothing but the counts. What a label teaches the combiner is known a
    page later, as in a crawl, where the frontier counts a verdict itself and chooses before the learner has
    told the new weights. With a ``table`` there are three inputs more (`models.learner.semantic`), with
    ``importance`` that of PageRank; ``kind`` is that of the combiner. With the ``state`` of an earlier one its
    counts, multiplied by ``weight``, count beside those of this one, and its combiner is this one's start.
    """

    def __init__(
        self,
        task: Task,
        explore: float = 0.01,
        table: SemanticTable | None = None,
        state: Learned | None = None,
        weight: float = WEIGHT,
        importance: bool = False,
        kind: CombinerKind = "bayesian",
        rescored: int = RESCORED,
    ) -> None:
        self._vocabulary = Vocabulary(Ledger())
        inputs = inputs_with(table is not None, importance)
        self._rank: Rank[str] | None = Rank(every=10, growth=0.1, tolerance=1e-4) if importance else None
        self._names = tuple(entry.name for entry in inputs)
        self.model = combiner(kind, inputs)
        self.knowledge = Knowledge(NAME, self._vocabulary, task.topic)
        self._earlier = [] if state is None else list(state.counts(weight))
        if state is not None:
            self._take_up(state)
        self._meaning = None if table is None else Meaning(table, task.topic)
        self._trace = task.trace
        self._random = task.random
        self._explore = explore
        self._rescored = rescored
        #: Candidates scored since anything was learned.
        self._fresh: set[str] = set()
        self._queue = LazyQueue()
        self._pages: dict[str, _Known] = {}
        self._links = LinkTable(1)
        self._targets: dict[LinkingPage, list[tuple[int, _Known]]] = {}
        self._closed: set[str] = set()
        self._seeds: dict[str, None] = {}
        self._started = False
        self._calibration = Calibration()
        #: What the combiner has still to learn.
        self._label: tuple[Vector, bool] | None = None
        #: What is in flight, and how it was chosen.
        self._chosen: dict[str, str] = {}

    def _take_up(self, state: Learned) -> None:
        self.knowledge.inherit(self._earlier)
        if state.combining is not None:
            mean, covariance = state.combining.onto(self._names, self.model.mean, self.model.covariance)
            self.model = BayesianLogisticRegression(mean, covariance)

    def export_state(self) -> Learned:
        """Return what was learned, what the crawl started with included."""
        self._learn_label()
        combining = Combining(self._names, self.model.mean.tobytes(), self.model.covariance.tobytes())
        return learned(NAME, "", chain(self.knowledge.items(), self._earlier), combining)

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate to start from."""
        self._seeds[url] = None
        self._page(url)

    def failed(self, url: str) -> None:
        """Take a URL that brought no page out of the candidates for good."""
        self._close(url)

    def _close(self, url: str) -> None:
        self._closed.add(url)
        self._queue.discard(url)

    def next(self) -> Choice | None:
        """Take out the candidate of highest upper bound, or now and then one drawn by chance."""
        if not self._started:
            self._started = True
            self._score([self._page(url) for url in (*self._seeds, *self._trace.accesses)])
        explored = self._random.random() < self._explore
        best = self._queue.sample(self._random) if explored else self._best()
        if best is None:
            return None
        if best not in self._fresh:
            self._score([self._pages[best]])
        self._close(best)
        self._chosen[best] = EXPLORED if explored else SELECTED
        chance = self._pages[best].chance
        probability = None if chance is None else calibrated(chance, self._calibration.shifts[explored])
        return Choice(best, probability, explored)

    def _best(self) -> str | None:
        """Return the best candidate that was scored since anything was learned.

        The best few are scored anew until one of these leads, or as many as may be have been: as the frontier
        does (`Candidates` in `agents/frontier/candidates.py`).
        """
        scored = 0
        while top := self._queue.best(FEW):
            if top[0] in self._fresh or scored >= self._rescored:
                return top[0]
            stale = [self._pages[url] for url in top if url not in self._fresh]
            self._score(stale)
            scored += len(stale)
        return None

    # learning

    def judged(self, page: Page, holds: bool) -> None:
        """Learn from a page's verdict, and score what it touches."""
        known = self._page(page.url)
        self._learn_label()
        self._label = self._label_of(known, holds)
        known.satisfies = holds
        self._close(page.url)
        self._count(known, page, holds)
        if self._meaning is not None:
            self._meaning.learn(self._meaning.table.vector(page_subject(page.url, page.title)), holds)
        if self._rank is not None:
            targets = dict.fromkeys(link.url for link in page.links if link.url != page.url)
            self._rank.crawled(Crawled(page.url, tuple(targets)))
            self._rank.sweep()
        touched: dict[_Known, None] = {}
        for link in known.links:
            self._links.judged([link.source], [link.position], np.array([[[1.0, holds]]]))
            for position, target in self._targets[link.source]:
                if abs(position - link.position) <= NEAR:
                    touched[target] = None
        self._fresh.clear()
        self._follow(known, page, holds, touched)
        self._tell_crowd(known, holds)
        self._score(touched)

    def _learn_label(self) -> None:
        if self._label is not None:
            self.model.learn(*self._label)
            self._label = None

    def _label_of(self, known: _Known, holds: bool) -> tuple[Vector, bool] | None:
        """Return what a verdict teaches the combiner; the calibration has learned of it."""
        chosen = self._chosen.pop(known.url, None)
        if known.inputs is None or known.url in self._seeds:
            return None
        if chosen is not None and known.chance is not None:
            self._calibration.learn(known.chance, holds, chosen)
        return known.inputs, holds

    def _count(self, known: _Known, page: Page, holds: bool) -> None:
        features = own_lessons(page.url, page.words) | _lessons(known)
        visitors = map(user, self._trace.visitors.get(page.url, ()))
        self.knowledge.count(features.union(visitors), holds)
        self._count_links(True, holds, known.positive)
        self._count_links(False, holds, known.parents - known.positive)

    def _count_links(self, source: bool, holds: bool, times: int = 1) -> None:
        """Count ``times`` links from pages with the verdict ``source`` to one with the verdict ``holds``."""
        self.knowledge.count(link_features({NAME: source}), holds, times)

    def _follow(self, source: _Known, page: Page, holds: bool, touched: dict[_Known, None]) -> None:
        links = [link for link in page.links if link.url != page.url]
        words = [LinkWords.of(link) for link in links]
        numbered = self._vocabulary.words(page.words)
        linking = self._links.add([link.position for link in links], numbered, np.array([float(holds)]))
        said = self._vocabulary.words(chain.from_iterable(chain.from_iterable(words)))
        sizes = [len(part) for parts in words for part in parts]
        self._links.say(range(linking.first, linking.first + linking.links), said, sizes)
        targets = self._targets[linking] = []
        for place, link, found in zip(count(linking.first), links, words, strict=False):
            target = self._page(link.url)
            targets.append((link.position, target))
            before = _lessons(target) if target.satisfies is not None else frozenset()
            target.parents += 1
            target.positive += holds
            target.links.append(_InLink(rank(source.id, target.id), linking, place, link.position, found))
            target.sense = None
            if len(target.links) > IN_LINKS:
                target.links.remove(max(target.links, key=lambda entry: entry.rank))
            if target.satisfies is None:
                touched[target] = None
            else:
                self._correct(target, before, holds)
                self._links.judged([linking], [link.position], np.array([[[1.0, target.satisfies]]]))

    def _correct(self, target: _Known, before: frozenset[str], source: bool) -> None:
        """Count what an in-link that was found late changes for a page that is judged already."""
        holds, after = bool(target.satisfies), _lessons(target)
        self.knowledge.count(after - before, holds)
        self.knowledge.count(before - after, holds, -1)
        self._count_links(source, holds)

    def _tell_crowd(self, known: _Known, holds: bool) -> None:
        for url, (times, sixths) in self._trace.keepers.get(known.url, {}).items():
            other = self._page(url)
            other.covisits += sixths
            other.near += times
            if holds:
                other.covisit_hits += sixths
                other.near_hits += times

    # scoring

    def _page(self, url: str) -> _Known:
        known = self._pages.get(url)
        if known is None:
            known = self._pages[url] = _Known(url, self._vocabulary)
        return known

    def _score(self, pages: Iterable[_Known]) -> None:
        scored = [known for known in pages if known.url not in self._closed]
        if not scored:
            return
        candidates = [self._candidate(known) for known in scored]
        inputs = inputs_of([self.knowledge], self._links, candidates)[0]
        if self._meaning is not None:
            senses = [_sense(known, self._meaning) for known in scored]
            inputs = np.hstack((inputs, self._meaning.inputs(senses, self.knowledge.rate)))
        if self._rank is not None:
            ranks = [log_rank(self._rank.value(known.url)) for known in scored]
            inputs = np.hstack((inputs, np.array(ranks)[:, None]))
        means, deviations = logits(inputs, self.model.mean, self.model.covariance)
        chances = probabilities(means, deviations).tolist()
        for known, row, bound, chance in zip(
            scored, inputs, (means + deviations).tolist(), chances, strict=True
        ):
            known.inputs = row
            known.chance = chance
            self._queue.put(known.url, bound)
            self._fresh.add(known.url)

    def _candidate(self, known: _Known) -> Candidate:
        crowd = Crowd(
            self._trace.accesses.get(known.url, 0),
            self._trace.visitors.get(known.url, ()),
            known.covisits / SIXTHS,
            known.covisit_hits / SIXTHS,
            known.near,
            known.near_hits,
        )
        links = [link.place for link in known.links]
        parents = [(known.parents, known.positive)]
        return Candidate(known.numbers, known.prefixes, links, parents, [crowd])


def _lessons(known: _Known) -> frozenset[str]:
    """Return what the in-links kept have a page counted under."""
    return link_lessons(link.words for link in known.links)


def _sense(known: _Known, meaning: Meaning) -> Sense:
    """Return what a page is about, as its URL and the in-links kept say."""
    if known.sense is None:
        anchors = (" ".join(link.words[0]) for link in known.links)
        known.sense = Sense(meaning.table.vector(subject(known.url, anchors)))
    return known.sense
