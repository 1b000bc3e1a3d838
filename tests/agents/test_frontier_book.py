"""The frontier's bookkeeping: what each sighting changes, and what it gives rise to."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from scentline.agents.frontier.hosts import host_of
from scentline.agents.frontier.keys import page_key, totals_of
from scentline.models.interest.features import BASE
from scentline.models.url import host, identifier
from scentline.models.verdict import FAILED
from scentline.streams.facts import Failed, Inherited, Judged, Linked, Near, Redirected, Seeded, Visited
from scentline.streams.topics import EVIDENCE, SIGHTINGS
from tests.agents.books import (
    CAME,
    GONE,
    NO,
    YES,
    a_book,
    counted,
    judged_of,
    lease,
    linked,
    links_of,
    page,
    parent,
    url,
)
from tests.agents.pipeline import a_shard
from tests.agents.shards import Disk, disk, emitted, take_in


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path) as opened:
        yield opened


# discovery


def test_urls_are_discovered_once_and_numbered(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, Seeded(url(1)), Seeded(url(2)), Seeded(url(1)), Visited(url(2), "u", 1.0))
    assert [page(shard, url(n)).discovered for n in (1, 2)] == [0, 1]
    assert totals_of(shard).discovered == 2
    assert book.touched[0] == {page_key(url(1)), page_key(url(2))}


def test_a_seed_has_depth_0_a_visited_page_1_and_a_linked_one_more_than_its_source(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, Seeded(url(1)), Visited(url(2), "u", 1.0), linked(url(9), [url(3)], NO, depth=3))
    assert [page(shard, url(n)).depth for n in (1, 2, 3)] == [0, 1, 4]
    assert [page(shard, url(n)).seed for n in (1, 2, 3)] == [True, False, False]


def test_the_shortest_way_counts_whatever_the_order(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(
        shard,
        book,
        linked(url(8), [url(1)], NO, depth=5),
        linked(url(9), [url(1)], NO, depth=2),
        linked(url(7), [url(1)], NO, depth=7),
    )
    assert page(shard, url(1)).depth == 3
    take_in(shard, book, Visited(url(1), "u", 1.0))
    assert page(shard, url(1)).depth == 1
    take_in(shard, book, Seeded(url(1)), linked(url(6), [url(1)], NO, depth=7))
    assert page(shard, url(1)).depth == 0


def test_visits_are_all_counted_and_visitors_kept_within_a_bound_that_forgets_none_first(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(visitors=3)
    users = ["u5", "u1", "u4", "u1", "u2", "u3"]
    take_in(shard, book, *(Visited(url(1), user, float(time)) for time, user in enumerate(users)))
    assert page(shard, url(1)).visits == 6
    assert page(shard, url(1)).visitors == ["u1", "u2", "u3"]


# links


def test_linked_pages_are_candidates_with_their_in_links_by_verdict(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, linked(url(1), [url(3)], {"p": True, "q": False}), linked(url(2), [url(3)], NO))
    row = page(shard, url(3))
    assert row.state == "candidate"
    assert row.links == {"p": [2, 1], "q": [1, 0]}
    assert sorted(row.parents) == sorted([identifier(url(1)), identifier(url(2))])
    assert page_key(url(3)) in book.touched[0]


def test_a_page_that_links_to_itself_says_nothing_of_itself(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, linked(url(1), [url(1), url(2)], YES, ["w"]))
    assert shard.get(page_key(url(1))) is None
    assert links_of(parent(shard, url(1))) == {identifier(url(2)): (1, "anchor to1\t\t")}


def test_a_page_whose_links_come_twice_counts_once(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    first = take_in(shard, book, linked(url(1), [url(2)], YES, ["w"]), Judged(url(2), YES, 1.0))
    again = take_in(shard, book, linked(url(1), [url(2), url(3)], NO, ["v"]))
    assert counted(first).get("w:w", "p") == (1, 1)
    assert not again
    assert page(shard, url(2)).links == {"p": [1, 1]}
    assert shard.get(page_key(url(3))) is None


def test_the_in_links_kept_are_bounded_and_those_counted_are_not(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(parents=2)
    take_in(shard, book, *(linked(url(n), [url(99)], YES) for n in range(10)))
    assert len(page(shard, url(99)).parents) == 2
    assert page(shard, url(99)).links == {"p": [10, 10]}


# verdicts


def test_a_page_judged_twice_counts_once(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    messages = take_in(shard, book, Seeded(url(1)), Judged(url(1), YES, 1.0), Judged(url(1), NO, 2.0))
    assert counted(messages).get("", "p") == (1, 1)
    assert page(shard, url(1)).verdict == YES
    assert totals_of(shard).judged == 1
    assert host_of(shard, host(url(1))).judged == 1
    assert len(book.ended) == 2


def test_a_page_that_is_judged_again_after_it_was_ordered_again_counts_once(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, Seeded(url(1)), Judged(url(1), YES, 1.0))
    lease(shard, url(1))
    assert not emitted(take_in(shard, book, Judged(url(1), NO, 2.0)), EVIDENCE)
    assert totals_of(shard).judged == 1


def test_a_page_judged_after_it_was_given_up_leaves_the_totals_adding_up(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(attempts=1)
    take_in(shard, book, Seeded(url(1)))
    lease(shard, url(1))
    take_in(shard, book, Failed(url(1), 1, "retry", "timeout", 1.0))
    take_in(shard, book, Judged(url(1), YES, 2.0))
    totals = totals_of(shard)
    assert (totals.discovered, totals.judged, totals.failed) == (1, 1, 0)


def test_a_judged_page_is_registered_with_each_page_that_links_to_it(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, linked(url(1), [url(3)], YES), Judged(url(3), NO, 1.0))
    take_in(shard, book, linked(url(2), [url(3)], YES))
    child = {identifier(url(3)): (NO | CAME, 0)}
    assert judged_of(shard, url(1)) == judged_of(shard, url(2)) == child


def test_a_policy_that_goes_by_no_links_keeps_neither_their_words_nor_their_siblings(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(policy="breadth-first")
    fact = linked(url(1), [url(2), url(3)], YES, words=("snow",))
    fact = msgspec.structs.replace(fact, partitions=(0, 1))
    messages = take_in(shard, book, fact, Judged(url(3), NO, 1.0), linked(url(2), [url(3)], NO))
    assert not emitted(messages, SIGHTINGS)
    assert not judged_of(shard, url(1))
    links = {identifier(url(number)): (place, "") for place, number in enumerate((2, 3))}
    assert (parent(shard, url(1)).words, links_of(parent(shard, url(1)))) == (frozenset(), links)
    assert page(shard, url(3)).links == {"p": [2, 1]}


def test_other_partitions_hear_of_a_judged_sibling_once_before_or_after_the_links(rows: Disk) -> None:
    shard, other, book = a_shard(rows, 0), a_shard(rows, 2), a_book(3)
    fact = linked(url(1), [url(3)], YES)
    fact = Linked(fact.page, fact.url, 0, YES, (), fact.links, partitions=(0, 2))
    messages = take_in(shard, book, fact, Judged(url(3), NO, 1.0), Judged(url(3), NO, 1.0))
    near = Near(identifier(url(1)), identifier(url(3)), NO | CAME, 0)
    assert emitted(messages, SIGHTINGS) == [(2, near)]
    take_in(other, book, near, near, linked(url(1), [url(4)], YES))
    assert judged_of(other, url(1)) == {identifier(url(3)): (NO | CAME, 0)}
    assert parent(other, url(1)).linked


def test_candidates_linked_near_a_judged_page_of_another_partition_are_scored_anew(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(2)
    targets = [url(n) for n in range(10, 30)]
    take_in(shard, book, linked(url(1), targets, YES))
    book.touched.clear()
    take_in(shard, book, Near(identifier(url(1)), identifier(url(99)), YES, 10))
    assert book.touched[0] == {page_key(target) for target in targets[6:15]}


def test_candidates_linked_near_a_judged_page_are_scored_anew(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    targets = [url(n) for n in range(10, 30)]
    take_in(shard, book, linked(url(1), targets, YES))
    book.touched.clear()
    take_in(shard, book, Judged(targets[10], YES, 1.0))
    assert book.touched[0] == {page_key(target) for target in (*targets[6:10], *targets[11:15])}


# fetches that brought no page


def test_a_failed_fetch_is_tried_again_later_and_later_and_then_given_up(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(attempts=3, retry_seconds=10.0)
    take_in(shard, book, Seeded(url(1)))
    for attempt, waited in ((1, 10.0), (2, 20.0)):
        lease(shard, url(1), attempt)
        take_in(shard, book, Failed(url(1), attempt, "retry", "timeout", 1000.0))
        row = page(shard, url(1))
        assert (row.state, row.not_before, row.reason) == ("candidate", 1000.0 + waited, "timeout")
    lease(shard, url(1), 3)
    take_in(shard, book, Failed(url(1), 3, "retry", "timeout", 1000.0))
    assert page(shard, url(1)).state == "given up"
    assert totals_of(shard).given_up == 1
    assert totals_of(shard).failed == 1


def test_a_request_that_failed_counts_under_its_url_and_links_until_a_page_comes(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(policy="learned")
    take_in(shard, book, linked(url(1), [url(2)], YES))
    lease(shard, url(2))
    gone = counted(take_in(shard, book, Failed(url(2), 1, "gone", "status 404", 2.0, elapsed=0.1)))
    under = {BASE, "k:2", "x:h2.org", "a:anchor", "a:to0", "l:p:1"}
    assert {(feature, name, *cell) for feature, name, *cell in gone.items()} == {
        (feature, FAILED, 1, 1) for feature in under
    }
    assert judged_of(shard, url(1)) == {identifier(url(2)): (GONE, 0)}
    late = counted(take_in(shard, book, linked(url(3), [url(2)], NO)))
    assert late.get("l:p:0", FAILED) == (1, 1)

    came = counted(take_in(shard, book, Judged(url(2), YES, 3.0)))
    gone.merge(late)
    gone.merge(came)
    assert gone.get(BASE, FAILED) == (2, 1)  # the request that failed was one
    for feature in (under - {BASE}) | {"l:p:0"}:
        assert gone.get(feature, FAILED) == (1, 0)
        assert gone.get(feature, "p") == (1, 1)
    assert judged_of(shard, url(1)) == judged_of(shard, url(3)) == {identifier(url(2)): (YES | CAME, 0)}
    assert (page(shard, url(2)).requests, totals_of(shard).requests) == (2, 2)


def test_what_was_not_asked_for_is_no_request_and_an_attempt_worth_another_counts_under_the_base(
    rows: Disk,
) -> None:
    shard, book = a_shard(rows), a_book(policy="learned")
    take_in(shard, book, Seeded(url(1)), Seeded(url(2)))
    lease(shard, url(1))
    lease(shard, url(2))
    barred = Failed(url(1), 1, "refused", "robots.txt", 2.0)
    busy = Failed(url(2), 1, "retry", "status 503", 2.0, elapsed=0.1)
    counts = counted(take_in(shard, book, barred, busy))
    assert {(feature, name, *cell) for feature, name, *cell in counts.items()} == {(BASE, FAILED, 1, 1)}
    assert totals_of(shard).requests == 1


def test_a_redirect_and_a_page_that_is_none_are_requests_that_failed(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(policy="learned")
    take_in(shard, book, Seeded(url(1)), Seeded(url(2)))
    lease(shard, url(1))
    lease(shard, url(2))
    moved = Redirected(url(1), 1, url(3), 2.0, elapsed=0.1)
    copy = Failed(url(2), 1, "refused", "near-duplicate", 2.0, elapsed=0.1, barren=True)
    counts = counted(take_in(shard, book, moved, copy))
    assert counts.get(BASE, FAILED) == (2, 2)
    assert counts.get("x:h1.org", FAILED) == counts.get("x:h2.org", FAILED) == (1, 1)


def test_a_silent_request_that_failed_is_counted_and_teaches_nothing(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(policy="learned")
    take_in(shard, book, linked(url(1), [url(2)], YES))
    lease(shard, url(2))
    gone = Failed(url(2), 1, "gone", "status 404", 2.0, elapsed=0.1, silent=True)
    messages = take_in(shard, book, gone, linked(url(3), [url(2)], NO))
    assert [*counted(messages).items()] == [(BASE, FAILED, 1, 1)]


def test_a_host_may_ask_for_a_longer_wait(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(retry_seconds=10.0)
    take_in(shard, book, Seeded(url(1)))
    lease(shard, url(1))
    take_in(shard, book, Failed(url(1), 1, "retry", "busy", 1000.0, retry_after=500.0, overloaded=True))
    assert page(shard, url(1)).not_before == 1500.0


@pytest.mark.parametrize("kind", ["gone", "refused"])
def test_what_is_gone_or_refused_is_not_asked_for_again(rows: Disk, kind: str) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, Seeded(url(1)))
    lease(shard, url(1))
    take_in(shard, book, Failed(url(1), 1, kind, "why", 1.0))
    assert page(shard, url(1)).state == kind
    assert getattr(totals_of(shard), kind) == 1


def test_an_answer_to_an_order_that_was_taken_back_changes_nothing(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, Seeded(url(1)))
    lease(shard, url(1), attempt=2)
    messages = take_in(shard, book, Failed(url(1), 1, "gone", "late", 1.0), Redirected(url(1), 1, url(2), 1.0))
    assert not messages
    assert page(shard, url(1)).state == "leased"
    assert not book.ended, "the second attempt is still waited for"


def test_a_redirect_hands_depth_and_priorities_on(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, linked(url(9), [url(1)], YES, depth=2))
    page(shard, url(1)).priorities = {"p": 4.0}
    lease(shard, url(1))
    messages = take_in(shard, book, Redirected(url(1), 1, url(2), 1.0))
    ((partition, heir),) = emitted(messages, SIGHTINGS)
    assert (partition, heir) == (0, Inherited(url(2), 3, {"p": 4.0}, hops=1))
    assert page(shard, url(1)).state == "moved"
    take_in(shard, book, heir, Inherited(url(2), 5, {"p": 3.0, "q": 1.0}))
    row = page(shard, url(2))
    assert (row.depth, row.inherited) == (3, {"p": 4.0, "q": 1.0})


def test_a_redirect_of_a_seed_is_a_seed_and_what_was_chosen_hands_its_inputs_on(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, Seeded(url(1)), linked(url(9), [url(2)], YES))
    for number in (1, 2):
        lease(shard, url(number))
        page(shard, url(number)).inputs = {"p": (float(number),)}
        page(shard, url(number)).priorities = {"p": float(number)}
    moved = [Redirected(url(1), 1, url(11), 1.0), Redirected(url(2), 1, url(12), 1.0)]
    take_in(shard, book, *(heir for _, heir in emitted(take_in(shard, book, *moved), SIGHTINGS)))
    heirs = [page(shard, url(number)) for number in (11, 12)]
    assert [heir.seed for heir in heirs] == [True, False]
    assert [heir.inputs for heir in heirs] == [{"p": (1.0,)}, {"p": (2.0,)}]


def test_a_page_in_flight_keeps_the_inputs_it_was_chosen_by(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, linked(url(9), [url(1)], YES))
    lease(shard, url(1))
    page(shard, url(1)).inputs = {"p": (1.0,)}
    take_in(shard, book, Inherited(url(1), 0, {"p": 9.0}, False, {"p": (9.0,)}))
    assert page(shard, url(1)).inputs == {"p": (1.0,)}
    assert page(shard, url(1)).inherited == {"p": 9.0}
