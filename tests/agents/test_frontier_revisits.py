"""Judged pages that are visited again: which and when, what comes of it, and the changes that are published."""

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from scentline.models.facts import Early, Fetched, Found, Missing, Signal, Visited
from scentline.models.frontier.freshness import LEAST_STALE, Freshness, Match
from scentline.models.frontier.keys import ALIKE_PREFIX, DUE_PREFIX, due_key
from scentline.models.frontier.revisits import AGAIN
from scentline.models.frontier.rows import HostRow, VisitRow
from scentline.models.page import Verdict
from scentline.models.published import RENEWED, FreshnessPart
from scentline.models.records import Version
from scentline.models.revisit.rate import stale
from scentline.streams.inbox import Message
from tests.agents.scenarios import (
    CAME_OF,
    DAY,
    NO,
    NOW,
    YES,
    Frontiers,
    Scenario,
    changes,
    ended,
    outcomes,
    seeded,
    sent,
)
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
    front.hear(Signal(OTHER, "feed", NOW + 1))
    assert front.ordered(after=61.0) == [OTHER]
    assert front.ordered(after=2 * DAY) == [URL]


def test_signs_that_proved_wrong_count_less_on_all_pages_of_their_host_which_alone_keeps_them(
    frontier: Frontiers,
) -> None:
    front = a_front(frontier)
    urls = [f"http://a.org/{number}" for number in range(6)]
    judge(front, *urls, OTHER)
    for _ in range(20):
        front.hear(*(Signal(url, "feed", front.now + 1) for url in urls))
        front.crawl(8, DAY / 8)
    front.orders.clear()
    front.hear(*(Signal(url, "feed", front.now + 1) for url in (*urls, OTHER)))
    front.crawl(3, 61.0)
    assert [order.url for order in front.orders] == [OTHER]
    alike = [row for _, row in front.shard(URL).scan(ALIKE_PREFIX) if isinstance(row, HostRow)]
    assert alike and not any(row.signs for row in alike)


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
    front.agent.core.schedule.settle(front.now)  # type: ignore[union-attr]
    front.agent.core.keep_time(front.now + 2.0)  # reads the other page, which is due later
    front.commit()
    assert {*front.ordered(after=4.0), *front.ordered(after=4.0)} == {URL, OTHER}


@each_case(("budget", "ends"), [(0, False), (10, True)])
def test_a_crawl_that_keeps_up_ends_with_a_budget_alone(frontier: Frontiers, budget: int, ends: bool) -> None:
    front = a_front(frontier, budget=budget)
    front.agent.core._dry = True
    assert front.agent.core.finished is ends


# how current the matches are


def told(front: Scenario) -> list[FreshnessPart]:
    assert front.agent.core.schedule is not None
    return front.agent.core.schedule.freshness.parts(front.shards, front.now)


def test_the_harvest_is_sent_how_current_matches_are_until_there_are_none(frontier: Frontiers) -> None:
    front = a_front(frontier)
    assert told(front) == []
    judge(front, URL, OTHER)
    judge(front, "http://miss.org/", hits=False)
    front.now += DAY
    kept = front.agent.core.freshness(front.now)["p"]
    assert kept.current == pytest.approx(2 * (1 - stale(0.1 / DAY, DAY)))
    assert (kept.matches, kept.age) == (2, 2 * DAY)
    front.hear(ended(OTHER, Missing("refused", "noindex"), front.now, 1, "again"))
    (order,) = front.order(after=30 * DAY)
    front.answer(order)
    front.now += 60.0
    (part,) = told(front)
    assert (part.predicate, part.partition, part.time) == ("p", 0, front.now)
    assert (part.matches, part.age, part.revisits) == (1, 60.0, 1)
    assert part.current == pytest.approx(front.agent.core.freshness(front.now)["p"].current)
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


# what comes of visits


def keeping_up(frontier: Frontiers) -> Scenario:
    return frontier(policy="learned", revisit=0.5, retry_seconds=10.0)


@pytest.fixture
def front(frontier: Frontiers) -> Scenario:
    """Return a frontier that has judged a page at 100 as a match, and told so."""
    found = keeping_up(frontier)
    found.hear(judged(YES, 100.0))
    return found


