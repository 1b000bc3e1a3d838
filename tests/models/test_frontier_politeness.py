"""Delays, back-off and forgetting of hosts, on a clock that the test turns."""

import math
from collections.abc import Callable
from functools import partial
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.frontier.politeness import (
    LONGEST_BACK_OFF,
    LONGEST_CRAWL_DELAY,
    LONGEST_PACE,
    SHORTEST_BACK_OFF,
    HostClocks,
    HostState,
)
from tests.cases import each_case

HOST = "example.org"
times = st.lists(
    st.tuples(
        st.sampled_from(["a.org", "b.org", "c.org"]),
        st.floats(0, 90),
        st.sampled_from(["start", "start", "finish", "succeed", "fail", "overload"]),
        st.none() | st.floats(-5, 200_000),
    ),
    max_size=80,
)


class Hosts(HostClocks):
    """Clocks over states that are kept beside them, as the frontier keeps them in rows."""

    def __init__(self, delay: float, limit: int, factor: float = 0.0, at_once: int = 16) -> None:
        self.states: dict[str, HostState] = {}
        super().__init__(delay, limit, self.states.get, factor, at_once)

    def state(self, host: str) -> HostState:
        return self.states.setdefault(host, HostState())

    def say(self, host: str, take: Callable[[HostState], None]) -> None:
        take(self.state(host))
        self.told(host, take)

    def failed(
        self, host: str, now: float, retry_after: float | None = None, *, overloaded: bool = False
    ) -> None:
        self.say(host, lambda state: state.failed(now, retry_after, overloaded=overloaded))

    def succeeded(self, host: str, now: float) -> None:
        self.say(host, lambda state: state.succeeded(now))

    def crawl_delay(self, host: str, seconds: float) -> None:
        self.say(host, lambda state: state.crawl_delay(seconds))


@given(times, st.floats(0, 30), st.integers(1, 3), st.lists(st.sampled_from(["", "s", "t"]), max_size=80))
def test_a_host_is_ready_when_its_wait_ends_and_not_before_and_asking_why_makes_no_clock(
    steps: list[tuple[str, float, str, float | None]], delay: float, limit: int, servers: list[str]
) -> None:
    clocks, now = Hosts(delay, limit, factor=3.0), 0.0
    for (host, passed, step, retry_after), server in zip(steps, chain(servers, repeat("")), strict=False):
        now += passed
        if step == "start" and clocks.ready(host, now):
            clocks.started(host, now)
        elif step != "start":
            clocks.finished(host, now)
            clocks.state(host).server = server
            clocks.say(host, partial(HostState.answered, began=now - 0.5, elapsed=0.5))
            clocks.serves(server, host)
            clocks.answered(host)
            if step in {"fail", "overload"}:
                clocks.failed(host, now, retry_after, overloaded=step == "overload")
        kept = len(clocks)
        why, until = clocks.wait(host, now)
        assert len(clocks) == kept
        due = clocks.next_ready([host], now)
        assert (why == "") == clocks.ready(host, now)
        assert (why in ("busy", "shared")) if due is None else (due == max(now, until))
        if due is None:
            assert not clocks.ready(host, now + 10 * LONGEST_BACK_OFF)
        else:
            assert clocks.ready(host, due)
            assert due == now or not clocks.ready(host, math.nextafter(due, now))
        if why == "retry-after":
            assert until == clocks.state(host).retry_after
        elif why == "back-off":
            assert until == clocks.state(host).until > clocks.state(host).retry_after


def failing(clocks: Hosts, now: float, times: int, *, overloaded: bool = False) -> list[float]:
    """Fail so many times, each as soon as the host may be asked; return the waits."""
    waits = []
    for _ in range(times):
        clocks.started(HOST, now)
        clocks.finished(HOST, now)
        clocks.failed(HOST, now, overloaded=overloaded)
        due = clocks.next_ready([HOST], now)
        assert due is not None
        waits.append(due - now)
        now = due
    return waits


@each_case(
    ("retry_after", "wait"),
    [(600.0, 600.0), (5.0, 60.0), (1e12, LONGEST_BACK_OFF), (math.inf, LONGEST_BACK_OFF), (math.nan, 60.0)],
)
def test_retry_after_is_obeyed_when_longer_and_within_a_day(retry_after: float, wait: float) -> None:
    for overloaded in (True, False):
        clocks = Hosts(1.0, 10)
        clocks.failed(HOST, 1000.0, retry_after, overloaded=overloaded)
        due = clocks.next_ready([HOST], 1000.0)
        assert due is not None and (due == 1000.0 + wait if overloaded or wait > 60 else due <= 1060.0)


