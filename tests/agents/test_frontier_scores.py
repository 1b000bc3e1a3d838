"""The frontier scores candidates as the models do that are shown the same pages and accesses at once."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from random import Random
from typing import Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scentline.models.ledger import Ledger
from scentline.models.lessons import JudgedPage, lessons
from scentline.models.page import FAILED
from scentline.models.policy.batch import LinkTable, inputs_of, named_of
from scentline.models.policy.candidate import (
    IN_LINKS,
    Candidate,
    CoVisits,
    Crowd,
    LinkWords,
    prefixes,
    url_words,
)
from scentline.models.policy.combiner import Learner
from scentline.models.policy.factors import kept
from scentline.models.policy.features import BASE
from scentline.models.policy.inputs import NAMES, inputs_with
from scentline.models.policy.knowledge import Knowledge
from scentline.models.policy.known import InLinks
from scentline.models.policy.learned import LearnedScorer
from scentline.models.policy.scoring import PaperScorer, crowd_of
from scentline.models.policy.vocabulary import WORDS, Vocabulary
from scentline.models.predicate import Sought
from scentline.models.records import Weighting
from scentline.models.semantic import Meanings, SemanticTable, last_words, subjects
from scentline.models.settings import LearnSettings
from scentline.models.trace import SIXTHS, Step, Trace
from scentline.models.url import host, identifier
from tests.agents.cells import a_cells, teach
from tests.agents.forms import rejudged
from tests.agents.pipeline import TIME, WIDE, Bounds, Pipeline, Place, Told, links_of, told
from tests.models.teaching import teach as teach_one
from tests.models.webs import PAGES
from tests.reference.crawler import Reference

#: Weights of content, tokens, links and siblings in PriorityValue (section 3).
FACTORS = (1.0, 0.5, 2.0, 0.25)
PREDICATES = ("p", "q")
#: What pages of interest hold, and the words of that.
PHRASES = (("a", "b"), ("c",))
TOPIC = ("a", "b", "c")
#: All in-links are kept: a verdict is noted with no others, of which the reference knows.
TOLD = told(PAGES, WIDE, Bounds(visitors=2, together=2, window=4, reach=2))
#: Predicates judge every page, as they do once a crawl runs: what a page weighs is kept until then.
UNMET = {"p": False, "q": False}
JUDGED = TOLD.map(
    lambda given: given._replace(pages=[replace(page, verdict=UNMET | page.verdict) for page in given.pages])
)
#: Requests that brought a page and such that did not, at four times.
ANSWERED = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 3)), min_size=4, max_size=4)


class Half(NamedTuple):
    """What a pipeline has come to with half of what it is told, and with all of it."""

    pipeline: Pipeline
    pages: list[JudgedPage]
    steps: list[Step]
    #: All that was counted so far, as the ledger tells it: what came to nothing once more.
    counts: dict[str, dict[str, tuple[int, int]]]
    noted: list[set[bytes]]
    beside: list[set[bytes]]

    def bring_up(self, *scorers: LearnedScorer | InLinks) -> None:
        """Have what changed in rows of linking pages and neighbours taken in, as at the end of a group."""
        for shard, noted, beside in zip(self.pipeline.shards, self.noted, self.beside, strict=True):
            for scorer in scorers:
                told = (noted,) if isinstance(scorer, InLinks) else (noted, beside)
                scorer.bring_up(shard, *told)


def halves(place: Place, policy: str, given: Told) -> Iterator[Half]:
    """Yield both halves: what was kept in memory of the first must not stand for the whole."""
    pipeline, features = Pipeline(place, given.crawl(policy), Random(given.seed)), {BASE}
    pages, steps = given.pages, given.steps
    one, two = len(pages) // 2, len(steps) // 2
    for part in ((pages[:one], steps[:two]), (pages[one:], steps[two:])):
        pipeline.run(*part)
        features |= {feature for feature, *_ in pipeline.counts.items()}
        counts = {
            name: {predicate: pipeline.counts.get(name, predicate) for predicate in PREDICATES}
            for name in sorted(features)
        }
        told = pipeline.book.noted, pipeline.book.beside
        noted, beside = ([each.pop(shard.partition, set()) for shard in pipeline.shards] for each in told)
        yield Half(pipeline, *part, counts, noted, beside)


class Facts:
    """Candidates made of judged pages and a log, with nothing kept from one to the next."""

    def __init__(self, pages: list[JudgedPage], trace: Trace, vocabulary: Vocabulary) -> None:
        self._pages = {page.url: page for page in pages}
        self._trace, self._vocabulary = trace, vocabulary
        self._sources: dict[str, dict[bytes, JudgedPage]] = defaultdict(dict)
        for page in self._pages.values():
            for link in page.links:
                self._sources[link.url][identifier(page.url)] = page

    def inputs(self, knowledge: Knowledge, url: str, predicate: str) -> tuple[list[float], float]:
        """Return the inputs of a page that is not judged, for one predicate, and what phrases add."""
        table, sources = LinkTable(1), self._sources[url].values()
        verdicts = [page.verdict[predicate] for page in sources if predicate in page.verdict]
        candidate = Candidate(
            self._vocabulary.numbers(url_words(url)),
            prefixes(url),
            [self._in_link(table, page, url, predicate) for page in self._kept(url)],
            [(len(verdicts), sum(verdicts))],
            self._crowd(url, predicate),
            depth=1,
            foreign=bool(sources) and all(host(page.url) != host(url) for page in sources),
        )
        found, named = (of([knowledge], table, [candidate])[0, 0] for of in (inputs_of, named_of))
        return found.tolist(), float(named)

    def subject(self, url: str) -> str:
        """Return the text that says what a page that is not judged is about."""
        links = [next(link for link in page.links if link.url == url) for page in self._kept(url)]
        return subjects([last_words(url)], [[" ".join(dict.fromkeys(link.anchor)) for link in links]])[0]

    def _kept(self, url: str) -> list[JudgedPage]:
        sources = self._sources[url]
        return [sources[name] for name in kept(sources, identifier(url), IN_LINKS)]

    def _in_link(self, table: LinkTable, page: JudgedPage, url: str, predicate: str) -> int:
        links = links_of(page)
        words = [LinkWords.of(link) for link in links]
        satisfies = np.array([page.verdict.get(predicate, False)], float)
        positions = [link.position for link in links]
        linking = table.add(positions, self._vocabulary.words(page.words), satisfies)
        said = self._vocabulary.words(word for link in words for part in link for word in part)
        sizes = [len(part) for parts in words for part in parts]
        table.say(range(linking.first, linking.first + linking.links), said, sizes)
        for link in links:
            target = self._pages.get(link.url)
            if target is not None and target is not page and predicate in target.verdict:
                table.judged([linking], [link.position], np.array([[[1.0, target.verdict[predicate]]]]))
        (place,) = (link.position for link in links if link.url == url)
        return linking.first + place

    def _crowd(self, url: str, predicate: str) -> Crowd | None:
        if url not in self._trace.accesses:
            return None
        found = [
            (times, sixths, self._pages[other].verdict[predicate])
            for other, (times, sixths) in self._trace.together.get(url, {}).items()
            if other in self._pages and predicate in self._pages[other].verdict
        ]
        beside = CoVisits(
            sum(sixths for _, sixths, _ in found) / SIXTHS,
            sum(sixths for _, sixths, holds in found if holds) / SIXTHS,
            sum(times for times, _, _ in found),
            sum(times for times, _, holds in found if holds),
        )
        return Crowd(self._trace.accesses[url], self._trace.visitors[url], [beside])


@pytest.mark.parametrize("policy", ["linkage", "collaborative", "combined"])
@given(TOLD)
def test_priorities_of_the_papers_policies_are_those_of_the_reference(
    place: Place, policy: Literal["linkage", "collaborative", "combined"], given: Told
) -> None:
    settings = LearnSettings(t=0.5, weights=FACTORS)
    scorer, forgetful = (
        PaperScorer(settings, lessons(policy), drift=0.0, words=words) for words in (10_000, 1)
    )
    reference = Reference(policy, t=0.5, factors=FACTORS, **given.bounds._asdict())
    for name in PREDICATES:
        scorer.add_predicate(name)
        forgetful.add_predicate(name)
    for half in halves(place, policy, given):
        for page in half.pages:
            reference.judged(page.url, page.verdict, page.words, page.links)
        reference.visit(*half.steps)
        for each in (scorer, forgetful):
            teach(each, a_cells(half.counts))
        for shard, row in half.pipeline.candidates():
            (found,) = forgetful.priorities(shard, [row], PREDICATES)  # words that are not counted go first
            for name in PREDICATES:
                expected = reference.priority(row.url, name)
                assert scorer.priority(shard, row, name) == pytest.approx(expected)
                assert found[name] == pytest.approx(expected)
                if lessons(policy).users:
                    assert crowd_of(shard, row, name) == reference.crowd_evidence(row.url, name)


def a_table() -> SemanticTable:
    """Return a table of the words of `tests.models.webs`, most of the numbers there and the letters."""
    pieces = [*"abcdefgh", *"01234567"]
    vectors = np.random.default_rng(6).integers(-100, 100, size=(len(pieces), 5))
    return SemanticTable(pieces, vectors.astype(np.int8), np.ones(len(pieces), np.float32))


@given(JUDGED)
def test_learned_inputs_are_those_of_a_candidate_made_of_the_same_facts(place: Place, given: Told) -> None:
    vocabulary, table = Vocabulary(Ledger()), a_table()
    scorer, forgetful, meant = every = LearnedScorer(), LearnedScorer(words=1), LearnedScorer(table)
    assert meant.names == tuple(entry.name for entry in inputs_with(meaning=True))
    by_hand = {name: Knowledge(name, vocabulary, TOPIC, PHRASES) for name in PREDICATES}
    meanings, judged = Meanings(table), Counter[tuple[str, str, bool]]()
    so_far: tuple[list[JudgedPage], list[Step]] = ([], [])
    for name in PREDICATES:
        meanings.add(name, TOPIC)
        for each in every:
            each.add_predicate(name, Sought(TOPIC, PHRASES))
    for half in halves(place, "learned", given):
        so_far = so_far[0] + half.pages, so_far[1] + half.steps
        for each in every:
            teach(each, a_cells(half.counts))
        half.bring_up(*every)
        for name, knowledge in by_hand.items():
            teach_one(knowledge, {feature: cells[name] for feature, cells in half.counts.items()}, name)
        for page in half.pages:
            judged.update((page.subject, name, holds) for name, holds in page.verdict.items())
        for of in sorted({page.subject for page in half.pages}):
            hits = {name: judged[of, name, True] for name in PREDICATES}
            meanings.hear(of, {name: (judged[of, name, False] + hits[name], hits[name]) for name in PREDICATES})
        facts = Facts(so_far[0], given.bounds.trace(so_far[1]), vocabulary)
        for shard, row in half.pipeline.candidates():
            text = facts.subject(row.url)
            for name, knowledge in by_hand.items():
                inputs, named = facts.inputs(knowledge, row.url, name)
                assert scorer.inputs(shard, row, name) == pytest.approx(inputs)
                assert scorer.named(shard, row, name) == pytest.approx(named)
                forgetful.priorities(shard, [row], PREDICATES)  # words that are not counted are forgotten first
                assert forgetful.inputs(shard, row, name) == pytest.approx(inputs)
                assert forgetful.named(shard, row, name) == pytest.approx(named)
                # What words mean is that of the same subjects, whatever came in between.
                rate = scorer.known(name).rate
                inputs += meanings.inputs([("", text)], {name: rate})[0, 0].tolist()
                assert meant.inputs(shard, row, name) == pytest.approx(inputs)
                hit = 1 / (1 + math.exp(-sum(meant.known(name).logit(inputs)) - named))
                hit *= meant.comes(meant.inputs(shard, row, FAILED) if meant.foretells else None)
                (priority,) = meant.priorities(shard, [row], (name,))
                assert priority[name] == pytest.approx(math.log(hit / (1 - hit)))


@given(TOLD)
def test_links_that_were_dropped_and_taken_up_again_are_worth_the_same(place: Place, given: Told) -> None:
    vocabulary = Vocabulary(Ledger())
    knowledge = [Knowledge(name, vocabulary) for name in PREDICATES]
    every, few = InLinks(vocabulary, PREDICATES), InLinks(vocabulary, PREDICATES, most=1)

    def are_worth_the_same(half: Half) -> None:
        half.bring_up(every, few)
        for shard, row in half.pipeline.candidates():
            found, said = [], []
            for links in (every, few, InLinks(vocabulary, PREDICATES)):
                (kept,) = links.of(shard, [(identifier(row.url), row.parents)])
                candidate = Candidate((), (), kept.places, [(0, 0)] * 2)
                found.append(inputs_of(knowledge, links.table, [candidate]).ravel().tolist())
                said.append(kept.anchors)
            assert found[0] == pytest.approx(found[1])
            assert found[0] == pytest.approx(found[2])
            assert said == said[2:] * 3

    for half in halves(place, "learned", given):
        are_worth_the_same(half)
    pipeline = half.pipeline
    for page in given.pages:  # predicates that came later judge what was judged
        pipeline.sight("pages/0", rejudged(page.url, dict.fromkeys(PREDICATES, True), TIME, page.words))
    pipeline.run((), ())
    noted = [pipeline.book.noted.pop(shard.partition, set()) for shard in pipeline.shards]
    are_worth_the_same(half._replace(noted=noted))


@given(TOLD, ANSWERED)
def test_failures_that_are_foretold_again_are_as_if_they_had_always_been(
    place: Place, given: Told, answered: list[tuple[int, int]]
) -> None:
    _, half = halves(place, "learned", given)
    now_and_then, anew = LearnedScorer(), LearnedScorer()
    for scorer in (now_and_then, anew):
        scorer.add_predicate("p")
    counts: dict[str, dict[str, tuple[int, int]]] = {}
    # What is told last is for both: a request of four failed.
    for letter, (requests, failures) in zip("abcde", (*answered, (4, 1)), strict=True):
        names = [BASE, *(f"{kind}{letter}" for kind in WORDS)]
        told = {name: {FAILED: (failures + requests, failures)} for name in names}
        counts |= told
        teach(now_and_then, a_cells(told))
        half.bring_up(now_and_then)
    teach(anew, a_cells(counts))
    assert now_and_then.foretells is anew.foretells is True
    for shard, row in half.pipeline.candidates():
        for name in ("p", FAILED):
            expected = anew.inputs(shard, row, name)
            assert now_and_then.inputs(shard, row, name) == pytest.approx(expected, rel=0.1, abs=0.1)


def test_a_combiner_of_other_inputs_is_refused() -> None:
    scorer = LearnedScorer(a_table())
    scorer.add_predicate("p")
    plain = Learner()
    weighting = Weighting(plain.combiner.mean.tobytes(), plain.combiner.covariance.tobytes(), plain.shifts)
    with pytest.raises(ValueError, match=f"combiner of p: it has {len(NAMES)} weights, expected"):
        scorer.take("p", weighting)
