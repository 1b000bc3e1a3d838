"""Delays, back-off and forgetting of hosts, on a clock that the test turns."""

import math
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.frontier.politeness import LONGEST_BACK_OFF, LONGEST_PACE, HostClocks, HostState
from tests.cases import each_case

HOST = "example.org"
Steps = list[tuple[str, float, str, float | None]]
steps = st.lists(
    st.tuples(
        st.sampled_from(["a.org", "b.org", "c.org"]),
        st.floats(0, 90),
        st.sampled_from(["start", "start", "finish", "succeed", "fail", "overload"]),
        st.none() | st.floats(-5, 200_000),
    ),
    max_size=80,
)
servers = st.lists(st.sampled_from(["", "s", "t"]), max_size=80).map(lambda told: chain(told, repeat("")))
homes = st.fixed_dictionaries({host: st.sampled_from("st") for host in ("a.org", "b.org", "c.org")})


class Hosts(HostClocks):
    """Clocks over states that are kept beside them, as the frontier keeps them in rows."""

    def __init__(self, delay: float, limit: int = 10, factor: float = 0.0, at_once: int = 16) -> None:
        self.states: dict[str, HostState] = {}
        super().__init__(delay, limit, self.states.get, factor, at_once)

    def state(self, host: str) -> HostState:
        return self.states.setdefault(host, HostState())

    def say(self, host: str, take: Callable[[HostState], None]) -> None:
        take(self.state(host))
        self.told(host, take)

    def failed(self, host: str, now: float, after: float | None = None, *, overloaded: bool = True) -> None:
        self.say(host, lambda state: state.failed(now, after, overloaded=overloaded))

    def asked(self, host: str, start: float, end: float, server: str = "") -> None:
        """Ask a host, which answers at ``end``."""
        self.started(host, start)
        self.finished(host, end)
        self.say(host, partial(HostState.answered, began=start, elapsed=end - start))
        if server:
            self.state(host).server = server
            self.serves(server, host)
        self.answered(host)


@given(steps, st.floats(0, 30), st.integers(1, 3), servers)
def test_a_host_is_ready_when_its_wait_ends_and_not_before_and_asking_why_makes_no_clock(
    steps: Steps, delay: float, limit: int, servers: chain[str]
) -> None:
    clocks, now = Hosts(delay, limit, factor=3.0), 0.0
    for (host, passed, step, retry_after), server in zip(steps, servers, strict=False):
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


@given(steps, st.floats(0.01, 30), servers, homes)
def test_clocks_that_begin_with_states_ask_none_before_while_no_host_moves(
    steps: Steps, delay: float, servers: chain[str], homes: dict[str, str]
) -> None:
    clocks, now = Hosts(delay, limit=100, factor=5.0), 0.0
    for (host, passed, step, retry_after), server in zip(steps, servers, strict=False):
        now += passed
        if clocks.ready(host, now):
            clocks.asked(host, now, now := now + 0.5, server and homes[host])
        if step == "succeed":
            clocks.say(host, partial(HostState.succeeded, now=now))
        elif step in {"fail", "overload"}:
            clocks.failed(host, now, retry_after, overloaded=step == "overload")
        elif step == "finish":
            clocks.say(host, partial(HostState.crawl_delay, seconds=passed))
        begun = HostClocks(delay, 100, clocks.states.get, factor=5.0)
        for name in clocks.states:
            begun.ready(name, now)  # each is recalled, and with it what shares its server
        for name in clocks.states:
            # as near as a mean of equal times is one of them: each host of a server has a mean of its own
            assert begun.next_ready([name], now) == pytest.approx(clocks.next_ready([name], now), rel=1e-12)
            assert begun.apart(name) == pytest.approx(clocks.apart(name), rel=1e-12)


