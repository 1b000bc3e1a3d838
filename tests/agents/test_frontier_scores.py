"""The frontier scores candidates as the models do that are shown the same pages and accesses at once."""

import math
from collections.abc import Iterator
from random import Random
from typing import Literal

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.inlinks import InLinks
from scentline.agents.frontier.known import HeardMeaning
from scentline.agents.frontier.learned import LearnedScorer
from scentline.agents.frontier.rows import FrontierShard, PageRow
from scentline.agents.frontier.scoring import PaperScorer, crowd_of
from scentline.models.crowd.trace import SIXTHS, Step, Trace
from scentline.models.interest.factors import kept
from scentline.models.interest.features import BASE
from scentline.models.learner.batch import inputs_of, named_of
from scentline.models.learner.candidate import Candidate, CoVisits, Crowd, prefixes, url_words
from scentline.models.learner.inputs import NAMES
from scentline.models.learner.knowledge import Knowledge
from scentline.models.learner.lessons import IN_LINKS, LinkWords
from scentline.models.learner.linking import LinkTable
from scentline.models.learner.semantic import Meaning, Sense, inputs_with, subject
from scentline.models.learner.state import Learner
from scentline.models.learner.words import WORDS, Vocabulary
from scentline.models.ledger import Ledger
from scentline.models.lessons import lessons
from scentline.models.recount import JudgedPage
from scentline.models.semantic.table import SemanticTable
from scentline.models.url import host, identifier
from scentline.models.verdict import FAILED
from scentline.streams.crawl_settings import LearnSettings
from scentline.streams.records import Weighting
from tests.agents.cells import a_cells, teach
from tests.agents.pipeline import Bounds, Crawl, Pipeline, Place, a_place, links_of
from tests.models.teaching import teach as teach_one
from tests.models.webs import PAGES, STEPS
from tests.reference.crawler import Reference

PREDICATES = ("p", "q")
#: What pages of interest hold, and the words of that.
PHRASES = (("a", "b"), ("c",))
TOPIC = ("a", "b", "c")
#: All in-links are kept: a verdict is noted with no others, of which the reference knows.
BOUNDS = st.sampled_from([Bounds(), Bounds(visitors=2, together=2, window=4, reach=2)])
PARTITIONS = st.integers(1, 3)
SEEDS = st.integers(0, 10_000)
#: Requests that brought a page and such that did not, at four times.
ANSWERED = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 3)), min_size=4, max_size=4)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with a_place(tmp_path_factory.mktemp("place")) as opened:
        yield opened


