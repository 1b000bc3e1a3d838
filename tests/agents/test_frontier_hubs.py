"""The rows of hubs: what revisits bring, and that they teach nothing."""

from email.utils import formatdate
from math import inf
from typing import Any

import pytest

from scentline.agents.frontier.hubs import DAY, published
from scentline.agents.frontier.keys import news_of
from scentline.agents.frontier.rows import Found
from scentline.models.url import host
from scentline.streams.facts import Brought, Hub, Judged, Redirected, Relisted, Revisited
from scentline.streams.records import Version
from scentline.streams.topics import EVIDENCE, SIGHTINGS, partition_of
from tests.agents.scenarios import YES, Frontiers, Scenario, linked, sent
from tests.agents.shards import emitted
from tests.cases import each_case

HUB, OTHER = "http://h0.org/", "http://h1.org/news/1"
NEWS = [f"{HUB}news/{number}" for number in range(3)]
RATE = 1 / 3600


def a_front(frontier: Frontiers, **changed: Any) -> Scenario:
    news = {"prefixes_given": ["h0.org/news/"]}
    return frontier(mode="instant", retry_seconds=10.0, news=news, **changed)


@pytest.fixture
def front(frontier: Frontiers) -> Scenario:
    """Return a frontier with a hub that was judged at 100."""
    found = a_front(frontier)
    found.hear(Hub(HUB, RATE, inf), Judged(HUB, YES, 100.0, version=Version('"1"')))
    return found


def visit(front: Scenario, time: float, outcome: str = "changed", **said: Any) -> list[Any]:
    return sent(front.hear(Revisited(HUB, front.lease_visit(HUB), outcome, time, **said)))


def test_a_hub_is_a_seed_and_its_first_verdict_is_a_visit_whichever_comes_first(
    front: Scenario, frontier: Frontiers
) -> None:
    row = front.hub(HUB)
    assert (front.page(HUB).depth, front.state(HUB)) == (0, "judged")
    assert (row.visited, row.visits, row.version, row.rate.seen_seconds) == (100.0, 1, Version('"1"'), 0.0)
    other = a_front(frontier)
    other.hear(Judged(HUB, YES, 100.0), Hub(HUB, RATE, inf))
    assert (other.hub(HUB).visited, other.hub(HUB).visits) == (100.0, 1)


def test_links_of_a_revisit_are_new_once_and_teach_nothing(front: Scenario) -> None:
    front.hear(linked("http://h0.org/about", [NEWS[0]]))
    links = dict(front.page(NEWS[0]).links)
    messages = front.hear(Relisted(HUB, 0, tuple(NEWS), 200.0, 100.0))
    messages += front.hear(Relisted(HUB, 0, tuple(NEWS), 300.0, 200.0))
    assert front.hub(HUB).brought == front.hub(HUB).links == 2
    assert emitted(messages, EVIDENCE) == []
    assert (front.page(NEWS[0]).links, front.page(NEWS[0]).found) == (links, None)
    new = front.page(NEWS[1])
    assert (new.links, new.parents, new.depth, new.found) == ({}, [], 1, Found(HUB, 200.0, 100.0))


def test_at_the_first_visit_of_all_no_link_is_new_since_another(front: Scenario) -> None:
    front.hear(Relisted(HUB, 0, tuple(NEWS), 200.0, 0.0))
    assert front.page(NEWS[0]).found is None


def test_hubs_hear_of_new_links_in_another_partition(frontier: Frontiers) -> None:
    front = a_front(frontier, streams={"partitions": 7})
    home, away = (partition_of(host(url), 7) for url in (HUB, OTHER))
    assert home != away
    messages = front.hear(Relisted(HUB, 0, (OTHER,), 200.0, 100.0), at=away)
    assert emitted(messages, SIGHTINGS) == [(home, Brought(HUB, 1))]
    front.hear(Hub(HUB, RATE, inf))
    front.deliver(messages)
    assert front.hub(HUB).brought == 1


