"""The mode "instant": which fetches come first, how many, and how often hubs are revisited."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.frontier.agent import FrontierAgent
from scentline.agents.frontier.keys import hub_of
from scentline.agents.frontier.orders import Flight
from scentline.agents.frontier.rows import INSTANT, FrontierRow, FrontierShard, HubRow
from scentline.streams.facts import Judged, Relisted, Revisited, Seeded
from scentline.streams.outbox import Message
from scentline.streams.published import PredicateDefinition
from scentline.streams.records import Decoder, FetchOrder, Revisit, Version
from scentline.streams.settings import Settings
from scentline.streams.topics import FETCHES, SIGHTINGS
from tests.agents.books import YES, linked, page
from tests.agents.shards import Disk, a_runtime, disk, write

NOW = 1_000_000.0
HUB = "http://h0.org/"
NEWS = "http://h0.org/news/"
DAY = 86_400.0


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path / "data") as found:
        yield found


class Front:
    """A frontier agent on one shard, on a clock that the test turns; fetches are answered at once."""

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

    def choose(self, after: float = 0.0) -> list[FetchOrder]:
        """Return what is ordered now."""
        self.now += after
        self.agent.leases.end(self.now)
        self.agent.candidates.wake(self.now)
        self.agent.selection.choose(self.now)
        decode = Decoder[FetchOrder](FetchOrder)
        ordered = [decode(value or b"") for topic, _, _, value in self.commit() if topic == FETCHES.name]
        self.orders += ordered
        return ordered

    def answer(self, order: FetchOrder, outcome: str = "unchanged", **told: Any) -> None:
        if order.revisit is None:
            self.sight(Judged(order.url, YES, self.now, version=Version('"1"')))
        else:
            self.sight(Revisited(order.url, order.order, outcome, self.now, **told))

    def hub(self, url: str = HUB) -> HubRow:
        row = hub_of(self.shard, url)
        assert row is not None
        return row


def a_front(rows: Disk, tmp_path: Path, **changed: Any) -> Iterator[Front]:
    given: dict[str, Any] = {
        "data": tmp_path / "data",
        "fetch": {"delay_seconds": 1.0},
        "frontier": {"mode": "instant", "window_max": 1, "policy": "breadth-first", "explore": 0},
        "news": {"hubs_given": [HUB], "prefixes_given": [NEWS], "visits_a_minute": 60, "shortest_seconds": 1},
    }
    for section, values in changed.items():
        given[section] = given[section] | values
    with a_runtime(Settings.model_validate(given), NOW) as runtime:
        yield Front(FrontierAgent(runtime), rows, pytest.MonkeyPatch())


@pytest.fixture
def front(rows: Disk, tmp_path: Path) -> Iterator[Front]:
    yield from a_front(rows, tmp_path)


def test_a_hub_given_by_hand_is_fetched_first_and_then_revisited(front: Front) -> None:
    (first,) = front.choose()
    assert (first.url, first.revisit, first.policy) == (HUB, None, INSTANT)
    front.answer(first)
    assert front.choose() == []  # its host's delay
    (second,) = front.choose(after=2.0)
    assert second.revisit is not None
    assert (second.url, second.revisit.version, second.revisit.since) == (HUB, Version('"1"'), NOW)
    front.answer(second)
    assert page(front.shard, HUB).attempts == 1


def test_a_new_link_to_news_comes_before_what_has_waited_longer(front: Front) -> None:
    front.answer(front.choose()[0])
    front.sight(*(Seeded(f"http://h0.org/archive/{number}") for number in range(5)))
    front.sight(Relisted(HUB, 0, (f"{NEWS}1", "http://h0.org/about"), front.now, front.now - 10))
    (order,) = front.choose(after=2.0)
    assert (order.url, order.policy, order.predicate) == (f"{NEWS}1", INSTANT, "p")


def test_instant_fetches_take_their_share_while_others_wait(rows: Disk, tmp_path: Path) -> None:
    for front in a_front(rows, tmp_path, frontier={"instant_share": 0.25}):
        front.sight(*(Seeded(f"http://h0.org/archive/{number}") for number in range(300)))
        for step in range(200):
            front.sight(Relisted(HUB, 0, (f"{NEWS}{step}",), front.now, front.now - 1))
            for order in front.choose(after=1.0):
                front.answer(order)
        assert len(front.orders) == 200
        assert sum(order.policy == INSTANT for order in front.orders) == pytest.approx(50, abs=3)


def test_what_nobody_else_could_use_is_free(rows: Disk, tmp_path: Path) -> None:
    for front in a_front(rows, tmp_path, frontier={"instant_share": 0.1}):
        for _ in range(25):
            for order in front.choose(after=1.0):
                front.answer(order)
        assert [order.url for order in front.orders] == 25 * [HUB]


def test_a_hub_that_brings_nothing_is_asked_less_and_less_often(rows: Disk, tmp_path: Path) -> None:
    busy = "http://h1.org/"
    news = {"hubs_given": [HUB, busy], "shortest_seconds": 60, "visits_a_minute": 0.2}
    for front in a_front(rows, tmp_path, news=news):
        times: dict[str, list[float]] = {HUB: [], busy: []}
        while front.now < NOW + 3 * DAY:
            for order in front.choose(after=30.0):
                times[order.url].append(front.now)
                if order.url == busy and order.revisit is not None:
                    links = tuple(f"{busy}{int(front.now)}/{number}" for number in range(4))
                    front.sight(Relisted(busy, 0, links, front.now, order.revisit.since))
                front.answer(order, "changed" if order.url == busy else "unchanged")
                for url in list(front.agent.candidates.queues["p"]):
                    front.agent.candidates.withdraw(url)
        gaps = [later - earlier for earlier, later in pairwise(times[HUB])]
        assert gaps[-1] > 4 * gaps[1]
        assert len(times[busy]) > 4 * len(times[HUB])


def test_an_unanswered_revisit_is_taken_back_and_tried_later(front: Front) -> None:
    front.answer(front.choose()[0])
    (order,) = front.choose(after=2.0)
    assert front.choose(after=front.agent.settings.lease_seconds + 1) == []
    row = front.hub()
    assert (row.lease, row.failures) == (0.0, 1)
    front.answer(order)  # too late
    assert front.hub().visits == 1
    (again,) = front.choose(after=row.not_before - front.now)
    assert again.order == order.order + 1


def test_a_host_that_asks_for_patience_at_a_revisit_gets_it(front: Front) -> None:
    front.answer(front.choose()[0])
    front.answer(front.choose(after=2.0)[0], "retry", wait=500.0, overloaded=True)
    front.sight(Seeded("http://h0.org/archive/1"))
    assert front.choose(after=499.0) == []
    assert front.choose(after=2.0) != []


def test_revisits_do_not_spend_the_budget(rows: Disk, tmp_path: Path) -> None:
    for front in a_front(rows, tmp_path, frontier={"budget": 2}):
        for _ in range(10):
            for order in front.choose(after=2.0):
                front.answer(order)
        assert not front.agent.finished
        front.sight(Seeded("http://h0.org/archive/1"))
        while not front.agent.spent:
            for order in front.choose(after=2.0):
                front.answer(order)
        assert front.choose(after=1000.0) == []
        assert front.agent.finished


def test_what_was_known_before_a_crash_is_known_after(rows: Disk, tmp_path: Path) -> None:
    for front in a_front(rows, tmp_path):
        front.answer(front.choose()[0])
        front.sight(Relisted(HUB, 0, (f"{NEWS}1",), front.now, front.now - 10))
        (order,) = front.choose(after=2.0)
        assert order.url == f"{NEWS}1"
        front.answer(order)
        (order,) = front.choose(after=2.0)
        assert order.revisit is not None
        front.sight(Relisted(HUB, 0, (f"{NEWS}2",), front.now, front.now - 10))
    for again in a_front(rows, tmp_path):
        assert isinstance(again.agent.candidates.flights[HUB], Flight)
        again.now = front.now
        assert again.choose() == []  # the revisit goes on, and its host has a delay
        again.answer(order)
        assert again.hub().visits == 2
        (order,) = again.choose(after=1.0)
        assert (order.url, order.policy) == (f"{NEWS}2", INSTANT)


def test_a_revisit_that_a_crash_kept_out_of_its_row_is_waited_for(front: Front) -> None:
    front.answer(front.choose()[0])
    front.now += 2
    order = FetchOrder(
        url=HUB, order=1, predicate="", policy=INSTANT, explored=False, probability=1.0, priority=0.0, depth=0,
        lease=front.now + 60, revisit=Revisit(None, NOW),
    )  # fmt: skip
    front.agent.expect(order)
    assert front.choose() == []
    front.answer(order)
    assert front.hub().visits == 2


def test_a_hub_that_is_given_no_more_is_one_for_a_day(rows: Disk, tmp_path: Path) -> None:
    for front in a_front(rows, tmp_path):
        front.answer(front.choose()[0])
    for again in a_front(rows, tmp_path, news={"hubs_given": []}):
        assert again.agent.instant is not None
        (order,) = again.choose(after=DAY - 1)
        again.answer(order)
        assert again.choose(after=2.0) == []
        assert again.agent.instant.hubs == 0
        assert hub_of(again.shard, HUB) is None


def test_a_hub_that_is_given_stays_one(front: Front) -> None:
    assert front.agent.instant is not None
    for _ in range(10):
        front.now += DAY / 2
        front.agent.instant.look(front.now)
        front.commit()
        for order in front.choose():
            front.answer(order)
    assert front.hub().visits == 10


def test_news_of_a_space_of_which_nothing_is_wanted_is_fetched_all_the_same(rows: Disk, tmp_path: Path) -> None:
    for front in a_front(rows, tmp_path, frontier={"barren_misses": 3}):
        for number in range(3):
            front.sight(Judged(f"{NEWS}{number}", {"p": False}, NOW))
        front.sight(Seeded(HUB), Relisted(HUB, 0, (f"{NEWS}7",), NOW, NOW - 1))
        front.sight(linked("http://h1.org/", [f"{NEWS}8"], YES))
        assert [order.url for order in front.choose()] == [f"{NEWS}7"]
        found = {order.url for _ in range(10) for order in front.choose(after=100.0)}
        assert f"{NEWS}8" not in found