@each_case(
    ("retry_after", "wait"),
    [(600.0, 600.0), (5.0, 60.0), (1e12, LONGEST_BACK_OFF), (math.inf, LONGEST_BACK_OFF), (math.nan, 60.0)],
)
def test_retry_after_is_obeyed_when_longer_and_within_a_day(retry_after: float, wait: float) -> None:
    for overloaded in (True, False):
        state = HostState()
        state.failed(1000.0, retry_after, overloaded=overloaded)
        assert state.until == 1000.0 + wait if overloaded or wait > 60 else state.until <= 1060.0


def failing(state: HostState, times: int, *, overloaded: bool = False) -> list[float]:
    """Fail so many times, each as soon as the host may be asked; return the back-offs."""
    waits = []
    for _ in range(times):
        now = state.until
        state.failed(now, overloaded=overloaded)
        waits.append(state.until - now)
    return waits


def test_the_third_failure_is_the_hosts_and_overload_at_once_up_to_a_day_and_success_forgives() -> None:
    state = HostState()
    assert failing(state, 5) == [0.0, 0.0, 60.0, 120.0, 240.0]
    state.succeeded(500.0)
    assert failing(state, 3) == [0.0, 0.0, 60.0]
    waits = failing(HostState(), 13, overloaded=True)
    assert (waits[:3], waits[-3:]) == ([60.0, 120.0, 240.0], [61_440.0, LONGEST_BACK_OFF, LONGEST_BACK_OFF])


def test_only_a_longer_retry_after_moves_the_end_of_a_back_off_that_runs() -> None:
    state = HostState()
    for number in range(16):  # in flight together, it is one back-off
        state.failed(0.0, overloaded=number > 0)
    state.failed(1.0, 20.0, overloaded=True)
    state.succeeded(1.5)  # of a request begun before
    assert state.until == 60.0
    state.failed(2.0, 500.0, overloaded=True)
    assert state.until == 502.0
    state.failed(502.0, overloaded=True)
    assert state.until == 622.0, "nor is it forgiven"


@each_case(("usual", "crawl_delay", "seconds", "delay"))
def test_a_delay_follows_robots_and_answers(
    usual: float, crawl_delay: float, seconds: float, delay: float
) -> None:
    state = HostState()
    state.answered(0.0, seconds)
    state.crawl_delay(crawl_delay)
    clocks = HostClocks(usual, 10, {HOST: state}.get, factor=5.0)
    assert clocks.next_ready([HOST], 0.0) == pytest.approx(delay)


def test_one_slow_answer_among_quick_ones_hardly_moves_the_delay() -> None:
    clocks = Hosts(1.0, factor=2.0)
    for number in range(20):
        clocks.asked(HOST, 100.0 * number, 100.0 * number + 0.3)
    clocks.asked(HOST, 10_000.0, 10_005.0)
    assert clocks.apart(HOST) == pytest.approx(2 * 0.3**0.7 * 5.0**0.3)
    for number in range(1, 20):
        clocks.asked(HOST, 10_000.0 + 100.0 * number, 10_000.3 + 100.0 * number)
    assert clocks.apart(HOST) == 1.0


def test_hosts_that_wait_are_counted_and_those_that_another_worker_has_now_forgotten() -> None:
    clocks = Hosts(10.0)
    for start, host in enumerate(["a", "b", "c"]):
        clocks.started(host, float(start))
    clocks.finished("b", 3.0)
    clocks.finished("c", 3.0)
    clocks.failed("failing", 10.0)
    assert [clocks.waiting(now) for now in (11.5, 12.5, 100.0)] == [3, 2, 1]
    clocks.forget(lambda host: host < "c")
    assert [clocks.ready(host, 3.0) for host in "abc"] == [False, True, False]