class News:
    """Tells all that was counted as the ledger does: what came to nothing once more."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._counts = pipeline.counts
        self._told = {BASE}

    def take(self) -> dict[str, dict[str, tuple[int, int]]]:
        self._told |= {feature for feature, *_ in self._counts.items()}
        return {
            feature: {name: self._counts.get(feature, name) for name in PREDICATES}
            for feature in sorted(self._told)
        }


def halves(pages: list[JudgedPage], steps: list[Step]) -> Iterator[tuple[list[JudgedPage], list[Step]]]:
    """Yield both halves: what was kept in memory of the first must not stand for the whole."""
    one, two = len(pages) // 2, len(steps) // 2
    yield pages[:one], steps[:two]
    yield pages[one:], steps[two:]


def of_request(
    scorer: LearnedScorer, shard: FrontierShard, row: PageRow, predicate: str, inputs: list[float]
) -> float:
    """Return the logit of the hits expected of a request, by the inputs of a predicate."""
    bound = sum(scorer.known(predicate).logit(inputs)) + scorer.named(shard, row, predicate)
    hits = 1 / (1 + math.exp(-bound))
    hits *= scorer.comes(scorer.inputs(shard, row, FAILED) if scorer.foretells else None)
    return math.log(hits / (1 - hits))


class Facts:
    """Candidates made of judged pages and a log, with nothing kept from one to the next."""

    def __init__(self, pages: list[JudgedPage], trace: Trace, vocabulary: Vocabulary) -> None:
        self._pages = {page.url: page for page in pages}
        self._trace = trace
        self._vocabulary = vocabulary

    def inputs(self, knowledge: Knowledge, url: str, predicate: str) -> list[float]:
        """Return the inputs of a page that is not judged, as one predicate's candidate."""
        table = LinkTable(1)
        found = inputs_of([knowledge], table, [self._candidate(table, url, predicate)])
        values: list[float] = found[0, 0].tolist()
        return values

    def named(self, knowledge: Knowledge, url: str, predicate: str) -> float:
        """Return what phrases add for it."""
        table = LinkTable(1)
        return float(named_of([knowledge], table, [self._candidate(table, url, predicate)])[0, 0])

    def _candidate(self, table: LinkTable, url: str, predicate: str) -> Candidate:
        sources = self._sources(url)
        verdicts = [page.verdict[predicate] for page in sources.values() if predicate in page.verdict]
        return Candidate(
            self._vocabulary.numbers(url_words(url)),
            prefixes(url),
            [self._in_link(table, page, url, predicate) for page in self._kept(url)],
            [(len(verdicts), sum(verdicts))],
            self._crowd(url, predicate),
            depth=1,
            foreign=bool(sources) and all(host(page.url) != host(url) for page in sources.values()),
        )

    def subject(self, url: str) -> str:
        """Return the text that says what a page that is not judged is about."""
        links = [next(link for link in page.links if link.url == url) for page in self._kept(url)]
        return subject(url, (" ".join(dict.fromkeys(link.anchor)) for link in links))

    def _sources(self, url: str) -> dict[bytes, JudgedPage]:
        return {
            identifier(page.url): page
            for page in self._pages.values()
            if any(link.url == url for link in page.links)
        }

    def _kept(self, url: str) -> list[JudgedPage]:
        sources = self._sources(url)
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
@given(PAGES, STEPS, PARTITIONS, BOUNDS, SEEDS)
def test_priorities_of_the_papers_policies_are_those_of_the_reference(
    place: Place,
    policy: Literal["linkage", "collaborative", "combined"],
    pages: list[JudgedPage],
    steps: list[Step],
    partitions: int,
    bounds: Bounds,
    seed: int,
) -> None:
    pipeline = Pipeline(place, Crawl(policy, partitions, bounds))
    scorer = PaperScorer(LearnSettings(t=0.5), lessons(policy), drift=0.0)
    reference = Reference(policy, t=0.5, **bounds._asdict())
    for name in PREDICATES:
        scorer.add_predicate(name)
    news = News(pipeline)
    for part in halves(pages, steps):
        pipeline.run(*part, Random(seed))
        for page in part[0]:
            reference.judged(page.url, page.verdict, page.words, page.links)
        reference.visit(*part[1])
        teach(scorer, a_cells(news.take()))
        for shard, row in pipeline.candidates():
            for name in PREDICATES:
                expected = reference.priority(row.url, name)
                assert scorer.priority(shard, row, name) == pytest.approx(expected)
                if lessons(policy).users:
                    assert crowd_of(shard, row, name) == reference.crowd_evidence(row.url, name)


