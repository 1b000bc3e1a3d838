"""A whole crawl of servers on loopback, seen from their side: one at a time, and what sitemaps list."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scentline.agents.crawl.run import run_crawl
from scentline.agents.observe.observer import Observer
from scentline.agents.operate.inspect.record import outcomes
from scentline.streams.settings import Settings
from scentline.streams.transport.journal import Journal
from tests.agents.loopback import Request, Server, response, serving
from tests.patience import PATIENCE

NAMES = ("a.localhost", "b.localhost", "c.localhost", "127.0.0.1", "localhost")


@dataclass
class Site:
    """A server of many names: each has a few pages, a robots.txt, and a sitemap that lists others."""

    slow: float = 0.0
    robots: str = ""
    at_once: int = 0
    most: int = 0

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(self.slow)
        self.at_once -= 1
        origin = f"http://{request.headers['host']}"
        if request.target == "/robots.txt":
            writer.write(response(self.robots.format(origin=origin).encode(), content_type="text/plain"))
        elif request.target == "/map.xml":
            listed = "".join(f"<url><loc>{origin}/listed{number}</loc></url>" for number in range(3))
            writer.write(response(f"<urlset>{listed}</urlset>".encode(), content_type="application/xml"))
        else:
            writer.write(response(b"<title>A page</title><a href='/1'>one</a><a href='/2'>two</a>"))


def crawl(data: Path, site: Site, names: Iterable[str], **fetch: Any) -> tuple[set[str], Server]:
    """Crawl a site from the front pages of its names; return the URLs judged, and what its server saw."""

    async def run() -> Server:
        async with serving(site.answer) as server, asyncio.timeout(PATIENCE):
            given = {"allow": ("127.0.0.1", "::1", "localhost", *NAMES), **fetch}
            values = {"data": data, "predicates": {"p": '"page"'}, "fetch": given}
            settings = Settings.model_validate(values | {"frontier": {"policy": "breadth-first"}})
            seeds = [f"http://{name}:{server.port}/" for name in names]
            await run_crawl(settings, Observer(settings.observe, b"key"), seeds, [], lambda *_: None)
        return server

    server = asyncio.run(run())
    with Journal.open(data / "journal", read_only=True) as journal:
        return {page.url.replace(f":{server.port}", "") for page in outcomes(journal)}, server


def test_many_names_on_one_address_are_asked_as_one(tmp_path: Path) -> None:
    site = Site(slow=0.02)
    judged, server = crawl(tmp_path / "data", site, NAMES, delay_seconds=0.1)
    assert judged == {f"http://{name}/{path}" for name in NAMES for path in ("", "1", "2")}
    assert len(server.requests) == 4 * len(NAMES), "robots.txt and three pages of each"
    assert site.most == 1


def test_the_pages_that_a_sitemap_lists_are_crawled(tmp_path: Path) -> None:
    site = Site(robots="Sitemap: {origin}/map.xml\nUser-agent: *\nDisallow: /listed2")
    judged, server = crawl(tmp_path / "data", site, ["127.0.0.1"], delay_seconds=0.05, sitemaps=True)
    assert judged == {f"http://127.0.0.1/{path}" for path in ("", "1", "2", "listed0", "listed1")}
    assert server.targets().count("/map.xml") == 1
    assert site.most == 1


def test_sitemaps_are_left_alone_unless_the_operator_wants_them(tmp_path: Path) -> None:
    site = Site(robots="Sitemap: {origin}/map.xml")
    judged, server = crawl(tmp_path / "data", site, ["127.0.0.1"], delay_seconds=0.0)
    assert judged == {f"http://127.0.0.1/{path}" for path in ("", "1", "2")}
    assert "/map.xml" not in server.targets()
