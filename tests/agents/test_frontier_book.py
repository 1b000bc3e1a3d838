"""What each sighting changes in the rows of pages and links, and what it gives rise to.

That all that is counted is exact, `test_frontier_evidence` and `test_frontier_again` say.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from scentline.models.facts import Early, Fetched, Found, Kind, Missing, Moved, Neighbour, Visited
from scentline.models.frontier.keys import page_key
from scentline.models.frontier.linking import ChildrenRow, ParentRow, identifiers_in, links_to, place_in
from scentline.models.frontier.rows import TotalsRow
from scentline.models.page import FAILED, Verdict
from scentline.models.policy.candidate import LinkWords
from scentline.models.policy.features import BASE
from scentline.models.url import IDENTIFIER_BYTES, host, identifier
from scentline.streams.topics import SIGHTINGS
from tests.agents.scenarios import (
    CAME,
    GONE,
    NO,
    YES,
    Frontiers,
    Scenario,
    ended,
    linked,
    links_of,
    listed,
    seeded,
    sent,
)
from tests.agents.shards import emitted
from tests.cases import each_case


def url(number: int) -> str:
    return f"http://h{number % 4}.org/{number}"


def leased(front: Scenario, *numbers: int) -> Scenario:
    front.hear(*(seeded(url(number)) for number in numbers))
    for number in numbers:
        front.lease(url(number))
    return front


# discovery


def test_urls_are_discovered_once_and_numbered_and_a_sitemap_names_no_seed(frontier: Frontiers) -> None:
    front = frontier()
    front.hear(seeded(url(1)), listed(url(3)), seeded(url(2)), seeded(url(1)), Visited(url(2), "u", 1.0))
    front.hear(listed(url(3)), listed(url(2)))
    assert [front.page(url(n)).discovered for n in (1, 3, 2)] == [0, 1, 2]
    assert front.totals().discovered == 3
    assert front.touched == {page_key(url(3)), page_key(url(2))}
    assert [(front.page(url(n)).seed, front.page(url(n)).depth) for n in (2, 3)] == [(True, 0), (False, 1)]


@each_case(
    ("facts", "depth"),
    [
        ([linked(url(9), [url(1)], depth=3)], 4),
        ([linked(url(8), [url(1)], depth=5), linked(url(9), [url(1)], depth=2)], 3),
        ([linked(url(8), [url(1)], depth=2), linked(url(9), [url(1)], depth=5)], 3),
        ([linked(url(8), [url(1)], depth=5), Visited(url(1), "u", 1.0)], 1),
        ([Visited(url(1), "u", 1.0), seeded(url(1)), linked(url(9), [url(1)], depth=5)], 0),
    ],
)
def test_the_shortest_way_to_a_page_is_its_depth(frontier: Frontiers, facts: list[Any], depth: int) -> None:
    front = frontier()
    front.hear(*facts)
    assert front.page(url(1)).depth == depth
    assert front.touched == {page_key(url(1))}, "it is scored again"


def test_a_policy_that_goes_by_no_links_keeps_neither_words_nor_siblings(frontier: Frontiers) -> None:
    front = frontier(policy="breadth-first")
    fact = linked(url(1), [url(2), url(3)], YES, words=("snow",), partitions=(0, 1))
    assert not sent(front.hear(fact, ended(url(3), NO, 1.0), linked(url(2), [url(3)], NO)))
    assert not front.children(url(1))
    links = {identifier(url(number)): (place, "") for place, number in enumerate((2, 3))}
    assert (front.parent(url(1)).words, links_of(front.parent(url(1)))) == (frozenset(), links)
    assert front.page(url(3)).links == {"p": [2, 1]}


# verdicts


def test_totals_add_up_of_a_page_judged_again_or_after_it_was_given_up(frontier: Frontiers) -> None:
    front = leased(frontier(attempts=1), 1)
    front.hear(ended(url(1), Missing("retry", "timeout"), 1.0))
    front.hear(ended(url(1), YES, 2.0), ended(url(1), NO, 3.0))
    front.lease(url(1))
    front.hear(ended(url(1), NO, 4.0))
    totals = front.totals()
    assert (totals.discovered, totals.judged, totals.failed) == (1, 1, 0)
    assert (front.page(url(1)).verdict, front.host(host(url(1))).judged) == (YES, 1)


def test_other_partitions_hear_of_a_judged_sibling_once_before_or_after_the_links(frontier: Frontiers) -> None:
    front = frontier(streams={"partitions": 3})
    judged = ended(url(3), NO, 1.0)
    messages = front.hear(linked(url(1), [url(3)], partitions=(0, 2)), judged, judged, at=0)
    near = Neighbour(identifier(url(3)), NO | CAME, parent=identifier(url(1)))
    assert emitted(messages, SIGHTINGS) == [(2, near)]
    front.hear(near, linked(url(1), [url(4)]), at=2)
    assert front.children(url(1), at=2) == {identifier(url(3)): (NO | CAME, 0)}
    assert front.parent(url(1), at=2).linked


def test_candidates_linked_near_a_judged_page_of_any_partition_are_scored_again(frontier: Frontiers) -> None:
    front = frontier()
    targets = [url(n) for n in range(10, 30)]
    front.hear(linked(url(1), targets))
    front.hear(Neighbour(identifier(url(99)), YES, parent=identifier(url(1)), position=10))
    assert front.touched == {page_key(target) for target in targets[6:15]}
    front.hear(ended(targets[10], YES, 1.0))
    assert front.touched == {page_key(target) for target in (*targets[6:10], *targets[11:15])}


# fetches that brought no page


def test_a_failed_fetch_is_tried_again_later_and_later_and_one_put_off_is_none(frontier: Frontiers) -> None:
    front = leased(frontier(attempts=3, retry_seconds=10.0), 1)
    ends: list[tuple[Fetched, str, float]] = [
        (ended(url(1), Missing("retry", "timeout"), 100.0), "candidate", 110.0),
        (ended(url(1), Early(9.0), 200.0, 2), "candidate", 209.0),
        (ended(url(1), Missing("retry", "timeout"), 300.0, 3), "candidate", 320.0),
        (ended(url(1), Missing("retry", "timeout"), 400.0, 4), "given up", 320.0),
    ]
    for end, state, not_before in ends:
        front.lease(url(1), end.order)
        front.hear(end)
        assert (front.state(url(1)), front.page(url(1)).not_before) == (state, not_before)
    assert (front.page(url(1)).reason, front.page(url(1)).postponed) == ("timeout", 1)
    assert (front.totals().given_up, front.totals().failed) == (1, 1)


def test_that_no_page_came_is_known_beside_its_links_until_one_does(frontier: Frontiers) -> None:
    front = frontier(policy="learned")
    front.hear(linked(url(1), [url(2)]))
    front.lease(url(2))
    front.hear(ended(url(2), Missing("gone", "status 404"), 2.0, elapsed=0.1), linked(url(3), [url(2)], NO))
    assert front.children(url(1)) == front.children(url(3)) == {identifier(url(2)): (GONE, 0)}
    front.hear(ended(url(2), YES, 3.0))
    assert front.children(url(1)) == front.children(url(3)) == {identifier(url(2)): (YES | CAME, 0)}


@each_case(
    ("ends", "base", "hosts"),
    [
        # What was not asked for is no request, and an attempt worth another counts under the base alone.
        ([("refused", "robots.txt", {}), ("retry", "status 503", {"elapsed": 0.1})], (1, 1), 0),
        ([("gone", "status 404", {"elapsed": 0.1, "silent": True})], (1, 1), 0),
        ([("refused", "near-duplicate", {"elapsed": 0.1, "barren": True})], (1, 1), 1),
    ],
)
def test_which_ends_of_fetches_teach_that_requests_fail(
    frontier: Frontiers, ends: list[tuple[Kind, str, dict[str, Any]]], base: tuple[int, int], hosts: int
) -> None:
    front = leased(frontier(policy="learned"), *range(len(ends)))
    failed = [ended(url(n), Missing(kind, why), 2.0, **said) for n, (kind, why, said) in enumerate(ends)]
    front.hear(*failed)
    counts = front.counts()
    assert counts.get(BASE, FAILED) == base
    assert sum(feature.startswith("x:") for feature, *_ in counts.items()) == hosts
    assert front.totals().requests == 1


# redirects


def test_a_redirect_is_a_failed_request_and_hands_on_what_was_known(frontier: Frontiers) -> None:
    front = frontier(policy="learned")
    front.hear(seeded(url(1)), linked(url(9), [url(2)], depth=2))
    for number in (1, 2):
        inputs, priorities = {"p": (float(number),)}, {"p": 4.0 * number}
        front.lease(url(number), inputs=inputs, priorities=priorities)
    messages = front.hear(*(ended(url(n), Moved(url(10 + n)), 1.0, elapsed=0.1) for n in (1, 2)))
    assert front.counts().get(BASE, FAILED) == (2, 2)
    assert front.counts().get("x:h2.org", FAILED) == (1, 1)
    assert [front.state(url(n)) for n in (1, 2)] == ["moved", "moved"]
    front.deliver(messages)
    front.hear(Found(url(12), 5, {"p": 3.0, "q": 1.0}))
    heirs = [front.page(url(number)) for number in (11, 12)]
    assert [(heir.seed, heir.depth) for heir in heirs] == [(True, 0), (False, 3)]
    assert [heir.inherited for heir in heirs] == [{"p": 4.0}, {"p": 8.0, "q": 1.0}]
    assert [heir.inputs for heir in heirs] == [{"p": (1.0,)}, {"p": (2.0,)}]
    front.lease(url(12))
    front.hear(Found(url(12), 0, {"p": 9.0}, False, {"p": (9.0,)}))
    assert front.page(url(12)).inherited["p"] == 9.0
    assert front.page(url(12)).inputs == {"p": (2.0,)}, "in flight it keeps the inputs it was chosen by"


def test_redirects_in_a_row_are_followed_up_to_the_setting_by_the_shortest_way(frontier: Frontiers) -> None:
    front = frontier()
    front.hear(seeded(url(0)))
    for hop in range(6):
        front.lease(url(hop))
        front.deliver(front.hear(ended(url(hop), Moved(url(hop + 1)), 1.0)))
    assert [front.state(url(hop)) for hop in range(6)] == ["moved"] * 5 + ["gone"]
    assert not front.known(url(6))
    heirs = [Found(url(7), 1, {}, hops=hops) for hops in (5, 1, 4)]
    front.hear(*heirs, Found(url(8), 1, {}, hops=5))
    assert (front.page(url(7)).hops, front.page(url(8)).hops) == (1, 5)


# rows of linking pages are packed: beside plain dictionaries of what they say

#: Of few bytes, so that one is often found across the border of two others.
PAGES = st.integers(0, 2**IDENTIFIER_BYTES - 1).map(
    lambda bits: bytes(bits >> place & 1 for place in range(IDENTIFIER_BYTES))
)
WORDS = st.lists(st.sampled_from(["ski", "alpen", "é"]), max_size=3)


@given(st.lists(PAGES), PAGES)
def test_an_identifier_is_found_where_it_lies(pages: list[bytes], page: bytes) -> None:
    packed = b"".join(pages)
    assert identifiers_in(packed) == pages
    for asked in (page, *pages):
        assert place_in(packed, asked) == (pages.index(asked) if asked in pages else None)


@given(st.lists(st.tuples(PAGES, st.integers(0, 3000), st.tuples(WORDS, WORDS, WORDS))), PAGES)
def test_the_newest_link_to_each_target_is_kept(links: list[tuple[bytes, int, Any]], other: bytes) -> None:
    row, plain = ParentRow(), {}
    for target, position, words in links:
        row.add([target], [position], ["\t".join(map(" ".join, words))])
        plain[target] = position, LinkWords(*words)
    assert identifiers_in(row.targets) == [*plain]
    assert {each: (row.positions[row.place(each)], *links_to([row], each)) for each in plain} == plain
    if other not in plain:
        with pytest.raises(KeyError):
            row.place(other)


@given(st.lists(st.tuples(PAGES, st.dictionaries(st.sampled_from("pq"), st.booleans()), st.integers(0, 3000))))
def test_the_last_verdict_on_a_target_stands(told: list[tuple[bytes, Verdict, int]]) -> None:
    row, noted = ChildrenRow(), 0
    plain: dict[bytes, Verdict] = {}
    for target, verdict, position in told:
        new = plain.get(target) != verdict
        plain[target] = verdict
        assert row.note(target, verdict, position) is new
        noted += new
        assert (row.judged, row.noted) == (plain, noted)
    assert len(row.verdicts) <= 3**2 * 2


def test_what_is_no_identifier_is_refused() -> None:
    with pytest.raises(ValueError, match="an identifier of 3 bytes, expected 12"):
        ChildrenRow().note(b"abc", {}, 0)


def test_totals_of_partitions_add_up() -> None:
    numbers = [each.name for each in fields(TotalsRow) if each.type is int]

    def each_is(number: int, **verdicts: int) -> TotalsRow:
        return replace(TotalsRow(verdicts=verdicts), **dict.fromkeys(numbers, number))

    total = each_is(1, p=1)
    total.add(each_is(2, p=2, q=3))
    assert total == each_is(3, p=3, q=3)
