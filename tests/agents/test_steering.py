"""A crawl that is steered: what may be asked, that it stays asked, and what the frontier does by it."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.orders import SLOW_SECONDS
from scentline.agents.frontier.steered import Steered, read_steering
from scentline.agents.operate.control import requests
from scentline.agents.operate.control.command import known_steering, submit
from scentline.agents.operate.control.requests import (
    LONGEST_DELAY,
    Budget,
    Delay,
    Exclude,
    Include,
    Pause,
    RefusedError,
    Resume,
    Steer,
    checked,
    steering,
)
from scentline.models.url import host
from scentline.streams.facts import Judged, Seeded
from scentline.streams.published import (
    MOST_EXCLUDING,
    Exclusion,
    Limit,
    Pausing,
    Slowing,
    Steering,
)
from scentline.streams.records import FetchOrder, RecordError
from scentline.streams.settings import Settings
from tests.agents.scenarios import DAY, NOW, YES, Frontiers, Scenario
from tests.agents.shards import a_runtime
from tests.cases import each_case

SHOP = "http://a.org/shop/"


def asked(*wanted: Steer) -> Steered:
    """Return what is in force after some requests."""
    steered = Steered()
    for number, request in enumerate(wanted):
        for told in steering(request, steered, float(number)):
            steered.hear(msgspec.json.encode(told))
    return steered


# what may be asked


@each_case(
    ("request_", "why"),
    [
        (Exclude(), "a prefix of URLs or an expression"),
        (Exclude(SHOP, "shop"), "and not both"),
        (Exclude("http://a.org"), "begins no URL"),
        (Exclude("http://A.org/"), "begins no URL"),
        (Exclude("ftp://a.org/"), "begins no URL"),
        (Exclude("http://u:p@a.org/"), "begins no URL"),
        (Exclude("http://a.org/é"), "begins no URL"),
        (Exclude(expression="("), "no regular expression as RE2"),
        (Exclude(expression="(?=a)"), "no regular expression as RE2"),
        (Include("nothing"), "there is no exclusion nothing"),
        (Delay("a.org/x", 1.0), "is no host"),
        (Delay("", 1.0), "is no host"),
    ],
)
def test_what_makes_no_sense_is_refused(request_: Steer, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        steering(request_, Steered(), 0.0)


@each_case(
    "request_",
    [
        Exclude("http://a.org/" + "x" * MOST_EXCLUDING), Exclude(expression="x" * (MOST_EXCLUDING + 1)),
        Budget(pages=-1), Delay("a.org", -1.0), Delay("a.org", LONGEST_DELAY + 1), Delay("a.org", float("nan")),
        Delay("a" * 301, 1.0),
    ],
)  # fmt: skip
def test_what_is_out_of_bounds_is_refused(request_: Steer) -> None:
    with pytest.raises(RefusedError):
        checked(request_)


def test_no_more_is_excluded_or_slowed_than_a_frontier_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MOST_STEERED", 2)
    steered = asked(Exclude(SHOP), Exclude(expression="x"), Delay("a.org", 5.0), Delay("b.org", 5.0))
    assert steering(Exclude(SHOP), steered, 9.0)
    assert steering(Delay("a.org", 6.0), steered, 9.0)
    for request in (Exclude(expression="y"), Delay("c.org", 5.0)):
        with pytest.raises(RefusedError, match="expected at most 2"):
            steering(request, steered, 9.0)


# That none of it may be lost or come twice is for the log, whose newest record of a kind and name holds.
prefixes = st.sampled_from(["http://a.org/", "http://a.org/b", "http://b.org/"])
commands = st.one_of(
    st.just(Pause()), st.just(Resume()),
    prefixes.map(Exclude), prefixes.map(lambda text: Exclude(expression=text)),
    st.builds(Budget, st.integers(0, 9), st.integers(0, 9)),
    st.builds(Delay, st.sampled_from(["a.org", "B.org:8080"]), st.floats(0, 9)),
)  # fmt: skip


@given(st.lists(commands, max_size=12))
def test_what_is_asked_twice_is_in_force_once_and_the_newest_word_holds(wanted: list[Steer]) -> None:
    once, twice = asked(*wanted), asked(*(each for each in wanted for _ in range(2)))
    plain = [[msgspec.structs.replace(each, time=0.0) for each in found.in_force] for found in (once, twice)]
    assert plain[0] == plain[1]
    pauses = [isinstance(each, Pause) for each in wanted if isinstance(each, Pause | Resume)]
    assert once.paused == (pauses[-1] if pauses else False)
    for each in once.exclusions:
        over = steering(Include(each.name), once, 99.0)
        assert over == steering(Include(each.name), twice, 99.0)
        once.hear(msgspec.json.encode(over[0]))
    assert once.exclusions == []


@each_case(
    "value",
    [
        None, b"", b"{}", b'{"what":"sunk","time":1}', b'{"what":"paused","on":1,"time":1}',
        b'{"what":"excluded","name":"x","expression":"(","time":1}',
        b'{"what":"delay","name":"a","seconds":-1,"time":1}',
    ],
)  # fmt: skip
def test_what_can_t_be_read_steers_nothing(value: bytes | None) -> None:
    steered = Steered()
    assert steered.hear(value) is None
    assert steered.in_force == []
    with pytest.raises(RecordError):
        read_steering(value or b"")


def test_a_crawl_at_rest_is_steered(tmp_path: Path) -> None:
    found = Settings(data=tmp_path)
    with a_runtime(found):
        pass
    wanted = (Pause(), Pause(), Exclude(SHOP), Delay("A.org", 5.0), Budget(pages=7), Budget(7_000), Resume())
    assert [submit(found, request) for request in wanted] == [
        "paused at 0 pages", "paused already at 0 pages", f"excluded: {SHOP} (68d20cebc3)",
        "delay of a.org: 5 s (was 1 s), and more where its robots.txt asks for more",
        "budget: 7 pages (0 so far)", "budget: 7,000 pages (was 7, 0 so far)", "going on at 0 pages",
    ]  # fmt: skip
    told = [msgspec.structs.replace(each, time=0.0) for each in known_steering(found).in_force]
    assert told == [
        Exclusion(name=told[0].name, prefix=SHOP, time=0.0),
        Slowing(name="a.org", seconds=5.0, time=0.0),
        Limit(name="pages", most=7_000, time=0.0),
    ]
    submit(found, Include(told[0].name))
    submit(found, Delay("a.org", 0.0))
    assert [each.name for each in known_steering(found).in_force] == ["pages"]


# what the frontier does by it


@pytest.fixture
def front(frontier: Frontiers) -> Scenario:
    return frontier(policy="breadth-first", window_max=4, budget=10, fetch={"delay_seconds": 1.0})


def steer(front: Scenario, *wanted: Steering) -> None:
    for each in wanted:
        front.agent.steer(each)
        while front.agent.candidates.sweep.filling:
            front.agent._sweep(front.now)


def shop(on: bool = True) -> Exclusion:
    return Exclusion(name="shop", prefix=SHOP, on=on, time=NOW)


def test_what_is_excluded_is_not_ordered_until_it_is_included(frontier: Frontiers) -> None:
    for before in ([], [shop()]):
        front = frontier(policy="breadth-first", window_max=4, fetch={"delay_seconds": 1.0})
        steer(front, *before)
        front.hear(Seeded(f"{SHOP}tea"), Seeded("http://b.org/"))
        steer(front, shop())
        assert front.agent.candidates.priorities_of(f"{SHOP}tea") == {}
        assert front.ordered() == ["http://b.org/"]
        assert front.agent.totals().discovered == 2
        assert front.state(f"{SHOP}tea") == "candidate"
        steer(front, shop(on=False))
        assert front.ordered(after=SLOW_SECONDS) == [f"{SHOP}tea"]


def test_a_crawl_of_which_all_that_is_left_is_excluded_is_finished(front: Scenario) -> None:
    steer(front, shop())
    front.hear(Seeded(f"{SHOP}tea"))
    front.agent._look_for_more()
    while front.agent.candidates.sweep.filling:
        front.agent._sweep(front.now)
    assert front.agent.finished
    steer(front, Pausing(on=True, time=NOW))
    assert not front.agent.finished


def test_a_page_that_is_excluded_is_not_visited_again_until_it_is_included(frontier: Frontiers) -> None:
    front, url = frontier(policy="breadth-first", revisit=0.5, window_max=1), f"{SHOP}tea"
    front.hear(Seeded(url))
    front.order()
    front.hear(Judged(url, YES, front.now, content=b"1"))
    steer(front, shop())
    assert [front.ordered(after=90 * DAY) for _ in range(3)] == [[]] * 3
    steer(front, shop(on=False))
    assert front.ordered() == [url]


@each_case("setting", [None, 10, 20])
def test_a_budget_holds_while_the_settings_have_the_one_that_it_took_the_place_of(
    frontier: Frontiers, setting: int | None
) -> None:
    front = frontier(policy="breadth-first", window_max=4, budget=10, fetch={"delay_seconds": 1.0})
    steer(front, Limit(name="pages", most=0, setting=setting, time=NOW))
    steer(front, Limit(name="requests", most=0 if setting == 20 else 1, setting=None, time=NOW))
    assert front.agent.budget.limited
    front.hear(Seeded("http://a.org/"), Seeded("http://b.org/"))
    assert len(front.ordered() + front.ordered(after=SLOW_SECONDS)) == (2 if setting == 20 else 1)
    told = [(limit.name, limit.setting) for limit in front.agent._to_tell]
    assert told == [*([("pages", 10)] if setting is None else []), ("requests", 0)]


def test_a_host_is_asked_as_seldom_as_is_asked_for_and_never_more_often_than_is_polite(front: Scenario) -> None:
    front.hear(*(Seeded(f"http://a.org/{number}") for number in range(9)))
    steer(front, Slowing(name="a.org", seconds=7.5, time=NOW))

    def lands(order: FetchOrder, crawl_delay: float | None = None) -> None:
        front.hear(Judged(order.url, YES, front.now, crawl_delay=crawl_delay, elapsed=0.01))

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
