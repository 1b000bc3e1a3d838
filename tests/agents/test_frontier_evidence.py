"""What the learner is told equals a recount, in whatever order pages are judged and accesses come.

Some predicates come later: what they say of pages judged before counts as if it had been said then. Shards
that crash again and again tell everything once, labels included.
"""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scentline.agents.frontier.keys import PAGE_PREFIX, beside_of, page_key, parent_of, totals_of
from scentline.agents.frontier.rows import Choice, PageRow
from scentline.models.crowd.trace import Step
from scentline.models.page import Link
from scentline.models.recount import FailedRequests, JudgedPage, recount
from scentline.models.url import identifier
from scentline.models.verdict import FAILED
from scentline.streams.facts import Judged, Label, Rejudged, Relinked
from tests.agents.pipeline import TIME, WIDE, Bounds, Crawl, Part, Pipeline, Place, Told, links_of, told
from tests.agents.scenarios import judged_of
from tests.agents.shards import write
from tests.cases import each_case
from tests.models.webs import FAILURES, SOME_SILENT
from tests.reference.counts import plain

POLICIES = ["linkage", "collaborative", "combined", "learned", "breadth-first", "random"]
Q = {"q": True}


def run(place: Place, policy: str, given: Told, failures: list[FailedRequests]) -> Pipeline:
    """Judge a part by p alone, then the rest by p and q, while q judges the first part too, some twice."""
    random = Random(given.seed)
    pipeline = Pipeline(place, given.crawl(policy), random)
    pages, steps = given.pages, given.steps
    cut, pause = random.randint(0, len(pages)), random.randint(0, len(steps))
    first, rest = pages[:cut], pages[cut:] * random.randint(1, 2)
    before = [failed for failed in failures if failed.url in {page.url for page in first}]

    def by(name: str) -> list[JudgedPage]:
        return [replace(page, verdict={n: v for n, v in page.verdict.items() if n == name}) for page in first]

    pipeline.run(by("p"), steps[:pause], before)
    for page in by("q") * random.randint(1, 2):
        relinked = Relinked(identifier(page.url), page.verdict, TIME)
        for partition in {pipeline.partition(link.url) for link in page.links}:
            pipeline.sight("pages/0", relinked, partition)
        pipeline.sight("pages/0", Rejudged(page.url, page.verdict, TIME, page.words, page.subject))
    pipeline.run(rest, steps[pause:], [failed for failed in failures if failed not in before])
    return pipeline


@pytest.mark.parametrize("policy", POLICIES)
@given(told(SOME_SILENT), FAILURES)
def test_the_evidence_of_any_order_of_sightings_adds_up_to_the_recount(
    place: Place, policy: str, given: Told, failures: list[FailedRequests]
) -> None:
    pipeline = run(place, policy, given, failures)
    trace, parents = given.bounds.trace(given.steps), given.bounds.parents
    assert pipeline.counts == plain(recount(given.pages, policy, trace, parents, failures=failures))
    for shard in pipeline.shards:
        rows = [row for _, row in shard.scan(PAGE_PREFIX) if isinstance(row, PageRow)]
        assert totals_of(shard).requests == sum(row.requests for row in rows)


@given(told(SOME_SILENT, WIDE))
def test_every_partition_ends_with_the_verdicts_that_scoring_in_it_needs(place: Place, given: Told) -> None:
    pipeline = run(place, "combined", given, [])
    verdicts = {page.url: page.verdict for page in given.pages}
    for page in given.pages:
        targets = {link.url: link.position for link in links_of(page) if link.url != page.url}
        expected = {
            identifier(url): (verdicts[url] | {FAILED: False}, position)
            for url, position in targets.items()
            if url in verdicts
        }
        for partition in {pipeline.partition(url) for url in targets}:
            assert judged_of(pipeline.shards[partition], page.url) == expected
            assert parent_of(pipeline.shards[partition], identifier(page.url)).verdict == page.verdict
    names = {identifier(url): verdict for url, verdict in verdicts.items()}
    for shard, row in pipeline.candidates():
        for other in row.together:
            found = beside_of(shard, other)
            assert (found.verdict, identifier(row.url) in found.pages) == (names.get(other), True)
    totals = [totals_of(shard).verdicts for shard in pipeline.shards]
    for name in ("p", "q"):
        assert sum(found.get(name, 0) for found in totals) == sum(name in page.verdict for page in given.pages)


