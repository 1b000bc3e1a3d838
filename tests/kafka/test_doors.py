"""Doors of one crawl on a broker share the orders, say how the crawl stands, and lose nothing when killed."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Semaphore

import pytest

from deploy.ports import free_port
from scentline.agents.operate.topics import take
from scentline.models.url import host
from scentline_lab.synthetic.web import SyntheticWeb
from tests.door.clients import call, follow
from tests.e2e.crawls import exact
from tests.kafka.crawls import Crawl, crawl_of
from tests.patience import PATIENCE, wait_for

WEB = (5, 12, 60, 3)  # seed, sites, pages a site, topics
PAGES, HELD = 300, 8
SETTINGS = {
    "kafka.session_seconds": 3, "kafka.heartbeat_seconds": 0.5, "frontier.budget": PAGES,
    "frontier.window_share": 1, "frontier.window_max": HELD, "predicates.all": 'title("*")',
}  # fmt: skip


class Door:
    """A worker that is a door, and a client of it, which writes into ``asked`` what it fetches."""

    def __init__(self, crawl: Crawl, name: str) -> None:
        address = f"127.0.0.1:{free_port()}"
        self.worker = crawl.worker(name, "door", options=("--set", f"door.address={address}"))
        self.asked: list[str] = []
        self.may = Semaphore(0)
        self._at = f"http://{address}", crawl.directory / name
        wait_for("a door", (crawl.directory / name / "door/token").exists)
        self._proxy = crawl.settings.fetch.proxy

    def crawl(self, seeds: list[str]) -> str:
        return follow(*self._at, self._proxy, seeds, asked=self._ask)

    def state(self) -> str:
        return str(call(*self._at, "state")["state"])

    def _ask(self, url: str) -> None:
        assert self.may.acquire(timeout=PATIENCE)
        self.asked.append(url)

    def let(self, pages: int) -> None:
        """Let the client fetch so many pages more, and wait until it has."""
        before = len(self.asked)
        self.may.release(pages)
        wait_for("pages", lambda: len(self.asked) == before + pages)


@pytest.mark.slow
def test_doors_share_the_orders_and_a_killed_one_costs_what_was_in_flight(
    tmp_path: Path, empty_kafka: str
) -> None:
    seeds = SyntheticWeb(*WEB).seeds(3)
    with crawl_of(WEB, tmp_path, empty_kafka, 2, SETTINGS) as crawl, ThreadPoolExecutor() as beside:
        crawl.worker("others", "browse", "frontier", "judge", "learn", "harvest")
        doors = Door(crawl, "one"), Door(crawl, "two")
        one, two = doors
        ends = [beside.submit(door.crawl, seeds) for door in doors]
        one.let(30)
        two.let(30)
        assert not {host(url) for url in one.asked} & {host(url) for url in two.asked}
        one.worker.kill()
        one.worker.start()
        one.let(30)
        crawl.command("steer", "pause")
        wait_for("a pause", lambda: {door.state() for door in doors} == {"paused"})
        crawl.command("steer", "resume")
        for door in doors:
            door.may.release(PAGES)
        assert [end.result() for end in ends] == ["spent", "spent"]
        asked = Counter(one.asked + two.asked)
        assert asked.total() - len(asked) <= 2 * HELD
        wait_for("what was fetched to be counted", lambda: crawl.lag().total() == 0)
        take(crawl.settings, lambda _: None)
    exact(tmp_path, "--data", "snapshot", judged=PAGES)