def judged(verdict: Verdict, time: float, **said: Any) -> Fetched:
    said = {"content": b"1", "links": b"l", "partitions": (0,), "title": "Page", "words": ("old",)} | said
    return ended(URL, verdict, time, **said)


def again(verdict: Verdict, time: float, **said: Any) -> Fetched:
    usual = {"visit": "again", "changed": True, "content": b"2", "words": ("new",)}
    return judged(verdict, time, **usual | said)


def revisited(came: str, time: float, order: int = 1, **said: Any) -> Fetched:
    return ended(URL, CAME_OF[came], time, order, "again", **said)


def kinds(messages: Iterable[Message]) -> list[tuple[str, str]]:
    return [(change.predicate, change.kind) for change in changes(messages)]


# changes


def test_a_match_that_appears_changes_leaves_and_comes_back_is_told_each_time(frontier: Frontiers) -> None:
    front = keeping_up(frontier)
    first = front.hear(judged(YES, 100.0, excerpts={"p": "what it says"}))
    assert [(c.kind, c.before, c.title, c.excerpt) for c in changes(first)] == [
        ("appeared", None, "Page", "what it says")
    ]
    assert kinds(front.hear(again(YES, 200.0))) == [("p", "changed")]
    (gone,) = changes(front.hear(again(NO, 300.0, content=b"3")))
    assert (gone.kind, gone.time, gone.before, gone.reason) == (
        "left", 300.0, 200.0, "no longer satisfies the predicate",
    )  # fmt: skip
    assert kinds(front.hear(again(NO, 400.0, content=b"4"))) == []
    assert kinds(front.hear(again(YES, 500.0, content=b"5"))) == [("p", "appeared")]


def test_the_same_change_published_again_has_the_same_origin_and_no_other_has(frontier: Frontiers) -> None:
    def origins() -> list[str]:
        front = keeping_up(frontier)
        messages = front.hear(judged({"p": True, "q": True}, 100.0)) + front.hear(again(NO, 200.0))
        return [f"{change.predicate} {change.origin}" for change in changes(messages)]

    found = origins()
    assert origins() == found
    assert len({*found}) == len(found) == 3


# visits


def test_a_visit_that_shows_what_is_known_changes_a_history_and_nothing_else(front: Scenario) -> None:
    second = judged(YES, 280.0, order=2, visit="again", version=Version('"2"'))
    assert front.hear(revisited("unchanged", 160.0), second) == []
    visit = front.visit(URL)
    assert (visit.visited, visit.history.still, visit.history.changes) == (280.0, 2, 0)
    assert (visit.history.still_seconds, visit.version) == (180.0, Version('"2"'))
    assert (front.page(URL).judged_at, front.totals().revisits) == (100.0, 2)


def test_of_two_answers_the_later_one_holds_whichever_comes_first(front: Scenario) -> None:
    front.hear(again(NO, 300.0))
    assert front.hear(again(YES, 200.0), revisited("gone", 250.0)) == []
    assert (front.page(URL).verdict, front.visit(URL).visited) == (NO, 300.0)
    front.hear(revisited("unchanged", 500.0, 2))
    front.hear(again(YES, 400.0))  # a verdict that was published holds although a later visit was heard of
    assert (front.page(URL).verdict, front.page(URL).judged_at, front.visit(URL).visited) == (YES, 400.0, 500.0)


def test_a_page_that_is_gone_leaves_when_a_second_visit_says_so(front: Scenario) -> None:
    for time in (150.0, 160.0):  # one that is there again in between is not gone
        assert front.hear(revisited("gone", time), revisited("unchanged", time + 5)) == []
    once = front.hear(revisited("gone", 200.0, reason="status 404"))
    assert (once, front.state(URL), front.visit(URL).not_before) == ([], "judged", 210.0)
    messages = front.hear(revisited("gone", 220.0, 2, reason="status 404"))
    assert [(change.kind, change.reason) for change in changes(messages)] == [("left", "status 404")]
    (outcome,) = outcomes(messages)
    assert (outcome.left, outcome.verdict, outcome.again, outcome.time) == ("status 404", {}, True, 220.0)
    assert (front.state(URL), front.page(URL).verdict, front.totals().gone) == ("gone", {}, 1)
    assert front.hear(revisited("gone", 230.0, 3)) == []


