from random import Random
from typing import cast, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.crowd.collaborative import CrowdEvidence, crowd_score
from scentline.models.crowd.evidence import crowd_table, inside, signature, signers
from scentline.models.crowd.trace import Step, Trace
from scentline.models.interest.features import split
from scentline.models.interest.ratio import Base, Denominator, Sample, significant_log
from scentline.models.page import Link, Page
from scentline.models.recount import JudgedPage, recount
from scentline.models.url import identifier
from scentline_lab.simulation.crawler import Task
from scentline_lab.simulation.linked import Weights
from scentline_lab.simulation.paper import PaperCrawler, PaperPolicy
from scentline_lab.simulation.tally import Tally, significant_logs
from tests.cases import each_case
from tests.reference.counts import Counts, of_pages, plain
from tests.reference.crawler import ReferenceCrawler

URLS = [f"http://host{number % 3}.example/{number}" for number in range(9)]
PAGES = st.lists(
    st.tuples(
        st.builds(
            Page,
            st.sampled_from(URLS),
            words=st.lists(st.sampled_from("abcdefgh"), max_size=4, unique=True).map(tuple),
            links=st.lists(st.sampled_from(URLS).map(Link), max_size=6).map(tuple),
        ),
        st.booleans(),
    ),
    unique_by=lambda judged: judged[0].url,
)
STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["ann", "bob", "cy"]),
        st.sampled_from(URLS),
        st.integers(0, 40).map(float),
        st.none() | st.sampled_from(URLS),
    ),
    max_size=20,
)
Judged = list[tuple[Page, bool]]


def crowd_evidence(url: str, judged: Judged, trace: Trace) -> CrowdEvidence:
    near = trace.together.get(url, {})
    pages = {identifier(page.url): page for page, _ in judged}
    names = {page.url: name for name, page in pages.items()}
    words = signature(pages[name].words for name in signers(near, names, identifier(url)))
    within = inside(near, {page.url for page, holds in judged if holds})
    return CrowdEvidence(trace.visitors.get(url, ()), words, within if url in trace.accesses else None)


def counts_of(crawler: PaperCrawler) -> Counts:
    counts = Counts()
    for feature, pages, hits in crawler.counts():
        counts.add([feature], {"p": True}, hits)
        counts.add([feature], {"p": False}, pages - hits)
    return counts


def expected(judged: Judged, trace: Trace, policy: PaperPolicy, parents: int) -> Counts:
    pages = [JudgedPage(page.url, {"p": holds}, page.words, page.links) for page, holds in judged]
    return of_pages(plain(recount(pages, policy, trace, parents)))


def crawler_of(
    trace: Trace, policy: PaperPolicy, denominator: Denominator = "binomial", parents: int = 32
) -> PaperCrawler:
    return PaperCrawler(
        Task((), trace, Random(0)), policy, parents, denominator=denominator, rescored=10**6, drift=0
    )


@given(
    PAGES, STEPS, st.integers(1, 4), st.sampled_from(get_args(PaperPolicy)), st.randoms(use_true_random=False)
)
def test_counts_equal_the_recount_in_whatever_order_pages_are_judged(
    judged: Judged, steps: list[Step], parents: int, policy: PaperPolicy, random: Random
) -> None:
    trace = Trace(steps, reach=2)
    for _ in range(2):
        crawler = crawler_of(trace, policy, parents=parents)
        for page, holds in judged:
            crawler.judged(page, holds)
        assert counts_of(crawler) == expected(judged, trace, policy, parents)
        random.shuffle(judged)


def test_counts_equal_the_recount_where_more_pages_sign_than_count() -> None:
    random = Random(5)
    urls = [f"http://example.org/{number}" for number in range(50)]
    trace = Trace([Step("ann", random.choice(urls), float(time)) for time in range(200)], reach=30, window=200)
    judged = [(Page(url, words=tuple(random.sample("abcdefghijkl", 3))), random.random() < 0.3) for url in urls]
    crawler = PaperCrawler(Task((), trace, random), "collaborative")
    for page, holds in judged:
        crawler.judged(page, holds)
    assert counts_of(crawler) == expected(judged, trace, "collaborative", 32)