def test_the_third_failure_is_the_hosts_and_overload_at_once_up_to_a_day() -> None:
    assert failing(Hosts(1.0, 10), 0.0, 5) == [1.0, 1.0, 60.0, 120.0, 240.0]
    waits = failing(Hosts(1.0, 10), 0.0, 13, overloaded=True)
    assert (waits[:3], waits[-3:]) == ([60.0, 120.0, 240.0], [61_440.0, LONGEST_BACK_OFF, LONGEST_BACK_OFF])
    clocks = Hosts(0.0, 10)
    for number in range(16):  # in flight together, it is one back-off
        clocks.failed(HOST, 1.0, overloaded=number > 0)
    assert clocks.next_ready([HOST], 1.0) == 61.0


def test_success_forgives() -> None:
    clocks = Hosts(1.0, 10)
    assert failing(clocks, 0.0, 4)[-1] == 120.0
    clocks.succeeded(HOST, 500.0)
    assert failing(clocks, 500.0, 3) == [1.0, 1.0, 60.0]


def test_only_a_longer_retry_after_moves_the_end_of_a_back_off_that_runs() -> None:
    clocks = Hosts(0.0, 10)
    clocks.failed(HOST, 0.0, overloaded=True)
    clocks.failed(HOST, 1.0, 20.0, overloaded=True)
    clocks.succeeded(HOST, 1.5)  # of a request begun before
    assert clocks.next_ready([HOST], 1.5) == 60.0
    clocks.failed(HOST, 2.0, 500.0, overloaded=True)
    assert clocks.next_ready([HOST], 2.0) == 502.0
    clocks.failed(HOST, 502.0, overloaded=True)
    assert clocks.next_ready([HOST], 502.0) == 622.0, "nor is it forgiven"


@each_case(
    ("usual", "asked", "delay"),
    [(2.0, 10.0, 10.0), (2.0, 0.5, 2.0), (2.0, -3.0, 2.0), (2.0, math.nan, 2.0),
     (2.0, math.inf, LONGEST_CRAWL_DELAY), (2.0, 1e9, 300.0), (0.0, 4.0, 4.0)],
)  # fmt: skip
def test_a_crawl_delay_raises_the_delay_within_five_minutes(usual: float, asked: float, delay: float) -> None:
    clocks = Hosts(usual, 10)
    clocks.started(HOST, 0.0)
    clocks.crawl_delay(HOST, asked)
    clocks.finished(HOST, 0.5)
    assert clocks.next_ready([HOST], 1.0) == delay


def test_next_ready_is_the_earliest_of_those_not_in_flight() -> None:
    clocks = Hosts(10.0, 10)
    for start, host in enumerate(["a", "b", "c"]):
        clocks.started(host, float(start))
    clocks.finished("b", 3.0)
    clocks.finished("c", 3.0)
    assert clocks.next_ready(["a", "b", "c"], 3.0) == 11.0
    assert clocks.next_ready(["a"], 3.0) is None
    assert clocks.next_ready(iter(["c", "new"]), 3.0) == 3.0
    assert clocks.next_ready([], 3.0) is None


def test_the_host_whose_clock_ran_out_first_is_forgotten_first_and_one_in_flight_never() -> None:
    clocks = Hosts(1.0, limit=20)
    clocks.started("busy", 0.0)
    clocks.failed("bad", 0.0, overloaded=True)
    for number in range(500):
        host = f"h{number}.org"
        clocks.started(host, number / 100)
        clocks.finished(host, number / 100)
        assert len(clocks) <= 20
    assert not clocks.ready("busy", 1000.0)
    assert not clocks.ready("bad", 59.0)
    assert not clocks.ready("h499.org", 5.0)
    assert clocks.ready("h0.org", 0.0)


def lasting(clocks: Hosts, host: str, start: float, seconds: float) -> None:
    """Ask a host, which takes so long to answer."""
    clocks.started(host, start)
    clocks.finished(host, start + seconds)
    clocks.say(host, partial(HostState.answered, began=start, elapsed=seconds))
    clocks.answered(host)


