"""Which judged pages are visited again, when, and how many of them while candidates wait."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scentline.agents.frontier.agent import FrontierAgent
from scentline.agents.frontier.freshness import Freshness, Match
from scentline.agents.frontier.groups import LEAST_STALE
from scentline.agents.frontier.keys import visit_of
from scentline.agents.frontier.revisits import AGAIN
from scentline.agents.frontier.rows import FrontierRow, FrontierShard, VisitRow
from scentline.models.revisit.gain import stale
from scentline.streams.facts import Hinted, Judged, Revisited, Seeded
from scentline.streams.outbox import Message
from scentline.streams.published import FreshnessPart, PredicateDefinition
from scentline.streams.records import Decoder, FetchOrder, Version
from scentline.streams.settings import Settings
from scentline.streams.topics import FETCHES, RENEWED, SIGHTINGS
from tests.agents.books import NO, YES
from tests.agents.shards import Disk, a_runtime, disk, write

NOW = 1_000_000.0
DAY = 86_400.0


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path / "data") as found:
        yield found


class Front:
    """A frontier agent on one shard, on a clock that the test turns."""

    def __init__(self, agent: FrontierAgent, rows: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
        self.agent = agent
        self.now = NOW
        self.orders: list[FetchOrder] = []
        self.shard: FrontierShard = rows.shard(FrontierRow, SIGHTINGS, 0)
        agent.runtime.clock = lambda: self.now
        monkeypatch.setattr(agent.inbox, "commit_soon", lambda shard: None)  # there is no event loop
        agent.heard_predicate(PredicateDefinition(name="p", expression='"ski"'))
        agent.inbox.shards[0] = self.shard
        agent.opened(self.shard)
        while agent.candidates.opening:
            agent.candidates.take_up(self.now)
        self.commit()

    def commit(self) -> list[Message]:
        messages = write(self.shard)
        self.agent.committed(self.shard)
        return messages

    def sight(self, *facts: Any) -> None:
        for fact in facts:
            self.agent.absorb(self.shard, fact)
        self.commit()

    def judge(self, *urls: str, hits: bool = True) -> None:
        for url in urls:
            self.sight(Judged(url, YES if hits else NO, self.now, content=b"1", version=Version('"1"')))

    def choose(self, after: float = 0.0) -> list[FetchOrder]:
        """Return what is ordered now."""
        self.now += after
        self.agent._keep_time(self.now)
        self.agent.selection.choose(self.now)
        decode = Decoder[FetchOrder](FetchOrder)
        ordered = [decode(value or b"") for topic, _, _, value in self.commit() if topic == FETCHES.name]
        self.orders += ordered
        return ordered

    def answer(self, order: FetchOrder, *, changed: bool = False) -> None:
        again = order.order if order.revisit is not None else 0
        self.sight(
            Judged(order.url, YES, self.now, content=str(self.now).encode(), again=again, changed=changed)
            if changed or not again
            else Revisited(order.url, order.order, "unchanged", self.now, again=True)
        )

    def visit(self, url: str) -> VisitRow:
        row = visit_of(self.shard, url)
        assert row is not None
        return row


def a_front(rows: Disk, tmp_path: Path, **changed: Any) -> Iterator[Front]:
    given: dict[str, Any] = {
        "data": tmp_path / "data",
        "fetch": {"delay_seconds": 0},
        "frontier": {"revisit": 0.5, "window_max": 1, "policy": "breadth-first", "explore": 0},
        "revisit": {"change_days": 10.0, "shortest_seconds": 60.0},
    }
    for section, values in changed.items():
        given[section] = given[section] | values
    with a_runtime(Settings.model_validate(given), NOW) as runtime:
        yield Front(FrontierAgent(runtime), rows, pytest.MonkeyPatch())


@pytest.fixture
def front(rows: Disk, tmp_path: Path) -> Iterator[Front]:
    yield from a_front(rows, tmp_path)


URL, OTHER = "http://a.org/", "http://b.org/"


def test_a_page_is_visited_when_it_may_well_have_changed(front: Front) -> None:
    front.judge(URL)
    assert front.choose(after=0.9 * DAY) == []  # a change in ten days: 1.05 days until one in ten have changed
    (order,) = front.choose(after=0.2 * DAY)
    assert order.revisit is not None
    assert (order.url, order.policy, order.predicate, order.order) == (URL, AGAIN, "p", 1)
    assert (order.revisit.again, order.revisit.version, order.revisit.since) == (True, Version('"1"'), NOW)
    assert (order.revisit.verdict, order.revisit.content) == (YES, b"1")
    assert stale(0.1 / DAY, 1.1 * DAY) >= LEAST_STALE


def test_a_verdict_that_would_be_forgotten_is_not_left_at_that_the_page_is_as_it_was(front: Front) -> None:
    front.judge(URL)
    (order,) = front.choose(after=2 * DAY)
    front.answer(order)
    (late,) = front.choose(after=RENEWED)
    assert order.revisit is not None and late.revisit is not None
    assert (order.revisit.version, late.revisit.version) == (Version('"1"'), None)


def test_one_that_is_in_flight_is_not_ordered_twice(front: Front) -> None:
    front.judge(URL)
    (order,) = front.choose(after=2 * DAY)
    assert front.choose(after=1.0) == []
    front.answer(order)
    assert front.choose(after=1.0) == []
    assert front.visit(URL).lease == 0.0


def test_a_visit_without_an_answer_is_made_again_later(front: Front) -> None:
    front.judge(URL)
    (order,) = front.choose(after=2 * DAY)
    assert front.choose(after=121.0) == []
    (second,) = front.choose(after=61.0)
    assert (second.url, second.order, order.order) == (URL, 2, 1)


def test_a_page_that_changes_is_visited_more_often_than_one_that_does_not(front: Front) -> None:
    front.judge(URL, OTHER)
    for _ in range(400):
        for order in front.choose(after=DAY / 10):
            front.answer(order, changed=order.url == URL)
    visits = Counter(order.url for order in front.orders)
    assert visits[URL] > 5 * visits[OTHER] > 0


def test_a_sign_of_a_change_brings_a_visit_forward(front: Front) -> None:
    front.judge(URL, OTHER)
    front.sight(Hinted(OTHER, "feed", NOW + 1))
    (order,) = front.choose(after=61.0)
    assert order.url == OTHER


def test_no_page_is_visited_again_sooner_than_the_shortest_time(rows: Disk, tmp_path: Path) -> None:
    for front in a_front(rows, tmp_path, revisit={"change_days": 0.001, "shortest_seconds": 600.0}):
        front.judge(URL)
        for _ in range(400):
            for order in front.choose(after=10.0):
                front.answer(order, changed=True)
        assert len(front.orders) == 4000 // 600


def test_matches_come_before_misses(front: Front) -> None:
    front.judge("http://miss.org/", hits=False)
    front.judge("http://match.org/")
    assert [order.url for order in front.choose(after=2 * DAY)] == ["http://match.org/"]


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_revisits_take_their_share_at_most_while_candidates_wait(
    rows: Disk, tmp_path: Path, share: float
) -> None:
    for front in a_front(rows, tmp_path, frontier={"revisit": share}, revisit={"change_days": 0.01}):
        front.judge(*(f"http://old{number}.org/" for number in range(50)))
        front.sight(*(Seeded(f"http://new{number}.org/") for number in range(400)))
        for _ in range(300):
            for order in front.choose(after=60.0):
                front.answer(order)
        again = sum(order.policy == AGAIN for order in front.orders)
        assert len(front.orders) == 300
        assert again == pytest.approx(300 * share, abs=6)


def test_where_nothing_waits_revisits_are_free_but_not_endless(front: Front) -> None:
    urls = [f"http://old{number}.org/" for number in range(5)]
    front.judge(*urls)
    front.now += 2 * DAY
    for _ in range(10):
        for order in front.choose():
            front.answer(order)
    assert sorted(order.url for order in front.orders) == urls


def test_who_takes_a_shard_over_goes_on_with_what_was_ordered_and_what_is_due(
    rows: Disk, tmp_path: Path
) -> None:
    urls = {f"http://old{number}.org/" for number in range(250)}
    for front in a_front(rows, tmp_path):
        front.judge(*urls)
        (ordered,) = front.choose(after=2 * DAY)
    for front in a_front(rows, tmp_path):
        front.now += 2 * DAY + 1
        for _ in range(300):  # what is in flight takes up the window for three seconds
            for order in front.choose(after=0.1):
                front.answer(order)
        assert {order.url for order in front.orders} == urls - {ordered.url}


def test_pages_that_are_due_and_do_not_fit_in_the_queue_are_visited_all_the_same(
    rows: Disk, tmp_path: Path
) -> None:
    urls = {f"http://old{number}.org/" for number in range(100)}
    for front in a_front(rows, tmp_path, frontier={"queue": 10}):
        front.judge(*urls)
        front.now += 2 * DAY
        rounds = 0
        while len(front.orders) < len(urls) and rounds < 5_000:  # each reads what there is time for
            rounds += 1
            for order in front.choose(after=1.0):
                front.answer(order)
        assert Counter(order.url for order in front.orders) == Counter(urls)


def test_a_page_that_comes_due_before_its_row_is_on_disk_is_not_passed_over(front: Front) -> None:
    front.judge(URL, OTHER)
    front.now += 2 * DAY
    front.agent.absorb(front.shard, Revisited(URL, 1, "early", front.now, wait=1.0, again=True))
    front.agent.schedule.settle(front.now)  # type: ignore[union-attr]
    front.agent._keep_time(front.now + 2.0)  # reads the other page, which is due later
    front.commit()
    found = [order for _ in range(2) for order in front.choose(after=4.0)]
    assert {order.url for order in found} == {URL, OTHER}


def test_an_order_that_a_crash_kept_out_of_the_row_is_waited_for(front: Front) -> None:
    front.judge(URL)
    (order,) = front.choose(after=2 * DAY)
    front.answer(order)
    (second,) = front.choose(after=5 * DAY)
    visit = front.visit(URL)
    visit.orders, visit.lease = 1, 0.0
    front.agent.candidates.flights.land(URL, front.now)
    front.agent.expect(second)
    assert (front.visit(URL).orders, front.visit(URL).lease) == (2, second.lease)
    assert front.choose(after=1.0) == []


def test_a_crawl_that_keeps_up_does_not_end_and_one_with_a_budget_does(rows: Disk, tmp_path: Path) -> None:
    for budget in (0, 10):
        for front in a_front(rows, tmp_path, frontier={"budget": budget}):
            front.agent._dry = True
            assert front.agent.finished is bool(budget)


def test_matches_are_as_current_as_their_rates_have_it(front: Front) -> None:
    front.judge(URL, OTHER)
    front.judge("http://miss.org/", hits=False)
    kept = front.agent.revisits.figures()["p"]
    assert (kept.matches, kept.current, kept.age) == (2, 2.0, 0.0)
    front.now += DAY
    kept = front.agent.revisits.figures()["p"]
    assert kept.current == pytest.approx(2 * (1 - stale(0.1 / DAY, DAY)))
    assert kept.age == 2 * DAY


def told(front: Front) -> list[FreshnessPart]:
    """Return what the harvest is told of the matches."""
    assert front.agent.schedule is not None
    decode = Decoder[FreshnessPart](FreshnessPart)
    messages = front.agent.schedule._freshness.messages([front.shard], front.now)
    return [decode(value or b"") for _, _, _, value in messages]


def test_the_harvest_is_told_of_the_matches_and_once_that_there_are_none_left(front: Front) -> None:
    assert told(front) == []
    front.judge(URL)
    (order,) = front.choose(after=30 * DAY)
    front.answer(order)
    front.now += 60.0
    (part,) = told(front)
    assert (part.predicate, part.partition, part.time) == ("p", 0, front.now)
    assert (part.matches, part.age, part.revisits) == (1, 60.0, 1)
    assert part.current == pytest.approx(front.agent.revisits.figures()["p"].current)
    front.sight(Revisited(URL, 2, "refused", front.now, again=True, reason="noindex"))
    assert [(part.matches, part.current) for part in told(front)] == [(0, 0.0)]
    assert told(front) == []


def test_of_very_many_matches_a_sample_tells() -> None:
    fresh, random = Freshness(most=500), Random(1)
    for number in range(10_000):
        visited = NOW - random.random() * DAY
        fresh.put(f"http://h{number}.org/", Match(("p",), 0, visited, 1 / DAY, 0.0, 1))
    kept = fresh.figures(NOW)["p"]
    assert kept.matches == pytest.approx(10_000, rel=0.15)
    assert kept.age / kept.matches == pytest.approx(DAY / 2, rel=0.1)
    fresh.put("http://h0.org/", Match((), 0, 0.0, 0.0, 0.0, 0))
    fresh.keep(lambda url: False)
    assert fresh.figures(NOW) == {}


def test_pages_of_a_site_are_looked_at_although_the_first_of_them_did_not_change(front: Front) -> None:
    front.judge(*(f"http://a.org/{number}" for number in range(40)))
    front.now += 1.1 * DAY
    for _ in range(50):
        for order in front.choose(after=60.0):
            front.answer(order)
    assert len({order.url for order in front.orders}) == 40
