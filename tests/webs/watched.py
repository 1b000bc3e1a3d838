"""Hosts of several addresses that note when they are asked, and a crawl of them that is killed again and again.

Hosts lie on addresses of their own in 127.0.0.0/8, but for two that share one.
"""

import time
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from random import Random

from tests.agents.commands import forked
from tests.e2e.crawls import each
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
LOGGED = 6.0
KILLS = 3


class Watched:
    """When each server was asked and for what, and since when one of them is to be left alone.

    ``told`` is whether the last answer was one that is to be heard of after a death.
    """

    def __init__(self) -> None:
        self.asked: defaultdict[str, list[float]] = defaultdict(list)
        self.targets: defaultdict[str, list[str]] = defaultdict(list)
        self.refused = self.heard = 0.0
        self.told = False

    async def answer(self, exchange: Exchange) -> None:
        now = time.monotonic()
        self.asked[exchange.address].append(now)
        self.targets[exchange.host].append(exchange.target)
        refused = exchange.host == BUSY and exchange.target != "/robots.txt" and not self.refused
        self.told = refused or exchange.target == "/robots.txt"
        self.heard = now if self.told else self.heard
        if exchange.host == CLOSED:
            exchange.send(503, Retry_After="3600")
        elif refused:
            self.refused = now
            exchange.send(429, Retry_After=str(RETRY_AFTER))
        elif exchange.target == "/robots.txt":
            exchange.send(200, RULES.encode() if exchange.host == SLOW else b"", "text/plain")
        else:
            exchange.page(f"Page {exchange.target}", [f"/{number}" for number in range(200)])

    def telling(self) -> bool:
        """Tell whether the newest answer that is to be heard of may not be in the log yet."""
        return self.told or time.monotonic() < self.heard + LOGGED

    def requests(self) -> int:
        return sum(map(len, self.asked.values()))

    def left_alone(self) -> float:
        """Return for how many seconds the host was left alone that asked for it; infinite if it still is."""
        return min((at for at in self.asked[BUSY] if at > self.refused), default=float("inf")) - self.refused


def crawled(directory: Path, options: Iterable[str], random: Random) -> Watched:
    """Crawl, killed again and again, the last times after a host asked to be left alone."""
    watched = Watched()
    given = ["crawl", "--predicate", 'p="page"', "--policy", "breadth-first", *options]
    given += ["--set", "fetch.allow=127.0.0.0/8,localhost,a.localhost", "--set", f"fetch.delay_seconds={DELAY}"]
    with serving(watched.answer, "127.0.0.1", SLOW, BUSY, CLOSED) as served:
        given += each("--seed", (f"http://{name}:{served.port}/" for name in HOSTS))
        for _ in range(KILLS):
            enough = watched.requests() + random.randint(2, 4)
            with forked(directory, *given) as crawl:
                # What a robots.txt or a refusal says is in the log when others were asked since, a while later.
                while watched.requests() < enough or watched.telling() or not watched.refused:
                    assert crawl.process.is_alive(), crawl.err.read_text()
                    time.sleep(0.05)
    return watched


def check(watched: Watched) -> None:
    for address, delay in (("127.0.0.1", DELAY), (BUSY, DELAY), (SLOW, CRAWL_DELAY)):
        gaps = [later - earlier for earlier, later in pairwise(watched.asked[address])]
        assert min(gaps) > delay - LEEWAY, (address, gaps)
    assert watched.left_alone() > RETRY_AFTER - LEEWAY
    asked = {name: targets.count("/robots.txt") for name, targets in watched.targets.items()}
    assert asked == dict.fromkeys(HOSTS, 1)
    assert watched.targets[CLOSED] == ["/robots.txt"]
    assert not any(target.startswith("/1") for target in watched.targets[SLOW]), watched.targets[SLOW]