@each_case(
    ("usual", "seconds", "delay"),
    [(1.0, 0.1, 1.0), (1.0, 0.2, 1.0), (1.0, 0.3, 1.5), (1.0, 4.0, 20.0), (1.0, 12.0, LONGEST_PACE),
     (1.0, 1e9, LONGEST_PACE), (0.0, 30.0, 0.0)],
)  # fmt: skip
def test_the_delay_follows_the_usual_answer_within_a_minute(usual: float, seconds: float, delay: float) -> None:
    clocks = Hosts(usual, 10, factor=5.0)
    lasting(clocks, HOST, 1000.0, seconds)
    assert clocks.next_ready([HOST], 1000.0) == pytest.approx(1000.0 + delay)


def test_one_slow_answer_among_quick_ones_hardly_moves_the_delay() -> None:
    clocks = Hosts(1.0, 10, factor=2.0)
    for number in range(20):
        lasting(clocks, HOST, 100.0 * number, 0.3)
    lasting(clocks, HOST, 10_000.0, 5.0)
    assert clocks.apart(HOST) == pytest.approx(2 * 0.3**0.7 * 5.0**0.3)
    for number in range(1, 20):
        lasting(clocks, HOST, 10_000.0 + 100.0 * number, 0.3)
    assert clocks.apart(HOST) == 1.0


def test_without_a_delay_so_many_fetches_may_be_in_flight_and_no_more() -> None:
    clocks = Hosts(0.0, 10, at_once=3)
    for _ in range(3):
        assert clocks.ready(HOST, 0.0)
        clocks.started(HOST, 0.0)
    assert not clocks.ready(HOST, 1000.0)
    assert clocks.next_ready([HOST], 0.0) is None
    clocks.finished(HOST, 1.0)
    assert clocks.ready(HOST, 1.0)


def test_hosts_of_one_server_are_asked_as_one() -> None:
    clocks = Hosts(1.0, 10, factor=5.0)
    for host in ("a", "b", "c"):
        clocks.started(host, 0.0)
        clocks.finished(host, 0.1)
    clocks.serves("192.0.2.1", "a")
    clocks.serves("192.0.2.1", "b")
    clocks.started("a", 2.0)
    assert not clocks.ready("b", 100.0)
    assert clocks.ready("c", 2.0)
    clocks.finished("a", 4.0)
    clocks.say("a", partial(HostState.answered, began=2.0, elapsed=2.0))
    clocks.answered("a")
    assert clocks.next_ready(["b"], 4.0) == 12.0
    clocks.serves("192.0.2.2", "b")
    assert clocks.ready("b", 4.0)


def test_a_back_off_and_a_crawl_delay_are_a_hosts_own_wherever_it_is_served() -> None:
    clocks = Hosts(1.0, 10)
    for host in ("a", "b"):
        clocks.serves("192.0.2.1", host)
    clocks.failed("a", 0.0, overloaded=True)
    clocks.crawl_delay("b", 10.0)
    assert not clocks.ready("a", 59.0)
    assert clocks.ready("b", 0.0)
    clocks.started("b", 0.0)
    clocks.finished("b", 0.5)
    assert clocks.next_ready(["b"], 0.5) == 10.0


def test_a_host_that_changes_servers_takes_its_fetches_along() -> None:
    clocks = Hosts(1.0, 10)
    clocks.serves("192.0.2.1", "a")
    clocks.serves("192.0.2.1", "b")
    clocks.started("a", 0.0)
    clocks.serves("192.0.2.2", "a")
    clocks.serves("192.0.2.2", "c")
    assert clocks.ready("b", 1.0)
    assert not clocks.ready("c", 100.0)
    clocks.finished("a", 1.0)
    assert clocks.ready("c", 1.0)


def test_hosts_wait_for_a_delay_a_back_off_or_a_fetch_in_flight() -> None:
    clocks = Hosts(1.0, 10)
    lasting(clocks, "delayed", 9.0, 9.1)
    lasting(clocks, "rested", 5.0, 5.1)
    clocks.failed("failing", 9.0, overloaded=True)
    clocks.started("asked", 2.0)
    assert clocks.waiting(9.5) == 3
    assert clocks.waiting(10.5) == 2
    assert clocks.waiting(100.0) == 1


def test_an_order_that_came_too_early_was_no_start_for_its_server() -> None:
    clocks = Hosts(1.0, 10)
    lasting(clocks, "a", 0.0, 0.1)
    clocks.serves("192.0.2.1", "a")
    clocks.started("b", 0.9)
    clocks.finished("b", 0.9)
    clocks.serves("192.0.2.1", "b", asked=False)
    assert clocks.next_ready(["a", "b"], 0.9) == 1.0


