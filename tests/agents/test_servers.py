"""One request at a time to one server, by any of its addresses, and a delay between requests."""

import asyncio

import pytest

from scentline.agents.fetch import client as client_module
from scentline.agents.fetch import servers as module
from scentline.agents.fetch.client import Client
from scentline.agents.fetch.result import Body
from scentline.agents.fetch.servers import BUSY_SECONDS, PATIENCE_SECONDS, Held, Servers, TooEarlyError
from scentline.streams.crawl_settings import FetchSettings
from scentline.streams.facts import Early
from tests.agents.loopback import (
    Answer,
    Names,
    Request,
    awaited,
    closing,
    failed,
    fixed,
    serving,
    settings,
    untimed,
)
from tests.cases import each_case


class WaitingClock:
    """Seconds, of which only those pass that someone sleeps; ``slept`` has how long each time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time = 0.0
        self.slept: list[float] = []

        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)
            self.time += seconds

        monkeypatch.setattr(asyncio, "sleep", sleep)

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> WaitingClock:
    return WaitingClock(monkeypatch)


@pytest.fixture
def servers(clock: WaitingClock) -> Servers:
    return Servers(clock)


def early(servers: Servers, addresses: list[str], delay: float) -> float:
    with pytest.raises(TooEarlyError) as error:
        servers.take(addresses, delay)
    return error.value.seconds


def test_whoever_shares_an_address_waits_for_the_other(servers: Servers) -> None:
    servers.take(["a", "b"], 1.0)
    assert early(servers, ["b", "c"], 0.5) == BUSY_SECONDS
    assert early(servers, ["a"], 30.0) == 30.0
    servers.take(["c"], 1.0)  # the one that was refused left nothing taken
    servers.release(["a", "b"])
    servers.take(["b"], 1.0)


@awaited
async def test_starts_are_the_delay_apart(servers: Servers, clock: WaitingClock) -> None:
    await servers.start(["a"], 1.5)
    await servers.start(["a", "b"], 1.5)
    await servers.start(["b"], 0.5)
    await servers.start(["c"], 1.5)
    assert clock.slept == [1.5, 0.5]


@awaited
async def test_a_long_wait_is_left_to_the_frontier(servers: Servers, clock: WaitingClock) -> None:
    await servers.start(["a"], 9.0)
    clock.time = 4.0
    assert early(servers, ["a"], 9.0) == 5.0
    with pytest.raises(TooEarlyError):
        await servers.start(["a"], 9.0)
    clock.time = 9.0 - PATIENCE_SECONDS
    servers.take(["a"], 9.0)
    await servers.start(["a"], 9.0)
    assert clock.slept == [PATIENCE_SECONDS]


@awaited
async def test_a_turn_is_waited_for_and_over_when_it_fails(servers: Servers, clock: WaitingClock) -> None:
    await servers.start(["a"], 60.0)
    with pytest.raises(OSError, match="broken"):
        async with servers.turn(["a"], 60.0):
            assert early(servers, ["a"], 1.0) == 1.0
            raise OSError("broken")
    servers.take(["a"], 0.0)
    assert clock.time == pytest.approx(60.0)


@awaited
async def test_servers_long_not_asked_are_forgotten_and_none_that_is_busy(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_SERVERS", 3)
    servers.take(["busy"], 1.0)
    for number in range(9):
        await servers.start([str(number)], 1.0)
    assert early(servers, ["busy"], 5.0) == 5.0
    servers.take(["0"], 100.0)
    assert early(servers, ["8"], 100.0) == 100.0


@awaited
async def test_after_others_every_server_counts_as_just_asked(servers: Servers, clock: WaitingClock) -> None:
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


# the addresses that one fetch holds


@pytest.fixture
def held(servers: Servers) -> Held:
    return Held(servers)


@awaited
async def test_others_may_ask_all_addresses_but_the_one_that_is_asked(
    servers: Servers, held: Held, clock: WaitingClock
) -> None:
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


def test_an_address_that_another_has_taken_since_is_not_let_go(servers: Servers, held: Held) -> None:
    held.take(["a", "b"], 1.0)
    held.connected("a")
    servers.take(["b"], 1.0)
    held.connected("a")
    held.release()
    assert early(servers, ["b"], 5.0) == 5.0
    servers.take(["a"], 1.0)


@awaited
async def test_what_began_since_is_not_taken_back(servers: Servers, clock: WaitingClock) -> None:
    clock.time = 60.0
    await servers.start(["a", "b"], 1.0)
    clock.time = 61.0
    await servers.start(["b"], 1.0)
    servers.connected("a")
    assert early(servers, ["b"], 30.0) == 30.0
    assert early(servers, ["a"], 30.0) == 29.0


@awaited
async def test_a_request_that_reaches_nobody_counts_at_all_addresses(servers: Servers, held: Held) -> None:
    held.take(["a", "b"], 9.0)
    await servers.start(held.addresses, 9.0)
    held.connected("c")
    assert (held.addresses, held.server) == (("a", "b"), ""), "an address that is none of them says nothing"
    held.release()
    assert early(servers, ["b"], 9.0) == 9.0


def test_what_was_let_go_is_taken_again_for_the_next_request(servers: Servers, held: Held) -> None:
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


def test_addresses_of_one_64_are_held_and_let_go_as_one(servers: Servers, held: Held) -> None:
    held.take(["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"], 1.0)
    held.connected("2001:db8::2")
    held.take(["2001:db8::1", "2001:db8::2"], 1.0)
    assert early(servers, ["2001:db8::3"], 5.0) == 5.0
    servers.take(["2001:db8:0:1::2"], 1.0)
    held.release()
    servers.take(["2001:db8::1"], 1.0)


# by the client


def since_1970() -> float:
    return 1_700_000_000.0


def held_back(path: str) -> tuple[Answer, asyncio.Event, asyncio.Event]:
    """Return an answer that waits at a path, when a request arrived there, and what ends the wait."""
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        if request.target == path:
            arrived.set()
            await go_on.wait()
        await fixed(b"")(request, writer)

    return answer, arrived, go_on


@each_case("slow", ["/robots.txt", "/page"])
@awaited
async def test_a_slow_host_holds_up_none_whose_address_it_claims(slow: str) -> None:
    answer, arrived, go_on = held_back(slow)
    async with (
        serving(answer, "127.0.0.2") as evil,
        serving(fixed(b"x")) as victim,
        Client(settings(allow=("127.0.0.0/8",), delay_seconds=1.0, robots=True), since_1970) as client,
    ):
        client._pool.resolver._ask = Names({"evil.test": ["127.0.0.2", "127.0.0.1"]})
        asking = asyncio.create_task(client.fetch(f"http://evil.test:{evil.port}/page"))
        await arrived.wait()
        assert isinstance((await client.fetch(f"{victim.origin}/")).result, Body)
        go_on.set()
        done = await asking
        assert isinstance(done.result, Body)
        assert done.host.server == "127.0.0.2"


@awaited
async def test_a_server_is_free_again_after_a_failure() -> None:
    async with serving(closing) as server, Client(settings(delay_seconds=0.01), since_1970) as client:
        for _ in range(3):
            ended = untimed(await client.fetch(server.origin + "/"))
            assert ended == failed("retry", "connection", server="127.0.0.1", unanswered=True)


def test_every_request_to_a_server_is_the_delay_apart(
    monkeypatch: pytest.MonkeyPatch, servers: Servers, clock: WaitingClock
) -> None:
    monkeypatch.setattr(client_module, "PATIENCE_SECONDS", 0.5)  # between the steps of a redirect of robots.txt
    times: dict[str, float] = {}

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        times[f"{request.headers['host'].partition(':')[0]}{request.target}"] = clock()
        moved = {"status": "301 X", "location": "/moved.txt"} if request.target == "/robots.txt" else {}
        await fixed(b"", **moved)(request, writer)

    async def run() -> None:
        slow = settings(allow=("127.0.0.1", "::1"), delay_seconds=1.5, robots=True)
        async with serving(answer) as server, Client(slow, since_1970) as client:
            client.servers = servers
            for name in ("127.0.0.1", "localhost"):
                assert isinstance((await client.fetch(f"http://{name}:{server.port}/")).result, Body)

    asyncio.run(run())
    assert times == {
        "127.0.0.1/robots.txt": 0.0, "127.0.0.1/moved.txt": 0.5, "127.0.0.1/": 2.0,
        "localhost/robots.txt": 3.5, "localhost/moved.txt": 4.0, "localhost/": 5.5,
    }  # fmt: skip


# by a proxy


@awaited
async def test_hosts_are_told_apart_by_name_where_only_it_is_known() -> None:
    async with serving(fixed(b"x")) as proxy:
        slow = settings(proxy=proxy.origin, delay_seconds=30, allow=())
        async with Client(slow, since_1970) as client:
            first, second, again = [await client.fetch(f"http://{name}.test/") for name in "aba"]
    assert [type(each.result) for each in (first, second, again)] == [Body, Body, Early]
    assert first.host.server == again.host.server == ""


@awaited
async def test_a_proxy_is_asked_in_absolute_form_for_the_pages_host_and_it_alone_gets_the_credentials() -> None:
    host = "http://no-such-host.example"
    async with serving(fixed(b"archived")) as proxy:
        through = FetchSettings(proxy=proxy.origin.replace("//", "//me:secret@"), delay_seconds=0.0)
        async with Client(through, since_1970) as client:
            result = (await client.fetch(f"{host}/a%28b%29?c=d+e")).result
    assert isinstance(result, Body)
    assert result.body == b"archived"
    assert proxy.targets() == [f"{host}/robots.txt", f"{host}/a%28b%29?c=d+e"]
    assert proxy.requests[1].headers["host"] == "no-such-host.example"
    assert proxy.requests[0].headers["proxy-authorization"].startswith("Basic ")
    assert "authorization" not in proxy.requests[0].headers
