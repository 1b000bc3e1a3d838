"""What a frontier starts with, all of it in the end; and what it does as it is steered."""

import asyncio
from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.msgpack import encode as pack

from scentline.agents.frontier.agent import FrontierShard
from scentline.models.frontier.flights import SLOW_SECONDS
from scentline.models.frontier.keys import START_KEY, TOTALS_KEY, Rows, page_key, start_of
from scentline.models.frontier.rows import PageRow, TotalsRow
from scentline.models.frontier.sweep import FIRST
from scentline.models.published import Exclusion, Limit, Pausing, Slowing, Steering
from scentline.models.records import FetchOrder
from scentline.models.url import host
from scentline.streams.settings import ConfigurationError
from tests.agents.scenarios import DAY, NOW, YES, Frontiers, Scenario, ended, seeded, urls
from tests.agents.shards import put
from tests.cases import each_case


def note_start(front: Scenario, *, whole: bool = False) -> int:
    """Have it noted what to start with; return in how many shards that changed."""
    changed = front.agent.core.candidates.note_start(whole=whole)
    front.commit()
    return len(changed)


def test_the_best_are_chosen_before_all_is_taken_up(frontier: Frontiers) -> None:
    found = [f"http://h{number}.org/{'good' if number % 50 == 0 else 'x'}" for number in range(10 * FIRST)]
    front = frontier()
    front.like(good=60)
    front.hear(*map(seeded, found))
    note_start(front)
    again = front.restart(taken_up=False)
    again.like(good=60)
    unknown = [again.agent.core.candidates.unknown]
    again.agent.core.candidates.take_up(NOW)
    assert again.agent.core.candidates.opening
    assert [*unknown, again.agent.core.candidates.unknown] == [True, False]
    assert [again.choose() for _ in found[::50]] == found[::50]
    again.take_up()
    assert sorted(again.choices()) == sorted({*found} - {*found[::50]})


