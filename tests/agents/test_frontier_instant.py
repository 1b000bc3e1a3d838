"""The mode "instant": which fetches come first, how many, and how often hubs are revisited."""

from itertools import pairwise
from typing import Any

import pytest

from scentline.agents.frontier.keys import hub_of
from scentline.agents.frontier.rows import INSTANT
from scentline.streams.facts import Judged, Relisted, Seeded
from scentline.streams.records import FetchOrder, Revisit, Version
from tests.agents.scenarios import DAY, NO, NOW, Frontiers, Scenario, linked

HUB, NEWS = "http://h0.org/", "http://h0.org/news/"
VERSION = Version('"1"')


def a_front(frontier: Frontiers, news: dict[str, Any] | None = None, **changed: Any) -> Scenario:
    given = {"hubs_given": [HUB], "prefixes_given": [NEWS], "visits_a_minute": 60, "shortest_seconds": 1}
    section = {"mode": "instant", "window_max": 1, "policy": "breadth-first"} | changed
    return frontier(frontier=section, fetch={"delay_seconds": 1.0}, news=given | (news or {}))


@pytest.fixture
def front(frontier: Frontiers) -> Scenario:
    """Return a frontier with a hub that was fetched once."""
    found = a_front(frontier)
    (first,) = found.order()
    assert (first.url, first.revisit, first.policy) == (HUB, None, INSTANT)
    found.answer(first, version=VERSION)
    return found


def list_news(front: Scenario, *paths: str, since: float = 10.0) -> None:
    front.hear(Relisted(HUB, 0, tuple(f"{NEWS}{path}" for path in paths), front.now, front.now - since))


def test_a_hub_given_by_hand_is_fetched_first_and_then_revisited_at_its_hosts_pace(front: Scenario) -> None:
    assert front.order() == []
    (second,) = front.order(after=2.0)
    assert second.revisit is not None
    assert (second.url, second.revisit.version, second.revisit.since) == (HUB, VERSION, NOW)
    front.answer(second)
    assert (front.page(HUB).attempts, front.hub(HUB).visits) == (1, 2)


def test_a_new_link_to_news_comes_before_what_has_waited_longer(front: Scenario) -> None:
    front.hear(*(Seeded(f"http://h0.org/archive/{number}") for number in range(5)))
    front.hear(Relisted(HUB, 0, (f"{NEWS}1", "http://h0.org/about"), front.now, front.now - 10))
    (order,) = front.order(after=2.0)
    assert (order.url, order.policy, order.predicate) == (f"{NEWS}1", INSTANT, "p")


def test_instant_fetches_take_their_share_while_others_wait(frontier: Frontiers) -> None:
    front = a_front(frontier, instant_share=0.25)
    front.hear(*(Seeded(f"http://h0.org/archive/{number}") for number in range(300)))
    for step in range(200):
        list_news(front, str(step), since=1.0)
        front.crawl(1, 1.0)
    assert len(front.orders) == 200
    assert sum(order.policy == INSTANT for order in front.orders) == pytest.approx(50, abs=3)


def test_what_nothing_else_could_use_is_free(frontier: Frontiers) -> None:
    front = a_front(frontier, instant_share=0.1)
    front.crawl(25, 1.0)
    assert [order.url for order in front.orders] == 25 * [HUB]


def test_a_hub_that_brings_nothing_is_visited_less_and_less_often(frontier: Frontiers) -> None:
    busy = "http://h1.org/"
    news = {"hubs_given": [HUB, busy], "shortest_seconds": 60, "visits_a_minute": 0.2}
    front = a_front(frontier, news)
    times: dict[str, list[float]] = {HUB: [], busy: []}
    while front.now < NOW + DAY:
        for order in front.order(after=120.0):
            times[order.url].append(front.now)
            if order.url == busy and order.revisit is not None:
                links = tuple(f"{busy}{int(front.now)}/{number}" for number in range(4))
                front.hear(Relisted(busy, 0, links, front.now, order.revisit.since))
                front.hear(*(Judged(url, NO, front.now) for url in links))
            front.answer(order, "changed" if order.url == busy else "unchanged")
    gaps = [later - earlier for earlier, later in pairwise(times[HUB])]
    assert gaps[-1] > 4 * gaps[1]
    assert len(times[busy]) > 4 * len(times[HUB])


