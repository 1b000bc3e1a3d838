"""What the frontier learns of hosts and servers from how fetches end, and what it then orders.

Hosts' rows count requests, and why they brought no page, within a bound.
"""

from collections import Counter
from random import Random
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.facts import Early, Fetched, Found, Kind, Missing, Moved, Page, Same
from scentline.models.frontier.answers import MOST_CAUSES, REST, cause_of
from scentline.models.frontier.flights import SLOW_SECONDS
from scentline.models.published import Limit
from scentline.models.records import RobotsTxt, Version
from scentline.models.url import host, identifier
from tests.agents.scenarios import ELSEWHERE, NOW, YES, Frontiers, Result, Scenario, ended, seeded
from tests.cases import each_case

SERVER, HOST, URL = "192.0.2.1", "a.test", "http://a.org/"
#: Bytes that a host's row takes at most, its server's address apart.
MOST_BYTES = 1_000
#: Reasons as they come, and what a stranger may have written.
REASONS = st.sampled_from(
    ["timeout", "dns", "robots.txt", "robots.txt status 503", "X-Robots-Tag noindex", "body over 9 bytes",
     "near-duplicate of http://a.test/?user=jane&password=secret", "content type text/css", "", "\u202egod"]
) | st.integers(400, 599).map(lambda status: f"status {status}") | st.text(max_size=200)  # fmt: skip


def url(number: int) -> str:
    return f"http://{HOST}/{number}"


def failed(number: int, reason: str, **said: Any) -> Fetched:
    return ended(url(number), Missing("gone", reason), 100.0 + number, **said)


@st.composite
def ends(draw: st.DrawFn) -> list[Fetched]:
    """Draw how the fetches of some pages end, each once and some of them again."""
    found: list[Fetched] = []
    for number in range(draw(st.integers(0, 40))):
        where, time, elapsed = url(number), 100.0 + number, draw(st.sampled_from([0.0, 0.125, 3.0, 90.0]))
        silence, why = draw(st.booleans()), Missing("gone", draw(REASONS))
        missing = ended(where, why, time, elapsed=elapsed, unanswered=silence)
        moved = ended(where, Moved(url(number + 1000)), time, elapsed=elapsed)
        page = ended(where, YES, time, elapsed=elapsed)
        found.append(draw(st.sampled_from([page, missing, moved, ended(where, Early(5.0), time)])))
        if found[-1] is page:
            found += [page] * draw(st.integers(0, 1))  # of an order that was taken back
            why = Missing(draw(st.sampled_from(get_args(Kind))), draw(REASONS))
            moves = Moved(ELSEWHERE), Moved(ELSEWHERE, permanent=False)
            results: list[Result] = [why, Same(), Early(5.0), *moves]
            for result in draw(st.sampled_from([[], *([each] for each in results)])):
                found.append(ended(where, result, time + 50, 1, "again", elapsed=elapsed))
    return found


def ordered(frontier: Frontiers, found: list[Fetched]) -> Scenario:
    front = frontier(frontier={"revisit": 0.5})
    wanted = dict.fromkeys(one.url for one in found)
    front.hear(*map(seeded, wanted))
    for where in wanted:
        front.lease(where)
    return front


