"""What the frontier does as it is steered: pauses, exclusions, budgets and delays."""

import pytest

from scentline.models.frontier.orders import SLOW_SECONDS
from scentline.models.published import Exclusion, Limit, Pausing, Slowing, Steering
from scentline.models.records import FetchOrder
from scentline.models.url import host
from tests.agents.scenarios import DAY, NOW, YES, Frontiers, Scenario, ended, seeded
from tests.cases import each_case

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
