"""What hosts' rows count of the ends of fetches: requests, and why they brought no page, within a bound."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.hosts import NO_PAGE, Ended, state_of
from scentline.agents.frontier.rows import HostRow
from scentline.models.frontier.causes import MOST_CAUSES, REST, Cause, cause_of
from scentline.models.frontier.politeness import HostState
from scentline.models.frontier.waits import Waits
from scentline.models.url import identifier
from scentline.streams.facts import Failed, Judged, Postponed, Redirected, Revisited, Seeded
from tests.agents.scenarios import YES, Frontiers, Scenario

HOST = "a.test"
#: Bytes that a host's row takes at most, its server's address apart.
MOST_BYTES = 1_000
#: Reasons as they come, and what a stranger may have written.
REASONS = st.sampled_from(
    ["timeout", "dns", "robots.txt", "robots.txt status 503", "X-Robots-Tag noindex", "body over 9 bytes",
     "near-duplicate of http://a.test/?user=jane&password=secret", "content type text/css", "", "\u202egod"]
) | st.integers(400, 599).map(lambda status: f"status {status}") | st.text(max_size=200)  # fmt: skip


def url(number: int) -> str:
    return f"http://{HOST}/{number}"


def failed(number: int, reason: str, **said: Any) -> Failed:
    return Failed(url(number), 1, "gone", reason, 100.0 + number, **said)


def revisited(outcome: str, time: float, order: int = 1, **said: Any) -> Revisited:
    return Revisited(url(1), order, outcome, time, again=True, **said)


@st.composite
def ends(draw: st.DrawFn) -> list[Ended]:
    """Draw how the fetches of some pages end, each once and some of them again."""
    found: list[Ended] = []
    for number in range(draw(st.integers(0, 40))):
        where, time, elapsed = url(number), 100.0 + number, draw(st.sampled_from([0.0, 0.125, 3.0, 90.0]))
        unanswered = draw(st.booleans())
        kinds: list[Ended] = [
            Judged(where, YES, time, elapsed=elapsed),
            Redirected(where, 1, url(number + 1000), time, elapsed=elapsed),
            Postponed(where, 1, time, 5.0),
            Failed(where, 1, "gone", draw(REASONS), time, elapsed=elapsed, unanswered=unanswered),
        ]
        found.append(draw(st.sampled_from(kinds)))
        if isinstance(found[-1], Judged) and draw(st.booleans()):
            outcome = draw(st.sampled_from([*sorted(NO_PAGE), "unchanged", "early", "moved"]))
            reason = draw(REASONS)
            found.append(Revisited(where, 1, outcome, time + 50, again=True, elapsed=elapsed, reason=reason))
    return found


def a_front(frontier: Frontiers, found: Sequence[Ended] = ()) -> Scenario:
    """Return a frontier that has ordered the fetches that end."""
    front = frontier(frontier={"revisit": 0.5})
    wanted = dict.fromkeys(one.url for one in found)
    front.hear(*map(Seeded, wanted))
    for where in wanted:
        front.lease(where)
    return front


def end(frontier: Frontiers, *found: Ended) -> HostRow:
    """Have fetches end; return the row of their host."""
    front = a_front(frontier, found)
    for one in found:
        front.hear(one)
    return front.host(HOST)


def test_a_host_knows_what_came_of_its_requests(frontier: Frontiers) -> None:
    row = end(
        frontier,
        Judged(url(1), YES, 101.0, elapsed=0.25),
        failed(2, "status 404", elapsed=0.5),
        failed(3, "status 404", elapsed=0.75),
        failed(4, "robots.txt"),
        failed(5, "near-duplicate of http://a.test/1?token=x", elapsed=1.5),
        failed(6, "timeout", unanswered=True),
        Redirected(url(7), 1, "http://b.test/", 107.0, elapsed=0.125),
        Postponed(url(8), 1, 108.0, 5.0),
        revisited("unchanged", 110.0, elapsed=0.25),
        revisited("early", 120.0, 2, wait=5.0),
        revisited("retry", 130.0, 2, elapsed=4.0, reason="status 503"),
    )
    assert (row.judged, row.requests, row.again, row.moved) == (1, 5, 2, 1)
    assert row.waits == Waits(7.375, [0, 0, 1, 3, 1, 1, 1, 0, 0, 0])
    assert row.causes == {
        "HTTP 404": Cause(2, 103.0, identifier(url(3))),
        "robots.txt forbids": Cause(1, 104.0, identifier(url(4))),
        "near-duplicate": Cause(1, 105.0, identifier(url(5))),
        "timed out": Cause(1, 106.0, identifier(url(6))),
        "HTTP 503": Cause(1, 130.0, identifier(url(1))),
    }


def test_an_answer_to_an_order_that_was_taken_back_counts_nothing(frontier: Frontiers) -> None:
    front = a_front(frontier)
    front.hear(Seeded(url(1)), failed(1, "status 404", elapsed=0.5))
    assert front.host(HOST) == HostRow()


def test_a_page_that_was_judged_twice_is_one_request_for_it(frontier: Frontiers) -> None:
    row = end(frontier, *(Judged(url(1), YES, time, elapsed=0.5) for time in (101.0, 102.0)))
    assert (row.judged, row.requests, row.again) == (1, 1, 1)


def test_that_no_answer_came_says_nothing_of_how_a_host_wants_to_be_asked(frontier: Frontiers) -> None:
    front = a_front(frontier, [failed(1, "dns")])
    front.hear(failed(1, "dns", unanswered=True, elapsed=0.5))
    row = front.host(HOST)
    assert (row.state, row.waits, row.requests) == (HostState(), Waits(), 1)
    assert state_of(front.shards[0], HOST) is None


@given(ends())
def test_causes_are_bounded_and_no_count_is_lost(frontier: Frontiers, found: list[Ended]) -> None:
    front = a_front(frontier, found)
    front.hear(*found)
    row = front.host(HOST)
    without = [
        one
        for one in found
        if isinstance(one, Failed) or (isinstance(one, Revisited) and one.outcome in NO_PAGE)
    ]
    expected = Counter(cause_of(one.reason) for one in without)
    counted = {cause: known.count for cause, known in row.causes.items()}
    assert sum(counted.values()) == len(without)
    assert len(counted) <= MOST_CAUSES
    assert all(count == expected[cause] for cause, count in counted.items() if cause != REST)
    assert all(front.shards[0].get(b"p" + known.page) is not None for known in row.causes.values())
    assert len(msgspec.msgpack.encode(row)) <= MOST_BYTES
    assert row.requests == sum(front.page(where).requests for where in {one.url for one in found})
    assert sum(row.waits.counts) == sum(
        isinstance(one, Judged | Redirected) or (one.elapsed > 0 and not one.unanswered)
        for one in found
        if not isinstance(one, Postponed) and not (isinstance(one, Revisited) and one.outcome == "early")
    )


@given(REASONS)
def test_a_cause_is_short_and_of_our_own_words(reason: str) -> None:
    cause = cause_of(reason)
    assert len(cause) <= 40
    assert cause.isprintable()
    assert not {"jane", "secret", "http:"} & {*cause.split()}


@given(ends(), st.randoms(use_true_random=False))
def test_a_host_knows_the_same_whatever_crashes(
    frontier: Frontiers, found: list[Ended], random: Random
) -> None:
    front, begun = a_front(frontier, found), 1
    offset = front.shards[0].mark.offset
    while (done := front.shards[0].mark.offset - offset) < len(found):
        front.absorb(found[done])
        what = random.choice(["go on", "write", "crash"])
        if what == "write":
            front.commit()
        elif what == "crash" and begun < 4:  # starting takes long
            front, begun = front.restart(), begun + 1
    assert front.host(HOST) == end(frontier, *found)
