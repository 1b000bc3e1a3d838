"""The mode "instant": what revisits of hubs bring, which fetches come first, how many, and how often hubs."""

from collections import Counter
from email.utils import formatdate
from math import inf
from typing import Any

import pytest

from scentline.models.facts import Moved, Neighbour
from scentline.models.frontier.keys import hub_of, news_of
from scentline.models.frontier.news import published
from scentline.models.frontier.rows import INSTANT, Brought
from scentline.models.records import Version, partition_of
from scentline.models.url import host, identifier
from scentline.streams.topics import EVIDENCE, SIGHTINGS
from tests.agents.forms import hub, links
from tests.agents.scenarios import CAME_OF, DAY, NO, NOW, YES, Frontiers, Scenario, ended, linked, seeded, sent
from tests.agents.shards import emitted
from tests.cases import each_case

HUB, OTHER = "http://h0.org/", "http://h1.org/news/1"
NEWS = [f"{HUB}news/{number}" for number in range(10)]
ARCHIVE = f"{HUB}archive/"
RATE = 1 / 3600
VERSION = Version('"1"')


def a_front(frontier: Frontiers, **changed: Any) -> Scenario:
    news = {"prefixes_given": ["h0.org/news/"]}
    return frontier(mode="instant", retry_seconds=10.0, news=news, **changed)


@pytest.fixture
def front(frontier: Frontiers) -> Scenario:
    found = a_front(frontier)
    found.hear(hub(HUB, RATE, inf), ended(HUB, YES, 100.0, version=VERSION))
    return found


def visit(front: Scenario, time: float, came: str = "changed", **said: Any) -> list[Any]:
    return sent(front.hear(ended(HUB, CAME_OF[came], time, front.lease_visit(HUB), "links", **said)))


def test_a_hub_is_a_seed_and_its_verdict_a_visit_in_any_order(front: Scenario, frontier: Frontiers) -> None:
    row = front.hub(HUB)
    assert (front.page(HUB).depth, front.state(HUB)) == (0, "judged")
    assert (row.visited, row.visits, row.version, row.rate.seen_seconds) == (100.0, 1, VERSION, 0.0)
    other = a_front(frontier)
    other.hear(ended(HUB, YES, 100.0), hub(HUB, RATE, inf))
    assert (other.hub(HUB).visited, other.hub(HUB).visits) == (100.0, 1)
    without = frontier()
    without.hear(hub(HUB, RATE, inf), ended(HUB, YES, 100.0))
    assert without.hub(HUB).visited == 0.0, "without the mode a verdict looks for no hub"


def test_links_of_a_revisit_are_new_once_and_teach_nothing(front: Scenario) -> None:
    front.hear(linked("http://h0.org/about", [NEWS[0]]))
    before = dict(front.page(NEWS[0]).links)
    messages = front.hear(links(HUB, NEWS[:3], 200.0, 100.0))
    messages += front.hear(links(HUB, NEWS[:3], 300.0, 200.0))
    assert front.hub(HUB).brought == front.hub(HUB).links == 2
    assert emitted(messages, EVIDENCE) == []
    assert (front.page(NEWS[0]).links, front.page(NEWS[0]).found) == (before, None)
    new = front.page(NEWS[1])
    assert (new.links, new.parents, new.depth, new.found) == ({}, [], 1, Brought(HUB, 200.0, 100.0))
    front.hear(links(HUB, [NEWS[3]], 200.0, 0.0))
    assert front.page(NEWS[3]).found is None, "at the first visit of all no link is new since another"


def test_hubs_hear_of_new_links_in_another_partition(frontier: Frontiers) -> None:
    front = a_front(frontier, streams={"partitions": 7})
    home, away = (partition_of(host(url), 7) for url in (HUB, OTHER))
    assert home != away
    messages = front.hear(links(HUB, [OTHER], 200.0, 100.0), at=away)
    assert emitted(messages, SIGHTINGS) == [(home, Neighbour(identifier(HUB), new=1))]
    front.hear(hub(HUB, RATE, inf))
    front.deliver(messages)
    assert front.hub(HUB).brought == 1