@given(PAGES, st.sampled_from(get_args(Denominator)), st.integers(1, 4))
def test_linkage_priorities_are_those_of_the_reference(
    judged: Judged, denominator: Denominator, parents: int
) -> None:
    crawler = crawler_of(Trace([]), "linkage", denominator, parents=parents)
    reference = ReferenceCrawler(["p"], "linkage", Random(0), parents=parents, denominator=denominator)
    for page, holds in judged:
        crawler.judged(page, holds)
        reference.judged(page.url, {"p": holds}, page.words, page.links)
    for url in set(URLS) - {page.url for page, _ in judged}:
        assert crawler.priority(url) == pytest.approx(reference.priority(url, "p"), abs=1e-8)


@given(PAGES, STEPS, st.sampled_from(get_args(Denominator)))
def test_collaborative_priorities_are_the_composite_ratio_and_combined_ones_the_sum(
    judged: Judged, steps: list[Step], denominator: Denominator
) -> None:
    trace = Trace(steps, reach=2)
    crawlers = {policy: crawler_of(trace, policy, denominator) for policy in get_args(PaperPolicy)}
    for page, holds in judged:
        for crawler in crawlers.values():
            crawler.judged(page, holds)
    base = Base(len(judged), sum(holds for _, holds in judged))
    users, words, region = crowd_table(2.0, denominator), crowd_table(2.0, denominator), (0, 0)
    cells: dict[str, dict[str, tuple[int, int]]] = {"user": {}, "signature": {}}
    for feature, _, pages, hits in expected(judged, trace, "collaborative", 32).items():
        kind, name, _ = split(feature)
        if kind == "region":
            region = (pages, hits)
        elif kind != "base":
            cells[kind][name] = (pages, hits)
    users.work_out(base, cells["user"].items())
    words.work_out(base, cells["signature"].items())
    for url in set(URLS) - {page.url for page, _ in judged}:
        found = crowd_score(crowd_evidence(url, judged, trace), users, words, region, base).total
        assert crawlers["collaborative"].priority(url) == pytest.approx(found, abs=1e-8)
        both = crawlers["linkage"].priority(url) + found
        assert crawlers["combined"].priority(url) == pytest.approx(both, abs=1e-8)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda pair: (max(pair), min(pair)))),
    st.integers(0, 60),
    st.integers(1, 60),
    st.sampled_from(get_args(Denominator)),
    st.sampled_from(get_args(Sample)),
)
def test_ratios_in_arrays_are_those_of_single_features(
    counts: list[tuple[int, int]], hits: int, more: int, denominator: Denominator, sample: Sample
) -> None:
    base = Base(hits + more, hits)
    pages, satisfying = np.array(counts, np.int32).reshape(-1, 2).T
    found = significant_logs(pages, satisfying, base, 2.0, denominator, sample)
    single = [significant_log(*count, base, 2.0, denominator, sample) for count in counts]
    assert found.tolist() == pytest.approx(single)


def test_sets_are_counted_beyond_what_a_byte_holds_and_taken_back() -> None:
    tally = Tally(2.0, "binomial")
    tally.numbers_of(["snow", "sea", "sky"])
    tally.add_sets([0b011] * 600, True, 1)
    tally.add_sets([0b110] * 300, False, 1)
    tally.add_sets([0b001] * 260, True, -1)
    tally.add_sets([], True, 1)
    assert list(tally.items()) == [("snow", 340, 340), ("sea", 900, 600), ("sky", 300, 0)]


