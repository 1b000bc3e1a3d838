"""Hosts of several addresses that note when they are asked, and a crawl of them that is killed again and again.

Hosts lie on addresses of their own in 127.0.0.0/8, but for two that share one.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random

from tests.agents.commands import forked
from tests.webs.serving import Exchange, serving

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
KILLS = 4


@dataclass
class Watched:
    """When each server was asked and for what, and since when one of them is to be left alone.

    ``told`` is whether the last answer was one that is to be heard of after a death.
    """

    asked: dict[str, list[float]] = field(default_factory=dict)
    targets: dict[str, list[str]] = field(default_factory=dict)
    refused: float = 0.0
    told: bool = False
    heard: float = 0.0

    async def answer(self, exchange: Exchange) -> None:
        now = time.monotonic()
        self.asked.setdefault(exchange.address, []).append(now)
        self.targets.setdefault(exchange.host, []).append(exchange.target)
        self.told = exchange.target == "/robots.txt"
        self.heard = now if self.told else self.heard
        if exchange.host == CLOSED:
            exchange.send(503, Retry_After="3600")
        elif exchange.target == "/robots.txt":
            exchange.send(200, RULES.encode() if exchange.host == SLOW else b"", "text/plain")
        elif exchange.host == BUSY and not self.refused:
            self.refused, self.heard, self.told = now, now, True
            exchange.send(429, Retry_After=str(RETRY_AFTER))
        else:
            links = "".join(f"<a href='/{number}'>page {number}</a>" for number in range(200))
            exchange.send(200, f"<title>Page {exchange.target}</title>{links}".encode())

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
        return [later - earlier for earlier, later in pairwise(self.asked[address])]

    @property
    def left_alone(self) -> float:
        """For how many seconds the host was left alone that asked for it; infinite if it still is."""
        return min((at for at in self.asked[BUSY] if at > self.refused), default=float("inf")) - self.refused


def crawled(directory: Path, options: Iterable[str], random: Random) -> Watched:
    """Crawl, killed again and again, until the host that is to be left alone was asked again."""
    watched = Watched()
    given = ["crawl", "--predicate", 'p="page"', "--policy", "breadth-first", *options]
    given += ["--set", "fetch.allow=127.0.0.0/8,localhost,a.localhost", "--set", f"fetch.delay_seconds={DELAY}"]
    with serving(watched.answer, "127.0.0.1", SLOW, BUSY, CLOSED) as served:
        given += [word for name in HOSTS for word in ("--seed", f"http://{name}:{served.port}/")]
        for kill in range(KILLS):
            enough = watched.requests + random.randint(2, 4)
            with forked(directory, *given) as crawl:
                # What a robots.txt or a refusal says is in the log when others were asked since, a while later;
                # the last run goes on until the host that is to be left alone was asked again.
                while (
                    watched.requests < enough
                    or watched.telling
                    or (kill == KILLS - 1 and (not watched.refused or watched.left_alone == float("inf")))
                ):
                    assert crawl.process.is_alive(), crawl.err.read_text()
                    time.sleep(0.05)
    return watched


def check(watched: Watched) -> None:
    """Assert that no server was asked before its time."""
    for address in ("127.0.0.1", BUSY, SLOW):
        assert min(watched.gaps(address)) > DELAY - LEEWAY, (address, watched.gaps(address))
    assert min(watched.gaps(SLOW)) > CRAWL_DELAY - LEEWAY, watched.gaps(SLOW)
    assert watched.left_alone > RETRY_AFTER - LEEWAY
    asked = {name: targets.count("/robots.txt") for name, targets in watched.targets.items()}
    assert asked == dict.fromkeys(HOSTS, 1)
    assert watched.targets[CLOSED] == ["/robots.txt"]
    assert not any(target.startswith("/1") for target in watched.targets[SLOW]), watched.targets[SLOW]
