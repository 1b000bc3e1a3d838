"""What each sighting changes in the rows of pages and links, and what it gives rise to."""

from typing import Any

from scentline.agents.frontier.keys import page_key
from scentline.models.interest.features import BASE
from scentline.models.url import host, identifier
from scentline.models.verdict import FAILED
from scentline.streams.facts import (
    Failed,
    Inherited,
    Judged,
    Listed,
    Near,
    Postponed,
    Redirected,
    Seeded,
    Visited,
)
from scentline.streams.topics import SIGHTINGS
from tests.agents.scenarios import (
    CAME,
    GONE,
    NO,
    YES,
    Frontiers,
    Scenario,
    counted,
    linked,
    links_of,
    sent,
)
from tests.agents.shards import emitted
from tests.cases import each_case


def url(number: int) -> str:
    return f"http://h{number % 4}.org/{number}"


def leased(front: Scenario, *numbers: int) -> Scenario:
    front.hear(*(Seeded(url(number)) for number in numbers))
    for number in numbers:
        front.lease(url(number))
    return front


# discovery


def test_urls_are_discovered_once_and_numbered_and_a_sitemap_names_no_seed(frontier: Frontiers) -> None:
    front = frontier()
    front.hear(Seeded(url(1)), Listed(url(3)), Seeded(url(2)), Seeded(url(1)), Visited(url(2), "u", 1.0))
    front.hear(Listed(url(3)), Listed(url(2)))
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
        ([Visited(url(1), "u", 1.0), Seeded(url(1)), linked(url(9), [url(1)], depth=5)], 0),
    ],
)
def test_the_shortest_way_to_a_page_is_its_depth(frontier: Frontiers, facts: list[Any], depth: int) -> None:
    front = frontier()
    front.hear(*facts)
    assert front.page(url(1)).depth == depth


def test_visits_are_all_counted_and_visitors_kept_within_a_bound_that_forgets_none_first(
    frontier: Frontiers,
) -> None:
    front = frontier(visitors=3)
    users = ["u5", "u1", "u4", "u1", "u2", "u3"]
    front.hear(*(Visited(url(1), user, float(time)) for time, user in enumerate(users)))
    assert (front.page(url(1)).visits, front.page(url(1)).visitors) == (6, ["u1", "u2", "u3"])


# links


def test_linked_pages_are_candidates_with_their_in_links_by_verdict(frontier: Frontiers) -> None:
    front = frontier()
    front.hear(linked(url(1), [url(3)], {"p": True, "q": False}), linked(url(2), [url(3)], NO))
    row = front.page(url(3))
    assert (row.state, row.links) == ("candidate", {"p": [2, 1], "q": [1, 0]})
    assert sorted(row.parents) == sorted([identifier(url(1)), identifier(url(2))])
    assert front.touched == {page_key(url(3))}


def test_a_page_says_nothing_of_itself_and_its_links_count_once(frontier: Frontiers) -> None:
    front = frontier()
    first = front.hear(linked(url(1), [url(1), url(2)], YES, ["w"]), Judged(url(2), YES, 1.0))
    assert not front.known(url(1))
    assert links_of(front.parent(url(1))) == {identifier(url(2)): (1, "anchor to1\t\t")}
    assert counted(first).get("w:w", "p") == (1, 1)
    assert not front.hear(linked(url(1), [url(2), url(3)], NO, ["v"]))
    assert front.page(url(2)).links == {"p": [1, 1]}
    assert not front.known(url(3))


def test_the_in_links_kept_are_bounded_and_those_counted_are_not(frontier: Frontiers) -> None:
    front = frontier(parents=2)
    front.hear(*(linked(url(n), [url(99)]) for n in range(10)))
    assert (len(front.page(url(99)).parents), front.page(url(99)).links) == (2, {"p": [10, 10]})


def test_a_policy_that_goes_by_no_links_keeps_neither_their_words_nor_their_siblings(
    frontier: Frontiers,
) -> None:
    front = frontier(policy="breadth-first")
    fact = linked(url(1), [url(2), url(3)], YES, words=("snow",), partitions=(0, 1))
    assert not sent(front.hear(fact, Judged(url(3), NO, 1.0), linked(url(2), [url(3)], NO)))
    assert not front.children(url(1))
    links = {identifier(url(number)): (place, "") for place, number in enumerate((2, 3))}
    assert (front.parent(url(1)).words, links_of(front.parent(url(1)))) == (frozenset(), links)
    assert front.page(url(3)).links == {"p": [2, 1]}


# verdicts


