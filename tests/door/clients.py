"""A crawler of a few lines, which fetches what a door orders."""

import json
import os
import re
import subprocess
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, Self

import httpx

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


def repeats(asked: Counter[str]) -> int:
    """Return how many requests were not the first for their page."""
    return sum(max(0, number - 1) for number in asked.values())


class Client:
    """A client of the door at ``address``, by the token in ``data``; asks the web through ``proxy``.

    It waits for a door that is away. ``asked`` is called with each URL before it is fetched.
    """

    def __init__(
        self,
        address: str,
        data: Path,
        proxy: str | None,
        name: str = "test",
        asked: Callable[[str], object] = str,
    ) -> None:
        head = {"Authorization": f"Bearer {(data / 'door/token').read_text()}"}
        self._door = httpx.Client(base_url=f"{address}/door/1", headers=head, timeout=PATIENCE)
        self._web = httpx.Client(proxy=proxy, timeout=PATIENCE)
        self._name = name
        self._asked = asked
        self._proxied = proxy is not None
        self._sites: set[str] = set()  #: Those whose robots.txt was read.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._door.close()
        self._web.close()

    def call(self, name: str, **said: Any) -> Any:
        return self._post(name, json.dumps({"client": self._name, **said}).encode(), "application/json")

    def _post(self, name: str, content: bytes, kind: str) -> Any:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                answer = self._door.post(f"/{name}", content=content, headers={"Content-Type": kind})
                return answer.raise_for_status().json()
            except httpx.TransportError:
                assert time.monotonic() < end, "no door"
                time.sleep(0.1)

    def state(self) -> str:
        return str(self._door.get("/state").raise_for_status().json()["state"])

    def settle(self, orders: Iterable[Mapping[str, str]], found: Found) -> list[str]:
        answers, robots, bodies = [], [], b""
        for order in orders:
            robots += self._robots(order["url"])
            self._asked(order["url"])
            page = self._web.get(order["url"])
            body = zlib.compress(page.content)
            answers.append({
                "url": order["url"], "order": order["order"], "status": page.status_code,
                "headers": dict(page.headers), "server": self._server(page),
                "target": page.headers.get("location", ""), "body": len(body),
                **found(page),
            })  # fmt: skip
            bodies += body
        head = json.dumps({"client": self._name, "answers": answers, "robots": robots}).encode()
        framed = len(head).to_bytes(4, "big") + head + bodies
        said: list[str] = self._post("settle", framed, "application/x-scentline")["said"]
        return said

    def _server(self, page: httpx.Response) -> str:
        """Return the address of a page's host, unless a proxy was asked."""
        stream = page.extensions["network_stream"]
        return "" if self._proxied else str(stream.get_extra_info("server_addr")[0])

    def _robots(self, url: str) -> list[dict[str, Any]]:
        """Read the robots.txt of a page's site, once."""
        place = str(httpx.URL(url).join("/robots.txt"))
        if place in self._sites:
            return []
        self._sites.add(place)
        read = self._web.get(place)
        return [{"url": place, "status": read.status_code, "text": read.text}]

    def crawl(self, seeds: Iterable[str], found: Found, seconds: float = 60.0) -> str:
        """Crawl from ``seeds`` until the door says that it is over; return how it ended."""
        self.call("discover", urls=[{"url": url, "seed": True} for url in seeds])
        held: dict[str, Mapping[str, str]] = {}
        for number in count():
            holding = [(order["url"], order["order"]) for order in held.values()]
            leased = self.call(
                "lease", id=f"{self._name} {number}", want=8, wait=20, seconds=seconds, holding=holding
            )
            if leased["state"] in ("spent", "done"):
                break
            held = {order["url"]: order for order in leased["orders"]}
            self.settle(held.values(), found)
        return str(leased["state"])