@given(ends(), st.randoms(use_true_random=False))
def test_causes_are_few_and_no_count_is_lost(frontier: Frontiers, found: list[Fetched], random: Random) -> None:
    front, begun = ordered(frontier, found), 1
    offset = front.shards[0].mark.offset
    while (done := front.shards[0].mark.offset - offset) < len(found):
        front.absorb(found[done])
        what = random.choice(["go on", "write", "crash"])
        if what == "write":
            front.commit()
        elif what == "crash" and begun < 4:  # starting takes long
            front, begun = front.restart(), begun + 1
    row = front.host(HOST)
    without = [(one, one.result.reason) for one in found if isinstance(one.result, Missing)]
    expected = Counter(cause_of(reason) for _, reason in without)
    counted = {cause: known.count for cause, known in row.causes.items()}
    assert sum(counted.values()) == len(without)
    assert len(counted) <= MOST_CAUSES
    assert all(count == expected[cause] for cause, count in counted.items() if cause != REST)
    newest = sorted(without, key=lambda each: each[0].time)
    last = {cause_of(reason): (one.time, identifier(one.url)) for one, reason in newest}
    assert all((known.time, known.page) == last[cause] for cause, known in row.causes.items() if cause != REST)
    assert all(front.shards[0].get(b"p" + known.page) is not None for known in row.causes.values())
    assert len(msgspec.msgpack.encode(row)) <= MOST_BYTES
    assert row.requests == sum(front.page(where).requests for where in {one.url for one in found})
    pages = [one.url for one in found if isinstance(one.result, Page)]
    asked = [one for one in found if one.host.elapsed or isinstance(one.result, Page | Moved | Same)]
    asked = [one for one in asked if not isinstance(one.result, Early)]
    moved = sum(isinstance(one.result, Moved) for one in found)
    visits = sum(one.visit == "again" for one in asked) + len(pages) - len({*pages})
    assert (row.judged, row.moved, row.again) == (len({*pages}), moved, visits)
    answered = [one.host.elapsed for one in asked if not one.host.unanswered]
    assert sum(row.waits.counts) == len(answered)
    assert row.waits.seconds == pytest.approx(sum(answered))


@given(REASONS)
def test_a_cause_is_short_and_of_our_own_words(reason: str) -> None:
    cause = cause_of(reason)
    assert len(cause) <= 40
    assert cause.isprintable()
    assert not {"jane", "secret", "http:"} & {*cause.split()}


def a_front(frontier: Frontiers, **fetch: Any) -> Scenario:
    section = {"policy": "learned", "budget": 1000, "lease_seconds": 60.0}
    return frontier(frontier=section, fetch={"delay_seconds": 1.0} | fetch)


def many(name: str, count: int = 20) -> list[Found]:
    return [seeded(f"http://{name}/{number}") for number in range(count)]


def in_flight(front: Scenario) -> Scenario:
    front.hear(seeded(URL))
    assert front.ordered() == [URL]
    return front


def ready(front: Scenario, after: float) -> bool:
    return front.agent.core.candidates.clocks.ready("a.org", NOW + after)


def test_a_page_that_was_put_off_keeps_its_place_in_the_budget(frontier: Frontiers) -> None:
    front = a_front(frontier)
    front.agent.core.steer(Limit(name="pages", most=1, time=NOW))
    front.hear(seeded(URL))
    (order,) = front.order()
    front.hear(seeded("http://b.org/"), ended(URL, Early(7.0), front.now, server=SERVER))
    front.agent.expect(order)
    assert not front.flying, "it was put off since"
    assert front.ordered(after=6.0) == [], "the page may be in the log: its order came again"
    assert front.ordered(after=1.0) == [URL]
    front.hear(ended(URL, Early(7.0), front.now, 2, server=SERVER))
    front.hear(ended(URL, YES, front.now))
    assert front.ordered(after=60.0) == []
    assert front.agent.core.budget.spent


def test_hosts_that_do_not_answer_keep_no_other_from_being_asked(frontier: Frontiers) -> None:
    front = a_front(frontier)
    front.hear(*(seeded(f"http://dead{number}.org/") for number in range(40)))
    asked = [front.ordered(after=SLOW_SECONDS) for _ in range(6)]
    assert all(asked)
    assert len({url for urls in asked for url in urls}) == sum(map(len, asked))


def test_no_more_is_in_flight_than_there_are_connections(frontier: Frontiers) -> None:
    front = a_front(frontier, connections=3, delay_seconds=0.0)
    front.hear(*many("a.org"))
    front.exhaust()
    assert len(front.flying) == 3


