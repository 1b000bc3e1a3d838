"""Whoever is killed, client or crawl, each page is judged once, and fetched again only if its client died."""

from collections import Counter
from pathlib import Path

import pytest

from clients.scentline_client import link
from deploy.ports import free_port
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import apart, running
from tests.door.clients import crawl_of, door_of, follow
from tests.e2e.crawls import exact, synthetic
from tests.patience import PATIENCE, wait_for

SIZE = (7, 12, 60, 3)
PAGES, HELD = 400, 8
#: Seconds after which a dead client's orders go to another.
LEASE = 3


def client(address: str, data: Path, proxy: str, name: str, asked: Path, seeds: list[str]) -> None:
    def note(url: str) -> None:
        with asked.open("a", encoding="utf-8") as file:
            file.write(f"{name} {url}\n")

    link.LEASE, link.WAIT, link.BEAT = LEASE, 1, 1.0
    follow(address, data, proxy, seeds, asked=note)


@pytest.mark.slow
def test_kills_of_crawl_and_client_by_turns_cost_at_most_what_the_client_had_in_hand(tmp_path: Path) -> None:
    web, asked = SyntheticWeb(*SIZE), tmp_path / "asked"
    asked.touch()

    def fetched() -> list[str]:
        return asked.read_text(encoding="utf-8").splitlines()

    def wait_for_pages(number: int) -> None:
        wait_for("pages", lambda: len(fetched()) >= number)

    with synthetic(web) as served:
        address = f"127.0.0.1:{free_port()}"
        held = {"frontier.window_max": HELD}
        command = [*crawl_of(PAGES, served.origin, 'all=title("*")', **held), "--door", address]
        killed = 0
        for turn in range(4):
            with running(tmp_path, *command) as crawl:
                door = door_of(crawl)
                to_client = (door, tmp_path / "data", served.origin)
                with apart(client, *to_client, f"client-{turn}", asked, web.seeds(3)) as first:
                    if turn == 3:
                        first.join(PATIENCE)
                        crawl.communicate(timeout=PATIENCE)
                        assert crawl.returncode == 0
                        break
                    before = len(fetched())
                    wait_for_pages(before + 50)
                    first.kill()
                    first.join()
                    killed += 1
                    with apart(client, *to_client, f"later-{turn}", asked, []) as second:
                        wait_for_pages(before + 100)
                        crawl.kill()
                        crawl.wait(PATIENCE)
                        with running(tmp_path, *command) as again:
                            door_of(again)
                            wait_for_pages(before + 120)
                            again.kill()
                            again.wait(PATIENCE)
                        second.kill()
                        second.join()
                        killed += 1
    exact(tmp_path, "--data", "data", judged=PAGES)
    times = Counter(fetched())
    assert [line for line, number in times.items() if number > 1] == []  # no client was asked twice
    pages = Counter(line.partition(" ")[2] for line in fetched())
    assert pages.total() - len(pages) <= HELD * killed
