"""Predicates that come later: what they say of pages judged before counts as if it had been said then."""

from collections.abc import Iterator
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.keys import page_key, parent_of, totals_of
from scentline.agents.frontier.rows import PageRow
from scentline.models.crowd.trace import Step
from scentline.models.recount import JudgedPage, recount
from scentline.models.url import host, identifier
from scentline.models.verdict import FAILED, Verdict
from scentline.streams.facts import Rejudged, Relinked
from scentline.streams.topics import partition_of
from tests.agents.books import judged_of
from tests.agents.pipeline import (
    TIGHT,
    TIME,
    WIDE,
    Bounds,
    Crawl,
    Pipeline,
    Place,
    a_place,
    later_sightings_of,
    links_of,
)
from tests.cases import each_case
from tests.models.webs import SOME_SILENT, STEPS
from tests.reference.counts import plain

POLICIES = ["linkage", "combined", "learned", "breadth-first"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with a_place(tmp_path_factory.mktemp("place")) as opened:
        yield opened


def of(verdict: Verdict, name: str) -> Verdict:
    return {known: holds for known, holds in verdict.items() if known == name}


def judged_by(page: JudgedPage, name: str) -> JudgedPage:
    return msgspec.structs.replace(page, verdict=of(page.verdict, name))


def run_with_a_later_predicate(
    pipeline: Pipeline, pages: list[JudgedPage], steps: list[Step], random: Random
) -> None:
    """Judge a part by p alone, then the rest by p and q, while q judges the first part too, partly twice."""
    partitions = len(pipeline.shards)
    cut, pause = random.randint(0, len(pages)), random.randint(0, len(steps))
    pipeline.run([judged_by(page, "p") for page in pages[:cut]], steps[:pause], random)
    for page in pages[:cut]:
        for _ in range(random.randint(1, 2)):
            pipeline.waiting += later_sightings_of(page, of(page.verdict, "q"), partitions)
    pipeline.run(pages[cut:], steps[pause:], random)


@pytest.mark.parametrize("policy", POLICIES)
@given(SOME_SILENT, STEPS, st.integers(1, 3), st.sampled_from([WIDE, TIGHT]), st.integers(0, 10_000))
def test_the_counts_are_those_of_a_crawl_that_had_the_predicate_from_the_start(
    place: Place,
    policy: str,
    pages: list[JudgedPage],
    steps: list[Step],
    partitions: int,
    bounds: Bounds,
    seed: int,
) -> None:
    pipeline = Pipeline(place, Crawl(policy, partitions, bounds))
    run_with_a_later_predicate(pipeline, pages, steps, Random(seed))
    assert pipeline.counts == plain(recount(pages, policy, bounds.trace(steps), bounds.parents))


@given(SOME_SILENT, STEPS, st.integers(1, 3), st.integers(0, 10_000))
def test_every_partition_ends_with_all_verdicts(
    place: Place, pages: list[JudgedPage], steps: list[Step], partitions: int, seed: int
) -> None:
    pipeline = Pipeline(place, Crawl("combined", partitions))
    run_with_a_later_predicate(pipeline, pages, steps, Random(seed))
    verdicts = {page.url: page.verdict for page in pages}
    counted: dict[str, int] = {}
    for page in pages:
        targets = {link.url: link.position for link in links_of(page) if link.url != page.url}
        expected = {
            identifier(url): (verdicts[url] | {FAILED: False}, position)
            for url, position in targets.items()
            if url in verdicts
        }
        for partition in {partition_of(host(url), partitions) for url in targets}:
            assert judged_of(pipeline.shards[partition], page.url) == expected
            assert parent_of(pipeline.shards[partition], identifier(page.url)).verdict == page.verdict
        for name in page.verdict:
            counted[name] = counted.get(name, 0) + 1
    totals = [totals_of(shard).verdicts for shard in pipeline.shards]
    for name in ("p", "q"):
        assert sum(found.get(name, 0) for found in totals) == counted.get(name, 0)


PAGE = JudgedPage("http://a.org/1", {"p": True}, ("snow",))


@each_case(("url", "time"), [("http://a.org/1", TIME + 1), ("http://a.org/2", TIME)])
def test_what_is_said_of_a_page_that_was_never_judged_so_is_passed_over(
    place: Place, url: str, time: float
) -> None:
    pipeline = Pipeline(place, Crawl("linkage"))
    pipeline.run([PAGE], [], Random(1))
    pipeline.absorb(0, Rejudged(url, {"q": True}, time, ("snow",)))
    pipeline.absorb(0, Relinked(identifier(url), {"q": True}, time))
    row = pipeline.shards[0].get(page_key(PAGE.url))
    assert isinstance(row, PageRow)
    assert row.verdict == {"p": True}
    assert pipeline.shards[0].get(page_key("http://a.org/2")) is None
    assert pipeline.counts == plain(recount([PAGE], "linkage", None, 32))
