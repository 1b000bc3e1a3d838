"""The learned policy in memory, for one predicate."""

from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, count
from operator import attrgetter, itemgetter
from typing import NamedTuple

import numpy as np

from scentline.models.crowd.trace import SIXTHS, Trace
from scentline.models.frontier.queue import ANSWERS_A_SWEEP, FEW, SWEPT, UNLIMITED, CandidateQueue
from scentline.models.interest.factors import link_features, rank
from scentline.models.interest.features import BASE, user
from scentline.models.learner.batch import inputs_of, named_of
from scentline.models.learner.calibration import EXPLORED, SELECTED, calibrated
from scentline.models.learner.candidate import Candidate, CoVisits, Crowd, prefixes, url_words
from scentline.models.learner.combiner import Vector, logits, probabilities
from scentline.models.learner.inputs import INPUTS, MOST
from scentline.models.learner.knowledge import Knowledge
from scentline.models.learner.lessons import IN_LINKS, LinkWords, change_of_links, link_lessons, own_lessons
from scentline.models.learner.linking import NEAR, NEAR_AT_MOST, LinkingPage, LinkTable
from scentline.models.learner.requests import (
    a_request,
    chances_of_pages,
    failing,
    foretold,
    usual_chance_of_page,
)
from scentline.models.learner.semantic import (
    SEMANTIC_INPUTS,
    Meaning,
    Sense,
    inputs_with,
    page_subject,
    subject,
)
from scentline.models.learner.state import Learner
from scentline.models.learner.words import Vocabulary
from scentline.models.ledger import Ledger
from scentline.models.page import Page
from scentline.models.reuse import WEIGHT, Combining, Learned, learned
from scentline.models.semantic.table import SemanticTable
from scentline.models.url import host, identifier
from scentline.models.verdict import FAILED, Verdict
from scentline_lab.simulation.crawler import Choice, Ready, Task, anywhere
from scentline_lab.simulation.further import Further
from scentline_lab.simulation.tally import NAME

#: Candidates scored anew at a choice at most, and in-links kept of a page, as `frontier.rescored` and
#: `frontier.parents` have it.
RESCORED, PARENTS = 50, 32


class _InLink(NamedTuple):
    """A link to a page: its rank among those (`models.interest.factors`), where it is, and its words."""

    rank: int
    source: LinkingPage
    place: int
    position: int
    words: LinkWords


class _Known:
    """What is kept of one URL."""

    __slots__ = (
        "answer",
        "chance",
        "covisit_hits",
        "covisits",
        "depth",
        "failing",
        "found",
        "host",
        "id",
        "inputs",
        "links",
        "native",
        "near",
        "near_hits",
        "numbers",
        "parents",
        "positive",
        "prefixes",
        "sense",
        "url",
    )

    def __init__(self, url: str, found: int, vocabulary: Vocabulary) -> None:
        self.url = url
        self.host = host(url)
        self.id = identifier(url)
        #: Its number in the order of discovery.
        self.found = found
        self.numbers = vocabulary.numbers(url_words(url))
        self.prefixes = prefixes(url)
        self.links: list[_InLink] = []
        self.parents = self.positive = 0
        #: In links from a seed; known when the first of them is; whether its own host has one.
        self.depth: int | None = None
        self.native = False
        self.covisits = self.covisit_hits = 0
        self.near = self.near_hits = 0
        self.inputs: Vector | None = None
        self.chance: float | None = None
        self.failing: Vector | None = None
        #: What came of the request: the verdict, and whether it failed.
        self.answer: Verdict | None = None
        self.sense: Sense | None = None


class Experience(NamedTuple):
    """What a crawl has learned of requests, and of its predicate."""

    requests: Learned
    predicate: Learned