def test_each_host_has_a_candidate_to_start_with(frontier: Frontiers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scentline.models.frontier.candidates.STARTED", 100)
    poor = [f"http://h{number}.org/" for number in range(20)]
    front = frontier(queue=50)
    front.like(good=60)
    front.hear(*(seeded(f"http://rich.org/good/{number}") for number in range(100)), *map(seeded, poor))
    note_start(front)
    start = start_of(front.shards[0])
    assert start is not None and len(start.best) <= 100
    assert {page_key(url)[1:] for url in poor if url in front.queued()} <= set(start.best)


def test_a_partition_revoked_meanwhile_ends_nothing(
    frontier: Frontiers, monkeypatch: pytest.MonkeyPatch
) -> None:
    front = frontier(policy="breadth-first", streams={"partitions": 3})
    front.hear(*(seeded(f"http://h{number}.org/") for number in range(8)))
    inbox, committed = front.agent.inbox, []

    async def commit(shard: FrontierShard) -> None:
        committed.append(shard.partition)
        for other in [each for each in inbox.shards.values() if each is not shard]:
            inbox._drop(other)

    monkeypatch.setattr(inbox, "commit", commit)
    asyncio.run(front.agent._choose(NOW))
    assert len(committed) == 1


IDENTIFIERS = st.one_of(
    st.sampled_from([page_key(url)[1:] for url in urls(40, hosts=7)]), st.binary(min_size=12, max_size=12)
)


@given(
    noted=st.lists(IDENTIFIERS, max_size=200),
    leased=st.lists(IDENTIFIERS, max_size=10),
    judged=st.sets(st.integers(0, 39), max_size=20),
    ordered=st.integers(0, 5),
)
def test_whatever_a_shard_starts_with_is_harmless(
    frontier: Frontiers, noted: list[bytes], leased: list[bytes], judged: set[int], ordered: int
) -> None:
    """What is noted may be of another time, another predicate, or rubbish: only the rows count."""
    front, found = frontier(), urls(40, hosts=7)
    front.hear(*map(seeded, found))
    flying = {front.choose() for _ in range(ordered)}
    front.commit()
    front.hear(*(ended(found[n], YES, NOW) for n in judged))
    expected = front.restart().choices()
    totals = msgspec.structs.replace(front.totals(), leased=leased)
    put(front.shards[0].store, {START_KEY: pack(TotalsRow(best=noted)), TOTALS_KEY: pack(totals)})
    left = {*found} - {found[n] for n in judged}
    again = front.restart()
    assert (again.flying, again.queued()) == (flying & left, left - flying)
    assert again.choices() == expected


def test_what_is_in_flight_is_known_before_anything_is_taken_up(frontier: Frontiers) -> None:
    front = frontier()
    front.hear(*map(seeded, urls(3)))
    landed, flying = front.choose(), front.choose()
    front.commit()
    front.hear(ended(str(landed), YES, NOW))
    again = front.restart(taken_up=False)
    assert {url: flight.predicate for url, flight in again.agent.core.candidates.flights.items()} == {
        flying: "p"
    }


def test_where_nothing_was_noted_all_is_taken_up_before_the_first_choice(frontier: Frontiers) -> None:
    front = frontier(streams={"partitions": 3})
    front.hear(*map(seeded, urls(300, hosts=10)))
    again = front.restart(taken_up=False)
    while again.agent.core.candidates.opening:
        assert again.agent.core.candidates.unknown
        again.agent.core.candidates.take_up(NOW)
    assert not again.agent.core.candidates.unknown
    assert len(again.agent.core.candidates.queues["p"]) == 300


def test_chance_draws_from_all_candidates_or_not_at_all(frontier: Frontiers) -> None:
    front = frontier()
    front.hear(*map(seeded, urls(300, hosts=10)))
    note_start(front)
    by_chance = front.restart(taken_up=False, policy="random")
    by_chance.agent.core.candidates.take_up(NOW)
    assert by_chance.agent.core.candidates.unknown
    by_policy = front.restart(taken_up=False, explore=1.0)
    by_policy.agent.core.candidates.take_up(NOW)
    assert (by_policy.agent.core.candidates.pick("p", NOW) or ())[2:] == (False, 1.0)
    by_policy.take_up()
    assert (by_policy.agent.core.candidates.pick("p", NOW) or ())[2:] == (True, 1 / 300)


def test_nothing_is_noted_until_what_was_noted_is_taken_up_nor_what_stands_there(frontier: Frontiers) -> None:
    front = frontier()
    front.hear(*map(seeded, urls(3_000, hosts=10)))
    assert (note_start(front), note_start(front)) == (1, 0)
    again = front.restart(taken_up=False)
    again.agent.core.candidates.take_up(NOW)
    assert note_start(again) == 0
    again.take_up()
    assert note_start(again) == 0
    again.choose()
    assert note_start(again) == 1


@each_case("whole", [True, False])
def test_of_full_queues_only_what_has_room_or_is_new_is_scored(frontier: Frontiers, whole: bool) -> None:
    front = frontier(queue=100, policy="breadth-first")
    front.hear(*map(seeded, urls(400, hosts=10)))
    queued = front.queued()
    note_start(front, whole=whole)
    fresh = [f"http://fresh.org/{number}" for number in range(3)]
    front.hear(*map(seeded, fresh))
    again = front.restart(taken_up=False)
    offered: list[str] = []
    offer = again.agent.core.candidates.offer

    def noted(shard: Rows, rows: Iterable[PageRow], now: float) -> None:
        offer(shard, found := [*rows], now)
        offered.extend(row.url for row in found)

    again.agent.core.candidates.offer = noted  # type: ignore[method-assign]
    again.take_up()
    assert len(offered) <= 150
    assert {*queued, *fresh} <= set(offered)


def test_a_predicate_that_comes_while_pages_are_in_flight_holds_no_host_back(frontier: Frontiers) -> None:
    front = frontier(fetch={"delay_seconds": 1.0})
    front.hear(*map(seeded, urls(2)))
    (flying,) = front.choices()
    front.follow("q")
    front.sweep()
    front.hear(ended(flying, YES, NOW))
    front.now += 2.0
    assert front.choose("q") is not None


def test_a_shard_that_is_given_away_leaves_nothing_behind_and_keeps_no_host_busy(frontier: Frontiers) -> None:
    front = frontier(streams={"partitions": 3}, fetch={"delay_seconds": 1.0})
    front.hear(*map(seeded, urls(30, hosts=10)))
    flying = front.choices()
    gone = front.shard(flying[0])
    front.agent.closed(gone)
    left = {url for url in urls(30, hosts=10) if front.shard(url) is not gone}
    assert front.flying == left & set(flying)
    assert front.queued() == left - set(flying)
    assert front.agent.core.candidates.shards.find(flying[0]) is None
    assert front.agent.core.candidates.clocks.ready(host(flying[0]), NOW + 1.0)


def test_what_a_group_touched_is_offered_when_another_shards_ends_first(frontier: Frontiers) -> None:
    front = frontier(streams={"partitions": 3})
    front.absorb(*map(seeded, urls(30, hosts=10)))
    front.shards.reverse()
    front.commit()
    assert front.queued() == set(urls(30, hosts=10))


def test_rows_of_an_earlier_release_are_refused_with_a_sentence(frontier: Frontiers) -> None:
    front = frontier()
    put(front.shards[0].store, {TOTALS_KEY: pack(TotalsRow(judged=1, requests=1))})
    with pytest.raises(ConfigurationError, match="table frontier: an earlier release wrote it"):
        front.restart()


SHOP = "http://a.org/shop/"


@pytest.fixture
def front(frontier: Frontiers) -> Scenario:
    return frontier(policy="breadth-first", window_max=4, budget=10, fetch={"delay_seconds": 1.0})


def steer(front: Scenario, *wanted: Steering) -> None:
    for each in wanted:
        front.agent.core.steer(each)
        while front.agent.core.candidates.sweep.filling:
            front.agent.core.keep_time(front.now)


def shop(on: bool = True) -> Exclusion:
    return Exclusion(name="shop", prefix=SHOP, on=on, time=NOW)


def test_what_is_excluded_is_not_ordered_until_it_is_included(frontier: Frontiers) -> None:
    for before in ([], [shop()]):
        front = frontier(policy="breadth-first", window_max=4, fetch={"delay_seconds": 1.0})
        steer(front, *before)
        front.hear(seeded(f"{SHOP}tea"), seeded("http://b.org/"))
        steer(front, shop())
        assert front.agent.core.candidates.priorities_of(f"{SHOP}tea") == {}
        assert front.ordered() == ["http://b.org/"]
        assert front.agent.core.totals().discovered == 2
        assert front.state(f"{SHOP}tea") == "candidate"
        steer(front, shop(on=False))
        assert front.ordered(after=SLOW_SECONDS) == [f"{SHOP}tea"]


def test_a_crawl_of_which_all_that_is_left_is_excluded_is_finished(front: Scenario) -> None:
    steer(front, shop())
    front.hear(seeded(f"{SHOP}tea"))
    front.agent.core.look_for_more()
    while front.agent.core.candidates.sweep.filling:
        front.agent.core.keep_time(front.now)
    assert front.agent.core.finished
    steer(front, Pausing(on=True, time=NOW))
    assert not front.agent.core.finished


def test_a_page_that_is_excluded_is_not_visited_again_until_it_is_included(frontier: Frontiers) -> None:
    front, url = frontier(policy="breadth-first", revisit=0.5, window_max=1), f"{SHOP}tea"
    front.hear(seeded(url))
    front.order()
    front.hear(ended(url, YES, front.now, content=b"1"))
    steer(front, shop())
    assert [front.ordered(after=90 * DAY) for _ in range(3)] == [[]] * 3
    steer(front, shop(on=False))
    assert front.ordered() == [url]


@each_case("setting", [None, 10, 20])
def test_a_budget_holds_while_settings_have_the_one_before(frontier: Frontiers, setting: int | None) -> None:
    front = frontier(policy="breadth-first", window_max=4, budget=10, fetch={"delay_seconds": 1.0})
    steer(front, Limit(name="pages", most=0, setting=setting, time=NOW))
    steer(front, Limit(name="requests", most=0 if setting == 20 else 1, setting=None, time=NOW))
    assert front.agent.core.budget.limited
    front.hear(seeded("http://a.org/"), seeded("http://b.org/"))
    assert len(front.ordered() + front.ordered(after=SLOW_SECONDS)) == (2 if setting == 20 else 1)
    told = [(limit.name, limit.setting) for limit in front.agent.core.limits]
    assert told == [*([("pages", 10)] if setting is None else []), ("requests", 0)]


def test_a_host_is_asked_as_seldom_as_is_asked_for_and_never_more_often_than_is_polite(front: Scenario) -> None:
    front.hear(*(seeded(f"http://a.org/{number}") for number in range(9)))
    steer(front, Slowing(name="a.org", seconds=7.5, time=NOW))

    def lands(order: FetchOrder, crawl_delay: float | None = None) -> None:
        front.hear(ended(order.url, YES, front.now, crawl_delay=crawl_delay, elapsed=0.01))

    [order] = front.order()
    assert order.delay == 7.5
    lands(order)
    assert front.order(after=7.0) == []
    [order] = front.order(after=0.5)
    assert order.delay == 7.5
    lands(order, crawl_delay=20.0)
    assert front.order(after=19.0) == []
    [order] = front.order(after=1.0)
    assert order.delay == 20.0
    steer(front, Slowing(name="a.org", seconds=0.0, time=NOW))
    lands(order, crawl_delay=0.0)
    assert [host(url) for url in front.ordered(after=1.0)] == ["a.org"]