@given(PAGES, STEPS, PARTITIONS, BOUNDS, SEEDS)
def test_inputs_of_the_learned_policy_are_those_of_a_candidate_made_of_the_same_facts(
    place: Place, pages: list[JudgedPage], steps: list[Step], partitions: int, bounds: Bounds, seed: int
) -> None:
    # Predicates judge every page, as they do once a crawl runs: what a page weighs is kept until then.
    pages = [msgspec.structs.replace(page, verdict={"p": False, "q": False} | page.verdict) for page in pages]
    pipeline = Pipeline(place, Crawl("learned", partitions, bounds))
    scorer, vocabulary = LearnedScorer(), Vocabulary(Ledger())
    forgetful = LearnedScorer(words=1)
    by_hand = {name: Knowledge(name, vocabulary, TOPIC, PHRASES) for name in PREDICATES}
    so_far: tuple[list[JudgedPage], list[Step]] = ([], [])
    for name in PREDICATES:
        for each in (scorer, forgetful):
            each.add_predicate(name, TOPIC, PHRASES)
    news = News(pipeline)
    for part in halves(pages, steps):
        pipeline.run(*part, Random(seed))
        so_far = so_far[0] + part[0], so_far[1] + part[1]
        counts = news.take()
        for each in (scorer, forgetful):
            teach(each, a_cells(counts))
        bring_up(pipeline, scorer, forgetful)
        for name, knowledge in by_hand.items():
            found = {feature: cells[name] for feature, cells in counts.items() if name in cells}
            teach_one(knowledge, found, name)
        facts = Facts(so_far[0], bounds.trace(so_far[1]), vocabulary)
        for shard, row in pipeline.candidates():
            for name in PREDICATES:
                expected = facts.inputs(by_hand[name], row.url, name)
                assert scorer.inputs(shard, row, name) == pytest.approx(expected)
                named = facts.named(by_hand[name], row.url, name)
                assert scorer.named(shard, row, name) == pytest.approx(named)
                forgetful.priorities(shard, [row], PREDICATES)  # words that are not counted are forgotten first
                assert forgetful.inputs(shard, row, name) == pytest.approx(expected)
                assert forgetful.named(shard, row, name) == pytest.approx(named)


def bring_up(pipeline: Pipeline, *scorers: LearnedScorer | InLinks) -> None:
    """Have what changed in rows of linking pages taken in, as it is at the end of a group."""
    for shard in pipeline.shards:
        noted = pipeline.book.noted.pop(shard.partition, set())
        for scorer in scorers:
            scorer.bring_up(shard, noted)


@given(PAGES, STEPS, PARTITIONS, SEEDS)
def test_links_that_were_dropped_and_taken_up_again_are_worth_the_same(
    place: Place, pages: list[JudgedPage], steps: list[Step], partitions: int, seed: int
) -> None:
    pipeline = Pipeline(place, Crawl("learned", partitions))
    vocabulary = Vocabulary(Ledger())
    knowledge = [Knowledge(name, vocabulary) for name in PREDICATES]
    every, few = InLinks(vocabulary, PREDICATES), InLinks(vocabulary, PREDICATES, most=1)
    for part in halves(pages, steps):
        pipeline.run(*part, Random(seed))
        bring_up(pipeline, every, few)
        for shard, row in pipeline.candidates():
            target = [(identifier(row.url), row.parents)]
            found = []
            for links in (every, few, InLinks(vocabulary, PREDICATES)):
                (places,) = links.of(shard, target)
                candidate = Candidate((), (), places, [(0, 0)] * 2)
                found.append(inputs_of(knowledge, links.table, [candidate]).ravel().tolist())
            assert found[0] == pytest.approx(found[1])
            assert found[0] == pytest.approx(found[2])


@given(
    PAGES,
    STEPS,
    PARTITIONS,
    SEEDS,
    ANSWERED,
)
def test_failures_that_are_foretold_again_are_as_if_they_had_always_been(
    place: Place,
    pages: list[JudgedPage],
    steps: list[Step],
    partitions: int,
    seed: int,
    answered: list[tuple[int, int]],
) -> None:
    pipeline = Pipeline(place, Crawl("learned", partitions))
    pipeline.run(pages, steps, Random(seed))
    now_and_then = LearnedScorer()
    now_and_then.add_predicate("p")
    counts: dict[str, dict[str, tuple[int, int]]] = {}
    # What is told last is for both: a request of four failed.
    for letter, (requests, failures) in zip("abcde", (*answered, (4, 1)), strict=True):
        told = {f"{kind}{letter}": {FAILED: (failures + requests, failures)} for kind in WORDS}
        told[BASE] = {FAILED: (failures + requests, failures)}
        counts |= told
        teach(now_and_then, a_cells(told))
        bring_up(pipeline, now_and_then)
    anew = LearnedScorer()
    anew.add_predicate("p")
    teach(anew, a_cells(counts))
    assert now_and_then.foretells is anew.foretells is True
    for shard, row in pipeline.candidates():
        for name in ("p", FAILED):
            expected = anew.inputs(shard, row, name)
            assert now_and_then.inputs(shard, row, name) == pytest.approx(expected, rel=0.1, abs=0.1)


