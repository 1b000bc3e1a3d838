"""What hosts' rows count of the ends of fetches: requests, and why they brought no page, within a bound."""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.hosts import NO_PAGE, Ended, host_of, state_of
from scentline.agents.frontier.keys import host_key
from scentline.agents.frontier.rows import FrontierShard, HostRow
from scentline.models.frontier.causes import MOST_CAUSES, REST, Cause, cause_of
from scentline.models.frontier.politeness import HostState
from scentline.models.frontier.waits import Waits
from scentline.models.url import identifier
from scentline.streams.facts import Failed, Judged, Postponed, Redirected, Revisited, Seeded
from scentline.streams.records import Pack
from tests.agents.books import YES, a_book, lease, page
from tests.agents.pipeline import a_shard
from tests.agents.shards import Disk, disk, take_in, write

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


def failed(number: int, reason: str, **told: Any) -> Failed:
    return Failed(url(number), 1, "gone", reason, 100.0 + number, **told)


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


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    with disk(tmp_path_factory.mktemp("hosts")) as found:
        yield found


@pytest.fixture
def shard(opened: Disk) -> FrontierShard:
    opened.clear()
    return a_shard(opened)


def end(shard: FrontierShard, *found: Ended) -> HostRow:
    """Have fetches end that were ordered before; return the row of their host."""
    book = a_book(revisits=True)
    for one in found:
        take_in(shard, book, Seeded(one.url))
        if page(shard, one.url).state == "candidate":
            lease(shard, one.url)
        take_in(shard, book, one)
    return host_of(shard, HOST)


def test_a_host_knows_what_came_of_its_requests(shard: FrontierShard) -> None:
    row = end(
        shard,
        Judged(url(1), YES, 101.0, elapsed=0.25),
        failed(2, "status 404", elapsed=0.5),
        failed(3, "status 404", elapsed=0.75),
        failed(4, "robots.txt"),
        failed(5, "near-duplicate of http://a.test/1?token=x", elapsed=1.5),
        failed(6, "timeout", unanswered=True),
        Redirected(url(7), 1, "http://b.test/", 107.0, elapsed=0.125),
        Postponed(url(8), 1, 108.0, 5.0),
        Revisited(url(1), 1, "unchanged", 110.0, again=True, elapsed=0.25),
        Revisited(url(1), 2, "early", 120.0, again=True, wait=5.0),
        Revisited(url(1), 2, "retry", 130.0, again=True, elapsed=4.0, reason="status 503"),
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


def test_an_answer_to_an_order_that_was_taken_back_counts_nothing(shard: FrontierShard) -> None:
    book = a_book()
    take_in(shard, book, Seeded(url(1)), failed(1, "status 404", elapsed=0.5))
    assert shard.get(host_key(HOST)) is None


def test_a_page_that_was_judged_twice_is_one_request_for_it(shard: FrontierShard) -> None:
    row = end(shard, Judged(url(1), YES, 101.0, elapsed=0.5), Judged(url(1), YES, 102.0, elapsed=0.5))
    assert (row.judged, row.requests, row.again) == (1, 1, 1)


def test_that_nobody_answers_says_nothing_of_how_a_host_wants_to_be_asked(shard: FrontierShard) -> None:
    row = end(shard, failed(1, "dns", unanswered=True, elapsed=0.5))
    assert (row.state, row.waits, row.requests) == (HostState(), Waits(), 1)
    assert state_of(shard, HOST) is None


@given(ends())
def test_causes_are_bounded_and_no_count_is_lost(opened: Disk, found: list[Ended]) -> None:
    opened.clear()
    shard = a_shard(opened)
    row = end(shard, *found)
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
    assert all(shard.get(b"p" + known.page) is not None for known in row.causes.values())
    assert len(msgspec.msgpack.encode(row)) <= MOST_BYTES
    assert row.requests == sum(page(shard, where).requests for where in {one.url for one in found})
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


def replayed(opened: Disk, found: Sequence[Ended], random: Random | None) -> HostRow:
    """Return the host's row when a log of fetches' ends was read, with crashes where ``random`` has them."""
    opened.clear()
    shard, book = a_shard(opened), a_book(revisits=True)
    urls = dict.fromkeys(one.url for one in found)
    take_in(shard, book, *map(Seeded, urls))
    for where in urls:
        lease(shard, where)
    write(shard)
    log = [Pack[Any](facts=[(0, 0, one)]) for one in found]
    while shard.mark.offset < len(log):
        offset = shard.mark.offset + 1
        for fact in shard.accept(offset, log[offset - 1]):
            book.absorb(shard, fact)
        what = random.choice(["go on", "write", "crash"]) if random is not None else "go on"
        if what == "write":
            write(shard)
        elif what == "crash":
            shard, book = a_shard(opened), a_book(revisits=True)
    return host_of(shard, HOST)


@given(ends(), st.randoms(use_true_random=False))
def test_a_host_knows_the_same_whatever_crashes(opened: Disk, found: list[Ended], random: Random) -> None:
    assert replayed(opened, found, random) == replayed(opened, found, None)