@given(times, st.lists(st.sampled_from(["", "s", "t"]), min_size=80, max_size=80), st.floats(0.01, 30))
def test_starts_on_a_server_are_apart_one_in_flight_and_none_during_a_hosts_back_off(
    steps: list[tuple[str, float, str, float | None]], moves: list[str], delay: float
) -> None:
    clocks, now = Hosts(delay, limit=100), 0.0
    serves: dict[str, str] = {}
    flying: dict[str, int] = {}
    starts: dict[str, float] = {}
    until: dict[str, float] = {}
    for (host, passed, step, retry_after), server in zip(steps, moves, strict=False):
        now += passed
        on = serves.get(host, host)
        if server and not flying.get(on):
            clocks.serves(server, host, asked=False)
            serves[host] = on = server
        if step == "start":
            if clocks.ready(host, now):
                assert not flying.get(on)
                assert now >= until.get(host, 0.0)
                assert now >= starts.get(on, -math.inf) + delay
                clocks.started(host, now)
                flying[on] = flying.get(on, 0) + 1
                starts[on] = now
        elif flying.get(on):
            for other in ("a.org", "b.org", "c.org"):
                if serves.get(other, other) == on:
                    clocks.finished(other, now)
            flying[on] = 0
            if step == "succeed":
                clocks.succeeded(host, now)
            elif step in {"fail", "overload"}:
                clocks.failed(host, now, retry_after, overloaded=step == "overload")
                asked = min(max(SHORTEST_BACK_OFF, retry_after or 0.0), LONGEST_BACK_OFF)
                until[host] = now + asked if step == "overload" else 0.0


def test_a_server_that_a_host_has_left_was_asked_all_the_same() -> None:
    clocks = Hosts(5.0, limit=10)
    clocks.serves("s", "a")
    lasting(clocks, "a", 0.0, 0.1)
    clocks.serves("t", "a")
    clocks.serves("s", "b", asked=False)
    assert clocks.next_ready(["b"], 1.0) == 5.0


def test_servers_without_hosts_are_forgotten_where_there_are_many() -> None:
    clocks = Hosts(1.0, limit=10)
    for number in range(200):
        clocks.started(f"h{number}", number)
        clocks.finished(f"h{number}", number)
        clocks.serves(f"s{number}", f"h{number}")
    assert len(clocks._servers) <= 10


@each_case(("delay", "limit"), [(-1.0, 1), (math.nan, 1), (math.inf, 1), (1.0, 0)])
def test_settings_out_of_range_are_refused(delay: float, limit: int) -> None:
    with pytest.raises(ValueError, match=r"host clocks: .*, expected"):
        Hosts(delay, limit)


@given(times, st.floats(0.01, 30), st.lists(st.sampled_from(["", "s"]), min_size=80, max_size=80))
def test_clocks_that_begin_with_the_states_ask_no_host_before_those_that_went_on(
    steps: list[tuple[str, float, str, float | None]], delay: float, moves: list[str]
) -> None:
    kept, now = Hosts(delay, limit=100, factor=5.0), 0.0
    for (host, passed, step, retry_after), server in zip(steps, moves, strict=False):
        now += passed
        state = kept.state(host)
        if kept.ready(host, now):
            kept.started(host, now)
            kept.say(host, partial(HostState.answered, began=now, elapsed=0.5))
            now += 0.5
            kept.finished(host, now)
            if server:
                state.server = server
                kept.serves(server, host)
            kept.answered(host)
        if step == "succeed":
            kept.succeeded(host, now)
        elif step in {"fail", "overload"}:
            kept.failed(host, now, retry_after, overloaded=step == "overload")
        elif step == "finish":
            kept.crawl_delay(host, passed)
        begun = HostClocks(delay, 100, kept.states.get, factor=5.0)
        for name in kept.states:
            begun.ready(name, now)  # each is recalled, and with it what shares its server
        for name in kept.states:
            assert begun.next_ready([name], now) == kept.next_ready([name], now)
            assert begun.apart(name) == kept.apart(name)


def test_hosts_that_another_worker_has_now_are_forgotten_but_those_in_flight() -> None:
    clocks = Hosts(1.0, 10)
    for host in ("a.org", "b.org", "c.org"):
        clocks.started(host, 0.0)
    clocks.finished("a.org", 0.1)
    clocks.finished("c.org", 0.1)
    clocks.forget(lambda host: host < "c")
    assert clocks.ready("a.org", 0.2)
    assert not clocks.ready("b.org", 9.0)
    assert not clocks.ready("c.org", 0.2)
