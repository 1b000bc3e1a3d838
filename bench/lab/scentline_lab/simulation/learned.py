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
from scentline.models.learner import requests, semantic
from scentline.models.learner.batch import inputs_of, named_of
from scentline.models.learner.calibration import EXPLORED, SELECTED, calibrated
from scentline.models.learner.candidate import Candidate, CoVisits, Crowd
from scentline.models.learner.combiner import Vector, logits, probabilities
from scentline.models.learner.inputs import INPUTS, MOST
from scentline.models.learner.knowledge import Knowledge
from scentline.models.learner.lessons import LinkWords, change_of_links, link_lessons, own_lessons
from scentline.models.learner.linking import NEAR, NEAR_AT_MOST, LinkingPage, LinkTable
from scentline.models.learner.state import Learner
from scentline.models.learner.words import Vocabulary
from scentline.models.ledger import Ledger
from scentline.models.page import Page
from scentline.models.reuse import WEIGHT, Combining, Learned, learned
from scentline.models.semantic.table import SemanticTable
from scentline.models.verdict import FAILED, Verdict
from scentline_lab.simulation.crawler import Choice, Ready, Task, anywhere
from scentline_lab.simulation.further import Further
from scentline_lab.simulation.known import InLink, KnownUrl
from scentline_lab.simulation.tally import NAME


class Experience(NamedTuple):
    """What a crawl has learned of requests, and of its predicate."""

    requests: Learned
    predicate: Learned


