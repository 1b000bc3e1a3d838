"""What the learner is told equals a recount, in whatever order pages are judged and accesses come."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.keys import PAGE_PREFIX, beside_of, totals_of
from scentline.agents.frontier.rows import PageRow
from scentline.models.crowd.trace import Step
from scentline.models.page import Link
from scentline.models.recount import FailedRequests, JudgedPage, recount
from scentline.models.url import host, identifier
from scentline.models.verdict import FAILED
from scentline.streams.topics import partition_of
from tests.agents.books import judged_of
from tests.agents.pipeline import TIGHT, WIDE, Bounds, Crawl, Pipeline, Place, a_place, links_of
from tests.agents.shards import write
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


@pytest.mark.parametrize("policy", POLICIES)
@given(SOME_SILENT, STEPS, PARTITIONS, BOUNDS, st.booleans(), SEEDS)
def test_the_evidence_of_any_order_of_sightings_adds_up_to_the_recount(
    place: Place,
    policy: str,
    pages: list[JudgedPage],
    steps: list[Step],
    partitions: int,
    bounds: Bounds,
    twice: bool,
    seed: int,
) -> None:
    pipeline = Pipeline(place, Crawl(policy, partitions, bounds))
    pipeline.run([*pages, *pages] if twice else pages, steps, Random(seed))
    assert pipeline.counts == plain(recount(pages, policy, bounds.trace(steps), bounds.parents))


@pytest.mark.parametrize("policy", ["linkage", "learned"])
@given(SOME_SILENT, FAILURES, STEPS, PARTITIONS, BOUNDS, SEEDS)
def test_requests_that_failed_count_until_a_page_comes_all_the_same(
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
    pipeline.run(pages, steps, Random(seed), failures)
    assert pipeline.counts == plain(
        recount(pages, policy, bounds.trace(steps), bounds.parents, failures=failures)
    )
    for shard in pipeline.shards:
        write(shard)
        rows = [row for _, row in shard.scan(PAGE_PREFIX) if isinstance(row, PageRow)]
        assert totals_of(shard).requests == sum(row.requests for row in rows)


@given(SOME_SILENT, STEPS, PARTITIONS, SEEDS)
def test_every_partition_ends_with_the_verdicts_that_scoring_in_it_needs(
    place: Place, pages: list[JudgedPage], steps: list[Step], partitions: int, seed: int
) -> None:
    pipeline = Pipeline(place, Crawl("combined", partitions))
    pipeline.run(pages, steps, Random(seed))
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
    names = {identifier(url): verdict for url, verdict in verdicts.items()}
    for shard, row in pipeline.candidates():
        for other in row.together:
            found = beside_of(shard, other)
            assert found.verdict == names.get(other)
            assert identifier(row.url) in found.pages


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
