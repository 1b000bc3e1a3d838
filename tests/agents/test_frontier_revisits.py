"""Which judged pages are visited again, when, and how many of them while candidates wait."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from scentline.agents.frontier.freshness import Freshness, Match
from scentline.agents.frontier.groups import LEAST_STALE
from scentline.agents.frontier.revisits import AGAIN
from scentline.models.revisit.gain import stale
from scentline.streams.facts import Early, Hinted, Missing
from scentline.streams.published import FreshnessPart
from scentline.streams.records import Decoder, Version
from scentline.streams.topics import RENEWED
from tests.agents.scenarios import DAY, NO, NOW, YES, Frontiers, Scenario, ended, seeded
from tests.cases import each_case

URL, OTHER = "http://a.org/", "http://b.org/"


def a_front(
    frontier: Frontiers, share: float = 0.5, revisit: dict[str, float] | None = None, **changed: Any
) -> Scenario:
    section = {"revisit": share, "window_max": 1, "policy": "breadth-first"} | changed
    rates = {"change_days": 10.0, "shortest_seconds": 60.0} | (revisit or {})
    return frontier(frontier=section, revisit=rates)


def judge(front: Scenario, *urls: str, hits: bool = True) -> None:
    for url in urls:
        front.hear(ended(url, YES if hits else NO, front.now, content=b"1", version=Version('"1"')))


def old(count: int) -> list[str]:
    return [f"http://old{number}.org/" for number in range(count)]


def test_a_page_is_visited_when_it_may_have_changed_and_fetched_in_full_when_old(frontier: Frontiers) -> None:
    front = a_front(frontier)
    judge(front, URL)
    assert front.order(after=0.9 * DAY) == []  # a change in ten days: 1.05 days until one in ten have changed
    (order,) = front.order(after=0.2 * DAY)
    assert order.revisit is not None
    assert (order.url, order.policy, order.predicate, order.order) == (URL, AGAIN, "p", 1)
    assert (order.revisit.again, order.revisit.version, order.revisit.since) == (True, Version('"1"'), NOW)
    assert (order.revisit.verdict, order.revisit.content) == (YES, b"1")
    assert stale(0.1 / DAY, 1.1 * DAY) >= LEAST_STALE
    front.answer(order)
    (late,) = front.order(after=RENEWED)  # its verdict would be forgotten
    assert late.revisit is not None
    assert late.revisit.version is None


def test_a_page_that_changes_is_visited_more_often_than_one_that_does_not(frontier: Frontiers) -> None:
    front = a_front(frontier)
    judge(front, URL, OTHER)
    front.crawl(400, DAY / 10, lambda order: "changed" if order.url == URL else "unchanged")
    visits = Counter(order.url for order in front.orders)
    assert visits[URL] > 5 * visits[OTHER] > 0


def test_signs_bring_a_visit_forward_and_matches_come_before_misses(frontier: Frontiers) -> None:
    front = a_front(frontier)
    judge(front, *old(10), hits=False)
    judge(front, URL, OTHER)
    front.hear(Hinted(OTHER, "feed", NOW + 1))
    assert front.ordered(after=61.0) == [OTHER]
    assert front.ordered(after=2 * DAY) == [URL]


def test_no_page_is_visited_again_sooner_than_the_shortest_time(frontier: Frontiers) -> None:
    front = a_front(frontier, revisit={"change_days": 0.001, "shortest_seconds": 600.0})
    judge(front, URL)
    front.crawl(400, 10.0, lambda order: "changed")
    assert len(front.orders) == 4000 // 600


@each_case("share", [0.1, 0.5])
def test_revisits_take_their_share_at_most_while_candidates_wait(frontier: Frontiers, share: float) -> None:
    front = a_front(frontier, share, revisit={"change_days": 0.01})
    judge(front, *old(50))
    front.hear(*(seeded(f"http://new{number}.org/") for number in range(400)))
    front.crawl(300, 60.0)
    assert len(front.orders) == 300
    assert sum(order.policy == AGAIN for order in front.orders) == pytest.approx(300 * share, abs=6)


@each_case(("queue", "pages"), [(100_000, 5), (10, 100)])
def test_where_nothing_waits_every_page_is_visited_once_though_few_fit_in_the_queue(
    frontier: Frontiers, queue: int, pages: int
) -> None:
    front = a_front(frontier, queue=queue)
    judge(front, *old(pages))
    front.now += 2 * DAY
    rounds = 0
    while len(front.orders) < pages and rounds < 5_000:  # each reads what there is time for
        rounds += 1
        front.crawl(1, 1.0)
    front.crawl(10, 0.0)
    assert Counter(order.url for order in front.orders) == dict.fromkeys(old(pages), 1)


def test_pages_of_a_site_are_looked_at_although_the_first_of_them_did_not_change(frontier: Frontiers) -> None:
    front = a_front(frontier)
    judge(front, *(f"http://a.org/{number}" for number in range(40)))
    front.now += 1.1 * DAY
    front.crawl(50, 60.0)
    assert len({order.url for order in front.orders}) == 40


# what is written when, and after a restart


def test_who_takes_a_shard_over_goes_on_with_what_was_ordered_and_what_is_due(frontier: Frontiers) -> None:
    front = a_front(frontier)
    judge(front, *old(250))
    (ordered,) = front.ordered(after=2 * DAY)
    heir = front.restart()
    heir.now += 1
    heir.crawl(300, 0.1)  # what is in flight takes up the window for three seconds
    assert Counter(order.url for order in heir.orders) == dict.fromkeys({*old(250)} - {ordered}, 1)


def test_a_page_that_comes_due_before_its_row_is_on_disk_is_not_passed_over(frontier: Frontiers) -> None:
    front = a_front(frontier)
    judge(front, URL, OTHER)
    front.now += 2 * DAY
    front.agent.absorb(front.shards[0], ended(URL, Early(1.0), front.now, 1, "again"))
    front.agent.schedule.settle(front.now)  # type: ignore[union-attr]
    front.agent._keep_time(front.now + 2.0)  # reads the other page, which is due later
    front.commit()
    assert {*front.ordered(after=4.0), *front.ordered(after=4.0)} == {URL, OTHER}


@each_case(("budget", "ends"), [(0, False), (10, True)])
def test_a_crawl_that_keeps_up_ends_with_a_budget_alone(frontier: Frontiers, budget: int, ends: bool) -> None:
    front = a_front(frontier, budget=budget)
    front.agent._dry = True
    assert front.agent.finished is ends


# how current the matches are


def told(front: Scenario) -> list[FreshnessPart]:
    """Return what the harvest is sent of the matches."""
    assert front.agent.schedule is not None
    decode = Decoder[FreshnessPart](FreshnessPart)
    messages = front.agent.schedule._freshness.messages(front.shards, front.now)
    return [decode(value or b"") for _, _, _, value in messages]


def test_the_harvest_is_sent_how_current_matches_are_until_there_are_none(frontier: Frontiers) -> None:
    front = a_front(frontier)
    assert told(front) == []
    judge(front, URL, OTHER)
    judge(front, "http://miss.org/", hits=False)
    front.now += DAY
    kept = front.agent.revisits.figures()["p"]
    assert kept.current == pytest.approx(2 * (1 - stale(0.1 / DAY, DAY)))
    assert (kept.matches, kept.age) == (2, 2 * DAY)
    front.hear(ended(OTHER, Missing("refused", "noindex"), front.now, 1, "again"))
    (order,) = front.order(after=30 * DAY)
    front.answer(order)
    front.now += 60.0
    (part,) = told(front)
    assert (part.predicate, part.partition, part.time) == ("p", 0, front.now)
    assert (part.matches, part.age, part.revisits) == (1, 60.0, 1)
    assert part.current == pytest.approx(front.agent.revisits.figures()["p"].current)
    front.hear(ended(URL, Missing("refused", "noindex"), front.now, 2, "again"))
    assert [(part.matches, part.current) for part in told(front)] == [(0, 0.0)]
    assert told(front) == []


def test_of_very_many_matches_a_sample_is_kept() -> None:
    fresh, random = Freshness(most=500), Random(1)
    for number in range(10_000):
        visited = NOW - random.random() * DAY
        fresh.put(f"http://h{number}.org/", Match(("p",), 0, visited, 1 / DAY, 0.0, 1))
    kept = fresh.figures(NOW)["p"]
    assert kept.matches == pytest.approx(10_000, rel=0.15)
    assert kept.age / kept.matches == pytest.approx(DAY / 2, rel=0.1)
    fresh.put("http://h0.org/", Match((), 0, 0.0, 0.0, 0.0, 0))
    fresh.keep(lambda url: False)
    assert fresh.figures(NOW) == {}
