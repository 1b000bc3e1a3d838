"""Addresses are looked up once for a while, by one asker for all, and failures back off."""

import asyncio
import socket

import pytest

from scentline.agents.fetch import servers as module
from scentline.agents.fetch.result import FetchError
from scentline.agents.fetch.servers import FAILED_SECONDS, FOUND_SECONDS, LONGEST_FAILED_SECONDS, Resolver
from tests.agents.loopback import Names, awaited
from tests.cases import each_case


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