def test_an_unanswered_revisit_is_taken_back_and_tried_later(front: Scenario) -> None:
    (order,) = front.order(after=2.0)
    assert front.order(after=front.agent.settings.lease_seconds + 1) == []
    row = front.hub(HUB)
    assert (row.lease, row.failures) == (0.0, 1)
    front.answer(order)  # too late
    assert front.hub(HUB).visits == 1
    (again,) = front.order(after=row.not_before - front.now)
    assert again.order == order.order + 1


def test_a_host_that_demands_patience_at_a_revisit_gets_it(front: Scenario) -> None:
    front.answer(front.order(after=2.0)[0], "retry", wait=500.0, overloaded=True)
    front.hear(Seeded("http://h0.org/archive/1"))
    assert front.order(after=499.0) == []
    assert front.order(after=2.0) != []


def test_revisits_do_not_spend_the_budget(frontier: Frontiers) -> None:
    front = a_front(frontier, budget=2)
    front.crawl(10, 2.0)
    assert not front.agent.finished
    front.hear(Seeded("http://h0.org/archive/1"))
    while not front.agent.spent:
        front.crawl(1, 2.0)
    assert front.order(after=1000.0) == []
    assert front.agent.finished


def test_what_was_known_before_a_crash_is_known_after(front: Scenario) -> None:
    list_news(front, "1")
    (order,) = front.order(after=2.0)
    assert order.url == f"{NEWS}1"
    front.answer(order, version=VERSION)
    (revisit,) = front.order(after=2.0)
    assert revisit.revisit is not None
    list_news(front, "2")
    again = front.restart()
    assert again.flying == {HUB}
    assert again.order() == []  # the revisit goes on, and its host has a delay
    again.answer(revisit)
    assert again.hub(HUB).visits == 2
    (order,) = again.order(after=1.0)
    assert (order.url, order.policy) == (f"{NEWS}2", INSTANT)


def test_a_revisit_that_a_crash_kept_out_of_its_row_is_waited_for(front: Scenario) -> None:
    front.now += 2
    order = FetchOrder(
        url=HUB, order=1, predicate="", policy=INSTANT, explored=False, probability=1.0, priority=0.0, depth=0,
        lease=front.now + 60, revisit=Revisit(None, NOW),
    )  # fmt: skip
    front.agent.expect(order)
    assert front.order() == []
    front.answer(order)
    assert front.hub(HUB).visits == 2


def test_a_hub_that_is_given_stays_one_and_one_that_is_given_no_more_is_one_for_a_day(front: Scenario) -> None:
    front.crawl(10, DAY / 2)
    assert front.hub(HUB).visits == 11
    again = front.restart(news={"hubs_given": []})
    assert again.agent.instant is not None
    (order,) = again.order(after=DAY - 1)
    again.answer(order)
    assert again.order(after=2.0) == []
    assert (again.agent.instant.hubs, hub_of(again.shards[0], HUB)) == (0, None)


def test_news_of_a_space_of_which_nothing_is_wanted_is_fetched_all_the_same(frontier: Frontiers) -> None:
    front = a_front(frontier, barren_misses=3)
    front.hear(*(Judged(f"{NEWS}{number}", NO, NOW) for number in range(3)))
    front.hear(Seeded(HUB))
    list_news(front, "7", since=1.0)
    front.hear(linked("http://h1.org/", [f"{NEWS}8"]))
    assert front.ordered() == [f"{NEWS}7"]
    assert f"{NEWS}8" not in {url for _ in range(10) for url in front.ordered(after=100.0)}