def a_table() -> SemanticTable:
    """Return a table of the words of `tests.models.webs`, most of the numbers there and the letters."""
    pieces = [*"abcdefgh", *"01234567"]
    vectors = np.random.default_rng(6).integers(-100, 100, size=(len(pieces), 5))
    return SemanticTable(pieces, vectors.astype(np.int8), np.ones(len(pieces), np.float32))


@given(PAGES, STEPS, PARTITIONS, BOUNDS, SEEDS)
def test_what_words_mean_is_that_of_the_same_subjects_whatever_came_in_between(
    place: Place, pages: list[JudgedPage], steps: list[Step], partitions: int, bounds: Bounds, seed: int
) -> None:
    pages = [msgspec.structs.replace(page, verdict={"p": False, "q": False} | page.verdict) for page in pages]
    pipeline = Pipeline(place, Crawl("learned", partitions, bounds))
    table = a_table()
    scorer, plain = LearnedScorer(table), LearnedScorer()
    assert scorer.names == tuple(entry.name for entry in inputs_with(meaning=True))
    by_hand = {name: Meaning(table, TOPIC) for name in PREDICATES}
    so_far: list[JudgedPage] = []
    for name in PREDICATES:
        scorer.add_predicate(name, TOPIC, PHRASES)
        plain.add_predicate(name, TOPIC)
    news = News(pipeline)
    for part in halves(pages, steps):
        pipeline.run(*part, Random(seed))
        so_far += part[0]
        counts = a_cells(news.take())
        teach(scorer, counts)
        teach(plain, counts)
        bring_up(pipeline, scorer, plain)
        for name, meaning in by_hand.items():
            for page in sorted(part[0], key=lambda page: (page.subject, not page.verdict[name])):
                meaning.learn(table.vector(page.subject), page.verdict[name])
        facts = Facts(so_far, bounds.trace(steps), Vocabulary(Ledger()))
        for shard, row in pipeline.candidates():
            vector = table.vector(facts.subject(row.url))
            for name in PREDICATES:
                rate = plain.known(name).knowledge.rate
                meant = by_hand[name].inputs([Sense(vector)], rate)[0].tolist()
                expected = plain.inputs(shard, row, name) + meant
                assert scorer.inputs(shard, row, name) == pytest.approx(expected)
                bound = of_request(scorer, shard, row, name, expected)
                assert scorer.priorities(shard, [row], (name,))[0][name] == pytest.approx(bound)


def test_a_subject_that_is_withdrawn_stays_learned_and_one_that_grows_teaches_what_is_new() -> None:
    table = a_table()
    heard, by_hand = HeardMeaning(table, ()), Meaning(table)

    def alike() -> bool:
        vector = table.vector("a c")
        expected = by_hand.inputs([Sense(vector)], 0.3)[0].tolist()
        found: list[float] = heard.inputs([("http://a.example/", vector)], 0.3)[0].tolist()
        return found == pytest.approx(expected)

    for counts, verdicts in (
        ((3, 1), [True, False, False]),
        ((3, 1), []),
        ((5, 3), [True, True]),
        ((0, 0), []),
        ((1, 0), [False]),
    ):
        heard.hear("a b", *counts)
        for holds in verdicts:
            by_hand.learn(table.vector("a b"), holds)
        assert alike()


def test_a_combiner_of_other_inputs_is_refused() -> None:
    scorer = LearnedScorer(a_table())
    scorer.add_predicate("p")
    plain = Learner()
    weighting = Weighting(plain.combiner.mean.tobytes(), plain.combiner.covariance.tobytes(), plain.shifts)
    with pytest.raises(ValueError, match=f"combiner of p: it has {len(NAMES)} weights, expected"):
        scorer.take("p", weighting)