def test_a_page_judged_twice_counts_once_whether_or_not_it_was_ordered_in_between(frontier: Frontiers) -> None:
    front = frontier()
    messages = front.hear(Seeded(url(1)), Judged(url(1), YES, 1.0), Judged(url(1), NO, 2.0))
    front.lease(url(1))
    messages += front.hear(Judged(url(1), NO, 3.0))
    assert counted(messages).get("", "p") == (1, 1)
    assert front.page(url(1)).verdict == YES
    assert (front.totals().judged, front.host(host(url(1))).judged) == (1, 1)


def test_a_page_judged_after_it_was_given_up_leaves_the_totals_adding_up(frontier: Frontiers) -> None:
    front = leased(frontier(attempts=1), 1)
    front.hear(Failed(url(1), 1, "retry", "timeout", 1.0))
    front.hear(Judged(url(1), YES, 2.0))
    totals = front.totals()
    assert (totals.discovered, totals.judged, totals.failed) == (1, 1, 0)


def test_a_judged_page_is_registered_with_each_page_that_links_to_it(frontier: Frontiers) -> None:
    front = frontier()
    front.hear(linked(url(1), [url(3)]), Judged(url(3), NO, 1.0))
    front.hear(linked(url(2), [url(3)]))
    assert front.children(url(1)) == front.children(url(2)) == {identifier(url(3)): (NO | CAME, 0)}


def test_other_partitions_hear_of_a_judged_sibling_once_before_or_after_the_links(frontier: Frontiers) -> None:
    front = frontier(streams={"partitions": 3})
    judged = Judged(url(3), NO, 1.0)
    messages = front.hear(linked(url(1), [url(3)], partitions=(0, 2)), judged, judged, at=0)
    near = Near(identifier(url(1)), identifier(url(3)), NO | CAME, 0)
    assert emitted(messages, SIGHTINGS) == [(2, near)]
    front.hear(near, near, linked(url(1), [url(4)]), at=2)
    assert front.children(url(1), at=2) == {identifier(url(3)): (NO | CAME, 0)}
    assert front.parent(url(1), at=2).linked


def test_candidates_linked_near_a_judged_page_of_any_partition_are_scored_again(frontier: Frontiers) -> None:
    front = frontier()
    targets = [url(n) for n in range(10, 30)]
    front.hear(linked(url(1), targets))
    front.hear(Near(identifier(url(1)), identifier(url(99)), YES, 10))
    assert front.touched == {page_key(target) for target in targets[6:15]}
    front.hear(Judged(targets[10], YES, 1.0))
    assert front.touched == {page_key(target) for target in (*targets[6:10], *targets[11:15])}


# fetches that brought no page


def test_a_failed_fetch_is_tried_again_later_and_later_and_then_given_up(frontier: Frontiers) -> None:
    front = leased(frontier(attempts=3, retry_seconds=10.0), 1)
    waits = []
    for attempt in (1, 2, 3):
        front.lease(url(1), attempt)
        front.hear(Failed(url(1), attempt, "retry", "timeout", 1000.0))
        waits.append((front.state(url(1)), front.page(url(1)).not_before))
    assert waits[:2] == [("candidate", 1010.0), ("candidate", 1020.0)]
    assert (waits[2][0], front.page(url(1)).reason) == ("given up", "timeout")
    assert (front.totals().given_up, front.totals().failed) == (1, 1)


def test_a_host_may_ask_for_a_longer_wait(frontier: Frontiers) -> None:
    front = leased(frontier(retry_seconds=10.0), 1)
    front.hear(Failed(url(1), 1, "retry", "busy", 1000.0, retry_after=500.0, overloaded=True))
    assert front.page(url(1)).not_before == 1500.0


@each_case("kind", ["gone", "refused"])
def test_what_is_gone_or_refused_is_not_fetched_again(frontier: Frontiers, kind: str) -> None:
    front = leased(frontier(), 1)
    front.hear(Failed(url(1), 1, kind, "why", 1.0))
    assert (front.state(url(1)), getattr(front.totals(), kind)) == (kind, 1)


def test_an_answer_to_an_order_that_was_taken_back_changes_nothing(frontier: Frontiers) -> None:
    front = leased(frontier(), 1)
    front.lease(url(1), attempt=2)
    moved, early = Redirected(url(1), 1, url(2), 1.0), Postponed(url(1), 1, 1.0, 9.0)
    assert not front.absorb(Failed(url(1), 1, "gone", "late", 1.0), moved, early)
    assert front.state(url(1)) == "leased"
    assert not front.agent.book.ended, "the second attempt is still waited for"


def test_a_postponed_order_is_a_candidate_again_and_no_attempt(frontier: Frontiers) -> None:
    front = leased(frontier(attempts=2, retry_seconds=10.0), 1)
    front.hear(Postponed(url(1), 1, 50.0, 9.0))
    row = front.page(url(1))
    assert (row.state, row.not_before, row.postponed) == ("candidate", 59.0, 1)
    for attempt, state in ((2, "candidate"), (3, "given up")):
        front.lease(url(1), attempt)
        front.hear(Failed(url(1), attempt, "retry", "timeout", 100.0))
        assert front.state(url(1)) == state
    assert front.page(url(1)).not_before == 110.0


