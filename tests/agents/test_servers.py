"""Which servers are asked when, and how their names are looked up."""

import asyncio
import re
import socket

import pytest

from scentline.agents.fetch import client as client_module
from scentline.agents.fetch import servers as module
from scentline.agents.fetch.client import Client
from scentline.agents.fetch.result import Body, FetchError
from scentline.agents.fetch.servers import (
    FAILED_SECONDS,
    FOUND_SECONDS,
    LONGEST_FAILED_SECONDS,
    Held,
    Resolver,
    Servers,
    TooEarlyError,
)
from scentline.models.facts import Early
from scentline.models.settings import FetchSettings
from tests.agents import loopback
from tests.agents.loopback import Answer, Names, Request, awaited, failed, fixed, serving, settings, untimed
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


NUMBER = re.compile(r"[\d.]+")


async def carried_out(servers: Servers, held: Held, clock: WaitingClock, step: str) -> None:
    """Do what a step says, with some addresses and a delay, or assert it."""
    what, *words = step.split()
    numbers = [float(word) for word in words if NUMBER.fullmatch(word)]
    names = [word for word in words if not NUMBER.fullmatch(word)]
    match what:
        case "at":
            clock.time = numbers[0]
        case "take":
            servers.take(names, *numbers)
        case "start":
            await servers.start(names, *numbers)
        case "ready":
            await servers.ready(names, *numbers)
        case "early":  # by so many seconds
            assert early(servers, names, numbers[0]) == numbers[1]
        case "late":  # to be waited for here
            with pytest.raises(TooEarlyError):
                await servers.start(names, *numbers)
        case "hold":
            servers.hold()
        case "release":
            servers.release(names)
        case "went":
            servers.connected(*names)
        case "slept":
            assert clock.slept == numbers
        case "fetch":  # holds the addresses of its host
            (held.delay,) = numbers
            await held.take(names)
        case "connects":
            held.connected(*names)
        case "ends":
            held.__exit__()
        case "unknown":  # is which of them it asks
            assert held.server == ""
        case _:  # these are held, and the only one is asked
            assert (what, {*held.addresses}) == ("asks", {*names})
            assert len(names) > 1 or [held.server] == names


