from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.counts import Counts
from models.evaluate.recount import JudgedPage, recount
from models.evaluate.reference import Policy, ReferenceCrawler

EXACT = settings(derandomize=True, deadline=None)
URLS = [f"http://host{number % 3}.example/{number}" for number in range(9)]
VERDICTS = st.dictionaries(st.sampled_from(["p", "q"]), st.booleans())
PAGES = st.lists(
    st.builds(
        JudgedPage,
        st.sampled_from(URLS),
        VERDICTS,
        st.frozensets(st.sampled_from("abcdefgh"), max_size=4),
        st.lists(st.sampled_from(URLS), max_size=6).map(tuple),
    ),
    unique_by=lambda page: page.url,
)


def learned(pages: list[JudgedPage], parents: int) -> Counts:
    crawler = ReferenceCrawler(["p", "q"], "linkage", Random(0), parents=parents)
    for page in pages:
        crawler.judged(page.url, page.verdict, page.words, page.links)
    return crawler.counts


@EXACT
@given(PAGES, st.integers(1, 4), st.randoms(use_true_random=False))
def test_counts_equal_the_recount_in_whatever_order_pages_are_judged(
    pages: list[JudgedPage], parents: int, random: Random
) -> None:
    expected = recount(pages, parents)
    assert learned(pages, parents) == expected
    random.shuffle(pages)
    assert learned(pages, parents) == expected


def test_a_second_verdict_on_a_page_is_passed_over() -> None:
    crawler = ReferenceCrawler(["p"], "linkage", Random(0))
    crawler.judged(URLS[0], {"p": True}, ["snow"], [URLS[1]])
    crawler.judged(URLS[0], {"p": False}, ["sea"], [URLS[2]])
    assert crawler.counts.get("", "p") == (1, 1)
    assert crawler.next("p") == URLS[1]


def test_breadth_first_goes_in_order_of_discovery() -> None:
    crawler = ReferenceCrawler(["p"], "breadth-first", Random(0))
    crawler.add_seed(URLS[3])
    crawler.visit(URLS[1])
    crawler.judged(URLS[3], {"p": False}, [], [URLS[3], URLS[1], URLS[5], URLS[4]])
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
    crawler.judged(URLS[1], {"p": True}, [], [URLS[0]])
    assert crawler.next("p") is None


def test_evidence_of_a_candidate_is_parents_tokens_and_distinct_siblings() -> None:
    hub, other, candidate, hit, miss, unseen = URLS[:6]
    crawler = ReferenceCrawler(["p"], "linkage", Random(0))
    crawler.judged(hub, {"p": True}, ["snow"], [hub, candidate, hit, miss, unseen])
    crawler.judged(other, {"p": False}, ["sea"], [candidate, hit])
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
            words = {f"{topic}-{random.randrange(30)}" for _ in range(15)}
            words |= {f"common-{random.randrange(60)}" for _ in range(15)}
            near = random.choices(same[topic], k=6)
            links = [self.urls[target] for target in [*near, *random.choices(range(size), k=6)]]
            self.pages[url] = JudgedPage(url, {"topic": topic == 0}, frozenset(words), tuple(links))

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
        assert counts == recount(order, parents=32)
    assert hits["linkage"] > 2 * hits["breadth-first"]
    assert hits["linkage"] > 2 * hits["random"]


def test_the_same_random_gives_the_same_crawl(web: Web) -> None:
    assert web.crawl("random", 50)[1] == web.crawl("random", 50)[1]


def test_a_crawl_that_runs_dry_judges_every_reachable_page_once(web: Web) -> None:
    _, order, counts = web.crawl("breadth-first", budget=10_000)
    assert len(order) == len({page.url for page in order})
    assert counts == recount(order, parents=32)