class LearnedCrawler:
    """The policy ``learned``: see `docs/learning.md`. ``knowledge`` holds what was counted.

    ``explore`` of the choices are left to chance. A page's inputs are those of when it was chosen, which is
    what trains the combiner; seeds train nothing but the counts. What a label teaches the combiner and its
    calibration is known a page later, as in a crawl, where the frontier counts a verdict itself and chooses
    before the learner has told the new weights. What is chosen has the most hits expected of a request
    (`models.learner.requests`).
    With a ``table`` there are three inputs more (`models.learner.semantic`), with ``further`` those. With
    the ``state`` of an earlier one its counts, multiplied by ``weight``, count beside those of this one, and
    its combiners are where these start.
    """

    def __init__(
        self,
        task: Task,
        explore: float = 0.01,
        table: SemanticTable | None = None,
        state: Experience | None = None,
        weight: float = WEIGHT,
        rescored: int = RESCORED,
        parents: int = PARENTS,
        further: Callable[[Trace], Further] | None = None,
    ) -> None:
        self._vocabulary = Vocabulary(Ledger())
        self._further = None if further is None else further(task.trace)
        inputs = (*inputs_with(table is not None), *(self._further.inputs if self._further else ()))
        self._names = tuple(entry.name for entry in inputs)
        self._learner = Learner(inputs=inputs)
        self.knowledge = Knowledge(NAME, self._vocabulary, task.topic, task.phrases)
        self._failing = Learner(inputs=failing(INPUTS))
        self._requests = Knowledge(FAILED, self._vocabulary)
        self._foretells = True
        # What an earlier crawl counted, by predicate.
        self._earlier: dict[str, list[tuple[str, float, float]]] = {FAILED: [], NAME: []}
        if state is not None:
            self._take_up(state, weight)
        #: None where there is no table; where the predicate names no subject its inputs are 0.
        self._meaning = Meaning(table, task.topic) if table is not None and task.names_subject else None
        self._unmeant = table is not None and not task.names_subject
        self._trace = task.trace
        self._random = task.random
        self._explore = explore
        self._rescored = rescored
        self._parents = parents
        #: Candidates scored since anything was learned.
        self._fresh: set[str] = set()
        self._queue = CandidateQueue(UNLIMITED, UNLIMITED)
        self._pages: dict[str, _Known] = {}
        # All that is known in the order of the sweep, where that stands, and after which answer it goes on.
        self._by_id: list[tuple[bytes, _Known]] = []
        self._swept = b""
        self._next_sweep = 0
        self._links = LinkTable(2)
        self._targets: dict[LinkingPage, list[tuple[int, _Known]]] = {}
        self._closed: set[str] = set()
        self._seeds: dict[str, None] = {}
        self._started = False
        #: What the learners are still to be told: inputs, what came of them, and how they were chosen.
        self._labels: list[tuple[Learner, Vector, bool, str]] = []
        #: What is in flight, and how it was chosen.
        self._chosen: dict[str, str] = {}

    def _take_up(self, state: Experience, weight: float) -> None:
        self._earlier = {each.name: list(each.counts(weight)) for each in state}
        self._requests.inherit(self._earlier[FAILED])
        self.knowledge.inherit(self._earlier[NAME])
        for learner, earlier in ((self._failing, state.requests), (self._learner, state.predicate)):
            if earlier.combining is not None:
                learner.start(earlier.combining)

    def export_state(self) -> Experience:
        """Return what was learned, what the crawl started with included."""
        self._learn_labels()
        return Experience(
            self._exported(FAILED, self._requests, self._failing),
            self._exported(NAME, self.knowledge, self._learner),
        )

    def _exported(self, name: str, knowledge: Knowledge, learner: Learner) -> Learned:
        state = learner.state()
        names = self._names[: len(learner.combiner.mean)]  # of requests, those of `INPUTS` alone are known
        combining = Combining(names, state.mean, state.covariance, state.calibration)
        return learned(name, "", chain(knowledge.items(), self._earlier[name]), combining)

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate to start from."""
        self._seeds[url] = None
        self._page(url).depth = 0

    def failed(self, url: str) -> None:
        """Learn from a request that brought no page, and score what it touches."""
        known = self._page(url)
        self._close(url)
        self._take_answer(known, {FAILED: True})
        self._count(own_lessons(url, ()) | self._lessons_beside(known), {FAILED: True})
        touched = self._tell_links(known)
        self._fresh.clear()
        self._score(touched)

    def _close(self, url: str) -> None:
        self._closed.add(url)
        self._queue.discard(url)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Take out the candidate of most expected hits, now and then one drawn by chance, on a ready host."""
        if not self._started:
            self._started = True
            self._score([self._page(url) for url in (*self._seeds, *self._trace.accesses)])
        self._sweep()
        explored = self._random.random() < self._explore
        best = self._drawn(ready) if explored else self._best(ready)
        if best is None:
            return None
        if best not in self._fresh:
            self._score([self._pages[best]])
        self._close(best)
        self._chosen[best] = EXPLORED if explored else SELECTED
        chance = self._pages[best].chance
        probability = None if chance is None else calibrated(chance, self._learner.shifts[explored])
        return Choice(best, probability, explored)

    def _drawn(self, ready: Ready) -> str | None:
        may = [url for url in self._queue if ready(self._pages[url].host)]
        return self._random.choice(may) if may else None

    def _best(self, ready: Ready) -> str | None:
        """Return the best candidate that was scored since anything was learned.

        The best few are scored anew until one of these leads, or as many as may be have been: as the frontier
        does (`Candidates` in `agents/frontier/candidates.py`).
        """
        scored = 0
        while top := self._queue.best(FEW, ready):
            if top[0] in self._fresh or scored >= self._rescored:
                return top[0]
            stale = [self._pages[url] for url in top if url not in self._fresh]
            self._score(stale)
            scored += len(stale)
        return None

    def _sweep(self) -> None:
        """Score anew those whose turn it is, as the frontier does (`Sweep` in `agents/frontier/sweep.py`)."""
        answered, _ = self._answered
        if answered < self._next_sweep:
            return
        self._next_sweep = answered + ANSWERS_A_SWEEP
        start = bisect_right(self._by_id, self._swept, key=itemgetter(0))
        step = self._by_id[start : start + SWEPT]
        self._swept = step[-1][0] if len(step) == SWEPT else b""
        self._score([known for _, known in step])

    # learning

    def judged(self, page: Page, holds: bool) -> None:
        """Learn from a page's verdict, and score what it touches."""
        known = self._page(page.url)
        answer = {FAILED: False, NAME: holds}
        self._close(page.url)
        self._take_answer(known, answer)
        self._count(own_lessons(page.url, page.words) | self._lessons_beside(known), answer)
        self._count_links(True, holds, known.positive)
        self._count_links(False, holds, known.parents - known.positive)
        if self._further is not None:
            self._further.judged(page.url, holds)
        if self._meaning is not None:
            self._meaning.learn(self._meaning.table.vector(page_subject(page.url, page.title)), holds)
        touched = self._tell_links(known)
        self._fresh.clear()
        self._follow(known, page, holds, touched)
        self._tell_crowd(known, holds)
        self._score(touched)

    def _learn_labels(self) -> None:
        for learner, inputs, holds, chosen in self._labels:
            learner.learn(inputs, holds, chosen)
        self._labels.clear()

    def _take_answer(self, known: _Known, answer: Verdict) -> None:
        """Note what came of a request, and what that teaches the learners."""
        self._learn_labels()
        known.answer = answer
        chosen = self._chosen.pop(known.url, SELECTED)
        if known.inputs is None or known.url in self._seeds:
            return
        if known.failing is not None:
            self._labels.append((self._failing, known.failing, answer[FAILED], SELECTED))
        if NAME in answer:
            self._labels.append((self._learner, known.inputs, answer[NAME], chosen))

    def _lessons_beside(self, known: _Known) -> frozenset[str]:
        """Return what a URL is counted under besides what it is itself: its in-links and its visitors."""
        return _lessons(known).union(map(user, self._trace.visitors.get(known.url, ())))

    def _count(self, features: Collection[str], answer: Verdict, times: int = 1) -> None:
        if not features:
            return
        for name, knowledge in ((FAILED, self._requests), (NAME, self.knowledge)):
            if name in answer:
                knowledge.count(features, answer[name], times)
        self._foretells = foretold(*self._answered, self._foretells)

    @property
    def _answered(self) -> tuple[int, int]:
        """The requests, and those of them that failed."""
        return self._vocabulary.ledger.get(BASE, FAILED)

    def _tell_links(self, known: _Known) -> dict[_Known, None]:
        """Tell the links to a URL what came of it; return some of those near it on these pages."""
        assert known.answer is not None
        near: dict[_Known, None] = {}
        for link in known.links:
            self._links.judged([link.source], [link.position], _cells(known.answer))
            found = [
                target
                for position, target in self._targets[link.source]
                if abs(position - link.position) <= NEAR and target is not known
            ]
            near.update(dict.fromkeys(found[: NEAR_AT_MOST - len(near)]))
        return near

    def _count_links(self, source: bool, holds: bool, times: int = 1) -> None:
        """Count ``times`` links from pages with the verdict ``source`` to one with the verdict ``holds``."""
        self.knowledge.count(link_features({NAME: source}), holds, times)

    def _follow(self, source: _Known, page: Page, holds: bool, touched: dict[_Known, None]) -> None:
        links = [link for link in page.links if link.url != page.url]
        words = [LinkWords.of(link) for link in links]
        numbered = self._vocabulary.words(page.words)
        linking = self._links.add([link.position for link in links], numbered, np.array([0.0, float(holds)]))
        said = self._vocabulary.words(chain.from_iterable(chain.from_iterable(words)))
        sizes = [len(part) for parts in words for part in parts]
        self._links.say(range(linking.first, linking.first + linking.links), said, sizes)
        targets = self._targets[linking] = []
        #: The targets that were asked for already, with the positions of the links.
        late: list[tuple[int, Verdict]] = []
        for place, link, found in zip(count(linking.first), links, words, strict=False):
            target = self._page(link.url)
            targets.append((link.position, target))
            before = target.links[:IN_LINKS]
            target.parents += 1
            target.positive += holds
            depth = (source.depth or 0) + 1
            target.depth = depth if target.depth is None else min(target.depth, depth)
            target.native = target.native or target.host == source.host
            in_link = _InLink(rank(source.id, target.id), linking, place, link.position, found)
            insort(target.links, in_link, key=attrgetter("rank"))
            del target.links[self._parents :]
            after = target.links[:IN_LINKS]
            if target.answer is not None:
                late.append((link.position, target.answer))
            else:
                touched[target] = None
            # Most links are a site's navigation, to pages that have in-links enough: they change no word.
            if after != before:
                target.sense = None
                if target.answer is not None:
                    self._correct(target.answer, before, after)
        if late:
            self._tell_late(linking, holds, *zip(*late, strict=True))

    def _correct(self, answer: Verdict, before: Sequence[_InLink], after: Sequence[_InLink]) -> None:
        """Count what an in-link that was found late changes for a URL that was asked for already."""
        added, removed = change_of_links([link.words for link in before], [link.words for link in after])
        self._count(added, answer)
        self._count(removed, answer, -1)

    def _tell_late(
        self, linking: LinkingPage, source: bool, positions: Sequence[int], answers: Sequence[Verdict]
    ) -> None:
        """Count a page's links to URLs that were asked for already, and tell the page what came of these."""
        verdicts = [answer[NAME] for answer in answers if NAME in answer]
        for holds in set(verdicts):
            self._count_links(source, holds, verdicts.count(holds))
        self._links.judged(
            [linking] * len(answers), positions, np.hstack([_cells(answer) for answer in answers])
        )

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
            known = self._pages[url] = _Known(url, len(self._pages), self._vocabulary)
            insort(self._by_id, (known.id, known), key=itemgetter(0))
        return known

    def _score(self, pages: Iterable[_Known]) -> None:
        scored = [known for known in pages if known.url not in self._closed]
        if not scored:
            return
        candidates = [self._candidate(known) for known in scored]
        fails, inputs = inputs_of([self._requests, self.knowledge], self._links, candidates)
        if self._meaning is not None:
            senses = [_sense(known, self._meaning) for known in scored]
            inputs = np.hstack((inputs, self._meaning.inputs(senses, self.knowledge.rate)))
        elif self._unmeant:
            inputs = np.hstack((inputs, np.zeros((len(scored), len(SEMANTIC_INPUTS)))))
        if self._further is not None:
            values = np.array([self._further.values(known.url, self.knowledge) for known in scored])
            inputs = np.hstack((inputs, np.clip(values, -MOST, MOST)))
        means, deviations = logits(inputs, self._learner.combiner.mean, self._learner.combiner.covariance)
        chances = probabilities(means, deviations).tolist()
        _, named = named_of([self._requests, self.knowledge], self._links, candidates)
        bounds = means + deviations + named
        bounds = a_request(bounds, self._chances_of_pages(scored, fails)).tolist()
        for known, row, bound, chance in zip(scored, inputs, bounds, chances, strict=True):
            known.inputs, known.chance = row, chance
            self._queue.put(known.url, known.host, bound, known.found)
            self._fresh.add(known.url)

    def _chances_of_pages(self, scored: Sequence[_Known], fails: Vector) -> Vector:
        """Return how probable it is that a page comes of each request; ``fails`` are the inputs for that."""
        if not self._foretells:
            for known in scored:
                known.failing = None
            return np.full(len(scored), usual_chance_of_page(*self._answered))
        for known, row in zip(scored, fails, strict=True):
            known.failing = row
        failed = logits(fails, self._failing.combiner.mean, self._failing.combiner.covariance)
        return chances_of_pages(*failed, self._failing.shifts[0])

    def _candidate(self, known: _Known) -> Candidate:
        accesses = self._trace.accesses.get(known.url, 0)
        visitors = self._trace.visitors.get(known.url, ())
        beside = CoVisits(known.covisits / SIXTHS, known.covisit_hits / SIXTHS, known.near, known.near_hits)
        links = [link.place for link in known.links[:IN_LINKS]]
        parents = [(known.parents, 0), (known.parents, known.positive)]
        crowd = Crowd(accesses, visitors, [CoVisits(), beside])
        foreign = known.parents > 0 and not known.native
        return Candidate(known.numbers, known.prefixes, links, parents, crowd, known.depth or 0, foreign)


def _cells(answer: Verdict) -> Vector:
    """Return what came of one request for requests and for the predicate, shape (2, 1, 2): told, and so."""
    return np.array([[(name in answer, answer.get(name, False))] for name in (FAILED, NAME)], float)


def _lessons(known: _Known) -> frozenset[str]:
    """Return what the in-links kept have a page counted under."""
    return link_lessons(link.words for link in known.links[:IN_LINKS])


def _sense(known: _Known, meaning: Meaning) -> Sense:
    """Return what a page is about, as its URL and the in-links kept say."""
    if known.sense is None:
        anchors = (" ".join(link.words[0]) for link in known.links[:IN_LINKS])
        known.sense = Sense(meaning.table.vector(subject(known.url, anchors)))
    return known.sense
