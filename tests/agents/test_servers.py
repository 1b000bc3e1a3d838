"""One request at a time to one server, by any of its addresses, and a delay between requests."""

import asyncio
import socket

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from scentline.agents.fetch import client as client_module
from scentline.agents.fetch import servers as module
from scentline.agents.fetch.client import Client
from scentline.agents.fetch.result import Early, Failure, Fetched
from scentline.agents.fetch.servers import BUSY_SECONDS, PATIENCE_SECONDS, Held, Servers, TooEarlyError
from scentline.streams.crawl_settings import FetchSettings
from tests.agents.clocks import WaitingClock
from tests.agents.loopback import Answer, Request, awaited, fixed, response, serving, settings, untimed
from tests.cases import each_case


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
        held.connected("c")
        assert (held.addresses, held.server) == (("a", "b"), ""), "an address that is none of them says nothing"
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


# by the client


def since_1970() -> float:
    return 1_700_000_000.0


async def unanswered(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.close()


class Names(AbstractResolver):
    """The addresses of some names, in their order; an address is its own."""

    def __init__(self, names: dict[str, list[str]]) -> None:
        self._names = names

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0)
            for address in self._names[host]
        ]

    async def close(self) -> None:
        pass


def held_back(path: str) -> tuple[Answer, asyncio.Event, asyncio.Event]:
    """Return an answer that waits at a path, when a request arrived there, and what ends the wait."""
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        if request.target == path:
            arrived.set()
            await go_on.wait()
        writer.write(response(b""))

    return answer, arrived, go_on


class TestThroughTheClient:
    @awaited
    async def test_names_on_one_address_are_asked_one_after_the_other(self) -> None:
        answer, arrived, go_on = held_back("/a")
        async with serving(answer) as server, Client(settings(delay_seconds=30), since_1970) as client:
            client._pool.resolver._ask = Names({"other.test": ["127.0.0.1"]})
            first = asyncio.create_task(client.fetch(f"{server.origin}/a"))
            await arrived.wait()
            busy = await client.fetch(f"http://other.test:{server.port}/b")
            assert isinstance(busy, Early)
            assert busy.wait == 30.0
            go_on.set()
            done = await first
            assert isinstance(done, Fetched)
            assert busy.server == done.server == "127.0.0.1"
            early = await client.fetch(f"http://other.test:{server.port}/b")
            assert isinstance(early, Early)
            assert 0 < early.wait <= 30.0
            assert server.targets() == ["/a"]

    @each_case("slow", ["/robots.txt", "/page"])
    @awaited
    async def test_a_slow_host_holds_up_none_whose_address_it_claims(self, slow: str) -> None:
        answer, arrived, go_on = held_back(slow)
        async with (
            serving(answer, "127.0.0.2") as evil,
            serving(fixed(b"x")) as victim,
            Client(settings(allow=("127.0.0.0/8",), delay_seconds=1.0, robots=True), since_1970) as client,
        ):
            client._pool.resolver._ask = Names({"evil.test": ["127.0.0.2", "127.0.0.1"]})
            asking = asyncio.create_task(client.fetch(f"http://evil.test:{evil.port}/page"))
            await arrived.wait()
            assert isinstance(await client.fetch(f"{victim.origin}/"), Fetched)
            go_on.set()
            done = await asking
            assert isinstance(done, Fetched)
            assert done.server == "127.0.0.2"

    @awaited
    async def test_a_server_is_free_again_after_a_failure(self) -> None:
        slow = settings(delay_seconds=0.01)
        async with serving(unanswered) as server, Client(slow, since_1970) as client:
            for _ in range(3):
                failed = await client.fetch(server.origin + "/")
                assert isinstance(failed, Failure)
                assert failed.reason == "connection"

    def test_every_request_to_a_server_is_the_delay_apart(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            client_module, "PATIENCE_SECONDS", 0.5
        )  # between the steps of a redirect of robots.txt
        waiting = WaitingClock(monkeypatch)
        times: dict[str, float] = {}

        async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
            times[f"{request.headers['host'].partition(':')[0]}{request.target}"] = waiting()
            moved = {"status": "301 X", "location": "/moved.txt"} if request.target == "/robots.txt" else {}
            writer.write(response(b"", **moved))

        async def run() -> None:
            slow = settings(allow=("127.0.0.1", "::1"), delay_seconds=1.5, robots=True)
            async with serving(answer) as server, Client(slow, since_1970) as client:
                client.servers = Servers(waiting)
                for name in ("127.0.0.1", "localhost"):
                    assert isinstance(await client.fetch(f"http://{name}:{server.port}/"), Fetched)

        asyncio.run(run())
        assert times == {
            "127.0.0.1/robots.txt": 0.0,
            "127.0.0.1/moved.txt": 0.5,
            "127.0.0.1/": 2.0,
            "localhost/robots.txt": 3.5,
            "localhost/moved.txt": 4.0,
            "localhost/": 5.5,
        }


class TestProxy:
    @awaited
    async def test_hosts_are_told_apart_by_name_where_only_it_is_known(self) -> None:
        slow = {"robots": False, "delay_seconds": 30, "allow": ()}
        async with (
            serving(fixed(b"x")) as proxy,
            Client(settings(proxy=proxy.origin, **slow), since_1970) as client,
        ):
            first, second, again = [await client.fetch(f"http://{name}.test/") for name in "aba"]
            assert [type(each) for each in (first, second, again)] == [Fetched, Fetched, Early]
            assert first.server == again.server == ""

    @awaited
    async def test_it_is_asked_in_absolute_form_under_the_pages_own_host_and_it_alone_gets_the_credentials(
        self,
    ) -> None:
        host = "http://no-such-host.example"
        async with serving(fixed(b"archived")) as proxy:
            through = FetchSettings(proxy=proxy.origin.replace("//", "//me:secret@"), delay_seconds=0.0)
            async with Client(through, since_1970) as client:
                result = await client.fetch(f"{host}/a%28b%29?c=d+e")
        assert isinstance(result, Fetched)
        assert result.body == b"archived"
        assert proxy.targets() == [f"{host}/robots.txt", f"{host}/a%28b%29?c=d+e"]
        assert proxy.requests[1].headers["host"] == "no-such-host.example"
        assert proxy.requests[0].headers["proxy-authorization"].startswith("Basic ")
        assert "authorization" not in proxy.requests[0].headers

    @awaited
    async def test_it_is_not_asked_for_addresses_that_may_not_be_reached(self) -> None:
        async with serving(fixed(b"x")) as proxy:
            async with Client(FetchSettings(proxy=proxy.origin, delay_seconds=0.0), since_1970) as client:
                for host in ("169.254.169.254", "127.0.0.1", "2130706433", "[::ffff:10.0.0.1]", "localhost"):
                    result = untimed(await client.fetch(f"http://{host}/"))
                    assert result == Failure("refused", f"address {host.strip('[]')}")
            assert proxy.connections == 0
