"""The rows of judged pages that are visited again, and the changes that are published."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from scentline.agents.frontier.keys import DUE_PREFIX, due_key
from scentline.agents.frontier.rows import DueRow
from scentline.models.verdict import Verdict
from scentline.streams.facts import Discovered, Fetched, Hinted, Visited
from scentline.streams.outbox import Message
from scentline.streams.records import Version
from tests.agents.scenarios import CAME_OF, NO, YES, Frontiers, Scenario, changes, ended, outcomes, sent

URL, OTHER, TARGET = "http://a.org/", "http://b.org/", "http://c.org/x/1"


def a_front(frontier: Frontiers) -> Scenario:
    return frontier(policy="learned", revisit=0.5, retry_seconds=10.0)


@pytest.fixture
def front(frontier: Frontiers) -> Scenario:
    """Return a frontier that has judged a page at 100 as a match, and told so."""
    found = a_front(frontier)
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
    front = a_front(frontier)
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
        front = a_front(frontier)
        messages = front.hear(judged({"p": True, "q": True}, 100.0)) + front.hear(again(NO, 200.0))
        return [f"{change.predicate} {change.origin}" for change in changes(messages)]

    found = origins()
    assert origins() == found
    assert len({*found}) == len(found) == 3


# visits


def test_a_visit_that_shows_what_is_known_changes_a_history_and_nothing_else(front: Scenario) -> None:
    assert (
        front.hear(
            revisited("unchanged", 160.0), judged(YES, 280.0, order=2, visit="again", version=Version('"2"'))
        )
        == []
    )
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
    assert [fact.url for fact in sent(messages) if isinstance(fact, Discovered)] == [OTHER]
    assert (front.state(URL), front.page(URL).reason) == ("moved", f"redirects to {OTHER}")


# signs of changes


def test_signs_are_counted_once_and_until_the_next_visit(front: Scenario) -> None:
    signs = [Hinted(URL, kind, time) for kind, time in (("feed", 160.0), ("feed", 150.0), ("sitemap", 150.0))]
    front.hear(*signs, *signs, Hinted(URL, "log", 90.0), Hinted(OTHER, "feed", 150.0))
    assert front.visit(URL).signs == {"feed": 1, "sitemap": 1}
    front.hear(again(YES, 155.0), *signs)
    assert (front.visit(URL).signs, front.visit(URL).history.told) == ({}, 1)
    front.hear(Hinted(URL, "feed", 170.0), Hinted(URL, "feed", 180.0))
    assert front.visit(URL).signs == {"feed": 2}


def visited(time: float, size: int, user: str = "u") -> Visited:
    return Visited(URL, user, time, None, size)


def test_another_size_than_at_the_visit_is_one_sign_while_it_lasts(frontier: Frontiers) -> None:
    front = a_front(frontier)
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


SIGHTED = st.lists(
    st.tuples(
        st.sampled_from((URL, OTHER)),
        st.sampled_from(("judged", "unchanged", "early", "retry", "gone", "refused", "moved", "feed")),
        st.integers(1, 9),
    ),
    max_size=15,
)


@given(SIGHTED)
def test_due_rows_are_in_order_of_time(frontier: Frontiers, told: list[tuple[str, str, int]]) -> None:
    front = a_front(frontier)
    front.hear(judged(YES, 100.0), structs.replace(judged(NO, 100.0), url=OTHER))
    for number, (url, kind, time) in enumerate(told):
        when = 100.0 * time + number
        if kind == "feed":
            front.hear(Hinted(url, kind, when))
        elif kind == "judged":
            front.hear(structs.replace(again(YES, when), url=url))
        else:
            front.hear(structs.replace(revisited(kind, when), url=url))
    visits = [front.visit(url) for url in (URL, OTHER)]
    waiting = sorted((visit.due, visit.url) for visit in visits if front.state(visit.url) == "judged")
    assert {visit.url for visit in visits if visit.due} == {url for _, url in waiting}
    found = list(front.shards[0].scan(DUE_PREFIX))
    assert [key for key, _ in found] == sorted(due_key(due, url) for due, url in waiting)
    assert {row.url for _, row in found if isinstance(row, DueRow)} == {url for _, url in waiting}