class LearnedCrawler:
    """The policy ``learned``: see `docs/learning.md`. ``knowledge`` holds the counts.

    ``explore`` of the choices are left to chance. The combiner learns from a page's inputs at the time of its
    choice; seeds train nothing but the counts. A label changes the combiner and its calibration a page later,
    as in a crawl, where the frontier chooses before the learner has published the new weights. With a ``table``
    there are three inputs more, with ``further`` those. The counts of an earlier crawl's ``state`` are
    multiplied by ``weight``.
    """

    def __init__(
        self,
        task: Task,
        explore: float = 0.01,
        table: SemanticTable | None = None,
        state: Experience | None = None,
        weight: float = WEIGHT,
        rescored: int = 50,
        parents: int = 32,
        further: Callable[[Trace], Further] | None = None,
    ) -> None:
        self._vocabulary = Vocabulary(Ledger())
        self._further = None if further is None else further(task.trace)
        inputs = (*semantic.inputs_with(table is not None), *(self._further.inputs if self._further else ()))
        self._names = tuple(entry.name for entry in inputs)
        self._learner = Learner(inputs=inputs)
        self.knowledge = Knowledge(NAME, self._vocabulary, task.topic, task.phrases)
        self._failing = Learner(inputs=requests.failing(INPUTS))
        self._requests = Knowledge(FAILED, self._vocabulary)
        self._foretells = True
        # The counts of an earlier crawl, by predicate.
        self._earlier: dict[str, list[tuple[str, float, float]]] = {FAILED: [], NAME: []}
        if state is not None:
            self._earlier = {each.name: list(each.counts(weight)) for each in state}
            self._requests.inherit(self._earlier[FAILED])
            self.knowledge.inherit(self._earlier[NAME])
            for learner, earlier in ((self._failing, state.requests), (self._learner, state.predicate)):
                if earlier.combining is not None:
                    learner.start(earlier.combining)
        #: None where there is no table; where the predicate names no subject its inputs are 0.
        self._meaning = (
            semantic.Meaning(table, task.topic) if table is not None and task.names_subject else None
        )
        self._unmeant = table is not None and not task.names_subject
        self._trace, self._random = task.trace, task.random
        self._explore, self._rescored, self._parents = explore, rescored, parents
        #: Candidates scored since anything was learned.
        self._fresh: set[str] = set()
        self._queue = CandidateQueue(UNLIMITED, UNLIMITED)
        self._pages: dict[str, KnownUrl] = {}
        # All that is known in the order of the sweep, where that stands, and after which answer it goes on.
        self._by_id: list[tuple[bytes, KnownUrl]] = []
        self._swept, self._next_sweep = b"", 0
        self._links = LinkTable(2)
        self._targets: dict[LinkingPage, list[tuple[int, KnownUrl]]] = {}
        self._closed: set[str] = set()
        self._seeds: dict[str, None] = {}
        self._started = False
        #: What the learners still have to learn: inputs, what came of them, and how they were chosen.
        self._labels: list[tuple[Learner, Vector, bool, str]] = []
        #: What is in flight, and how it was chosen.
        self._chosen: dict[str, str] = {}

    def export_state(self) -> Experience:
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
        self._seeds[url] = None
        self._page(url).depth = 0

    def failed(self, url: str) -> None:
        touched = self._answered_by(self._page(url), {FAILED: True}, ())
        self._fresh.clear()
        self._score(touched)

    def _answered_by(self, known: KnownUrl, answer: Verdict, words: Sequence[str]) -> dict[KnownUrl, None]:
        """Count an answer; return some of the URLs near it on the pages that link to it."""
        self._close(known.url)
        self._take_answer(known, answer)
        of_links = link_lessons(link.words for link in known.in_links)
        beside = of_links.union(map(user, self._trace.visitors.get(known.url, ())))
        self._count(own_lessons(known.url, words) | beside, answer)
        return self._judge_links(known, answer)

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
        if explored:
            may = [url for url in self._queue if ready(self._pages[url].host)]
            best = self._random.choice(may) if may else None
        else:
            best = self._best(ready)
        if best is None:
            return None
        if best not in self._fresh:
            self._score([self._pages[best]])
        self._close(best)
        self._chosen[best] = EXPLORED if explored else SELECTED
        chance = self._pages[best].chance
        probability = None if chance is None else calibrated(chance, self._learner.shifts[explored])
        return Choice(best, probability, explored)

    def _best(self, ready: Ready) -> str | None:
        """Return the best candidate scored since anything was learned, as the frontier does (`Candidates`)."""
        scored = 0
        while top := self._queue.best(FEW, ready):
            if top[0] in self._fresh or scored >= self._rescored:
                return top[0]
            stale = [self._pages[url] for url in top if url not in self._fresh]
            self._score(stale)
            scored += len(stale)
        return None

    def _sweep(self) -> None:
        """Score again those whose turn it is, as the frontier does (`Sweep` in `agents/frontier/sweep.py`)."""
        answered, _ = self._answered
        if answered < self._next_sweep:
            return
        self._next_sweep = answered + ANSWERS_A_SWEEP
        start = bisect_right(self._by_id, self._swept, key=itemgetter(0))
        step = self._by_id[start : start + SWEPT]
        self._swept = step[-1][0] if len(step) == SWEPT else b""
        self._score([known for _, known in step])

    def judged(self, page: Page, holds: bool) -> None:
        known = self._page(page.url)
        touched = self._answered_by(known, {FAILED: False, NAME: holds}, page.words)
        self._count_links(True, holds, known.positive)
        self._count_links(False, holds, known.parents - known.positive)
        if self._further is not None:
            self._further.judged(page.url, holds)
        if self._meaning is not None:
            self._meaning.learn(self._meaning.table.vector(semantic.page_subject(page.url, page.title)), holds)
        self._fresh.clear()
        self._follow(known, page, holds, touched)
        self._count_crowd(known, holds)
        self._score(touched)

    def _learn_labels(self) -> None:
        for learner, inputs, holds, chosen in self._labels:
            learner.learn(inputs, holds, chosen)
        self._labels.clear()

    def _take_answer(self, known: KnownUrl, answer: Verdict) -> None:
        self._learn_labels()
        known.answer = answer
        chosen = self._chosen.pop(known.url, SELECTED)
        if known.inputs is None or known.url in self._seeds:
            return
        if known.failing is not None:
            self._labels.append((self._failing, known.failing, answer[FAILED], SELECTED))
        if NAME in answer:
            self._labels.append((self._learner, known.inputs, answer[NAME], chosen))

    def _count(self, features: Collection[str], answer: Verdict, times: int = 1) -> None:
        if not features:
            return
        for name, knowledge in ((FAILED, self._requests), (NAME, self.knowledge)):
            if name in answer:
                knowledge.count(features, answer[name], times)
        self._foretells = requests.foretold(*self._answered, self._foretells)

    @property
    def _answered(self) -> tuple[int, int]:  # the requests, and those of them that failed
        return self._vocabulary.ledger.get(BASE, FAILED)

    def _judge_links(self, known: KnownUrl, answer: Verdict) -> dict[KnownUrl, None]:
        """Count what came of a URL for the links to it; return some of the URLs near these on their pages."""
        near: dict[KnownUrl, None] = {}
        for link in known.links:
            self._links.judged([link.source], [link.position], _cells(answer))
            found = [
                target
                for position, target in self._targets[link.source]
                if abs(position - link.position) <= NEAR and target is not known
            ]
            near.update(dict.fromkeys(found[: NEAR_AT_MOST - len(near)]))
        return near

    def _count_links(self, source: bool, holds: bool, times: int = 1) -> None:
        self.knowledge.count(link_features({NAME: source}), holds, times)

    def _follow(self, source: KnownUrl, page: Page, holds: bool, touched: dict[KnownUrl, None]) -> None:
        links = [link for link in page.links if link.url != page.url]
        words = [LinkWords.of(link) for link in links]
        numbered = self._vocabulary.words(page.words)
        linking = self._links.add([link.position for link in links], numbered, np.array([0.0, float(holds)]))
        said = self._vocabulary.words(chain.from_iterable(chain.from_iterable(words)))
        sizes = [len(part) for parts in words for part in parts]
        self._links.say(range(linking.first, linking.first + linking.links), said, sizes)
        targets = self._targets[linking] = []
        #: The targets that were requested already, with the positions of the links.
        late: list[tuple[int, Verdict]] = []
        for place, link, found in zip(count(linking.first), links, words, strict=False):
            target = self._page(link.url)
            targets.append((link.position, target))
            before = target.in_links
            target.parents += 1
            target.positive += holds
            depth = (source.depth or 0) + 1
            target.depth = depth if target.depth is None else min(target.depth, depth)
            target.native = target.native or target.host == source.host
            in_link = InLink(rank(source.id, target.id), linking, place, link.position, found)
            insort(target.links, in_link, key=attrgetter("rank"))
            del target.links[self._parents :]
            after = target.in_links
            if target.answer is not None:
                late.append((link.position, target.answer))
            else:
                touched[target] = None
            # Most links are a site's navigation, to pages that have in-links enough: they change no word.
            if after != before:
                target.sense = None
                if target.answer is not None:
                    words_before, words_after = ([each.words for each in seen] for seen in (before, after))
                    added, removed = change_of_links(words_before, words_after)
                    self._count(added, target.answer)
                    self._count(removed, target.answer, -1)
        if late:
            self._count_late(linking, holds, late)

    def _count_late(self, linking: LinkingPage, source: bool, late: Sequence[tuple[int, Verdict]]) -> None:
        positions, answers = zip(*late, strict=True)
        verdicts = [answer[NAME] for answer in answers if NAME in answer]
        for holds in set(verdicts):
            self._count_links(source, holds, verdicts.count(holds))
        self._links.judged([linking] * len(late), positions, np.hstack([*map(_cells, answers)]))

    def _count_crowd(self, known: KnownUrl, holds: bool) -> None:
        for url, (times, sixths) in self._trace.keepers.get(known.url, {}).items():
            other = self._page(url)
            other.covisits += sixths
            other.near += times
            if holds:
                other.covisit_hits += sixths
                other.near_hits += times

    def _page(self, url: str) -> KnownUrl:
        known = self._pages.get(url)
        if known is None:
            known = self._pages[url] = KnownUrl(url, len(self._pages), self._vocabulary)
            insort(self._by_id, (known.id, known), key=itemgetter(0))
        return known

    def _score(self, pages: Iterable[KnownUrl]) -> None:
        scored = [known for known in pages if known.url not in self._closed]
        if not scored:
            return
        candidates = [self._candidate(known) for known in scored]
        fails, inputs = inputs_of([self._requests, self.knowledge], self._links, candidates)
        if self._meaning is not None:
            senses = [_sense(known, self._meaning) for known in scored]
            inputs = np.hstack((inputs, self._meaning.inputs(senses, self.knowledge.rate)))
        elif self._unmeant:
            inputs = np.hstack((inputs, np.zeros((len(scored), len(semantic.SEMANTIC_INPUTS)))))
        if self._further is not None:
            values = np.array([self._further.values(known.url, self.knowledge) for known in scored])
            inputs = np.hstack((inputs, np.clip(values, -MOST, MOST)))
        means, deviations = logits(inputs, self._learner.combiner.mean, self._learner.combiner.covariance)
        chances = probabilities(means, deviations).tolist()
        _, named = named_of([self._requests, self.knowledge], self._links, candidates)
        bounds = means + deviations + named
        bounds = requests.a_request(bounds, self._chances_of_pages(scored, fails)).tolist()
        for known, row, bound, chance in zip(scored, inputs, bounds, chances, strict=True):
            known.inputs, known.chance = row, chance
            self._queue.put(known.url, known.host, bound, known.found)
            self._fresh.add(known.url)

    def _chances_of_pages(self, scored: Sequence[KnownUrl], fails: Vector) -> Vector:
        if not self._foretells:
            for known in scored:
                known.failing = None
            return np.full(len(scored), requests.usual_chance_of_page(*self._answered))
        for known, row in zip(scored, fails, strict=True):
            known.failing = row
        failed = logits(fails, self._failing.combiner.mean, self._failing.combiner.covariance)
        return requests.chances_of_pages(*failed, self._failing.shifts[0])

    def _candidate(self, known: KnownUrl) -> Candidate:
        accesses = self._trace.accesses.get(known.url, 0)
        visitors = self._trace.visitors.get(known.url, ())
        beside = CoVisits(known.covisits / SIXTHS, known.covisit_hits / SIXTHS, known.near, known.near_hits)
        links = [link.place for link in known.in_links]
        parents = [(known.parents, 0), (known.parents, known.positive)]
        crowd = Crowd(accesses, visitors, [CoVisits(), beside])
        foreign = known.parents > 0 and not known.native
        return Candidate(known.numbers, known.prefixes, links, parents, crowd, known.depth or 0, foreign)


def _cells(answer: Verdict) -> Vector:
    """Return what came of one request for requests and for the predicate, shape (2, 1, 2): told, and so."""
    return np.array([[(name in answer, answer.get(name, False))] for name in (FAILED, NAME)], float)


def _sense(known: KnownUrl, meaning: semantic.Meaning) -> semantic.Sense:
    if known.sense is None:
        anchors = (" ".join(link.words[0]) for link in known.in_links)
        known.sense = semantic.Sense(meaning.table.vector(semantic.subject(known.url, anchors)))
    return known.sense
