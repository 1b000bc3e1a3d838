"""Virtual crawls by the crawl's own frontier: where they start, what they leave, and inputs that were tried."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.first_weights import School
from scentline.agents.learn import model_key
from scentline.models.frontier.keys import BESIDE_PREFIX, PAGE_PREFIX, page_key
from scentline.models.frontier.rows import BesideRow, PageRow
from scentline.models.page import FAILED, Link, Page
from scentline.models.policy.factors import inside, region_log
from scentline.models.policy.features import PAGE_WORD, URL_WORD, USER, Base
from scentline.models.policy.inputs import INPUTS
from scentline.models.policy.learned import LearnedScorer
from scentline.models.reuse import Learned, State
from scentline.models.trace import Step, Trace
from scentline.streams.settings import Settings
from scentline_lab.simulation.core import _CODEC, NAME, CoreCrawler, MemoryShard, rows_of
from scentline_lab.simulation.policies import (
    LEARNED,
    Significance,
    Truth,
    policies,
)
from scentline_lab.simulation.virtual import Task
from scentline_lab.simulation.words import Hindsight
from tests.agents.pipeline import TIGHT, WIDE, Crawl, Pipeline, Place, a_place
from tests.cases import each_case
from tests.models.teaching import weighed

PAGES = [f"http://a.org/{number}" for number in range(8)]
STEPS = st.lists(
    st.builds(
        Step, st.sampled_from(["ann", "bob", "eve"]), st.sampled_from(PAGES), st.floats(0, 100), st.none()
    ),
    max_size=30,
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with a_place(tmp_path_factory.mktemp("place")) as opened:
        yield opened


@given(steps=STEPS, tight=st.booleans())
def test_a_log_leaves_the_rows_that_it_leaves_in_a_crawl(place: Place, steps: list[Step], tight: bool) -> None:
    bounds = TIGHT if tight else WIDE
    pipeline = Pipeline(place, Crawl("combined", bounds=bounds), Random(1))
    pipeline.run([], steps)
    limits = {"users": bounds.visitors, "others": bounds.together}
    shard = MemoryShard(_CODEC, rows_of(Trace(steps, reach=bounds.reach, window=bounds.window, **limits)))
    expected = {row.url: row for _, row in pipeline.candidates()}
    found = {row.url: row for _, row in shard.scan(PAGE_PREFIX) if isinstance(row, PageRow)}
    assert found.keys() == expected.keys()
    for url, row in found.items():
        known = expected[url]
        assert (row.visits, row.visitors, row.together) == (known.visits, known.visitors, known.together)
    for key, other in shard.scan(BESIDE_PREFIX):
        known_beside = pipeline.shards[0].get(key)
        assert isinstance(other, BesideRow)
        assert isinstance(known_beside, BesideRow)
        assert other.pages.keys() == known_beside.pages.keys()


def test_what_a_learned_crawl_exports_includes_what_it_started_with() -> None:
    first = policies(Settings())[LEARNED](Task((), Trace([]), Random(1)), Truth((), Hindsight({})))
    urls = [f"http://a.test/{name}" for name in ("ski", "sea", "gone")]
    assert isinstance(first, CoreCrawler)
    for url in urls:
        first.add_seed(url)
    for _ in range(3):
        choice = first.next()
        assert choice is not None
        if choice.url.endswith("gone"):
            first.failed(choice.url)
        else:
            first.judged(Page(choice.url, words=(choice.url[-3:],)), choice.url.endswith("ski"))
    learned = first.export_state()
    requests, hits = learned.learned
    assert ((requests.pages, requests.hits), (hits.pages, hits.hits)) == ((3, 1), (2, 1))
    assert (requests.features[URL_WORD + "gone"], hits.features[PAGE_WORD + "ski"]) == ((1, 1), (1, 1))
    task = Task((), Trace([]), Random(1))
    second = CoreCrawler(task, Settings(), LearnedScorer(), learned, 0.5)
    assert second.export_state() == State(LEARNED, [halved(each) for each in learned.learned]), (
        "nothing was learned since"
    )
    second.add_seed(urls[0])
    second.judged(Page(urls[0], words=("ski",), links=(Link(f"{urls[0]}/2"),)), False)
    again = second.export_state().learned
    assert [(each.name, each.pages, each.hits) for each in again] == [(FAILED, 2.5, 0.5), (NAME, 2.0, 0.5)]
    assert again[1].features[PAGE_WORD + "ski"] == (1.5, 0.5)
    # A page that was chosen teaches the combiners, and a crawl after that starts with theirs.
    chosen = second.next()
    assert chosen is not None
    second.judged(Page(chosen.url), True)
    assert second._combiners.get(model_key(NAME)) is None
    second.add_seed(urls[1])
    second.failed(urls[1])
    assert second._combiners.get(model_key(NAME)), "they learn from an answer before the next one comes"
    taught = second.export_state()
    combiners = [each.combining for each in taught.learned]
    assert None not in combiners and None in [each.combining for each in again]
    third = CoreCrawler(task, Settings(), LearnedScorer(), taught)
    assert [each.combining for each in third.export_state().learned] == combiners


def halved(of: Learned) -> Learned:
    features = {name: (pages / 2, hits / 2) for name, (pages, hits) in of.features.items()}
    return Learned(of.name, "", of.pages / 2, of.hits / 2, features, of.combining)


@given(STEPS, st.dictionaries(st.sampled_from(PAGES), st.booleans(), max_size=8))
def test_significant_users_and_region_are_the_papers(steps: list[Step], verdicts: dict[str, bool]) -> None:
    trace = Trace(steps)
    scorer = Significance(None, trace)
    crawler = CoreCrawler(Task((), trace, Random(1)), Settings(), scorer)
    users: dict[str, tuple[int, int]] = {}
    for url, holds in verdicts.items():
        crawler.add_seed(url)
        crawler.judged(Page(url), holds)
        for name in trace.visitors.get(url, ()):
            pages, hits_seen = users.get(name, (0, 0))
            users[name] = pages + 1, hits_seen + holds
    base = Base(len(verdicts), sum(verdicts.values()))
    hits = {url for url, holds in verdicts.items() if holds}
    region = {url for url in PAGES if inside(trace.together.get(url, {}), hits)}
    counts = len(region & verdicts.keys()), len(region & hits)
    weights = weighed(base, USER, users)
    for url in PAGES:
        within = url in region if url in trace.accesses else None
        expected = [weights.sum(USER, trace.visitors.get(url, ())), region_log(within, counts, base)]
        row = crawler._shard.get(page_key(url)) or PageRow(url, 0, 0)
        assert isinstance(row, PageRow)
        assert scorer.values(crawler._shard, row, NAME) == pytest.approx(expected)


@each_case("failures", [False, True])
def test_crawlers_start_with_given_weights_whose_mean_is_what_was_learned(failures: bool) -> None:
    school = School(INPUTS, failures)
    for _ in range(2):
        school(Task((), Trace([]), Random(1)), Truth((), Hindsight({})))
    assert list(school.learned(INPUTS)) == [entry._replace(deviation=0.0) for entry in INPUTS]
