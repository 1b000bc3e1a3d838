"""Clients of a door that is killed ask no host, and no two hosts of one address, before their time."""

import time
from collections import defaultdict
from contextlib import ExitStack
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest

from deploy.ports import free_port
from tests.agents.commands import apart, running
from tests.door.clients import door_of
from tests.door.test_kill import client
from tests.e2e.crawls import options
from tests.patience import wait_for
from tests.webs.serving import Exchange, serving
from tests.webs.watched import BUSY, LEEWAY, LOGGED, SHARED, SLOW

DELAY, CRAWL_DELAY, RETRY_AFTER = 3, 6, 20
HOSTS = (SLOW, BUSY, SHARED, "127.0.0.1")


class Watched:
    """When the pages of each server were asked for, and since when one of them is to be left alone."""

    def __init__(self) -> None:
        self.asked: defaultdict[str, list[float]] = defaultdict(list)
        self.refused = 0.0

    async def answer(self, exchange: Exchange) -> None:
        if exchange.target == "/robots.txt":
            rules = f"User-agent: *\nCrawl-delay: {CRAWL_DELAY}" if exchange.host == SLOW else ""
            exchange.send(200, rules.encode(), "text/plain")
            return
        self.asked[exchange.address].append(time.monotonic())
        if exchange.host == BUSY and not self.refused:
            self.refused = time.monotonic()
            exchange.send(429, Retry_After=str(RETRY_AFTER))
        else:
            links = [f"/{number}" for number in range(200)]
            exchange.page(f"Page {exchange.target} {sha256(exchange.host.encode()).hexdigest()}", links)

    def requests(self) -> int:
        return sum(map(len, self.asked.values()))

    def reached(self, requests: int) -> bool:
        return bool(self.refused) and self.requests() >= requests


@pytest.mark.slow
def test_three_clients_of_a_door_that_is_killed_are_polite_together(tmp_path: Path) -> None:
    watched, asked = Watched(), tmp_path / "asked"
    given = options({
        "fetch.user_agent": "test", "fetch.delay_seconds": DELAY, "frontier.window_share": 1,
        "frontier.window_max": 16,
    })  # fmt: skip
    address = f"127.0.0.1:{free_port()}"
    policy = ("--predicate", 'p="page"', "--policy", "breadth-first")
    command = ("crawl", "--data", "data", *policy, *given, "--door", address)
    with ExitStack() as resources:
        served = resources.enter_context(serving(watched.answer, "127.0.0.1", SLOW, BUSY))
        seeds = [f"http://{name}:{served.port}/" for name in HOSTS]
        for turn in range(3):
            before = watched.requests()
            with running(tmp_path, *command) as crawl:
                door = door_of(crawl)
                if turn == 0:
                    for who in ("one", "two", "three"):
                        resources.enter_context(apart(client, door, tmp_path / "data", None, who, asked, seeds))
                wait_for("pages and a refusal", partial(watched.reached, before + 6))
                time.sleep(LOGGED)
                crawl.kill()
                crawl.wait()
        with running(tmp_path, *command) as crawl:
            door_of(crawl)
            wait_for("the refusal's end", lambda: watched.asked[BUSY][-1] > watched.refused)
    # That two names have one address is known once both were asked.
    shared = watched.asked["127.0.0.1"][1:]
    for times, delay in ((shared, DELAY), (watched.asked[BUSY], DELAY), (watched.asked[SLOW], CRAWL_DELAY)):
        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert min(gaps) > delay - LEEWAY, gaps
    again = min(at for at in watched.asked[BUSY] if at > watched.refused)
    assert again - watched.refused > RETRY_AFTER - LEEWAY
