"""The rows of judged pages that are visited again, what is told of them, and how verdicts are taken back."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from scentline.agents.frontier.book import Book
from scentline.agents.frontier.keys import (
    DUE_PREFIX,
    children_of,
    due_key,
    parent_of,
    totals_of,
    visit_key,
    visit_of,
)
from scentline.agents.frontier.rows import DueRow, FrontierRow, FrontierShard, VisitRow
from scentline.models.page import Link
from scentline.models.recount import JudgedPage, recount
from scentline.models.url import identifier
from scentline.models.verdict import FAILED, Verdict
from scentline.streams.crawl_settings import Policy
from scentline.streams.facts import Hinted, Inherited, Judged, Linked, Revisited, Visited
from scentline.streams.outbox import Message
from scentline.streams.published import Change, Outcome
from scentline.streams.records import Version
from scentline.streams.topics import CHANGES, OUTCOMES, SIGHTINGS
from tests.agents.books import NO, YES, a_book, counted, linked, page
from tests.agents.shards import Disk, disk, emitted, take_in, write
from tests.reference.counts import plain

URL, OTHER, TARGET = "http://a.org/", "http://b.org/", "http://c.org/x/1"


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path / "data") as found:
        yield found


@pytest.fixture
def shard(rows: Disk) -> FrontierShard:
    return rows.shard(FrontierRow, SIGHTINGS, 0)


def the_visit(shard: FrontierShard, url: str = URL) -> VisitRow:
    row = visit_of(shard, url)
    assert row is not None
    return row


def judged(verdict: Verdict, time: float, words: Iterable[str] = ("old",), **told: Any) -> Judged:
    told = {"content": b"1", "links": b"l", "partitions": (0,), "title": "Page"} | told
    return Judged(URL, verdict, time, words=tuple(words), **told)


def again(verdict: Verdict, time: float, words: Iterable[str] = ("new",), **told: Any) -> Judged:
    return judged(verdict, time, words, again=1, changed=True, **{"content": b"2"} | told)


def changes(messages: Iterable[Message]) -> list[Change]:
    return [
        msgspec.json.decode(value or b"", type=Change)
        for topic, _, _, value in messages
        if topic == CHANGES.name
    ]


def outcomes(messages: Iterable[Message]) -> list[Outcome]:
    found = [value or b"" for topic, _, _, value in messages if topic == OUTCOMES.name]
    return [msgspec.json.decode(value, type=Outcome) for value in found]


def told(messages: Iterable[Message]) -> list[tuple[str, str]]:
    return [(change.predicate, change.kind) for change in changes(messages)]


def the_book(policy: Policy = "learned") -> Book:
    return a_book(policy=policy, revisits=True, retry_seconds=10.0)


def test_a_match_that_appears_changes_leaves_and_comes_back_is_told_each_time(shard: FrontierShard) -> None:
    book = the_book()
    first = take_in(shard, book, judged(YES, 100.0, excerpts={"p": "what it says"}))
    assert [(c.kind, c.before, c.title, c.excerpt) for c in changes(first)] == [
        ("appeared", None, "Page", "what it says")
    ]
    assert told(take_in(shard, book, again(YES, 200.0))) == [("p", "changed")]
    (gone,) = changes(take_in(shard, book, again(NO, 300.0, content=b"3")))
    assert (gone.kind, gone.time, gone.before, gone.reason) == (
        "left", 300.0, 200.0, "no longer satisfies the predicate",
    )  # fmt: skip
    assert told(take_in(shard, book, again(NO, 400.0, content=b"4"))) == []
    assert told(take_in(shard, book, again(YES, 500.0, content=b"5"))) == [("p", "appeared")]


def test_the_same_change_told_again_has_the_same_origin_and_no_other_has(rows: Disk) -> None:
    def origins() -> list[str]:
        shard, book = rows.shard(FrontierRow, SIGHTINGS, 0), the_book()
        messages = take_in(shard, book, judged({"p": True, "q": True}, 100.0))
        messages += take_in(shard, book, again(NO, 200.0))
        return [f"{change.predicate} {change.origin}" for change in changes(messages)]

    found = origins()
    assert origins() == found
    assert len({*found}) == len(found) == 3


def test_a_visit_that_shows_what_is_known_changes_a_history_and_nothing_else(shard: FrontierShard) -> None:
    book = the_book()
    take_in(shard, book, judged(YES, 100.0))
    told_then = take_in(
        shard, book,
        Revisited(URL, 1, "unchanged", 160.0, again=True), judged(YES, 280.0, again=2, version=Version('"2"')),
    )  # fmt: skip
    assert told_then == []
    visit = the_visit(shard)
    assert (visit.visited, visit.history.still, visit.history.changes) == (280.0, 2, 0)
    assert (visit.history.still_seconds, visit.version, page(shard, URL).judged_at) == (
        180.0,
        Version('"2"'),
        100.0,
    )
    assert totals_of(shard).revisits == 2


def test_of_two_answers_the_later_one_holds_whichever_comes_first(shard: FrontierShard) -> None:
    book = the_book()
    take_in(shard, book, judged(YES, 100.0), again(NO, 300.0))
    assert take_in(shard, book, again(YES, 200.0), Revisited(URL, 1, "gone", 250.0, again=True)) == []
    assert (page(shard, URL).verdict, the_visit(shard).visited) == (NO, 300.0)


def test_a_page_that_is_gone_leaves_when_a_second_visit_says_so(shard: FrontierShard) -> None:
    book = the_book()
    take_in(shard, book, judged(YES, 100.0))
    once = take_in(shard, book, Revisited(URL, 1, "gone", 200.0, again=True, reason="status 404"))
    assert (once, page(shard, URL).state, the_visit(shard).not_before) == ([], "judged", 210.0)
    messages = take_in(shard, book, Revisited(URL, 2, "gone", 220.0, again=True, reason="status 404"))
    assert [(change.kind, change.reason) for change in changes(messages)] == [("left", "status 404")]
    (outcome,) = outcomes(messages)
    assert (outcome.left, outcome.verdict, outcome.again, outcome.time) == ("status 404", {}, True, 220.0)
    assert (page(shard, URL).state, page(shard, URL).verdict, totals_of(shard).gone) == ("gone", {}, 1)
    assert take_in(shard, book, Revisited(URL, 3, "gone", 230.0, again=True)) == []


def test_one_that_is_there_again_in_between_is_not_gone(shard: FrontierShard) -> None:
    book = the_book()
    take_in(shard, book, judged(YES, 100.0))
    for time in (200.0, 400.0):
        take_in(shard, book, Revisited(URL, 1, "gone", time, again=True))
        assert take_in(shard, book, Revisited(URL, 1, "unchanged", time + 50, again=True)) == []
    assert page(shard, URL).state == "judged"


def test_one_that_may_not_be_shown_any_more_leaves_at_once(shard: FrontierShard) -> None:
    book = the_book()
    take_in(shard, book, judged(YES, 100.0))
    messages = take_in(shard, book, Revisited(URL, 1, "refused", 200.0, again=True, reason="robots.txt"))
    assert told(messages) == [("p", "left")]
    assert (page(shard, URL).state, page(shard, URL).reason) == ("refused", "robots.txt")


def test_where_a_page_moved_to_takes_its_place(shard: FrontierShard) -> None:
    book = the_book()
    take_in(shard, book, judged(YES, 100.0))
    messages = take_in(shard, book, Revisited(URL, 1, "moved", 200.0, again=True, target=OTHER))
    assert [(change.kind, change.target) for change in changes(messages)] == [("moved", OTHER)]
    heirs = [fact for _, fact in emitted(messages, SIGHTINGS) if isinstance(fact, Inherited)]
    assert [heir.url for heir in heirs] == [OTHER]
    assert (page(shard, URL).state, page(shard, URL).reason) == ("moved", f"redirects to {OTHER}")


def test_a_failure_says_nothing_of_the_page_and_has_it_wait_ever_longer(shard: FrontierShard) -> None:
    book = the_book()
    take_in(shard, book, judged(YES, 100.0))
    waits = []
    for time in (200.0, 300.0, 500.0):
        assert take_in(shard, book, Revisited(URL, 1, "retry", time, again=True)) == []
        waits.append(the_visit(shard).not_before - time)
    assert waits == [20.0, 40.0, 80.0]
    assert (page(shard, URL).state, the_visit(shard).visited) == ("judged", 100.0)


def test_signs_are_counted_until_the_next_visit(shard: FrontierShard) -> None:
    book = the_book()
    signs = [Hinted(URL, "feed", 150.0), Hinted(URL, "feed", 160.0), Hinted(URL, "log", 90.0)]
    take_in(shard, book, judged(YES, 100.0), *signs, Hinted(OTHER, "feed", 150.0))
    assert the_visit(shard).signs == {"feed": 2}
    take_in(shard, book, again(YES, 200.0))
    assert (the_visit(shard).signs, the_visit(shard).history.told) == ({}, 1)


def test_a_sign_that_is_told_again_counts_once(shard: FrontierShard) -> None:
    book = the_book()
    signs = [Hinted(URL, "feed", 160.0), Hinted(URL, "feed", 150.0), Hinted(URL, "sitemap", 150.0)]
    take_in(shard, book, judged(YES, 100.0), *signs, *signs)
    assert the_visit(shard).signs == {"feed": 1, "sitemap": 1}
    take_in(shard, book, again(YES, 155.0), *signs)
    assert the_visit(shard).signs == {}
    take_in(shard, book, Hinted(URL, "feed", 170.0))
    assert the_visit(shard).signs == {"feed": 1}


def visited(time: float, size: int, user: str = "u") -> Visited:
    return Visited(URL, user, time, None, size)


def test_another_size_than_at_the_visit_is_one_sign_while_it_lasts(shard: FrontierShard) -> None:
    book = the_book()
    take_in(shard, book, visited(90.0, 5000), judged(YES, 100.0), visited(110.0, 5007), visited(111.0, 0))
    assert the_visit(shard).signs == {}
    take_in(shard, book, visited(120.0, 6000), visited(130.0, 7000, "v"), visited(120.0, 6000))
    assert the_visit(shard).signs == {"log": 1}
    take_in(shard, book, visited(140.0, 5000))
    assert the_visit(shard).signs == {}
    take_in(shard, book, visited(150.0, 6000), visited(145.0, 5000))
    assert the_visit(shard).signs == {"log": 1}
    take_in(shard, book, again(YES, 200.0), visited(145.0, 5000), visited(210.0, 6000))
    assert (the_visit(shard).signs, the_visit(shard).history.told) == ({}, 1)


def test_sizes_are_of_no_interest_where_no_page_is_visited_again(shard: FrontierShard) -> None:
    take_in(shard, a_book(), visited(90.0, 5000), judged(YES, 100.0), visited(110.0, 6000))
    assert page(shard, URL).sizes is None


def test_a_row_as_an_order_left_it_is_free_when_the_answer_comes(shard: FrontierShard) -> None:
    book = the_book()
    take_in(shard, book, judged(YES, 100.0))
    visit = the_visit(shard)
    visit.orders, visit.lease = 1, 1e9
    shard.put(visit_key(URL), visit)
    take_in(shard, book, Revisited(URL, 1, "early", 200.0, wait=5.0, again=True))
    assert (the_visit(shard).lease, the_visit(shard).not_before, totals_of(shard).revisits) == (0.0, 205.0, 0)


SIGHTED = st.lists(
    st.tuples(
        st.sampled_from((URL, OTHER)),
        st.sampled_from(("judged", "unchanged", "early", "retry", "gone", "refused", "moved", "feed")),
        st.integers(1, 9),
    ),
    max_size=15,
)


@given(SIGHTED)
def test_rows_have_in_order_of_time_when_each_judged_page_is_due(
    told: list[tuple[str, str, int]],
) -> None:
    with TemporaryDirectory() as directory, disk(Path(directory) / "data") as rows:
        shard, book = rows.shard(FrontierRow, SIGHTINGS, 0), the_book()
        take_in(shard, book, judged(YES, 100.0), structs.replace(judged(NO, 100.0), url=OTHER))
        for number, (url, kind, time) in enumerate(told):
            when = 100.0 * time + number
            if kind == "judged":
                take_in(shard, book, structs.replace(again(YES, when), url=url))
            elif kind == "feed":
                take_in(shard, book, Hinted(url, kind, when))
            else:
                take_in(
                    shard, book, Revisited(url, 1, kind, when, wait=5.0, target="http://d.org/", again=True)
                )
        visits = [the_visit(shard, url) for url in (URL, OTHER)]
        waiting = sorted((visit.due, visit.url) for visit in visits if page(shard, visit.url).state == "judged")
        assert {visit.url for visit in visits if visit.due} == {url for _, url in waiting}
        write(shard)
        found = list(shard.scan(DUE_PREFIX))
        assert [key for key, _ in found] == sorted(due_key(due, url) for due, url in waiting)
        assert {row.url for _, row in found if isinstance(row, DueRow)} == {url for _, url in waiting}


# what is counted


def relinked(verdict: Verdict, time: float, targets: Iterable[str], words: Iterable[str] = ()) -> Linked:
    links = tuple(Link(target, ("later",), (), place) for place, target in enumerate(targets))
    return Linked(identifier(URL), URL, 0, verdict, tuple(words), links, (0,), time, again=True)


@pytest.mark.parametrize("policy", ["learned", "linkage", "combined", "collaborative", "breadth-first"])
def test_what_an_old_verdict_was_counted_under_is_taken_back(shard: FrontierShard, policy: Policy) -> None:
    book = the_book(policy)
    messages = take_in(
        shard, book,
        linked(URL, [TARGET, OTHER], YES, ["old"]), judged(YES, 100.0),
        Judged(TARGET, NO, 110.0, words=("target",)),
        relinked(NO, 200.0, [OTHER, TARGET, "http://d.org/"], ["new"]), again(NO, 200.0),
    )  # fmt: skip
    links = linked(URL, [TARGET, OTHER], YES).links
    later = Link("http://d.org/", ("later",), (), 2)
    pages = [
        JudgedPage(URL, NO, ("new",), (*links, later)), JudgedPage(TARGET, NO, ("target",)),
    ]  # fmt: skip
    assert counted(messages) == plain(recount(pages, policy, None, 32))


def test_a_page_that_left_counts_for_nothing_but_that_it_came(shard: FrontierShard) -> None:
    book = the_book()
    take_in(shard, book, linked(URL, [TARGET], YES, ["old"]))
    messages = take_in(shard, book, judged(YES, 100.0), Judged(TARGET, YES, 110.0, words=("target",)))
    messages += take_in(shard, book, Revisited(URL, 1, "refused", 200.0, again=True, reason="noindex"))
    told_to = [fact for _, fact in emitted(messages, SIGHTINGS) if isinstance(fact, Linked)]
    messages += take_in(shard, book, *told_to)
    counts = counted(messages)
    assert counts.get("", "p") == (1, 1)
    assert counts.get("", FAILED) == (2, 0)
    assert (parent_of(shard, identifier(URL)).verdict, page(shard, TARGET).links) == ({}, {})


def test_linking_pages_hear_of_the_verdict_as_it_stands(shard: FrontierShard) -> None:
    book = the_book()
    take_in(shard, book, linked(OTHER, [URL], NO, depth=1), judged(YES, 100.0))
    known = children_of(shard, identifier(OTHER)).judged
    assert known == {identifier(URL): {"p": True, FAILED: False}}
    take_in(shard, book, again(NO, 200.0))
    assert children_of(shard, identifier(OTHER)).judged == {identifier(URL): {"p": False, FAILED: False}}


def test_a_verdict_that_was_told_holds_although_a_later_visit_was_heard_of_before(shard: FrontierShard) -> None:
    book = the_book()
    take_in(shard, book, judged(YES, 100.0), Revisited(URL, 2, "unchanged", 300.0, again=True))
    take_in(shard, book, again(NO, 200.0))
    assert (page(shard, URL).verdict, page(shard, URL).judged_at, the_visit(shard).visited) == (
        NO,
        200.0,
        300.0,
    )
