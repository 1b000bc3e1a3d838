"""The virtual crawl: what is fetched, what counts, what ends it; and inputs that a policy was tried with."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.duplicates import sketch
from scentline.models.page import Link, Page
from scentline.models.trace import Step, Trace
from scentline.streams.settings import Settings
from scentline_lab.simulation.policies import Truth, policies
from scentline_lab.simulation.simple import BreadthFirst, Chance
from scentline_lab.simulation.virtual import (
    Choice,
    Clock,
    Ready,
    Request,
    Task,
    Terms,
    Texts,
    anywhere,
    slots_used,
    virtual_crawl,
)
from scentline_lab.simulation.words import Hindsight
from tests.cases import each_case


class Scripted:
    """Chooses what it was given, and keeps what it was told."""

    def __init__(self, choices: list[Choice]) -> None:
        self.choices = choices
        self.told: list[str] = []

    def add_seed(self, url: str) -> None:
        self.told.append(f"seed {url}")

    def judged(self, page: Page, holds: bool) -> None:
        self.told.append(f"{page.url} {holds}")

    def failed(self, url: str) -> None:
        self.told.append(f"failed {url}")

    def next(self, ready: Ready = anywhere) -> Choice | None:
        return self.choices.pop(0) if self.choices else None


def web(links: dict[str, str]) -> dict[str, Page]:
    return {
        url: Page(url, links=tuple(Link(target, position=place) for place, target in enumerate(targets)))
        for url, targets in links.items()
    }


def test_seeds_come_first_in_their_order_and_count_as_pages() -> None:
    crawler = Scripted([Choice("c", 0.75, explored=True)])
    asked = virtual_crawl(web({"a": "", "b": "", "c": ""}), {"a", "c"}, ["b", "a", "b"], crawler, Terms(3))
    assert asked == [
        Request("b", True, False),
        Request("a", True, True),
        Request("c", True, True, 0.75, explored=True),
    ]
    assert crawler.told == ["seed b", "seed a", "b False", "a True", "c True"]


def test_a_url_without_a_page_is_a_request_that_fails() -> None:
    crawler = Scripted([Choice("gone", 0.5), Choice("a")])
    asked = virtual_crawl(web({"a": ""}), {"gone"}, ["away"], crawler, Terms(1))
    assert asked == [
        Request("away", False, False), Request("gone", False, False, 0.5), Request("a", True, False)
    ]  # fmt: skip
    assert crawler.told == ["seed away", "failed away", "failed gone", "a False"]


def test_a_policy_that_chooses_a_page_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="chose a again"):
        virtual_crawl(web({"a": ""}), (), [], Scripted([Choice("a"), Choice("a")]), Terms(2))


A, GONE, B = "http://a.test/1", "http://a.test/gone", "http://b.test/1"


@each_case(
    ("choices", "seeds", "terms", "barred", "asked"),
    [
        ([], [A, B], Terms(1), (), [A]),
        ([], [A], Terms(0), (), []),
        ([A, B], [A], Terms(2), (), [A, B]),
        ([A, B, "http://a.test/2"], [], Terms(2, window_share=9, window_max=9), (), [A, B]),
        ([GONE, A, "http://a.test/2", B], [], Terms(9, host_budget=1), (), [GONE, A, B]),
        ([A, B], ["http://a.test/2"], Terms(3), {"http://a.test/2", A}, [B]),
    ],
)
def test_a_crawl_ends_with_its_budgets_and_neither_barred_urls_nor_spent_hosts_cost_anything(
    choices: list[str], seeds: list[str], terms: Terms, barred: set[str], asked: list[str]
) -> None:
    pages = {url: Page(url) for url in (A, "http://a.test/2", B)}
    crawler = Scripted([Choice(url) for url in choices])
    found = virtual_crawl(pages, (), seeds, crawler, terms, barred=barred)
    assert [request.url for request in found] == asked


def test_what_is_in_flight_is_chosen_without_the_answers_before() -> None:
    pages = web({"a": "", "b": "", "c": "", "d": ""})
    crawler = Scripted([Choice(url) for url in "abcd"])
    virtual_crawl(pages, (), [], crawler, Terms(4, window_share=1.0, window_max=2))
    # One page may be in flight after none and one; two after two.
    assert crawler.told == ["a False", "b False", "c False", "d False"]
    late = Scripted([Choice(url) for url in "abcd"])
    left: list[int] = []
    late.judged = lambda page, holds: left.append(len(late.choices))  # type: ignore[method-assign]
    virtual_crawl(pages, (), [], late, Terms(4, window_share=1.0, window_max=2))
    assert left == [3, 2, 0, 0]


WEBS = st.dictionaries(st.sampled_from("abcdefgh"), st.text("abcdefghxyz", max_size=6), min_size=1)


@given(WEBS, st.lists(st.sampled_from("abcdefghx"), max_size=3), st.integers(0, 12), st.integers(0, 9))
def test_each_page_once_within_budget(links: dict[str, str], seeds: list[str], budget: int, seed: int) -> None:
    pages = web(links)
    trace = Trace([Step("u", "h", 1.0), Step("u", "z", 2.0)])
    for crawler in (Chance(Task((), trace, Random(seed))), BreadthFirst(Task((), trace, Random(seed)))):
        asked = virtual_crawl(pages, (), seeds, crawler, Terms(budget, window_share=0.5, window_max=3))
        assert len({request.url for request in asked}) == len(asked)
        fetched = [request.url for request in asked if request.page]
        assert len(fetched) == len(set(fetched)) <= budget
        reached = {url for url in {*seeds, "h"} if url in pages}
        while more := {url for page in reached for url in links[page] if url in pages} - reached:
            reached |= more
        assert set(fetched) <= reached
        assert len(fetched) == min(budget, len(reached))


def test_a_near_duplicate_of_a_page_that_came_is_a_request_without_a_page() -> None:
    """Of the same owner alone: who copies others may be asked first."""
    text = " ".join(f"word{number}" for number in range(200))
    urls = ("http://a.org/1", "http://www.a.org/2", "http://b.org/3", "http://a.org/4")
    other = sketch(text[::-1], 50)
    like = sketch(text, 50)
    assert like is not None
    assert other is not None
    texts = Texts(dict(zip(urls, (like, like, like, other), strict=True)), 0.9)
    pages = {url: Page(url) for url in urls}
    crawler = BreadthFirst(Task((), Trace([]), Random(1)))
    found = virtual_crawl(pages, set(urls), urls, crawler, Terms(10), texts=texts)
    assert [(request.page, request.hit) for request in found] == [
        (True, True), (False, False), (True, True), (True, True),
    ]  # fmt: skip


def hosts_of(links: dict[int, list[int]]) -> dict[str, Page]:
    """Return pages by number, three to a host."""

    def url(number: int) -> str:
        return f"http://{number % 4}.test/{number}"

    def page(number: int, targets: list[int]) -> Page:
        links = tuple(Link(url(to), position=place) for place, to in enumerate(targets))
        return Page(url(number), links=links, paths=("body p a",) * len(links))

    return {url(number): page(number, targets) for number, targets in links.items()}


LATE = st.sampled_from([0.0, 0.2, 0.9, 1.5, 60.0])
#: Those of every kind of queue, and the limits.
TIMED = ["random", "breadth-first", "opic", "tag-paths", "link-classifier", "combined", "learned", "oracle"]


@given(
    st.dictionaries(st.integers(0, 11), st.lists(st.integers(0, 13), max_size=6), min_size=1),
    st.sets(st.integers(0, 11)),
    st.lists(LATE, min_size=4, max_size=4),
    st.sampled_from(TIMED),
)
def test_where_time_passes_each_policy_keeps_to_the_delay_and_leaves_out_no_host_that_may_be_asked(
    links: dict[int, list[int]], satisfying: set[int], late: list[float], policy: str
) -> None:
    pages = hosts_of(links)
    hits = {url for url in pages if int(url.rpartition("/")[2]) in satisfying}
    task = Task((), Trace([Step("u", "http://1.test/1", 1.0)]), Random(1))
    clock = Clock(40.0, lambda url: late[int(url[7])], delay=1.0, patience=10.0, reading=0.01)
    seeds = [url for url in pages if int(url.rpartition("/")[2]) < 4]
    crawler = policies(Settings())[policy](task, Truth(hits, Hindsight(pages)))
    asked = virtual_crawl(pages, hits, seeds, crawler, Terms(10**6, clock=clock))
    assert len({request.url for request in asked}) == len(asked)
    for name in "0123":
        own = sorted((request for request in asked if request.url[7] == name), key=lambda one: one.came)
        assert all(request.page == (request.url in pages and late[int(name)] <= 10) for request in own)
        for before, after in pairwise(own):
            assert after.came >= max(before.answered, before.came + 1.0)
    # Within 40 s each host is asked for all there is, but one that backs off.
    known = {*seeds, *(link.url for request in asked if request.page for link in pages[request.url].links)}
    left = known - {request.url for request in asked}
    assert all(late[int(url[7])] > 10 for url in left)


def test_hits_in_time_are_those_that_were_answered_in_time() -> None:
    pages = hosts_of({0: [4, 1], 1: [], 4: [8], 8: []})
    clock = Clock(3.3, lambda url: 0.1, delay=1.0, factor=0.0, reading=0.5)
    crawler = BreadthFirst(Task((), Trace([]), Random(1)))
    asked = virtual_crawl(pages, set(pages), ["http://0.test/0"], crawler, Terms(9, clock=clock))
    # robots.txt at 0, the page a second later; its links are known half a second after it came.
    assert [request.url[7:] for request in asked] == ["0.test/0", "0.test/4", "1.test/1"]
    times = [time for request in asked for time in (request.came, request.answered)]
    assert times == pytest.approx([1.0, 1.1, 2.0, 2.1, 2.6, 2.7])


def test_slots_are_of_hosts_with_something_to_ask_for() -> None:
    links = {"http://a/": ["http://b/", "http://c/", "http://away/"]}
    asked = [
        Request(f"http://{name}/", True, False, came=came, answered=answered)
        for name, came, answered in (("a", 0.0, 1.0), ("b", 2.0, 5.0), ("log", 3.0, 3.5))
    ]
    # Of a 1 s of 1, of b 3 of the 4 from 1 to 5, of c none of 9, of log 1 of 1.
    hosts = {"a", "b", "c", "log"}
    assert slots_used(asked, links, ["http://a/"], hosts, delay=1.0, end=10.0) == pytest.approx(5 / 15)
    assert slots_used([], {}, [], hosts, delay=1.0, end=10.0) == 0.0
