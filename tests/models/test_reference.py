from random import Random
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.crowd.collaborative import CrowdEvidence, crowd_score
from scentline.models.crowd.evidence import crowd_table
from scentline.models.crowd.trace import Step, Trace
from scentline.models.interest.features import split
from scentline.models.interest.ratio import Base, RatioTable
from scentline.models.page import Link
from scentline.models.recount import JudgedPage, crowd_of, recount
from tests.models.webs import PAGES, STEPS, URLS, VISITS, standing
from tests.reference.counts import Counts, plain
from tests.reference.crawler import Policy, ReferenceCrawler


def shown(policy: Policy, pages: list[JudgedPage], steps: list[Step], random: Random) -> ReferenceCrawler:
    """Return a crawler that was shown pages and accesses, each in their order, one now and the other then."""
    crawler = ReferenceCrawler(["p", "q"], policy, Random(0), parents=2, together=3)
    rows: list[JudgedPage | Step] = [*steps]
    for place, page in zip(sorted(random.randint(0, len(steps)) for _ in pages), reversed(pages), strict=True):
        rows.insert(len(steps) - place, page)
    judged: set[str] = set()
    for row in rows:
        if isinstance(row, Step):
            crawler.visit(row)
        elif row.url in judged:
            crawler.again(row.url, row.verdict, row.words, row.links)
        else:
            judged.add(row.url)
            crawler.judged(row.url, row.verdict, row.words, row.links)
    return crawler


def linked(*urls: str) -> list[Link]:
    return [Link(url) for url in urls]


@given(PAGES, STEPS, st.sampled_from(get_args(Policy)), st.randoms(use_true_random=False))
def test_counts_equal_the_recount_in_whatever_order_pages_are_judged_and_visited(
    pages: list[JudgedPage], steps: list[Step], policy: Policy, random: Random
) -> None:
    expected = plain(recount(pages, policy, Trace(steps, others=3), 2))
    assert shown(policy, pages, steps, random).counts == expected
    random.shuffle(pages)
    assert shown(policy, pages, steps, random).counts == expected


@given(VISITS, STEPS, st.sampled_from(get_args(Policy)), st.randoms(use_true_random=False))
def test_pages_that_are_visited_again_count_as_they_stand(
    visits: list[JudgedPage], steps: list[Step], policy: Policy, random: Random
) -> None:
    expected = plain(recount(standing(visits), policy, Trace(steps, others=3), 2))
    assert shown(policy, visits, steps, random).counts == expected


@given(PAGES, STEPS, st.randoms(use_true_random=False))
def test_users_add_the_logs_of_their_three_factors_to_that_of_links(
    pages: list[JudgedPage], steps: list[Step], random: Random
) -> None:
    trace, judged = Trace(steps, others=3), {page.url: page for page in pages}
    counts = plain(recount(pages, "collaborative", trace, 2))
    users, words, base = crowd_table(2.0, "binomial"), RatioTable(2.0, "binomial"), Base(*counts.get("", "p"))
    cells: dict[str, dict[str, tuple[int, int]]] = {"user": {}, "signature": {}}
    for feature, predicate, *cell in counts.items():
        kind, name, _ = split(feature)
        if predicate == "p" and kind in cells:
            cells[kind][name] = (cell[0], cell[1])
    users.work_out(base, cells["user"].items())
    words.work_out(base, cells["signature"].items())
    crawlers = {
        policy: shown(policy, pages, steps, random) for policy in ("linkage", "collaborative", "combined")
    }
    for url in set(URLS) - judged.keys():
        visitors, signers, regions = crowd_of(url, judged, trace)
        signature = frozenset(word for page in signers for word in page)
        within = "p" in regions if url in trace.accesses else None
        evidence = CrowdEvidence(tuple(visitors), signature, within)
        crowd = crowd_score(evidence, users, words, counts.get("r:p", "p"), base).total
        priority = {policy: crawler.priority(url, "p") for policy, crawler in crawlers.items()}
        assert priority["collaborative"] == pytest.approx(crowd, abs=1e-9)
        assert priority["combined"] == pytest.approx(priority["linkage"] + crowd, abs=1e-9)


def test_a_policy_that_it_cannot_choose_by_is_refused() -> None:
    policy: Any = "learned"
    with pytest.raises(ValueError, match=r"^choosing by policy 'learned': expected one of collaborative, "):
        ReferenceCrawler(["p"], policy, Random(0))


def test_a_page_that_users_visit_beside_hits_is_chosen_first() -> None:
    crawler = ReferenceCrawler(["p"], "collaborative", Random(0))
    hit, miss, beside, other = URLS[:4]
    for time, url in enumerate((hit, beside)):
        crawler.visit(Step("ann", url, float(time)))
    for time, url in enumerate((miss, other)):
        crawler.visit(Step("bob", url, float(time)))
    crawler.judged(miss, {"p": False}, ["sea"], [])
    crawler.judged(hit, {"p": True}, ["snow"], [])
    # Judged pages beside both make the two regions known.
    for time, (user, holds) in enumerate((("ann", True), ("bob", False))):
        url = f"http://host9.example/{user}"
        crawler.visit(Step(user, url, 10.0 + time))
        crawler.judged(url, {"p": holds}, [], [])
    assert crawler.next("p") == beside
    assert crawler.priority(beside, "p") > 0 > crawler.priority(other, "p")


