"""What the learner is told equals a recount, in whatever order pages are judged and accesses come.

Some predicates come later: what they say of pages judged before counts as if it had been said then.
"""

from collections.abc import Iterator, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scentline.agents.frontier.keys import PAGE_PREFIX, beside_of, page_key, parent_of, totals_of
from scentline.agents.frontier.rows import PageRow
from scentline.models.crowd.trace import Step
from scentline.models.page import Link
from scentline.models.recount import FailedRequests, JudgedPage, recount
from scentline.models.url import host, identifier
from scentline.models.verdict import FAILED, Verdict
from scentline.streams.facts import Rejudged, Relinked
from scentline.streams.topics import partition_of
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
from tests.agents.scenarios import judged_of
from tests.agents.shards import write
from tests.cases import each_case
from tests.models.webs import FAILURES, SOME_SILENT, STEPS
from tests.reference.counts import plain

POLICIES = ["linkage", "collaborative", "combined", "learned", "breadth-first", "random"]
PARTITIONS = st.integers(1, 3)
BOUNDS = st.sampled_from([WIDE, TIGHT])
SEEDS = st.integers(0, 10_000)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with a_place(tmp_path_factory.mktemp("place")) as opened:
        yield opened


def of(verdict: Verdict, name: str) -> Verdict:
    return {known: holds for known, holds in verdict.items() if known == name}


def run(
    pipeline: Pipeline,
    pages: list[JudgedPage],
    failures: Sequence[FailedRequests],
    steps: list[Step],
    random: Random,
) -> None:
    """Judge a part by p alone, then the rest by p and q, while q judges the first part too, some twice."""
    partitions = len(pipeline.shards)
    cut, pause = random.randint(0, len(pages)), random.randint(0, len(steps))
    first, rest = pages[:cut], pages[cut:] * random.randint(1, 2)
    before = [failed for failed in failures if failed.url in {page.url for page in first}]
    early = [replace(page, verdict=of(page.verdict, "p")) for page in first]
    pipeline.run(early, steps[:pause], random, before)
    for page in first * random.randint(1, 2):
        pipeline.waiting += later_sightings_of(page, of(page.verdict, "q"), partitions)
    pipeline.run(rest, steps[pause:], random, [failed for failed in failures if failed not in before])


@pytest.mark.parametrize("policy", POLICIES)
@given(SOME_SILENT, FAILURES, STEPS, PARTITIONS, BOUNDS, SEEDS)
def test_the_evidence_of_any_order_of_sightings_adds_up_to_the_recount(
    place: Place,
    policy: str,
    pages: list[JudgedPage],
    failures: list[FailedRequests],
    steps: list[Step],
    partitions: int,
    bounds: Bounds,
    seed: int,
) -> None:
    pipeline = Pipeline(place, Crawl(policy, partitions, bounds))
    run(pipeline, pages, failures, steps, Random(seed))
    trace = bounds.trace(steps)
    assert pipeline.counts == plain(recount(pages, policy, trace, bounds.parents, failures=failures))
    for shard in pipeline.shards:
        write(shard)
        rows = [row for _, row in shard.scan(PAGE_PREFIX) if isinstance(row, PageRow)]
        assert totals_of(shard).requests == sum(row.requests for row in rows)


@given(SOME_SILENT, STEPS, PARTITIONS, SEEDS)
def test_every_partition_ends_with_the_verdicts_that_scoring_in_it_needs(
    place: Place, pages: list[JudgedPage], steps: list[Step], partitions: int, seed: int
) -> None:
    pipeline = Pipeline(place, Crawl("combined", partitions))
    run(pipeline, pages, (), steps, Random(seed))
    verdicts = {page.url: page.verdict for page in pages}
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
    names = {identifier(url): verdict for url, verdict in verdicts.items()}
    for shard, row in pipeline.candidates():
        for other in row.together:
            found = beside_of(shard, other)
            assert (found.verdict, identifier(row.url) in found.pages) == (names.get(other), True)
    totals = [totals_of(shard).verdicts for shard in pipeline.shards]
    for name in ("p", "q"):
        assert sum(found.get(name, 0) for found in totals) == sum(name in page.verdict for page in pages)


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


def test_the_evidence_of_a_log_and_pages_beyond_every_bound_adds_up_to_the_recount(place: Place) -> None:
    random = Random(3)
    urls = [f"http://h{number % 7}.org/{number}" for number in range(40)]
    names = [f"word{number}" for number in range(200)]
    steps = [
        Step(f"user{random.randrange(20)}", random.choice(urls), float(time), random.choice([None, *urls]))
        for time in range(400)
    ]
    pages = [
        JudgedPage(
            url,
            {"p": random.random() < 0.3},
            tuple(random.sample(names, 90)),
            tuple(Link(target, (random.choice(names),)) for target in random.sample(urls, 30)),
        )
        for url in urls
    ]
    for policy in ("combined", "learned"):
        bounds = Bounds(parents=16, visitors=6, together=20)
        pipeline = Pipeline(place, Crawl(policy, 3, bounds))
        pipeline.run(pages, steps, Random(policy))
        assert pipeline.counts == plain(recount(pages, policy, bounds.trace(steps), bounds.parents))
