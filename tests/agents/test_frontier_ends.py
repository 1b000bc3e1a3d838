"""How fetches end, by what each was for and what came of it: what becomes of the page, its host and its order.

A visit is the first to a page, one of a judged page, or one of a hub for its links.
"""

import copy
import math
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec import structs

from scentline.models.facts import Missing, Moved, Page, Same
from scentline.models.frontier.keys import START_KEY, TOTALS_KEY
from scentline.models.frontier.pages import LOST
from scentline.models.frontier.rows import FrontierRow
from scentline.models.records import Revisit, Visit
from tests.agents.forms import hub
from tests.agents.judging import an_order
from tests.agents.scenarios import CAME_OF, DAY, NOW, YES, Frontiers, Scenario, ended, linked, seeded
from tests.cases import each_case

URL, NAME = "http://a.org/", "a.org"
BEFORE = NOW - 1000.0
VISITS: tuple[Visit, ...] = ("first", "again", "links")
#: What each fetch tells of its host.
TOLD: dict[str, Any] = {"elapsed": 2.0, "server": "192.0.2.1", "crawl_delay": 30.0}
RESULTS = {**CAME_OF, "page": Page(YES, content=b"2", changed=True)}


class Came(NamedTuple):
    """What comes of an end: the page's state, seconds until it may be asked for again, and its host's counts.

    These are requests for new pages, visits of known ones, redirects and causes of missing pages; ``failures``
    are the host's in a row, which were two.
    """

    state: str
    wait: float = 0.0
    counts: tuple[int, int, int, int] = (0, 0, 0, 0)
    failures: int = 0


NEW, KNOWN, MOVED, KNOWN_MOVED = (1, 0, 0, 0), (0, 1, 0, 0), (1, 0, 1, 0), (0, 1, 1, 0)
NONE, KNOWN_NONE = (1, 0, 0, 1), (0, 1, 0, 1)
LEFT_ALONE = Came("judged", 20, KNOWN_NONE)
#: By the result: what comes of a first visit, of a judged page's and of a hub's. A failure has a page wait for
#: 10 seconds, a known one for 20. That a page is as it was is no answer to a first visit.
CAME: dict[str, tuple[Came | None, Came, Came]] = {
    "page": (Came("judged", 0, NEW), Came("judged", 0, KNOWN), Came("judged", 0, KNOWN)),
    "unchanged": (None, Came("judged", 0, KNOWN), Came("judged", 0, KNOWN)),
    "early": (
        Came("candidate", 60, failures=2), Came("judged", 60, failures=2), Came("judged", 60, failures=2),
    ),
    "moved": (Came("moved", 0, MOVED), Came("moved", 0, KNOWN_MOVED), Came("judged", 0, KNOWN_MOVED)),
    "for now": (Came("moved", 0, MOVED), Came("judged", 20, KNOWN_MOVED), Came("judged", 20, KNOWN_MOVED)),
    "retry": (
        Came("candidate", 10, NONE, 3), Came("judged", 20, KNOWN_NONE, 3), Came("judged", 20, KNOWN_NONE, 3),
    ),
    "gone": (Came("gone", 0, NONE), Came("judged", 10, KNOWN_NONE), LEFT_ALONE),
    "refused": (Came("refused", 0, NONE), Came("refused", 0, KNOWN_NONE), LEFT_ALONE),
    "unfit": (Came("refused", 0, NONE), Came("judged", 10, KNOWN_NONE), LEFT_ALONE),
    "failed": (Came("refused", 0, NONE), LEFT_ALONE, LEFT_ALONE),
}  # fmt: skip
CASES = [
    (name, visit, came)
    for name, row in CAME.items()
    for visit, came in zip(VISITS, row, strict=True)
    if came is not None
]


def ordered(frontier: Frontiers, visit: Visit) -> Scenario:
    """Return a frontier that waits for the answer to the order of a page, whose host failed twice."""
    section = {"mode": "instant", "revisit": 0.5, "retry_seconds": 10.0, "attempts": 4}
    front = frontier(**section, fetch={"delay_seconds": 1.0})
    front.hear(seeded(URL))
    if visit == "first":
        assert front.ordered() == [URL]
    else:
        front.hear(ended(URL, YES, BEFORE, content=b"1"), *([hub(URL, 0.01, 1e12)] if visit == "links" else []))
        front.lease_visit(URL)
    for _ in range(2):
        front.host_fails(NAME, BEFORE)
    front = front.restart()
    assert (front.order(), front.flying) == ([], {URL})
    return front


def not_before(front: Scenario, visit: Visit) -> float:
    if visit == "first":
        return front.page(URL).not_before
    return front.visit(URL).not_before if visit == "again" else front.hub(URL).not_before


def every_row(front: Scenario) -> dict[bytes, FrontierRow]:
    """Return copies of all rows, without what a worker notes for the next one's start."""
    prefixes = set(map(chr, range(ord("a"), ord("z") + 1))) - {START_KEY.decode()}
    found = dict(row for each in sorted(prefixes) for row in front.shards[0].scan(each.encode()))
    return copy.deepcopy(found | {TOTALS_KEY: structs.replace(front.totals(), leased=[])})