def test_a_second_verdict_on_a_page_is_passed_over() -> None:
    crawler = ReferenceCrawler(["p"], "linkage", Random(0))
    crawler.judged(URLS[0], {"p": True}, ["snow"], linked(URLS[1]))
    crawler.judged(URLS[0], {"p": False}, ["sea"], linked(URLS[2]))
    assert crawler.counts.get("", "p") == (1, 1)
    assert crawler.next("p") == URLS[1]


def test_breadth_first_goes_in_order_of_discovery() -> None:
    crawler = ReferenceCrawler(["p"], "breadth-first", Random(0))
    crawler.add_seed(URLS[3])
    crawler.visit(Step("ann", URLS[1], 1.0))
    crawler.judged(URLS[3], {"p": False}, [], linked(URLS[3], URLS[1], URLS[5], URLS[4]))
    found = []
    while url := crawler.next("p"):
        found.append(url)
        crawler.judged(url, {"p": True}, [], [])
    assert found == [URLS[1], URLS[5], URLS[4]]


def test_a_failed_candidate_never_comes_back() -> None:
    crawler = ReferenceCrawler(["p"], "breadth-first", Random(0))
    crawler.add_seed(URLS[0])
    crawler.failed(URLS[0])
    crawler.add_seed(URLS[0])
    crawler.judged(URLS[1], {"p": True}, [], linked(URLS[0]))
    assert crawler.next("p") is None


def test_evidence_of_a_candidate_is_parents_tokens_and_distinct_siblings() -> None:
    hub, other, candidate, hit, miss, unseen = URLS[:6]
    crawler = ReferenceCrawler(["p"], "linkage", Random(0))
    crawler.judged(hub, {"p": True}, ["snow"], linked(hub, candidate, hit, miss, unseen))
    crawler.judged(other, {"p": False}, ["sea"], linked(candidate, hit))
    crawler.judged(hit, {"p": True}, [], [])
    crawler.judged(miss, {"p": False}, [], [])
    found = crawler.evidence(candidate, "p")
    assert (found.k, found.m, found.v, found.s) == (2, 1, 2, 1)
    assert set(found.parents) == {frozenset({"snow"}), frozenset({"sea"})}
    assert "example" in found.tokens


def test_a_candidate_below_the_threshold_is_left_aside() -> None:
    crawler = ReferenceCrawler(["p"], "linkage", Random(0), threshold=0.1)
    crawler.add_seed(URLS[0])
    assert crawler.next("p") is None


class Web:
    """A small web in which pages of one topic share words and mostly link to each other."""

    def __init__(self, random: Random, size: int = 600) -> None:
        self.urls = [f"http://site{number % 20}.example/{number}" for number in range(size)]
        self.topics = [random.randrange(8) for _ in range(size)]
        same = [[page for page in range(size) if self.topics[page] == topic] for topic in range(8)]
        self.pages = {}
        for number, url in enumerate(self.urls):
            topic = self.topics[number]
            words = [f"{topic}-{random.randrange(30)}" for _ in range(15)]
            words += [f"common-{random.randrange(60)}" for _ in range(15)]
            near = random.choices(same[topic], k=6)
            links = [Link(self.urls[target]) for target in [*near, *random.choices(range(size), k=6)]]
            distinct = tuple(dict.fromkeys(words))
            self.pages[url] = JudgedPage(url, {"topic": topic == 0}, distinct, tuple(links))

    def crawl(self, policy: Policy, budget: int) -> tuple[int, list[JudgedPage], Counts]:
        crawler = ReferenceCrawler(["topic"], policy, Random(7))
        for url in self.urls[:10]:
            crawler.add_seed(url)
        order: list[JudgedPage] = []
        while len(order) < budget and (choice := crawler.next("topic")):
            page = self.pages[choice]
            crawler.judged(choice, page.verdict, page.words, page.links)
            order.append(page)
        return sum(page.verdict["topic"] for page in order), order, crawler.counts


@pytest.fixture(scope="module")
def web() -> Web:
    return Web(Random(3))


def test_linkage_finds_more_than_breadth_first_and_chance(web: Web) -> None:
    hits = {}
    policies: tuple[Policy, ...] = ("linkage", "breadth-first", "random")
    for policy in policies:
        hits[policy], order, counts = web.crawl(policy, budget=120)
        assert len({page.url for page in order}) == 120
        assert counts == plain(recount(order, policy, None, parents=32))
    assert hits["linkage"] > 2 * hits["breadth-first"]
    assert hits["linkage"] > 2 * hits["random"]


def test_the_same_random_gives_the_same_crawl(web: Web) -> None:
    assert web.crawl("random", 50)[1] == web.crawl("random", 50)[1]


def test_a_crawl_that_runs_dry_judges_every_reachable_page_once(web: Web) -> None:
    _, order, counts = web.crawl("breadth-first", budget=10_000)
    assert len(order) == len({page.url for page in order})
    assert counts == plain(recount(order, "breadth-first", None, parents=32))
