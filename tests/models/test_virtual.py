"""The virtual crawl: what is fetched, what counts, and what ends it."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.crowd.trace import Step, Trace
from models.evaluate.baselines.simple import BreadthFirst, Chance
from models.evaluate.crawler import Choice, Task
from models.evaluate.virtual import Fetched, virtual_crawl
from models.page import Link, Page

EXACT = settings(derandomize=True, deadline=None)


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

    def next(self) -> Choice | None:
        return self.choices.pop(0) if self.choices else None


def web(links: dict[str, str]) -> dict[str, Page]:
    return {
        url: Page(url, links=tuple(Link(target, position=place) for place, target in enumerate(targets)))
        for url, targets in links.items()
    }


def test_seeds_come_first_in_their_order_and_count_as_pages() -> None:
    crawler = Scripted([Choice("c", 0.75, explored=True)])
    fetched = virtual_crawl(web({"a": "", "b": "", "c": ""}), {"a", "c"}, ["b", "a", "b"], crawler, budget=3)
    assert fetched == [Fetched("b", False), Fetched("a", True), Fetched("c", True, 0.75, explored=True)]
    assert crawler.told == ["seed b", "seed a", "b False", "a True", "c True"]


def test_a_url_without_a_page_has_failed_and_costs_nothing() -> None:
    crawler = Scripted([Choice("gone"), Choice("a")])
    fetched = virtual_crawl(web({"a": ""}), (), ["away"], crawler, budget=1)
    assert [page.url for page in fetched] == ["a"]
    assert crawler.told == ["seed away", "failed away", "failed gone", "a False"]


def test_a_small_budget_ends_within_the_seeds() -> None:
    crawler = Scripted([])
    assert len(virtual_crawl(web({"a": "", "b": ""}), (), ["a", "b"], crawler, budget=1)) == 1
    assert virtual_crawl(web({"a": ""}), (), ["a"], Scripted([]), budget=0) == []


def test_a_policy_that_chooses_a_page_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="chose a again"):
        virtual_crawl(web({"a": ""}), (), ["a"], Scripted([Choice("a")]), budget=2)


WEBS = st.dictionaries(st.sampled_from("abcdefgh"), st.text("abcdefghxyz", max_size=6), min_size=1)


@EXACT
@given(WEBS, st.lists(st.sampled_from("abcdefghx"), max_size=3), st.integers(0, 12), st.integers(0, 9))
def test_every_page_is_fetched_once_and_none_beyond_the_budget(
    links: dict[str, str], seeds: list[str], budget: int, seed: int
) -> None:
    pages = web(links)
    trace = Trace([Step("u", "h", 1.0), Step("u", "z", 2.0)])
    for crawler in (Chance(Task((), trace, Random(seed))), BreadthFirst(Task((), trace, Random(seed)))):
        fetched = [page.url for page in virtual_crawl(pages, (), seeds, crawler, budget)]
        assert len(fetched) == len(set(fetched)) <= budget
        reached = {url for url in {*seeds, "h"} if url in pages}
        while more := {url for page in reached for url in links[page] if url in pages} - reached:
            reached |= more
        assert set(fetched) <= reached
        assert len(fetched) == min(budget, len(reached))