@each_case("steps")
@awaited
async def test_a_server_is_asked_one_thing_at_a_time(monkeypatch: pytest.MonkeyPatch, steps: str) -> None:
    clock = WaitingClock(monkeypatch)
    servers = Servers(clock)
    held = Held(servers, 0.0).__enter__()
    for step in steps.split(", "):
        await carried_out(servers, held, clock, step)


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
async def test_servers_long_not_asked_are_forgotten(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_SERVERS", 3)
    servers.take(["busy"], 1.0)
    for number in range(9):
        await servers.start([str(number)], 1.0)
    assert early(servers, ["busy"], 5.0) == 5.0
    servers.take(["0"], 100.0)
    assert early(servers, ["8"], 100.0) == 100.0


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
    async with serving(loopback.closing) as server, Client(settings(delay_seconds=0.01), since_1970) as client:
        for _ in range(3):
            ended = untimed(await client.fetch(server.origin + "/"))
            assert ended == failed("retry", "connection", server="127.0.0.1", unanswered=True)


def test_requests_keep_a_delay(monkeypatch: pytest.MonkeyPatch, servers: Servers, clock: WaitingClock) -> None:
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


@each_case(("delay", "crawl_delay", "begins"), [(5.0, 0, 5.0), (0.0, 7, 7.0), (0.0, 0, 3.0)])
def test_a_sitemap_waits_as_long_as_pages_of_its_host(
    monkeypatch: pytest.MonkeyPatch, delay: float, crawl_delay: int, begins: float
) -> None:
    rules, clock = fixed(f"User-agent: *\nCrawl-delay: {crawl_delay}".encode()), WaitingClock(monkeypatch)

    async def run() -> None:
        slow = settings(delay_seconds=1.5, robots=True)
        async with serving(rules) as server, Client(slow, since_1970) as client:
            client.servers = Servers(clock)
            await client.fetch(f"{server.origin}/", delay=delay)
            await client._sitemap(f"{server.origin}/map.xml", None)

    asyncio.run(run())
    assert clock.time == pytest.approx(begins)


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


# names: looked up once for a while, by one asker for all, and failures back off


class Asked(Resolver):
    """A resolver on a clock that the test turns, and the name service behind it."""

    def __init__(self, **known: list[str]) -> None:
        self.names, self.time = Names(known), 0.0
        super().__init__(self.names, lambda: self.time)


@awaited
async def test_addresses_are_kept_for_a_while_and_bear_the_port_that_is_asked_for() -> None:
    resolver = Asked(a=["9.9.9.9", "2001:db8::1"])
    found = await resolver.resolve("a", 80)
    assert [(one["host"], one["port"]) for one in found] == [("9.9.9.9", 80), ("2001:db8::1", 80)]
    resolver.time = FOUND_SECONDS - 1
    found = await resolver.resolve("A.", 443, socket.AF_INET6)
    assert [(one["host"], one["port"]) for one in found] == [("2001:db8::1", 443)]
    assert resolver.names.asked == ["a"]
    resolver.time = FOUND_SECONDS
    await resolver.resolve("a", 80)
    assert resolver.names.asked == ["a", "a"]


@awaited
async def test_a_name_that_fails_is_asked_for_again_ever_later_up_to_an_hour_until_it_is_found() -> None:
    resolver, waits = Asked(), []
    for _ in range(10):
        start, asked = resolver.time, len(resolver.names.asked)
        while len(resolver.names.asked) == asked:
            with pytest.raises(OSError, match="no address"):
                await resolver.resolve("a", 80)
            resolver.time += 10.0
        waits.append(resolver.time - 10.0 - start)
    assert waits[:4] == [0.0, FAILED_SECONDS - 10, 2 * FAILED_SECONDS - 10, 4 * FAILED_SECONDS - 10]
    assert waits[-1] == LONGEST_FAILED_SECONDS - 10

    resolver.time += LONGEST_FAILED_SECONDS
    resolver.names.known["a"] = ["9.9.9.9"]
    assert await resolver.addresses("a:80") == ("9.9.9.9",)
    resolver.time += FOUND_SECONDS
    del resolver.names.known["a"]
    with pytest.raises(FetchError):
        await resolver.addresses("a:80")
    resolver.time += FAILED_SECONDS
    resolver.names.known["a"] = ["9.9.9.8"]
    assert await resolver.addresses("a:80") == ("9.9.9.8",), "no failure is left"


@awaited
async def test_addresses_are_in_an_order_of_their_own() -> None:
    resolver = Asked(a=["9.9.9.9", "1.1.1.1", "9.9.9.9"], b=["1.1.1.1", "9.9.9.9"])
    assert await resolver.addresses("a") == await resolver.addresses("b") == ("1.1.1.1", "9.9.9.9")


@each_case(("name", "address"))
@awaited
async def test_an_address_is_not_looked_up(name: str, address: str) -> None:
    resolver = Asked()
    assert await resolver.addresses(name) == (address,)
    assert not resolver.names.asked


@awaited
async def test_concurrent_askers_share_one_look_up_and_one_that_gives_up_stops_no_other() -> None:
    resolver = Asked(a=["9.9.9.9"])
    tasks = [asyncio.create_task(resolver.addresses("a")) for _ in range(9)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    assert await asyncio.gather(*tasks[1:]) == [("9.9.9.9",)] * 8
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    assert resolver.names.asked == ["a"]


@awaited
async def test_the_names_least_recently_asked_for_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_NAMES", 2)
    resolver = Asked(**{name: ["1.1.1.1"] for name in "abc"})
    for name in "abacab":
        await resolver.addresses(name)
    assert "".join(resolver.names.asked) == "abcb"


@awaited
async def test_a_name_service_that_does_not_answer_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKUP_SECONDS", 0.02)
    resolver = Asked()
    monkeypatch.setattr(resolver.names, "resolve", lambda *_: asyncio.sleep(3600))
    with pytest.raises(FetchError) as error:
        await resolver.addresses("a")
    assert (error.value.kind, error.value.reason) == ("retry", "dns")


@awaited
async def test_closing_ends_the_look_ups_under_way() -> None:
    resolver = Asked()
    task = asyncio.create_task(resolver.addresses("a"))
    await asyncio.sleep(0)
    await resolver.close()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert resolver.names.closed