def test_a_request_that_failed_counts_under_its_url_and_links_until_a_page_comes(frontier: Frontiers) -> None:
    front = frontier(policy="learned")
    front.hear(linked(url(1), [url(2)]))
    front.lease(url(2))
    gone = counted(front.hear(Failed(url(2), 1, "gone", "status 404", 2.0, elapsed=0.1)))
    under = {BASE, "k:2", "x:h2.org", "a:anchor", "a:to0", "l:p:1"}
    assert {(feature, name, *cell) for feature, name, *cell in gone.items()} == {
        (feature, FAILED, 1, 1) for feature in under
    }
    assert front.children(url(1)) == {identifier(url(2)): (GONE, 0)}
    late = counted(front.hear(linked(url(3), [url(2)], NO)))
    assert late.get("l:p:0", FAILED) == (1, 1)

    came = counted(front.hear(Judged(url(2), YES, 3.0)))
    gone.merge(late)
    gone.merge(came)
    assert gone.get(BASE, FAILED) == (2, 1)  # the request that failed was one
    for feature in (under - {BASE}) | {"l:p:0"}:
        assert (gone.get(feature, FAILED), gone.get(feature, "p")) == ((1, 0), (1, 1))
    assert front.children(url(1)) == front.children(url(3)) == {identifier(url(2)): (YES | CAME, 0)}
    assert (front.page(url(2)).requests, front.totals().requests) == (2, 2)


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
    frontier: Frontiers, ends: list[tuple[str, str, dict[str, Any]]], base: tuple[int, int], hosts: int
) -> None:
    front = leased(frontier(policy="learned"), *range(len(ends)))
    failed = [Failed(url(n), 1, kind, why, 2.0, **said) for n, (kind, why, said) in enumerate(ends)]
    counts = counted(front.hear(*failed))
    assert counts.get(BASE, FAILED) == base
    assert sum(feature.startswith("x:") for feature, *_ in counts.items()) == hosts
    assert front.totals().requests == 1


# redirects


def test_a_redirect_is_a_failed_request_and_hands_depth_priorities_seed_and_inputs_on(
    frontier: Frontiers,
) -> None:
    front = frontier(policy="learned")
    front.hear(Seeded(url(1)), linked(url(9), [url(2)], depth=2))
    for number in (1, 2):
        inputs, priorities = {"p": (float(number),)}, {"p": 4.0 * number}
        front.lease(url(number), inputs=inputs, priorities=priorities)
    messages = front.hear(*(Redirected(url(n), 1, url(10 + n), 1.0, elapsed=0.1) for n in (1, 2)))
    assert counted(messages).get(BASE, FAILED) == (2, 2)
    assert counted(messages).get("x:h2.org", FAILED) == (1, 1)
    assert [front.state(url(n)) for n in (1, 2)] == ["moved", "moved"]
    front.deliver(messages)
    front.hear(Inherited(url(12), 5, {"p": 3.0, "q": 1.0}))
    heirs = [front.page(url(number)) for number in (11, 12)]
    assert [(heir.seed, heir.depth) for heir in heirs] == [(True, 0), (False, 3)]
    assert [heir.inherited for heir in heirs] == [{"p": 4.0}, {"p": 8.0, "q": 1.0}]
    assert [heir.inputs for heir in heirs] == [{"p": (1.0,)}, {"p": (2.0,)}]


def test_a_page_in_flight_keeps_the_inputs_it_was_chosen_by(frontier: Frontiers) -> None:
    front = frontier()
    front.hear(linked(url(9), [url(1)]))
    front.lease(url(1), inputs={"p": (1.0,)})
    front.hear(Inherited(url(1), 0, {"p": 9.0}, False, {"p": (9.0,)}))
    assert (front.page(url(1)).inputs, front.page(url(1)).inherited) == ({"p": (1.0,)}, {"p": 9.0})


def test_redirects_in_a_row_are_followed_up_to_the_setting_and_the_shortest_way_counts(
    frontier: Frontiers,
) -> None:
    front = frontier()
    front.hear(Seeded(url(0)))
    for hop in range(6):
        front.lease(url(hop))
        front.deliver(front.hear(Redirected(url(hop), 1, url(hop + 1), 1.0)))
    assert [front.state(url(hop)) for hop in range(6)] == ["moved"] * 5 + ["gone"]
    assert not front.known(url(6))
    heirs = [Inherited(url(7), 1, {}, hops=hops) for hops in (5, 1, 4)]
    front.hear(*heirs, Inherited(url(8), 1, {}, hops=5))
    assert (front.page(url(7)).hops, front.page(url(8)).hops) == (1, 5)