class Web:
    """A small web with tastes: pages of a topic share words and links, and users keep to two topics."""

    def __init__(self, random: Random, size: int = 300) -> None:
        self.urls = [f"http://site{number % 20}.example/{number}" for number in range(size)]
        self.topics = [random.randrange(8) for _ in range(size)]
        same = [[page for page in range(size) if self.topics[page] == topic] for topic in range(8)]
        self.pages = {}
        for number, url in enumerate(self.urls):
            words = [f"{self.topics[number]}-{random.randrange(30)}" for _ in range(15)]
            words += [f"common-{random.randrange(60)}" for _ in range(15)]
            targets = random.choices(same[self.topics[number]], k=4) + random.choices(range(size), k=4)
            links = tuple(Link(self.urls[target]) for target in targets)
            self.pages[url] = Page(url, words=tuple(dict.fromkeys(words)), links=links)
        steps = []
        for user in range(60):
            topics = random.sample(range(8), 2)
            for time in range(20):
                page = random.choice(same[random.choice(topics)])
                steps.append(Step(f"user{user}", self.urls[page], 100.0 * user + time))
        self.steps = steps
        self.trace = Trace(steps)

    def holds(self, url: str) -> bool:
        return self.topics[self.urls.index(url)] == 0

    def crawl(self, crawler: PaperCrawler, budget: int) -> list[str]:
        order: list[str] = []
        for url in self.urls[:10]:
            crawler.add_seed(url)
        while len(order) < budget and (choice := crawler.next()):
            crawler.judged(self.pages[choice.url], self.holds(choice.url))
            order.append(choice.url)
        return order

    def hits(self, policy: PaperPolicy, budget: int) -> int:
        crawler = PaperCrawler(Task((), self.trace, Random(0)), policy)
        return sum(map(self.holds, self.crawl(crawler, budget)))


@pytest.fixture(scope="module")
def web() -> Web:
    return Web(Random(3))


@each_case("policy", get_args(PaperPolicy))
def test_with_everything_rescored_it_chooses_as_the_reference_does(web: Web, policy: PaperPolicy) -> None:
    crawler = crawler_of(web.trace, policy)
    reference = ReferenceCrawler(["p"], policy, Random(0), together=len(web.urls))
    for step in web.steps:
        reference.visit(step)
    for url in web.urls[:10]:
        crawler.add_seed(url)
        reference.add_seed(url)
    for number in range(120):
        choice = crawler.next()
        assert choice is not None
        assert choice.probability is None
        if number >= 10:
            best = reference.next("p")
            assert best is not None
            # The sums are the same up to rounding, so that equal priorities may go another way.
            assert crawler.priority(choice.url) == pytest.approx(reference.priority(best, "p"), abs=1e-8)
            assert reference.priority(choice.url, "p") == pytest.approx(reference.priority(best, "p"), abs=1e-8)
        page = web.pages[choice.url]
        crawler.judged(page, web.holds(page.url))
        reference.judged(page.url, {"p": web.holds(page.url)}, page.words, page.links)
    assert counts_of(crawler) == of_pages(reference.counts)


def test_lazy_rescoring_finds_nearly_as_much(web: Web) -> None:
    for policy in get_args(PaperPolicy):
        exact = sum(map(web.holds, web.crawl(crawler_of(web.trace, policy), 80)))
        assert web.hits(policy, 80) >= 0.9 * exact


def test_users_with_tastes_help_and_both_kinds_of_evidence_together_most(web: Web) -> None:
    hits = {policy: web.hits(policy, 60) for policy in get_args(PaperPolicy)}
    by_chance = 60 * sum(map(web.holds, web.urls)) / len(web.urls)
    assert hits["collaborative"] > 2 * by_chance
    assert hits["combined"] >= max(hits["collaborative"], hits["linkage"])


def test_seeds_come_first_in_their_order_and_failed_ones_never_again(web: Web) -> None:
    crawler = PaperCrawler(Task((), web.trace, Random(0)), "combined")
    seeds = ["http://new.example/", *web.urls[5:3:-1]]
    for url in seeds:
        crawler.add_seed(url)
    found = []
    for _ in seeds:
        choice = crawler.next()
        assert choice is not None
        found.append(choice.url)
        crawler.failed(choice.url)
    assert found == seeds
    crawler.add_seed(seeds[0])
    crawler.judged(Page(web.urls[0], links=(Link(seeds[0]),)), True)
    left = web.crawl(crawler, 10**6)
    assert not set(left) & {*seeds, web.urls[0]}
    assert crawler.next() is None