def test_the_rate_is_learned_from_visits_and_kept_by_one_that_is_a_hub_once_more(front: Scenario) -> None:
    front.hear(links(HUB, NEWS[:3], 200.0, 100.0))
    visit(front, 200.0, version=Version('"2"'))
    row = front.hub(HUB)
    assert (row.visited, row.brought, row.lease, row.version) == (200.0, 0, 0.0, Version('"2"'))
    assert row.rate.seen_links == pytest.approx(3, rel=1e-3)
    before = row.rate.mean
    visit(front, 3800.0, "unchanged")
    learned = front.hub(HUB)
    assert learned.rate.mean < before
    assert learned.version == Version('"2"')
    front.hear(hub(HUB, 5.0, inf))
    assert front.hub(HUB).rate == learned.rate


def test_where_a_hub_moved_for_good_is_a_hub(front: Scenario, frontier: Frontiers) -> None:
    (found,) = visit(front, 200.0, "moved", target=OTHER)
    assert (found.url, found.hub.until, front.hub(HUB).moved) == (OTHER, inf, OTHER)
    first = a_front(frontier)  # one that redirects when it is first fetched
    first.hear(hub(HUB, RATE, 500.0))
    first.lease(HUB)
    assert hub(OTHER, RATE, 500.0) in sent(first.hear(ended(HUB, Moved(OTHER), 200.0)))
    assert sent(first.hear(hub(HUB, RATE, 900.0))) == [hub(OTHER, RATE, 900.0)]
    assert first.hear(hub(HUB, RATE, 900.0)) == []


def test_the_delay_of_new_news_is_counted_once(front: Scenario) -> None:
    front.hear(links(HUB, (NEWS[0], f"{HUB}about"), 200.0, 100.0))
    judged = [ended(url, YES, 210.0) for url in (NEWS[0], f"{HUB}about")]
    front.absorb(*judged, *judged)
    assert front.agent.core.book.hubs.delays == [(NEWS[0], 110.0)]
    front.commit()
    news = news_of(front.shards[0])
    assert (news.pages, news.delay, sum(news.delays)) == (1, 110.0, 1)


@each_case(
    ("modified", "time"),
    [
        (formatdate(150.0, usegmt=True), 150.0),
        (formatdate(50.0, usegmt=True), 50.0),
        (formatdate(201.0, usegmt=True), 100.0),  # made for the request, or changed since
        ("yesterday", 100.0),
        ("Thu, 01 Jan 99999 00:00:00 GMT", 100.0),
        ("", 100.0),
        (None, 100.0),
    ],
)
def test_a_page_was_published_when_it_says_or_the_hub_had_it_not(modified: str | None, time: float) -> None:
    assert published(Brought(HUB, 200.0, 100.0), Version('"1"', modified)) == time


def given(frontier: Frontiers, news: dict[str, Any] | None = None, **changed: Any) -> Scenario:
    usual = {"hubs_given": [HUB], "visits_a_minute": 60, "shortest_seconds": 1}
    section = {"mode": "instant", "window_max": 1, "policy": "breadth-first"} | changed
    all_news = {"prefixes_given": [f"{HUB}news/"], **usual, **(news or {})}
    return frontier(frontier=section, fetch={"delay_seconds": 1.0}, news=all_news)


@pytest.fixture
def fetched(frontier: Frontiers) -> Scenario:
    """Return a frontier with a hub that is given, and was fetched once."""
    found = given(frontier)
    (first,) = found.order()
    assert (first.url, first.revisit, first.policy) == (HUB, None, INSTANT)
    found.answer(first, version=VERSION)
    return found


def list_news(front: Scenario, *found: str, since: float = 10.0) -> None:
    front.hear(links(HUB, found, front.now, front.now - since))


def test_a_hub_given_by_hand_is_fetched_first_and_then_revisited_at_its_hosts_pace(fetched: Scenario) -> None:
    assert fetched.order() == []
    (second,) = fetched.order(after=2.0)
    assert second.revisit is not None
    assert (second.url, second.revisit.version, second.revisit.since) == (HUB, VERSION, NOW)
    fetched.answer(second)
    assert (fetched.page(HUB).attempts, fetched.hub(HUB).visits) == (1, 2)