def test_one_that_may_not_be_shown_any_more_leaves_at_once(front: Scenario) -> None:
    messages = front.hear(revisited("refused", 200.0, reason="robots.txt"))
    assert kinds(messages) == [("p", "left")]
    assert (front.state(URL), front.page(URL).reason) == ("refused", "robots.txt")


def test_where_a_page_moved_to_takes_its_place(front: Scenario) -> None:
    messages = front.hear(revisited("moved", 200.0, target=OTHER))
    assert [(change.kind, change.target) for change in changes(messages)] == [("moved", OTHER)]
    assert [fact.url for fact in sent(messages) if isinstance(fact, Found)] == [OTHER]
    assert (front.state(URL), front.page(URL).reason) == ("moved", f"redirects to {OTHER}")


# signs of changes


def test_signs_are_counted_once_and_until_the_next_visit(front: Scenario) -> None:
    signs = [Signal(URL, kind, time) for kind, time in (("feed", 160.0), ("feed", 150.0), ("sitemap", 150.0))]
    front.hear(*signs, *signs, Signal(URL, "log", 90.0), Signal(OTHER, "feed", 150.0))
    assert front.visit(URL).signs == {"feed": 1, "sitemap": 1}
    front.hear(again(YES, 155.0), *signs)
    assert (front.visit(URL).signs, front.visit(URL).history.told) == ({}, 1)
    front.hear(Signal(URL, "feed", 170.0), Signal(URL, "feed", 180.0))
    assert front.visit(URL).signs == {"feed": 2}


def visited(time: float, size: int, user: str = "u") -> Visited:
    return Visited(URL, user, time, None, size)


def test_another_size_than_at_the_visit_is_one_sign_while_it_lasts(frontier: Frontiers) -> None:
    front = keeping_up(frontier)
    front.hear(visited(90.0, 5000), judged(YES, 100.0))
    lines: list[tuple[list[Any], dict[str, int]]] = [
        ([visited(110.0, 5007), visited(111.0, 0)], {}),
        ([visited(120.0, 6000), visited(130.0, 7000, "v"), visited(120.0, 6000)], {"log": 1}),
        ([visited(140.0, 5000)], {}),
        ([visited(150.0, 6000), visited(145.0, 5000)], {"log": 1}),
        ([again(YES, 200.0), visited(145.0, 5000), visited(210.0, 6000)], {}),
    ]
    for facts, signs in lines:
        front.hear(*facts)
        assert front.visit(URL).signs == signs
    assert front.visit(URL).history.told == 1
    plainly = frontier()
    plainly.hear(visited(90.0, 5000), judged(YES, 100.0), visited(110.0, 6000))
    assert plainly.page(URL).sizes is None, "where no page is visited again"


CAME = st.sampled_from(("judged", "unchanged", "early", "retry", "gone", "refused", "moved", "feed"))
SIGHTED = st.lists(st.tuples(st.sampled_from((URL, OTHER)), CAME, st.integers(1, 9)), max_size=15)


@given(SIGHTED)
def test_due_rows_are_in_order_of_time(frontier: Frontiers, told: list[tuple[str, str, int]]) -> None:
    front = keeping_up(frontier)
    front.hear(judged(YES, 100.0), structs.replace(judged(NO, 100.0), url=OTHER))
    for number, (url, kind, time) in enumerate(told):
        when = 100.0 * time + number
        if kind == "feed":
            front.hear(Signal(url, kind, when))
        elif kind == "judged":
            front.hear(structs.replace(again(YES, when), url=url))
        else:
            front.hear(structs.replace(revisited(kind, when), url=url))
    visits = [front.visit(url) for url in (URL, OTHER)]
    waiting = sorted((visit.due, visit.url) for visit in visits if front.state(visit.url) == "judged")
    assert {visit.url for visit in visits if visit.due} == {url for _, url in waiting}
    found = list(front.shards[0].scan(DUE_PREFIX))
    assert [key for key, _ in found] == sorted(due_key(due, url) for due, url in waiting)
    assert {row.url for _, row in found if isinstance(row, VisitRow)} == {url for _, url in waiting}
