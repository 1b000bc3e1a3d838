"""A crawler of a few lines, which fetches what a door orders by the code that all clients share."""

import asyncio
import json
import os
import re
import subprocess
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from clients.scentline_client.link import Door, Link, Order, headers_of
from scentline.agents.operate.record import judged_pages
from scentline.models.published import Outcome
from scentline.streams.transport.journal import Journal
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import ROOT, last_line, running
from tests.e2e.crawls import SIZE, exact, options, synthetic
from tests.patience import PATIENCE

#: What a client says of a page beside its answer: ``items``, ``links``.
Found = Callable[[httpx.Response], Mapping[str, Any]]


def door_of(crawl: subprocess.Popen[str]) -> str:
    """Return the address of the door that a crawl has opened."""
    assert crawl.stderr is not None
    for line in crawl.stderr:
        if opened := re.match(r"The door: (\S+),", line):
            return opened[1]
    raise AssertionError("no door")


def crawl_of(pages: int, proxy: str, predicate: str = 'tip=item("Tip")', /, **settings: object) -> list[str]:
    """Return the command of a crawl, for pages in which a client finds a "Tip" if nothing else is said."""
    given = {"fetch.proxy": proxy, "fetch.delay_seconds": 0, "frontier.window_share": 1, **settings}
    budget = ["--budget", str(pages), "--predicate", predicate, "--json"]
    return ["crawl", "--data", "data", *budget, *options(given)]


def has_tip(url: str) -> bool:
    """Return whether a client is to find a "Tip" in a page: in every second one."""
    return zlib.crc32(url.encode()) % 2 == 0


@contextmanager
def crawler(directory: Path, log: str, *command: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Start a crawler with our client, which writes to ``log`` what it says, and kill it at the end."""
    kept = os.environ | {"PYTHONPATH": f"{ROOT}/clients", **variables}
    with (
        (directory / log).open("a") as file,
        subprocess.Popen(command, cwd=directory, env=kept, stdout=file, stderr=file, text=True) as run,
    ):
        try:
            yield run
        finally:
            run.kill()


class Crawled(NamedTuple):
    """What a crawler came to: its seed, the pages judged, the hits, what it asked for, and what it said."""

    seed: str
    judged: frozenset[str]
    hits: frozenset[str]
    asked: Counter[str]
    log: str


def crawled(
    directory: Path, pages: int, log: str,
    begin: Callable[[str, str, str], AbstractContextManager[subprocess.Popen[str]]],
) -> Crawled:  # fmt: skip
    """Have a crawler carry out a crawl, in which its items are the hits.

    ``begin`` starts it, given the addresses of door and proxy, and a seed.
    """
    web = SyntheticWeb(*SIZE)
    seed = web.seeds(1)[0]
    with synthetic(web) as served:
        with running(directory, *crawl_of(pages, served.origin), "--door", "127.0.0.1:0") as crawl:
            with begin(door_of(crawl), served.origin, seed) as run:
                run.wait(PATIENCE)
            printed_by, _ = crawl.communicate(timeout=PATIENCE)
        asked = Counter(served.targets())
    said = (directory / log).read_text()
    assert run.returncode == 0, said
    found = judged(directory)
    hits = frozenset(url for url in found if has_tip(url))
    assert len(found) == last_line(printed_by)["fetched"] == pages
    assert {url for url, page in found.items() if page.verdict["tip"]} == hits
    exact(directory, "--data", "data", judged=pages)
    return Crawled(seed, frozenset(found), hits, asked, said)


def judged(directory: Path) -> dict[str, Outcome]:
    with Journal.open(directory / "data/journal", read_only=True) as journal:
        return judged_pages(journal)


def follow(
    address: str, data: Path, proxy: str | None, seeds: Iterable[str], found: Found = lambda _: {},
    asked: Callable[[str], object] = str,
) -> str:  # fmt: skip
    """Fetch what the door at ``address`` orders, from ``seeds`` on, until it is over; return how it ended.

    ``asked`` is called with each URL before it is fetched.
    """
    return asyncio.run(_follow(Link(address, f"{data}/door/token"), proxy, seeds, found, asked))


def call(address: str, data: Path, name: str, **said: Any) -> dict[str, Any]:
    """Return the answer to a single call, once there is a door."""
    content = json.dumps({"client": "test", **said}).encode() if said else b""

    async def answered() -> dict[str, Any]:
        with closing(Link(address, f"{data}/door/token")) as link:
            return await link.call(name, lambda: content)

    return asyncio.run(answered())


async def _follow(
    link: Link, proxy: str | None, seeds: Iterable[str], found: Found, asked: Callable[[str], object]
) -> str:
    orders: asyncio.Queue[Order] = asyncio.Queue()
    sites: set[str] = set()  #: Those whose robots.txt was read.
    door = Door(link, 8, orders.put_nowait, lambda: False)
    for url in seeds:
        door.discover(url=url, seed=True)
    door.start()
    async with httpx.AsyncClient(proxy=proxy, timeout=PATIENCE) as web:
        while not door.over:
            with suppress(TimeoutError):
                order = await asyncio.wait_for(orders.get(), 0.1)
                if (place := str(httpx.URL(order["url"]).join("/robots.txt"))) not in sites:
                    sites.add(place)
                    read = await web.get(place)
                    door.saw_robots(place, read.status_code, read.text)
                await asyncio.to_thread(asked, order["url"])
                page = await web.get(order["url"])
                at = page.extensions["network_stream"].get_extra_info("server_addr")[0]
                door.settle(
                    (order["url"], order["order"]), body=page.content, status=page.status_code,
                    headers=headers_of(page.headers), target=page.headers.get("location", ""),
                    server="" if proxy else at, **found(page),
                )  # fmt: skip
    await door.close()
    return door.lost or door.state
