"""What the frontier learns of hosts and servers from how fetches end, and what it then orders."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scentline.agents.frontier.agent import FrontierAgent
from scentline.agents.frontier.orders import SLOW_SECONDS
from scentline.agents.frontier.rows import FrontierRow, PageRow
from scentline.models.url import host
from scentline.streams.facts import Failed, Inherited, Judged, Listed, Postponed, Redirected, Seeded
from scentline.streams.published import Limit, PredicateDefinition
from scentline.streams.records import Decoder, FetchOrder, RobotsTxt, Version
from scentline.streams.settings import Settings
from scentline.streams.topics import FETCHES, SIGHTINGS
from tests.agents.books import a_book, fail, lease, page, url
from tests.agents.shards import Disk, a_runtime, disk, emitted, take_in, write

NOW = 1000.0
decode_order = Decoder[FetchOrder](FetchOrder)
SERVER = "192.0.2.1"


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path / "data") as found:
        yield found


class Front:
    """A frontier agent on one shard, on a clock that the test turns."""

    def __init__(self, agent: FrontierAgent, rows: Disk) -> None:
        self.agent = agent
        self.now = NOW
        self.shard = rows.shard(FrontierRow, SIGHTINGS, 0)
        agent.runtime.clock = lambda: self.now
        agent.heard_predicate(PredicateDefinition(name="p", expression='"ski"'))
        agent.inbox.shards[0] = self.shard
        agent.opened(self.shard)

    def sight(self, *facts: Any) -> None:
        for fact in facts:
            self.agent.absorb(self.shard, fact)
        write(self.shard)
        self.agent.committed(self.shard)

    def ordered(self, after: float = 0.0) -> set[str]:
        """Return the hosts of what is ordered now."""
        self.now += after
        before = set(self.agent.candidates.flights)
        self.agent.leases.end(self.now)
        self.agent.candidates.wake(self.now)
        self.agent.selection.choose(self.now)
        return {host(url) for url in set(self.agent.candidates.flights) - before}

    def row(self, url: str) -> PageRow:
        return page(self.shard, url)


def fronts(rows: Disk, tmp_path: Path, **fetch: Any) -> Iterator[Front]:
    values = {"data": tmp_path / "data", "fetch": fetch, "frontier": {"budget": 1000, "lease_seconds": 60.0}}
    with a_runtime(Settings.model_validate(values), NOW) as runtime:
        yield Front(FrontierAgent(runtime), rows)


@pytest.fixture
def front(rows: Disk, tmp_path: Path) -> Iterator[Front]:
    yield from fronts(rows, tmp_path, delay_seconds=1.0)


def many(name: str, count: int = 20) -> list[Seeded]:
    return [Seeded(f"http://{name}/{number}") for number in range(count)]


def flying(front: Front, name: str) -> str:
    """Return the URL of a host that is being fetched."""
    return next(url for url in front.agent.candidates.flights if host(url) == name)


def test_hosts_that_turn_out_to_share_a_server_are_asked_as_one(front: Front) -> None:
    front.sight(*many("a.org"), *many("b.org"))
    for name in ("a.org", "b.org"):
        front.agent.candidates.clocks.serves(SERVER, name)
    (name,) = front.ordered()
    assert front.ordered(after=SLOW_SECONDS) == set(), "there is room, but the server is being asked"
    front.sight(Judged(flying(front, name), {"p": True}, front.now, elapsed=0.1, server=SERVER))
    assert len(front.ordered()) == 1


def test_an_order_that_came_too_early_waits_and_is_no_attempt(front: Front) -> None:
    front.sight(Seeded("http://a.org/"))
    for attempt in range(1, 10):
        assert front.ordered() == {"a.org"}
        front.sight(Postponed("http://a.org/", attempt, front.now, 7.0, server=SERVER))
        assert front.ordered(after=6.0) == set()
        front.now += 1.0
    row = front.row("http://a.org/")
    assert (row.state, row.attempts, row.postponed) == ("candidate", 9, 9)
    assert front.ordered() == {"a.org"}
    front.sight(Failed("http://a.org/", 10, "retry", "timeout", front.now))
    assert front.row("http://a.org/").state == "candidate", "the first attempt"


def test_a_page_that_was_put_off_keeps_its_place_in_the_budget(front: Front) -> None:
    front.agent.steer(Limit(name="pages", most=1, time=NOW))
    front.sight(Seeded("http://a.org/"))
    assert front.ordered() == {"a.org"}
    [order] = [decode_order(value or b"") for topic, _, _, value in write(front.shard) if topic == FETCHES.name]
    front.sight(Seeded("http://b.org/"), Postponed("http://a.org/", 1, front.now, 7.0, server=SERVER))
    front.agent.expect(order)
    assert not front.agent.candidates.flights, "it was put off since"
    assert front.ordered(after=6.0) == set(), "the page may be in the log: its order came again"
    assert front.ordered(after=1.0) == {"a.org"}
    front.sight(Postponed("http://a.org/", 2, front.now, 7.0, server=SERVER))
    front.sight(Judged("http://a.org/", {"p": True}, front.now))
    assert front.ordered(after=60.0) == set()
    assert front.agent.spent


def test_an_order_that_was_postponed_tells_the_server_and_the_crawl_delay(front: Front) -> None:
    clocks = front.agent.candidates.clocks
    front.sight(Seeded("http://a.org/"), Seeded("http://b.org/"))
    clocks.serves(SERVER, "b.org")
    assert front.ordered() == {"a.org"}
    front.sight(Postponed("http://a.org/", 1, NOW, 1.0, crawl_delay=30.0, server=SERVER))
    clocks.started("b.org", NOW + 2)
    assert not clocks.ready("a.org", NOW + 1000)
    clocks.finished("b.org", NOW + 3)
    assert not clocks.ready("a.org", NOW + 31)
    assert clocks.ready("a.org", NOW + 32)


@pytest.mark.parametrize(
    "end",
    [
        Failed("http://a.org/", 1, "gone", "status 404", NOW, crawl_delay=30.0, elapsed=0.1),
        Failed("http://a.org/", 1, "refused", "robots.txt", NOW, crawl_delay=30.0),
        Redirected("http://a.org/", 1, "http://c.org/", NOW, crawl_delay=30.0, elapsed=0.1),
        Judged("http://a.org/", {"p": True}, NOW, crawl_delay=30.0),
    ],
)
def test_a_crawl_delay_is_heard_however_the_fetch_ended(front: Front, end: Any) -> None:
    front.sight(Seeded("http://a.org/"))
    assert front.ordered() == {"a.org"}
    front.sight(end)
    assert not front.agent.candidates.clocks.ready("a.org", NOW + 29)
    assert front.agent.candidates.clocks.ready("a.org", NOW + 30)


@pytest.mark.parametrize(
    ("reason", "kind", "elapsed", "forgiven"),
    [("status 404", "gone", 0.1, True), ("robots.txt", "refused", 0.0, False), ("dns", "retry", 0.0, False)],
)
def test_any_answer_of_a_host_forgives_its_failures(
    front: Front, reason: str, kind: str, elapsed: float, forgiven: bool
) -> None:
    clocks = front.agent.candidates.clocks
    front.sight(Seeded("http://a.org/"))
    assert front.ordered() == {"a.org"}
    for _ in range(2):
        fail(front.agent, front.shard, "a.org", NOW)
    front.sight(Failed("http://a.org/", 1, kind, reason, NOW, elapsed=elapsed))
    fail(front.agent, front.shard, "a.org", NOW + 10)
    assert clocks.ready("a.org", NOW + 20) is forgiven


def test_a_slow_answer_slows_its_host_down(front: Front) -> None:
    front.sight(Seeded("http://a.org/"))
    assert front.ordered() == {"a.org"}
    front.sight(Judged("http://a.org/", {"p": True}, NOW, elapsed=2.0))
    assert not front.agent.candidates.clocks.ready("a.org", NOW + 3)
    assert front.agent.candidates.clocks.ready("a.org", NOW + 4)


def test_hosts_that_do_not_answer_keep_no_other_from_being_asked(front: Front) -> None:
    front.sight(*(Seeded(f"http://dead{number}.org/") for number in range(40)))
    asked = front.ordered()
    for _ in range(5):
        more = front.ordered(after=SLOW_SECONDS)
        assert more
        assert asked.isdisjoint(more)
        asked |= more


def test_no_more_is_in_flight_than_there_are_connections(rows: Disk, tmp_path: Path) -> None:
    for front in fronts(rows, tmp_path, connections=3, delay_seconds=0.0):
        front.sight(*many("a.org"))
        for _ in range(10):
            front.ordered(after=SLOW_SECONDS)
        assert len(front.agent.candidates.flights) == 3


def test_a_shard_that_is_lost_keeps_no_host_busy(front: Front) -> None:
    front.sight(Seeded("http://a.org/"))
    assert front.ordered() == {"a.org"}
    front.agent.candidates.close(front.shard)
    assert front.agent.candidates.clocks.ready("a.org", NOW + 1.0)


class TestBook:
    def test_a_postponed_order_is_a_candidate_again(self, rows: Disk) -> None:
        shard, book = rows.shard(FrontierRow, SIGHTINGS, 0), a_book()
        take_in(shard, book, Seeded(url(1)))
        lease(shard, url(1))
        take_in(shard, book, Postponed(url(1), 2, 50.0, 9.0))
        assert page(shard, url(1)).state == "leased", "another order's answer"
        take_in(shard, book, Postponed(url(1), 1, 50.0, 9.0))
        row = page(shard, url(1))
        assert (row.state, row.not_before, row.postponed) == ("candidate", 59.0, 1)

    def test_postponed_orders_are_left_out_where_attempts_are_counted(self, rows: Disk) -> None:
        shard, book = rows.shard(FrontierRow, SIGHTINGS, 0), a_book(attempts=2, retry_seconds=10.0)
        take_in(shard, book, Seeded(url(1)))
        lease(shard, url(1), 1)
        take_in(shard, book, Postponed(url(1), 1, 50.0, 9.0))
        lease(shard, url(1), 2)
        take_in(shard, book, Failed(url(1), 2, "retry", "timeout", 100.0))
        assert (page(shard, url(1)).state, page(shard, url(1)).not_before) == ("candidate", 110.0)
        lease(shard, url(1), 3)
        take_in(shard, book, Failed(url(1), 3, "retry", "timeout", 200.0))
        assert page(shard, url(1)).state == "given up"

    def test_a_url_of_a_sitemap_is_a_candidate_and_no_seed(self, rows: Disk) -> None:
        shard, book = rows.shard(FrontierRow, SIGHTINGS, 0), a_book()
        take_in(shard, book, Listed(url(1)), Seeded(url(2)))
        take_in(shard, book, Listed(url(1)), Listed(url(2)))
        first, second = page(shard, url(1)), page(shard, url(2))
        assert (first.state, first.seed, first.depth, first.links) == ("candidate", False, 1, {})
        assert (second.seed, second.depth) == (True, 0)
        assert shard.partition in book.touched

    def test_redirects_in_a_row_are_followed_up_to_the_setting(self, rows: Disk) -> None:
        shard, book = rows.shard(FrontierRow, SIGHTINGS, 0), a_book()
        take_in(shard, book, Seeded(url(0)))
        for hop in range(6):
            lease(shard, url(hop))
            messages = take_in(shard, book, Redirected(url(hop), 1, url(hop + 1), 1.0))
            take_in(shard, book, *(fact for _, fact in emitted(messages, SIGHTINGS)))
        assert [page(shard, url(hop)).state for hop in range(6)] == ["moved"] * 5 + ["gone"]
        assert page(shard, url(5)).reason == "more than 5 redirects"
        with pytest.raises(AssertionError):
            page(shard, url(6))

    def test_of_several_ways_by_redirects_the_shortest_counts(self, rows: Disk) -> None:
        shard, book = rows.shard(FrontierRow, SIGHTINGS, 0), a_book()
        take_in(shard, book, Inherited(url(1), 1, {}, hops=5), Inherited(url(2), 1, {}, hops=5))
        take_in(shard, book, Inherited(url(1), 1, {}, hops=1), Inherited(url(1), 1, {}, hops=4))
        assert (page(shard, url(1)).hops, page(shard, url(2)).hops) == (1, 5)


def test_whoever_takes_over_a_partition_asks_no_host_before_its_time(rows: Disk, tmp_path: Path) -> None:
    names = ("plain.org", "slow.org", "busy.org", "moved.org")
    ends = (
        Judged("http://plain.org/0", {"p": True}, NOW, elapsed=0.1),
        Judged("http://slow.org/0", {"p": True}, NOW, crawl_delay=30.0, elapsed=0.1),
        Failed("http://busy.org/0", 1, "retry", "status 429", NOW, 90.0, overloaded=True, elapsed=0.1),
        Redirected("http://moved.org/0", 1, "http://moved.org/1", NOW, elapsed=0.5),
    )
    for first in fronts(rows, tmp_path, delay_seconds=5.0, delay_factor=20.0):
        for end in ends:
            first.sight(Seeded(end.url))
            assert first.ordered() == {host(end.url)}
            first.sight(end)
    for heir in fronts(rows, tmp_path, delay_seconds=5.0, delay_factor=20.0):
        due = {name: heir.agent.candidates.clocks.next_ready([name], NOW) for name in names}
        # From when the request began: the delay, the Crawl-delay, twenty times the half second of an answer.
        assert due == {
            "plain.org": NOW + 4.9, "slow.org": NOW + 29.9, "busy.org": NOW + 90, "moved.org": NOW + 9.5,
        }  # fmt: skip
        orders = [heir.agent.candidates.clocks.apart(name) for name in names]
        assert orders == [5.0, 30.0, 5.0, 10.0]


def test_a_host_that_did_not_answer_is_left_alone_by_who_tried_and_by_nobody_else(
    rows: Disk, tmp_path: Path
) -> None:
    for first in fronts(rows, tmp_path):
        for number, reason in enumerate(("connection", "timeout", "robots.txt dns")):
            first.sight(Seeded(f"http://a.org/{number}"))
            assert first.ordered(after=5.0) == {"a.org"}
            end = Failed(f"http://a.org/{number}", 1, "retry", reason, first.now, elapsed=0.1, unanswered=True)
            first.sight(end)
        assert first.agent.candidates.clocks.next_ready(["a.org"], first.now) == first.now + 60.0
    for heir in fronts(rows, tmp_path):
        assert heir.agent.candidates.clocks.ready("a.org", NOW + 15.0)


def orders(front: Front) -> dict[str, RobotsTxt | float]:
    """Return what the orders that are given say of robots.txt, by URL, until none is given."""
    found: dict[str, RobotsTxt | float] = {}
    while front.ordered(after=SLOW_SECONDS):
        values = [value or b"" for topic, _, _, value in write(front.shard) if topic == FETCHES.name]
        found |= {order.url: order.robots for order in map(decode_order, values)}
    return found


def test_who_takes_over_a_partition_hands_robots_txt_to_the_fetcher_that_asks_for_it(
    rows: Disk, tmp_path: Path
) -> None:
    told = RobotsTxt("http://a.org/robots.txt", NOW + 100, b"text", NOW, Version('"1"'))
    for first in fronts(rows, tmp_path, delay_seconds=0.0):
        first.sight(*many("a.org", 3), Seeded("https://a.org/"))
        first.sight(told)
    for heir in fronts(rows, tmp_path, delay_seconds=0.0):
        while heir.agent.candidates.opening:
            heir.agent.candidates.take_up(NOW)
        pages = [f"http://a.org/{number}" for number in range(3)]
        assert orders(heir) == dict.fromkeys(pages, told.until) | {"https://a.org/": 0.0}
        for asking in pages[:2]:
            heir.sight(Postponed(asking, 1, heir.now, 0.0, robots=True))
        handed = orders(heir)
        assert handed.keys() == set(pages[:2])
        assert sorted(handed.values(), key=str) == [told.until, told], "once is enough"
        # A clock that was wrong told this.
        heir.sight(msgspec.structs.replace(told, until=NOW + 10 * 86_400))
        heir.sight(Postponed(pages[2], 1, heir.now, 0.0, robots=True))
        assert orders(heir) == {pages[2]: 0.0}


def test_a_crawl_delay_that_robots_txt_no_longer_asks_for_is_forgotten(front: Front) -> None:
    clocks = front.agent.candidates.clocks
    for number, asked in enumerate((30.0, None)):
        front.sight(Judged(f"http://a.org/{number}", {"p": True}, NOW, crawl_delay=asked, elapsed=0.01))
        assert clocks.apart("a.org") == (asked or 1.0)
