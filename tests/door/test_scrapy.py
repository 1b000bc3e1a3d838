"""Scrapy, as its users run it, with the add-on: Scentline orders, the spider is the one that it was."""

import json
import re
import subprocess
from collections import Counter
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deploy.ports import free_port
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import running
from tests.door.clients import crawl_of, crawled, crawler, door_of
from tests.e2e.crawls import SIZE, exact, judged_so_far, synthetic
from tests.patience import PATIENCE, wait_for

PAGES, HELD, LOG = 40, 4, "scrapy.log"
#: Scrapy's command, with leases whose end can be waited for.
SCRAPY = """
import scentline_client.link as link
from scrapy.cmdline import execute
link.LEASE, link.WAIT, link.BEAT = 10, 2, 1
execute()
"""
#: Follows the links of its own host alone, and finds an item in every second page.
SPIDER = """
import zlib
from scrapy import Request, Spider
class Tip(dict): pass
class Tips(Spider):
    name = "tips"
    def parse(self, response, level=0):
        if zlib.crc32(response.url.encode()) % 2 == 0:
            yield Tip(url=response.url, level=level, told=response.meta.get("told"))
        for link in response.css("a::attr(href)").getall():
            meta = {"told": [level]}
            yield response.follow(link, self.parse, cb_kwargs={"level": level + 1}, meta=meta)
        if response.url == self.start_urls[0]:
            yield Request(response.urljoin("/local/posted"), method="POST")
            yield Request(response.urljoin("/local/again"), dont_filter=True)
            yield Request(response.urljoin("/local/object"), meta={"object": object()})
"""


def spider(
    python: str, directory: Path, door: str, proxy: str, seed: str
) -> AbstractContextManager[subprocess.Popen[str]]:
    (directory / "tips.py").write_text(SPIDER + f"    start_urls = [{seed!r}]\n")
    settings = {
        "ADDONS": '{"scentline_client.scrapy.Addon": 500}', "SCENTLINE_URL": door,
        "SCENTLINE_TOKEN_FILE": "data/door/token", "TELNETCONSOLE_ENABLED": "False", "LOG_LEVEL": "INFO",
        "ROBOTSTXT_OBEY": "True", "CONCURRENT_REQUESTS": str(HELD), "DOWNLOAD_DELAY": "0.01",
    }  # fmt: skip
    given = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    command = (python, "-c", SCRAPY, "runspider", "tips.py", "-o", "items.jsonl", *given)
    return crawler(directory, LOG, *command, http_proxy=proxy, no_proxy="127.0.0.1")


def test_a_spider_follows_the_learned_order_and_its_items_are_the_hits(scrapy: str, tmp_path: Path) -> None:
    seed, judged, hits, asked, log = crawled(tmp_path, PAGES, LOG, partial(spider, scrapy, tmp_path))
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert {item["url"] for item in items} == hits
    # A request of the frontier's is the one that the spider made.
    assert all(item["told"] == ([item["level"] - 1] if item["level"] else None) for item in items)
    assert max(item["level"] for item in items) > 1
    local = [f"http://{urlsplit(seed).netloc}/local/{name}" for name in ("posted", "again", "object")]
    assert [asked[url] for url in local] == [1, 1, 1]
    assert not judged & {*local}
    assert f"'scentline/hits/tip': {len(hits)}" in log
    assert "'scentline/local': 3" in log
    assert "Closing spider (scentline: spent)" in log


def test_what_is_no_url_of_a_door_is_said_before_the_spider_opens(scrapy: str, tmp_path: Path) -> None:
    with spider(scrapy, tmp_path, "127.0.0.1:7070", "", "http://tips.test/") as run:
        assert run.wait(PATIENCE) == 1
    log = (tmp_path / LOG).read_text()
    assert "127.0.0.1:7070: expected the URL of a door" in log
    assert "Spider opened" not in log


@pytest.mark.slow
def test_kills_of_spider_and_crawl_lose_nothing(scrapy: str, tmp_path: Path) -> None:
    web = SyntheticWeb(*SIZE)
    seed, pages, address = web.seeds(1)[0], 3 * PAGES, f"127.0.0.1:{free_port()}"

    def wait_for_pages(number: int) -> None:
        wait_for("pages", lambda: judged_so_far(tmp_path / "data") >= number)

    with synthetic(web) as served:
        command = [*crawl_of(pages, served.origin), "--door", address]
        with running(tmp_path, *command) as crawl:
            door = door_of(crawl)
            with spider(scrapy, tmp_path, door, served.origin, seed) as run:
                wait_for_pages(PAGES)
                run.kill()
            with spider(scrapy, tmp_path, door, served.origin, seed) as run:
                wait_for_pages(PAGES + 20)
                crawl.kill()
                crawl.wait(PATIENCE)
                with running(tmp_path, *command) as again:
                    run.wait(PATIENCE)
                    again.communicate(timeout=PATIENCE)
        asked = Counter(re.sub("^.*/local/.*|^.*/robots.txt", "", target) for target in served.targets())
    del asked[""]
    exact(tmp_path, "--data", "data", judged=pages)
    assert run.returncode == 0
    assert asked.total() - len(asked) <= HELD, asked