def test_whoever_takes_over_a_partition_asks_no_host_before_its_time(frontier: Frontiers) -> None:
    busy = Missing("retry", "status 429")
    ends = (
        ended("http://plain.org/0", YES, NOW, elapsed=0.1),
        ended("http://slow.org/0", YES, NOW, crawl_delay=30.0, elapsed=0.1),
        ended("http://busy.org/0", busy, NOW, retry_after=90.0, overloaded=True, elapsed=0.1),
        ended("http://moved.org/0", Moved("http://moved.org/1"), NOW, elapsed=0.5),
    )
    front = a_front(frontier, delay_seconds=5.0, delay_factor=20.0)
    for end in ends:
        front.hear(seeded(end.url))
        assert front.ordered() == [end.url]
        front.hear(end)
    clocks = front.restart().agent.core.candidates.clocks
    due = {host(end.url): clocks.next_ready([host(end.url)], NOW) for end in ends}
    # From when the request began: the delay, the Crawl-delay, twenty times the half second of an answer.
    assert due == {
        "plain.org": NOW + 4.9, "slow.org": NOW + 29.9, "busy.org": NOW + 90, "moved.org": NOW + 9.5,
    }  # fmt: skip
    assert [clocks.apart(host(end.url)) for end in ends] == [5.0, 30.0, 5.0, 10.0]


def test_a_host_that_did_not_answer_is_left_alone_by_who_tried_alone(frontier: Frontiers) -> None:
    front = a_front(frontier)
    for number, reason in enumerate(("connection", "timeout", "robots.txt dns")):
        front.hear(seeded(f"{URL}{number}"))
        assert front.ordered(after=5.0) == [f"{URL}{number}"]
        end = ended(f"{URL}{number}", Missing("retry", reason), front.now, elapsed=0.1, unanswered=True)
        front.hear(end)
    assert front.agent.core.candidates.clocks.next_ready(["a.org"], front.now) == front.now + 60.0
    assert ready(front.restart(), 15.0)


def robots(front: Scenario) -> dict[str, RobotsTxt | float]:
    """Return what the orders that are given say of robots.txt, by URL, until none is given."""
    before = len(front.orders)
    front.exhaust()
    return {order.url: order.robots for order in front.orders[before:]}


def test_who_takes_over_a_partition_hands_robots_txt_to_who_asks_for_it(frontier: Frontiers) -> None:
    known = RobotsTxt("http://a.org/robots.txt", NOW + 100, b"text", NOW, Version('"1"'))
    front = a_front(frontier, delay_seconds=0.0)
    front.hear(*many("a.org", 3), seeded("https://a.org/"))
    front.hear(known)
    heir = front.restart()
    pages = [f"http://a.org/{number}" for number in range(3)]
    assert robots(heir) == dict.fromkeys(pages, known.until) | {"https://a.org/": 0.0}
    for asking in pages[:2]:
        heir.hear(ended(asking, Early(0.0), heir.now, robots=True))
    handed = robots(heir)
    assert handed.keys() == set(pages[:2])
    assert sorted(handed.values(), key=str) == [known.until, known], "once is enough"
    # A clock that was wrong said this.
    heir.hear(msgspec.structs.replace(known, until=NOW + 10 * 86_400))
    heir.hear(ended(pages[2], Early(0.0), heir.now, robots=True))
    assert robots(heir) == {pages[2]: 0.0}


def test_a_crawl_delay_that_robots_txt_no_longer_asks_for_is_forgotten(frontier: Frontiers) -> None:
    front = a_front(frontier)
    for number, asked in enumerate((30.0, None)):
        front.hear(ended(f"{URL}{number}", YES, NOW, crawl_delay=asked, elapsed=0.01))
        assert front.agent.core.candidates.clocks.apart("a.org") == (asked or 1.0)


@each_case(("barren", "told"), [(False, True), (True, False)])
def test_a_refused_seed_is_told_of_unless_barren(frontier: Frontiers, barren: bool, told: bool) -> None:
    front = frontier()
    front.hear(seeded("http://a.org/"))
    (order,) = front.order()
    front.hear(
        ended(order.url, Missing("refused", "as it is", barren=barren), front.now, order.order, elapsed=0.1)
    )
    assert (order.url in front.agent.core.refused_seeds) == told