def test_a_new_link_to_news_comes_before_what_has_waited_longer(fetched: Scenario) -> None:
    fetched.hear(*(seeded(f"{ARCHIVE}{number}") for number in range(5)))
    list_news(fetched, NEWS[1], f"{HUB}about")
    (order,) = fetched.order(after=2.0)
    assert (order.url, order.policy, order.predicate) == (NEWS[1], INSTANT, "p")


def test_instant_fetches_take_their_share_while_others_wait(frontier: Frontiers) -> None:
    front = given(frontier, instant_share=0.25)
    front.hear(*(seeded(f"{ARCHIVE}{number}") for number in range(300)))
    for step in range(200):
        list_news(front, f"{HUB}news/{step}", since=1.0)
        front.crawl(1, 1.0)
    assert len(front.orders) == 200
    assert sum(order.policy == INSTANT for order in front.orders) == pytest.approx(50, abs=3)


def test_what_nothing_else_could_use_is_free(frontier: Frontiers) -> None:
    front = given(frontier, instant_share=0.1)
    front.crawl(25, 1.0)
    assert [order.url for order in front.orders] == 25 * [HUB]


def test_a_hub_that_brings_nothing_is_visited_less_often_than_one_that_does(frontier: Frontiers) -> None:
    busy, visits = "http://h1.org/", Counter[str]()
    front = given(frontier, {"hubs_given": [HUB, busy], "shortest_seconds": 60, "visits_a_minute": 0.2})
    while front.now < NOW + DAY:
        for order in front.order(after=120.0):
            visits[order.url] += 1
            if order.url == busy and order.revisit is not None:
                news = [f"{busy}{int(front.now)}/{number}" for number in range(4)]
                front.hear(links(busy, news, front.now, order.revisit.since))
                front.hear(*(ended(url, NO, front.now) for url in news))
            front.answer(order, "changed" if order.url == busy else "unchanged")
    assert visits[busy] > 4 * visits[HUB] > 0


def test_revisits_do_not_spend_the_budget(frontier: Frontiers) -> None:
    front = given(frontier, budget=2)
    front.crawl(10, 2.0)
    assert not front.agent.core.finished
    front.hear(seeded(f"{ARCHIVE}1"))
    while not front.agent.core.budget.spent:
        front.crawl(1, 2.0)
    assert front.order(after=1000.0) == []
    assert front.agent.core.finished


def test_what_was_known_before_a_crash_is_known_after(fetched: Scenario) -> None:
    list_news(fetched, NEWS[1])
    (order,) = fetched.order(after=2.0)
    assert order.url == NEWS[1]
    fetched.answer(order, version=VERSION)
    (revisit,) = fetched.order(after=2.0)
    assert revisit.revisit is not None
    list_news(fetched, NEWS[2])
    again = fetched.restart()
    assert again.flying == {HUB}
    assert again.order() == []  # the revisit goes on, and its host has a delay
    again.answer(revisit)
    assert again.hub(HUB).visits == 2
    (order,) = again.order(after=1.0)
    assert (order.url, order.policy) == (NEWS[2], INSTANT)


def test_a_hub_that_is_given_stays_one_and_one_no_more_given_is_one_for_a_day(fetched: Scenario) -> None:
    fetched.crawl(10, DAY / 2)
    assert fetched.hub(HUB).visits == 11
    again = fetched.restart(news={"hubs_given": []})
    assert again.agent.core.instant is not None
    (order,) = again.order(after=DAY - 1)
    again.answer(order)
    assert again.order(after=2.0) == []
    assert (again.agent.core.instant.hubs, hub_of(again.shards[0], HUB)) == (0, None)


def test_news_of_a_space_of_which_nothing_is_wanted_is_fetched_all_the_same(frontier: Frontiers) -> None:
    front = given(frontier, barren_misses=3)
    front.hear(*(ended(url, NO, NOW) for url in NEWS[:3]))
    front.hear(seeded(HUB))
    list_news(front, NEWS[7], since=1.0)
    front.hear(linked("http://h1.org/", [NEWS[8]]))
    assert front.ordered() == [NEWS[7]]
    assert NEWS[8] not in {url for _ in range(10) for url in front.ordered(after=100.0)}
