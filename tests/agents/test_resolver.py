"""Addresses are looked up once for a while, by one asker for all, and failures back off."""

import asyncio
import socket

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from scentline.agents.fetch import resolver as module
from scentline.agents.fetch.resolver import FAILED_SECONDS, FOUND_SECONDS, LONGEST_FAILED_SECONDS, Resolver
from scentline.agents.fetch.result import FetchError
from tests.agents.loopback import awaited
from tests.cases import each_case


class Names(AbstractResolver):
    """A name service of a test: what it has no addresses for, it fails on."""

    def __init__(self, **known: list[str]) -> None:
        self.known = known
        self.asked: list[str] = []
        self.closed = False
        self.time = 0.0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        self.asked.append(host)
        await asyncio.sleep(0)
        if host not in self.known:
            raise OSError(None, "not found")
        known = [
            (address, socket.AF_INET6 if ":" in address else socket.AF_INET) for address in self.known[host]
        ]
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=0)
            for address, kind in known
        ]

    async def close(self) -> None:
        self.closed = True

    def resolver(self) -> Resolver:
        return Resolver(self, lambda: self.time)


@awaited
async def test_addresses_are_kept_for_a_while_and_bear_the_port_that_is_asked_for() -> None:
    names = Names(a=["9.9.9.9", "2001:db8::1"])
    resolver = names.resolver()
    found = await resolver.resolve("a", 80)
    assert [(one["host"], one["port"]) for one in found] == [("9.9.9.9", 80), ("2001:db8::1", 80)]
    names.time = FOUND_SECONDS - 1
    found = await resolver.resolve("A.", 443, socket.AF_INET6)
    assert [(one["host"], one["port"]) for one in found] == [("2001:db8::1", 443)]
    assert names.asked == ["a"]
    names.time = FOUND_SECONDS
    await resolver.resolve("a", 80)
    assert names.asked == ["a", "a"]


def test_a_name_that_fails_is_asked_for_again_ever_later_up_to_an_hour() -> None:
    names = Names()
    resolver = names.resolver()

    async def run() -> list[float]:
        waits = []
        for _ in range(10):
            start = names.time
            asked = len(names.asked)
            while len(names.asked) == asked:
                with pytest.raises(OSError, match="no address"):
                    await resolver.resolve("a", 80)
                names.time += 10.0
            waits.append(names.time - 10.0 - start)
        return waits

    waits = asyncio.run(run())
    assert waits[:4] == [0.0, FAILED_SECONDS - 10, 2 * FAILED_SECONDS - 10, 4 * FAILED_SECONDS - 10]
    assert waits[-1] == LONGEST_FAILED_SECONDS - 10


@awaited
async def test_a_name_that_is_found_again_has_no_failure_left() -> None:
    names = Names()
    resolver = names.resolver()
    for _ in range(3):
        with pytest.raises(FetchError):
            await resolver.addresses("a:80")
        names.time += 10_000
    names.known["a"] = ["9.9.9.9"]
    assert await resolver.addresses("a:80") == ("9.9.9.9",)
    del names.known["a"]
    names.time += FOUND_SECONDS
    with pytest.raises(FetchError):
        await resolver.addresses("a:80")
    names.time += FAILED_SECONDS
    names.known["a"] = ["9.9.9.8"]
    assert await resolver.addresses("a:80") == ("9.9.9.8",)


@awaited
async def test_addresses_are_in_an_order_of_their_own() -> None:
    names = Names(a=["9.9.9.9", "1.1.1.1", "9.9.9.9"], b=["1.1.1.1", "9.9.9.9"])
    resolver = names.resolver()
    assert await resolver.addresses("a") == await resolver.addresses("b") == ("1.1.1.1", "9.9.9.9")


@each_case(("name", "address"), [("127.0.0.1", "127.0.0.1"), ("0x7f.1:80", "127.0.0.1"), ("[::1]:80", "::1")])
def test_an_address_is_not_looked_up(name: str, address: str) -> None:
    names = Names()
    assert asyncio.run(names.resolver().addresses(name)) == (address,)
    assert not names.asked


@awaited
async def test_concurrent_askers_share_one_look_up_and_one_that_gives_up_stops_no_other() -> None:
    names = Names(a=["9.9.9.9"])
    resolver = names.resolver()
    tasks = [asyncio.create_task(resolver.addresses("a")) for _ in range(9)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    assert await asyncio.gather(*tasks[1:]) == [("9.9.9.9",)] * 8
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    assert names.asked == ["a"]


@awaited
async def test_the_names_least_recently_asked_for_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_NAMES", 2)
    names = Names(a=["1.1.1.1"], b=["1.1.1.1"], c=["1.1.1.1"])
    resolver = names.resolver()
    for name in "abacab":
        await resolver.addresses(name)
    assert "".join(names.asked) == "abcb"


def test_a_name_service_that_does_not_answer_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKUP_SECONDS", 0.02)

    class Silent(Names):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            await asyncio.sleep(3600)
            return []

    with pytest.raises(FetchError) as error:
        asyncio.run(Silent().resolver().addresses("a"))
    assert (error.value.kind, error.value.reason) == ("retry", "dns")


@awaited
async def test_closing_ends_the_look_ups_under_way() -> None:
    names = Names()
    resolver = names.resolver()
    task = asyncio.create_task(resolver.addresses("a"))
    await asyncio.sleep(0)
    await resolver.close()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert names.closed