def test_the_rate_is_learned_from_visits_and_kept_by_one_that_is_a_hub_once_more(front: Scenario) -> None:
    front.hear(Relisted(HUB, 0, tuple(NEWS), 200.0, 100.0))
    visit(front, 200.0, version=Version('"2"'))
    row = front.hub(HUB)
    assert (row.visited, row.brought, row.lease, row.version) == (200.0, 0, 0.0, Version('"2"'))
    assert row.rate.seen_links == pytest.approx(3, rel=1e-3)
    before = row.rate.mean
    visit(front, 3800.0, "unchanged")
    learned = front.hub(HUB)
    assert learned.rate.mean < before
    assert learned.version == Version('"2"')
    front.hear(Hub(HUB, 5.0, inf))
    assert front.hub(HUB).rate == learned.rate


def test_an_answer_that_is_not_waited_for_is_passed_over(front: Scenario) -> None:
    number = front.lease_visit(HUB)
    front.hear(*(Revisited(HUB, order, "changed", 200.0) for order in (number - 1, number + 1)))
    assert (front.hub(HUB).visited, front.hub(HUB).lease) == (100.0, 1e12)
    front.hear(*(Revisited(HUB, number, "unchanged", time) for time in (300.0, 400.0)))
    assert (front.hub(HUB).visited, front.hub(HUB).visits) == (300.0, 2)


def test_failures_make_the_wait_longer_up_to_a_day_and_coming_too_early_is_none(front: Scenario) -> None:
    waits = []
    for _ in range(20):
        visit(front, 200.0, "retry")
        waits.append(front.hub(HUB).not_before - 200.0)
    assert (waits[:3], waits[-1]) == ([20.0, 40.0, 80.0], DAY)
    visit(front, 200.0, "retry", wait=50_000.0)
    assert front.hub(HUB).not_before - 200.0 == DAY
    visit(front, 300.0, "unchanged")
    assert (front.hub(HUB).failures, front.hub(HUB).not_before) == (0, 0.0)
    visit(front, 400.0, "early", wait=5.0)
    row = front.hub(HUB)
    assert (row.not_before, row.failures, row.visited) == (405.0, 0, 300.0)


def test_where_a_hub_moved_for_good_is_a_hub(front: Scenario, frontier: Frontiers) -> None:
    (found,) = visit(front, 200.0, "moved", target=OTHER)
    assert (found.url, found.until, front.hub(HUB).moved) == (OTHER, inf, OTHER)
    first = a_front(frontier)  # one that redirects when it is first fetched
    first.hear(Hub(HUB, RATE, 500.0))
    first.lease(HUB)
    assert Hub(OTHER, RATE, 500.0) in sent(first.hear(Redirected(HUB, 1, OTHER, 200.0)))
    assert sent(first.hear(Hub(HUB, RATE, 900.0))) == [Hub(OTHER, RATE, 900.0)]
    assert first.hear(Hub(HUB, RATE, 900.0)) == []


def test_the_delay_of_new_news_is_counted_once(front: Scenario) -> None:
    front.hear(Relisted(HUB, 0, (NEWS[0], f"{HUB}about"), 200.0, 100.0))
    judged = [Judged(url, YES, 210.0) for url in (NEWS[0], f"{HUB}about")]
    front.absorb(*judged, *judged)
    assert front.agent.book.hubs.delays == [(NEWS[0], 110.0)]
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
def test_a_page_was_published_when_it_says_or_else_when_the_hub_had_it_not(
    modified: str | None, time: float
) -> None:
    assert published(Found(HUB, 200.0, 100.0), Version('"1"', modified)) == time


def test_without_the_mode_a_verdict_looks_for_no_hub(frontier: Frontiers) -> None:
    front = frontier()
    front.hear(Hub(HUB, RATE, inf), Judged(HUB, YES, 100.0))
    assert front.hub(HUB).visited == 0.0
    assert front.known(HUB)