def test_the_host_whose_clock_ran_out_first_is_forgotten_first_and_one_in_flight_never() -> None:
    clocks = Hosts(1.0, limit=20)
    clocks.started("busy", 0.0)
    clocks.failed("bad", 0.0)
    clocks.states.clear()
    for number in range(500):
        clocks.asked(f"h{number}.org", number / 100, number / 100)
        clocks.serves(f"s{number}", f"h{number}.org")
        clocks.serves(f"t{number}", "bad")
        clocks.states.clear()
        assert len(clocks) <= 20 >= len(clocks._servers), "servers without hosts go where there are many"
    assert not clocks.ready("busy", 1000.0)
    assert not clocks.ready("bad", 59.0)
    assert not clocks.ready("h499.org", 5.0)
    assert clocks.ready("h0.org", 0.0)


class Twin:
    """When hosts may be asked, worked out anew of who is on which server: at first each on its own."""

    def __init__(self, delay: float) -> None:
        self.delay, self.on = delay, {host: host for host in "abc"}
        self.started, self.pace, self.flying = dict[str, float](), dict[str, float](), Counter[str]()

    def opens(self, host: str, state: HostState) -> float:
        delay, on = max(self.delay, state.delay), self.on[host]
        if not delay:
            opens = self.started.get(host, -math.inf)
            return math.inf if self.flying[host] >= AT_ONCE else max(state.until, opens)
        if any(self.flying[other] for other in "abc" if self.on[other] == on):
            return math.inf
        return max(state.until, self.started.get(on, -math.inf) + max(delay, self.pace.get(on, 0.0)))

    def serves(self, server: str, host: str, asked: bool) -> None:
        if asked and self.on[host] != server:
            self.started[server] = max(self.started.get(name, -math.inf) for name in (server, host))
        self.on[host] = server


AT_ONCE = 3
SAID = [*["start", "finish", "serves"] * 6, "overload", "crawl delay"]
PASSED = st.sampled_from([*[0.0, 0.1, 0.5, 1.0, 3.0] * 4, 61.0])
told = st.tuples(st.sampled_from("abc"), PASSED, st.sampled_from(SAID), st.booleans(), st.sampled_from("st"))


@given(st.lists(told, min_size=40, max_size=80), st.sampled_from([0.0, 1.0, 4.0]))
def test_hosts_of_one_server_are_asked_as_one_but_for_back_off_and_crawl_delay_wherever_each_moves(
    steps: list[tuple[str, float, str, bool, str]], delay: float
) -> None:
    clocks, twin, now = Hosts(delay, factor=5.0, at_once=AT_ONCE), Twin(delay), 0.0
    for host, passed, step, asked, server in steps:
        now += passed
        if step == "start" and clocks.ready(host, now):
            clocks.started(host, now)
            twin.started[host] = twin.started[twin.on[host]] = now
            twin.flying[host] += 1
        elif step == "finish" and twin.flying[host]:
            clocks.finished(host, now)
            twin.flying[host] -= 1
            clocks.say(host, partial(HostState.answered, began=now - passed, elapsed=passed))
            clocks.answered(host)
            twin.pace[twin.on[host]] = min(5.0 * clocks.state(host).elapsed, LONGEST_PACE)
        elif step == "serves":
            clocks.serves(server, host, asked=asked)
            twin.serves(server, host, asked)
        elif step == "overload":
            clocks.failed(host, now)
        elif step == "crawl delay":
            clocks.say(host, partial(HostState.crawl_delay, seconds=passed))
        opens = {each: twin.opens(each, clocks.state(each)) for each in "abc"}
        assert {each: clocks.ready(each, now) for each in "abc"} == {each: opens[each] <= now for each in "abc"}
        earliest = min(opens.values())
        assert clocks.next_ready(iter("abc"), now) == (None if earliest == math.inf else max(now, earliest))


@each_case(("delay", "limit"), [(-1.0, 1), (math.nan, 1), (math.inf, 1), (1.0, 0)])
def test_settings_out_of_range_are_refused(delay: float, limit: int) -> None:
    with pytest.raises(ValueError, match=r"host clocks: .*, expected"):
        Hosts(delay, limit)
