"""Crawlee, as its users run it, with the frontier of a crawl: the handlers are the ones that they were."""

import json
import subprocess
from collections import Counter
from contextlib import AbstractContextManager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.agents.commands import running
from tests.door.clients import crawl_of, crawled, crawler, door_of, has_tip, judged
from tests.patience import PATIENCE
from tests.webs.serving import Exchange, serving

PAGES, HELD, LOG = 40, 4, "crawlee.log"
#: Follows the links of its own host alone, and finds an item in every second page; one page it fails for, once.
CRAWLER = """
import asyncio, sys, zlib
from urllib.parse import urljoin
from crawlee import Request
from crawlee.crawlers import ParselCrawler
from crawlee.http_clients import ImpitHttpClient
from crawlee.proxy_configuration import ProxyConfiguration
from scentline_client.crawlee import Frontier
from scentline_client.link import DoorError

async def main(door, proxy, seed, held, follows):
    frontier = await Frontier.open(door, token_file="data/door/token", most=int(held))
    try:
        await frontier.add_request(seed)
    except DoorError as error:
        print(error)
    crawler = ParselCrawler(
        request_manager=frontier, proxy_configuration=ProxyConfiguration(proxy_urls=[proxy]),
        http_client=ImpitHttpClient(follow_redirects=bool(follows)),
    )
    frontier.attach(crawler)
    failed = []

    @crawler.router.handler("page")
    @crawler.router.default_handler
    async def parse(context):
        url, level = context.request.url, context.request.user_data.get("level", 0)
        if zlib.crc32(url.encode()) % 2 == 0:
            item = {"url": url, "level": level, "label": context.request.label}
            await context.push_data(item, dataset_name="Tip")
        await context.push_data([], dataset_name="Nothing")
        if url.endswith("/fails") and not failed:
            failed.append(url)
            raise ValueError(url)
        await context.enqueue_links(label="page", user_data={"level": level + 1})
        if url == seed:
            await context.add_requests([
                Request.from_url(urljoin(seed, "/local/posted"), method="POST", label="local"),
                Request.from_url(urljoin(seed, "/local/again"), always_enqueue=True, label="local"),
            ])

    @crawler.router.handler("local")
    async def nothing(context):
        pass

    await crawler.run([seed])
    print("handled", await frontier.get_handled_count(), "of", await frontier.get_total_count())

asyncio.run(main(*sys.argv[1:]))
"""


def begun(
    python: str, directory: Path, door: str, proxy: str, seed: str, *, follows: bool = True
) -> AbstractContextManager[subprocess.Popen[str]]:
    return crawler(directory, LOG, python, "-c", CRAWLER, door, proxy, seed, str(HELD), "yes" * follows)


def items(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(item.read_text()) for item in (directory / "storage/datasets/Tip").glob("[0-9]*.json")]


def test_a_crawler_follows_the_learned_order_and_what_it_pushes_are_the_hits(
    crawlee: str, tmp_path: Path
) -> None:
    seed, _, hits, asked, log = crawled(tmp_path, PAGES, LOG, partial(begun, crawlee, tmp_path))
    pushed = items(tmp_path)
    assert {item["url"] for item in pushed} == hits
    # A request of the frontier's is the one that the handler made.
    assert all(item["label"] == ("page" if item["level"] else None) for item in pushed)
    assert max(item["level"] for item in pushed) > 1
    local = [f"http://{urlsplit(seed).netloc}/local/{name}" for name in ("posted", "again")]
    assert [asked[url] for url in local] == [1, 1]
    assert f"hits: tip {len(hits)} of {PAGES}" in log
    assert "expected attach() first" in log
    handled = log.rpartition("handled ")[2].split()
    assert handled[0] == handled[2]


@pytest.mark.parametrize("follows", [True, False])
def test_what_moves_and_what_fails_comes_again_when_the_frontier_says(
    crawlee: str, follows: bool, tmp_path: Path
) -> None:
    seed = "http://tips.test/"
    target = next(url for url in (f"{seed}target{number}" for number in count()) if has_tip(url))
    links = {"/moved": target, "/away": "http://elsewhere.test/"}

    async def answer(exchange: Exchange) -> None:
        if exchange.target == seed:
            exchange.page("Tips", ["/flaky", "/fails", "/gone", *links])
        elif exchange.path in links:
            exchange.send(302, Location=links[exchange.path])
        elif exchange.path == "/flaky" and exchange.attempt == 1:
            exchange.send(500)
        elif exchange.path == "/gone":
            exchange.send(404)
        else:
            exchange.page(exchange.target)

    expected = {seed, target, f"{seed}flaky", f"{seed}fails"}
    with serving(answer) as served:
        command = crawl_of(len(expected) + 1, served.origin, **{"frontier.retry_seconds": 0.5})
        with running(tmp_path, *command, "--door", "127.0.0.1:0") as crawl:
            with begun(crawlee, tmp_path, door_of(crawl), served.origin, seed, follows=follows) as run:
                run.wait(PATIENCE)
            crawl.communicate(timeout=PATIENCE)
        asked = Counter(served.targets())
    assert run.returncode == 0, (tmp_path / LOG).read_text()
    assert judged(tmp_path).keys() == expected
    assert [asked[f"{seed}{name}"] for name in ("flaky", "fails", "gone")] == [2, 2, 1]
    assert asked[target] == 1 + follows
    # The target is handled once, in its own turn, as the link to what was moved says.
    assert [item["label"] for item in items(tmp_path) if item["url"] == target] == ["page"]
