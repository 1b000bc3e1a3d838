"""Hosts of several addresses that note when they are asked, and a crawl of them that is killed again and again.

Hosts lie on addresses of their own in 127.0.0.0/8, but for two that share one.
"""

import asyncio
import time
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random

from tests.agents.commands import forked
from tests.agents.loopback import Request, response, serving

#: Seconds between two requests to a server, what one host's robots.txt asks for, and what another says for how
#: long it is to be left alone.
DELAY, CRAWL_DELAY, RETRY_AFTER = 5, 9, 61
SLOW, BUSY, CLOSED, SHARED, OTHER = "127.0.0.2", "127.0.0.3", "127.0.0.4", "localhost", "a.localhost"
HOSTS = (SLOW, BUSY, CLOSED, SHARED, OTHER)
#: The host that asks for a Crawl-delay forbids every other of its pages, or so.
RULES = f"User-agent: *\nCrawl-delay: {CRAWL_DELAY}\nDisallow: /1"
#: A request may be under way for so long before a busy machine's server sees it, one after it for no time.
LEEWAY = 1.0
#: Seconds after which an answer that is to be heard of is in the log: a death before that loses it.
LOGGED = 3.0


@dataclass
class Watched:
    """When each server was asked and for what, and since when one of them is to be left alone.

    ``told`` is whether the last answer was one that is to be heard of after a death.
    """

    port: int = 0
    asked: dict[str, list[float]] = field(default_factory=dict)
    targets: dict[str, list[str]] = field(default_factory=dict)
    refused: float = 0.0
    told: bool = False
    heard: float = 0.0

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        name = request.headers["host"].partition(":")[0]
        address = writer.get_extra_info("sockname")[0]
        now = time.monotonic()
        self.asked.setdefault(address, []).append(now)
        self.targets.setdefault(name, []).append(request.target)
        self.told = request.target == "/robots.txt"
        self.heard = now if self.told else self.heard
        if name == CLOSED:
            writer.write(response(b"", "503 Service Unavailable", retry_after="3600"))
        elif request.target == "/robots.txt":
            writer.write(response(RULES.encode() if name == SLOW else b"", content_type="text/plain"))
        elif name == BUSY and not self.refused:
            self.refused, self.heard, self.told = now, now, True
            writer.write(response(b"", "429 Too Many Requests", retry_after=str(RETRY_AFTER)))
        else:
            links = "".join(f"<a href='/{number}'>page {number}</a>" for number in range(200))
            writer.write(response(f"<title>Page {request.target}</title>{links}".encode()))

    @property
    def telling(self) -> bool:
        """Whether the newest answer that is to be heard of may not be in the log yet."""
        return self.told or time.monotonic() < self.heard + LOGGED

    @property
    def requests(self) -> int:
        """How many there were."""
        return sum(map(len, self.asked.values()))

    def gaps(self, address: str) -> list[float]:
        """Return the seconds between the requests to an address."""
        times = self.asked[address]
        return [later - earlier for earlier, later in pairwise(times)]

    @property
    def left_alone(self) -> float:
        """For how many seconds the host was left alone that asked for it; infinite if it still is."""
        return min((at for at in self.asked[BUSY] if at > self.refused), default=float("inf")) - self.refused


def crawled(directory: Path, options: Iterable[str], random: Random) -> tuple[Watched, int]:
    """Crawl until the host that is to be left alone was asked again; return what was seen, and the kills."""
    return asyncio.run(_crawled(directory, tuple(options), random))


async def _crawled(directory: Path, options: tuple[str, ...], random: Random) -> tuple[Watched, int]:
    watched, kills = Watched(), 0
    async with AsyncExitStack() as stack:
        watched.port = (await stack.enter_async_context(serving(watched.answer, "127.0.0.1"))).port
        for address in (SLOW, BUSY, CLOSED):
            await stack.enter_async_context(serving(watched.answer, address, watched.port))
        while not watched.refused or watched.left_alone == float("inf"):
            with forked(directory, *_arguments(watched.port), *options) as crawl:
                enough = watched.requests + random.randint(1, 4)
                # What a robots.txt or a refusal says is in the log when others were asked since, a while later.
                while (watched.requests < enough or watched.telling) and crawl.process.is_alive():
                    await asyncio.sleep(0.05)
                assert crawl.process.is_alive(), crawl.err.read_text()
                await asyncio.sleep(random.random())
            kills += 1
    return watched, kills


def _arguments(port: int) -> list[str]:
    given = ["crawl", "--predicate", 'p="page"', "--policy", "breadth-first"]
    for name in HOSTS:
        given += ["--seed", f"http://{name}:{port}/"]
    for value in ("fetch.allow=127.0.0.0/8,localhost,a.localhost", f"fetch.delay_seconds={DELAY}"):
        given += ["--set", value]
    return given


def check(watched: Watched) -> None:
    """Assert that no server was asked before its time."""
    for address in ("127.0.0.1", BUSY, SLOW):
        assert min(watched.gaps(address)) > DELAY - LEEWAY, (address, watched.gaps(address))
    assert min(watched.gaps(SLOW)) > CRAWL_DELAY - LEEWAY, watched.gaps(SLOW)
    assert watched.left_alone > RETRY_AFTER - LEEWAY
    assert {name: targets.count("/robots.txt") for name, targets in watched.targets.items()} == dict.fromkeys(
        HOSTS, 1
    )
    assert watched.targets[CLOSED] == ["/robots.txt"]
    assert not any(target.startswith("/1") for target in watched.targets[SLOW]), watched.targets[SLOW]
