"""One request at a time to one server, by any of its addresses, and a delay between requests."""

import asyncio

import pytest

from scentline.agents.fetch import servers as module
from scentline.agents.fetch.servers import BUSY_SECONDS, PATIENCE_SECONDS, Held, Servers, TooEarlyError
from tests.agents.clocks import WaitingClock
from tests.agents.loopback import awaited


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> WaitingClock:
    return WaitingClock(monkeypatch)


def early(servers: Servers, addresses: list[str], delay: float) -> float:
    with pytest.raises(TooEarlyError) as error:
        servers.take(addresses, delay)
    return error.value.seconds


def test_whoever_shares_an_address_waits_for_the_other(clock: WaitingClock) -> None:
    servers = Servers(clock)
    servers.take(["a", "b"], 1.0)
    assert early(servers, ["b", "c"], 0.5) == BUSY_SECONDS
    assert early(servers, ["a"], 30.0) == 30.0
    servers.take(["c"], 1.0)
    servers.release(["a", "b"])
    servers.take(["b"], 1.0)


@awaited
async def test_starts_are_the_delay_apart(clock: WaitingClock) -> None:
    servers = Servers(clock)
    await servers.start(["a"], 1.5)
    await servers.start(["a", "b"], 1.5)
    await servers.start(["b"], 0.5)
    await servers.start(["c"], 1.5)
    assert clock.slept == [1.5, 0.5]


@awaited
async def test_a_long_wait_is_left_to_the_frontier(clock: WaitingClock) -> None:
    servers = Servers(clock)
    await servers.start(["a"], 9.0)
    clock.time = 4.0
    assert early(servers, ["a"], 9.0) == 5.0
    with pytest.raises(TooEarlyError):
        await servers.start(["a"], 9.0)
    clock.time = 9.0 - PATIENCE_SECONDS
    servers.take(["a"], 9.0)
    await servers.start(["a"], 9.0)
    assert clock.slept == [PATIENCE_SECONDS]


def test_one_that_was_refused_leaves_nothing_taken(clock: WaitingClock) -> None:
    servers = Servers(clock)
    servers.take(["b"], 1.0)
    early(servers, ["a", "b"], 1.0)
    servers.take(["a"], 1.0)


def test_a_turn_is_waited_for_however_long_it_takes(clock: WaitingClock) -> None:
    servers = Servers(clock)

    async def run() -> float:
        await servers.start(["a"], 60.0)
        async with servers.turn(["a"], 60.0):
            assert early(servers, ["a"], 1.0) == 1.0
        servers.take(["a"], 0.0)
        return clock.time

    assert asyncio.run(run()) == pytest.approx(60.0)


@awaited
async def test_a_turn_that_fails_is_over() -> None:
    servers = Servers(lambda: 0.0)
    with pytest.raises(OSError, match="broken"):
        async with servers.turn(["a"], 1.0):
            raise OSError("broken")
    servers.take(["a"], 0.0)


@awaited
async def test_the_servers_longest_not_asked_are_forgotten_but_none_that_is_being_asked(
    clock: WaitingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_SERVERS", 3)
    servers = Servers(clock)
    servers.take(["busy"], 1.0)
    for number in range(9):
        await servers.start([str(number)], 1.0)
    assert early(servers, ["busy"], 5.0) == 5.0
    servers.take(["0"], 100.0)
    assert early(servers, ["8"], 100.0) == 100.0


class TestHeld:
    @awaited
    async def test_others_may_ask_all_addresses_but_the_one_that_is_asked(self, clock: WaitingClock) -> None:
        servers = Servers(clock)
        held = Held(servers)
        await servers.start(["b"], 1.0)
        clock.time = 60.0
        held.take(["a", "b", "c"], 1.0)
        await servers.start(held.addresses, 1.0)
        assert early(servers, ["b"], 5.0) == 5.0
        held.connected("a")
        assert (held.addresses, held.server) == (("a",), "a")
        # Nothing began at the others: no delay is to be kept there.
        await servers.start(["b"], 50.0)
        servers.take(["c"], 50.0)
        assert early(servers, ["a"], 5.0) == 5.0
        held.release()
        assert early(servers, ["a"], 5.0) == 5.0
        assert clock.slept == []

    def test_an_address_that_another_has_taken_since_is_not_let_go(self, clock: WaitingClock) -> None:
        servers = Servers(clock)
        held = Held(servers)
        held.take(["a", "b"], 1.0)
        held.connected("a")
        servers.take(["b"], 1.0)
        held.connected("a")
        held.release()
        assert early(servers, ["b"], 5.0) == 5.0
        servers.take(["a"], 1.0)

    def test_an_address_that_is_none_of_them_says_nothing(self, clock: WaitingClock) -> None:
        servers = Servers(clock)
        held = Held(servers)
        held.take(["a", "b"], 1.0)
        held.connected("c")
        assert (held.addresses, held.server) == (("a", "b"), "")
        assert early(servers, ["b"], 5.0) == 5.0

    @awaited
    async def test_what_began_since_is_not_taken_back(self, clock: WaitingClock) -> None:
        servers = Servers(clock)
        clock.time = 60.0
        await servers.start(["a", "b"], 1.0)
        clock.time = 61.0
        await servers.start(["b"], 1.0)
        servers.connected("a")
        assert early(servers, ["b"], 30.0) == 30.0
        assert early(servers, ["a"], 30.0) == 29.0

    @awaited
    async def test_a_request_that_reaches_nobody_counts_at_all_addresses(self, clock: WaitingClock) -> None:
        servers = Servers(clock)
        held = Held(servers)
        held.take(["a", "b"], 9.0)
        await servers.start(held.addresses, 9.0)
        held.release()
        assert early(servers, ["b"], 9.0) == 9.0

    def test_what_was_let_go_is_taken_again_for_the_next_request(self, clock: WaitingClock) -> None:
        servers = Servers(clock)
        held = Held(servers)
        held.take(["a", "b"], 1.0)
        held.connected("a")
        held.take(["a", "b"], 1.0)
        assert set(held.addresses) == {"a", "b"}
        assert early(servers, ["b"], 5.0) == 5.0
        held.connected("b")
        servers.take(["a"], 1.0)
        with pytest.raises(TooEarlyError):
            held.take(["a", "b"], 1.0)
        held.release()
        servers.take(["b"], 1.0)

    def test_addresses_of_one_64_are_held_and_let_go_as_one(self, clock: WaitingClock) -> None:
        servers = Servers(clock)
        held = Held(servers)
        held.take(["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"], 1.0)
        held.connected("2001:db8::2")
        held.take(["2001:db8::1", "2001:db8::2"], 1.0)
        assert early(servers, ["2001:db8::3"], 5.0) == 5.0
        servers.take(["2001:db8:0:1::2"], 1.0)
        held.release()
        servers.take(["2001:db8::1"], 1.0)


@awaited
async def test_where_others_carried_out_orders_every_server_counts_as_just_asked(clock: WaitingClock) -> None:
    servers = Servers(clock)
    servers.hold()
    await servers.start(["a"], 1.5)
    clock.time = 20.0
    servers.hold()
    assert early(servers, ["a"], 9.0) == 9.0
    with pytest.raises(TooEarlyError):
        await servers.ready(["b"], 9.0)
    clock.time = 20.5
    await servers.ready(["b"], 1.0)
    await servers.ready(["a"], 1.0)
    assert clock.slept == [1.5, 0.5]