def test_pages_of_the_log_and_link_targets_are_candidates() -> None:
    trace = Trace([Step("ann", URLS[1], 1.0)])
    for policy in get_args(PaperPolicy):
        crawler = PaperCrawler(Task((), trace, Random(0)), policy)
        crawler.add_seed(URLS[0])
        found = []
        while choice := crawler.next():
            found.append(choice.url)
            crawler.judged(Page(choice.url, links=(Link(URLS[2]), Link(choice.url))), True)
        assert found == [URLS[0], URLS[1], URLS[2]]


def test_weights_multiply_what_links_say(web: Web) -> None:
    parts = []
    for place in range(4):
        weights = tuple(float(place == other) for other in range(4))
        crawler = PaperCrawler(Task((), web.trace, Random(0)), "linkage", weights=cast(Weights, weights))
        parts.append(crawler)
    whole = PaperCrawler(Task((), web.trace, Random(0)), "linkage")
    for crawler in (whole, *parts):
        for url in web.urls[:40]:
            crawler.judged(web.pages[url], web.holds(url))
    for url in web.urls[40:]:
        assert whole.priority(url) == pytest.approx(sum(part.priority(url) for part in parts), abs=1e-6)


def test_a_policy_as_printed_has_candidates_of_its_own() -> None:
    trace = Trace([Step("ann", URLS[1], 1.0)])
    links = (Link(URLS[2]),)
    reached = {
        ("linkage", True): [URLS[0], URLS[2]],
        ("linkage", False): [URLS[0], URLS[2]],
        ("collaborative", True): [URLS[0], URLS[1]],
        ("combined", True): [URLS[0], URLS[1], URLS[2]],
        ("combined", False): [URLS[0], URLS[1]],
    }
    for policy in get_args(PaperPolicy):
        for holds in (True, False):
            crawler = PaperCrawler(Task((), trace, Random(0)), policy, own=True)
            crawler.add_seed(URLS[0])
            found = []
            while choice := crawler.next():
                found.append(choice.url)
                crawler.judged(Page(choice.url, links=links), holds)
            assert found == reached.get((policy, holds), [URLS[0], URLS[1]])


@each_case("policy", get_args(PaperPolicy))
def test_before_its_first_hit_a_policy_goes_by_words_unless_it_is_as_printed(policy: PaperPolicy) -> None:
    names = ("first", "said", "around", "jazz", "last")
    urls = [f"http://a.org/{name}" for name in names]
    links = [Link(url) for url in urls]
    links[1], links[2] = Link(urls[1], anchor=("jazz", "music")), Link(urls[2], context=("more", "jazz"))
    task = Task(
        (), Trace([Step("ann", url, 100.0 * number) for number, url in enumerate(urls)]), Random(0), ("jazz",)
    )
    orders: dict[tuple[bool, bool], list[str]] = {}
    for own, hits in ((False, ()), (True, ()), (False, (URLS[0],))):
        crawler = PaperCrawler(task, policy, own=own)
        crawler.add_seed(URLS[0])
        order = orders[own, bool(hits)] = []
        while choice := crawler.next():
            order.append(choice.url)
            page = Page(choice.url, links=tuple(links) if choice.url == URLS[0] else ())
            crawler.judged(page, choice.url in hits)
    assert orders[False, False] == [URLS[0], urls[1], urls[3], urls[2], urls[0], urls[4]]
    assert orders[True, False] == [URLS[0], *urls]
    assert orders[False, True][:2] == [URLS[0], urls[0]], "from its first hit on it goes by ratios alone"


def test_the_same_crawl_comes_out_twice(web: Web) -> None:
    first, second = (PaperCrawler(Task((), web.trace, Random(0)), "combined") for _ in range(2))
    assert web.crawl(first, 100) == web.crawl(second, 100)