@each_case(("name", "visit", "came"), CASES)
def test_what_comes_of_a_fetch(frontier: Frontiers, name: str, visit: Visit, came: Came) -> None:
    front = ordered(frontier, visit)
    before = copy.deepcopy(front.host(NAME))
    front.hear(ended(URL, RESULTS[name], NOW, 1, visit, **TOLD))
    after = front.host(NAME)
    causes = sum(cause.count for cause in after.causes.values())
    counts = after.requests - before.requests, after.again - before.again, after.moved - before.moved, causes
    waits = not_before(front, visit)
    assert Came(front.state(URL), waits and waits - NOW, counts, after.state.failures) == came
    assert (sum(after.waits.counts) - sum(before.waits.counts)) == sum(counts[:2])
    clocks = front.agent.core.candidates.clocks
    assert (clocks.apart(NAME), after.state.delay, after.state.server) == (30.0, 30.0, TOLD["server"])
    assert front.flying == set(), "it is waited for no more"
    put_off = (name, visit) == ("early", "first")
    assert front.agent.core.candidates.flights.pages == put_off, "who was put off keeps its place in the budget"


@each_case(("name", "visit"), [case[:2] for case in CASES])
def test_an_end_is_absorbed_once_whoever_is_killed(frontier: Frontiers, name: str, visit: Visit) -> None:
    end = ended(URL, RESULTS[name], NOW, 1, visit, **TOLD)
    once = ordered(frontier, visit)
    once.hear(end)
    expected = every_row(once)
    front = ordered(frontier, visit)
    before = every_row(front)
    front.absorb(end)
    heir = front.restart()
    assert (every_row(heir), heir.order(), heir.flying) == (before, [], {URL}), "nothing was written"
    heir.hear(end)
    last = heir.restart()
    assert every_row(heir) == every_row(last) == expected != before
    assert (last.order(), last.flying) == ([], set())


def test_a_host_that_was_not_asked_is_forgiven_nothing_and_has_one_more_cause(frontier: Frontiers) -> None:
    front = ordered(frontier, "first")
    front.hear(ended(URL, Missing("refused", "robots.txt"), crawl_delay=30.0))
    row = front.host(NAME)
    assert (row.requests, row.state.failures, row.state.asked) == (0, 2, -math.inf)
    assert ([*row.causes], front.agent.core.candidates.clocks.apart(NAME)) == (["robots.txt forbids"], 30.0)


@each_case("visit", VISITS)
def test_a_host_may_ask_for_a_longer_wait_of_a_day_at_most(frontier: Frontiers, visit: Visit) -> None:
    front = ordered(frontier, visit)
    front.hear(ended(URL, CAME_OF["retry"], NOW, 1, visit, retry_after=500.0, overloaded=True, elapsed=0.1))
    assert not_before(front, visit) == front.agent.core.candidates.clocks.next_ready([NAME], NOW) == NOW + 500.0
    waits = []
    for _ in range(20 if visit != "first" else 0):
        front.hear(ended(URL, CAME_OF["retry"], NOW + 1, front.lease_visit(URL), visit))
        waits.append(not_before(front, visit) - NOW - 1)
    assert (waits[:2], waits[-1:]) == (([40.0, 80.0], [DAY]) if waits else ([], []))
    if waits:
        front.hear(ended(URL, Same(), NOW + 2, front.lease_visit(URL), visit))
        assert not_before(front, visit) == 0.0


@each_case("visit", VISITS)
def test_an_unanswered_order_is_taken_back_a_late_answer_passed_over(frontier: Frontiers, visit: Visit) -> None:
    front = ordered(frontier, visit)
    lease = front.page(URL).lease if visit == "first" else NOW + 100.0
    front.now = lease - 1.0
    assert (front.order(), front.flying) == ([], {URL})
    front.now = lease
    front.order()
    if visit == "first":
        causes = {cause: known.count for cause, known in front.host(NAME).causes.items()}
        assert (causes, front.host(NAME).requests) == ({LOST: 1}, 0)
        assert front.flying == {URL}, "it was ordered again"
    else:
        assert (front.flying, not_before(front, visit)) == (set(), lease + 20.0)
        front.lease_visit(URL)
    rows = every_row(front)
    late = [ended(URL, CAME_OF["gone"], NOW, 1, visit)] if visit != "again" else []
    front.hear(*late, ended(URL, Same(), NOW, 2), ended(URL, CAME_OF["retry"], NOW, 3))
    assert every_row(front) == rows


@each_case("visit", VISITS)
def test_an_order_that_a_crash_kept_out_of_its_row_is_waited_for(frontier: Frontiers, visit: Visit) -> None:
    front = ordered(frontier, visit)
    front.hear(ended(URL, CAME_OF["early"], NOW, 1, visit))
    front.now += 60.0
    revisits = {"first": None, "again": Revisit(again=True), "links": Revisit()}
    for number, lease in ((1, NOW + 100.0), (2, NOW)):
        front.agent.expect(an_order(URL, order=number, lease=lease, revisit=revisits[visit]))
    assert front.flying == set(), "it was answered, or its lease is over"
    front.agent.expect(an_order(URL, order=2, lease=NOW + 100.0, revisit=revisits[visit]))
    assert (front.flying, front.order()) == ({URL}, [])
    front.hear(ended(URL, RESULTS["page"], front.now, 2, visit, **TOLD))
    assert (front.flying, front.state(URL)) == (set(), "judged")


def test_an_order_tells_which_page_links_to_its_url_and_which_url_first_redirects_to_it(
    frontier: Frontiers,
) -> None:
    front = frontier(fetch={"delay_seconds": 0.0}, lease_seconds=1e6)
    front.hear(seeded(URL))
    chain = [f"{URL}{number}" for number in range(3)]
    (seed,) = front.order()
    front.hear(ended(URL, YES), linked(URL, chain[:1]))
    (link,) = front.order()
    told = [(seed.referrer, seed.source), (link.referrer, link.source)]
    for before, after in pairwise(chain):
        front.deliver(front.hear(ended(before, Moved(after))))
        (order,) = front.order()
        told.append((order.referrer, order.source))
    assert told == [("", ""), (URL, ""), ("", chain[0]), ("", chain[0])]