PAGE = JudgedPage("http://a.org/1", {"p": True}, ("snow",))


@each_case(("url", "time"), [(PAGE.url, TIME + 1), ("http://a.org/2", TIME)])
def test_what_is_said_of_a_page_never_judged_so_is_passed_over(place: Place, url: str, time: float) -> None:
    pipeline = Pipeline(place, Crawl("linkage"), Random(1))
    pipeline.run([PAGE], [])
    pipeline.sight("pages/0", Rejudged(url, Q, time, ("snow",)))
    pipeline.sight("pages/0", Relinked(identifier(url), Q, time), 0)
    pipeline.run((), ())
    rows = [pipeline.page(PAGE.url), pipeline.page("http://a.org/2")]
    assert [row and row.verdict for row in rows] == [PAGE.verdict, None]
    assert pipeline.counts == plain(recount([PAGE], "linkage", None, 32))


@each_case("policy", ["combined", "learned"])
def test_the_evidence_of_a_log_and_pages_beyond_every_bound_adds_up(place: Place, policy: str) -> None:
    random = Random(3)
    urls = [f"http://h{number % 7}.org/{number}" for number in range(40)]
    names = [f"word{number}" for number in range(200)]
    steps = [
        Step(f"user{random.randrange(20)}", random.choice(urls), float(time), random.choice([None, *urls]))
        for time in range(400)
    ]

    def a_page(url: str) -> JudgedPage:
        links = tuple(Link(target, (random.choice(names),)) for target in random.sample(urls, 30))
        return JudgedPage(url, {"p": random.random() < 0.3}, tuple(random.sample(names, 90)), links)

    pages, bounds = [a_page(url) for url in urls], Bounds(parents=16, visitors=6, together=20)
    pipeline = Pipeline(place, Crawl(policy, 3, bounds), random)
    pipeline.run(pages, steps)
    assert pipeline.counts == plain(recount(pages, policy, bounds.trace(steps), bounds.parents))


# crashes

INPUTS = (0.5, 1.0)


class Choosing(Pipeline):
    """Shards that crash, while pages are chosen for which labels are ``expected``.

    No page is chosen of which a verdict was absorbed that a crash undid, but ``late``: only one that was chosen
    before, by an order that is past its time, can be chosen then.
    """

    def __init__(self, place: Place, policy: str, given: Told, *, late: bool) -> None:
        super().__init__(place, given.crawl(policy), Random(given.seed), crashes=30)
        self.expected: Counter[Label] = Counter()
        self._pages, self._late = given.pages, late
        self._answered: set[str] = set()
        self.run(given.pages, given.steps)

    def read(self, part: Part) -> None:
        facts = self.logs[part][self.shard(part).mark.offset + 1].facts
        self._answered |= {fact.url for *_, fact in facts if isinstance(fact, Judged)}
        super().read(part)

    def step(self, part: Part) -> None:
        super().step(part)
        if self._pages and self.random.random() < 0.2:
            choice = Choice(self.random.choice("pq"), "learned", self.random.random() < 0.5, 1.0, 0.0, 1.0)
            self.choose(self.random.choice(self._pages), choice)

    def choose(self, page: JudgedPage, choice: Choice) -> None:
        """Order the fetch of a page, if it is a candidate, as the agent does."""
        row, shard = self.page(page.url), self.shards[self.partition(page.url)]
        if (page.url in self._answered and not self._late) or row is None or row.state != "candidate":
            return
        row.state, row.attempts, row.choice = "leased", row.attempts + 1, choice
        row.inputs = {"p": INPUTS, "q": INPUTS}
        shard.put(page_key(page.url), row)
        self.send(write(shard))
        for predicate, holds in page.verdict.items() if not page.silent else ():
            chosen = "explored" if choice.explored else "selected"
            chosen = chosen if predicate == choice.predicate else "other"
            self.expected[Label(predicate, INPUTS, holds, chosen)] += 1


@pytest.mark.parametrize("policy", ["linkage", "combined", "learned"])
@given(told(SOME_SILENT), st.booleans())
def test_no_crash_changes_a_count_or_a_label(place: Place, policy: str, given: Told, late: bool) -> None:
    found = Choosing(place, policy, given, late=late)
    trace, parents = given.bounds.trace(given.steps), given.bounds.parents
    assert found.counts == plain(recount(given.pages, policy, trace, parents))
    assert found.labels == found.expected or (late and not found.labels - found.expected)
