"""Whole crawls, as servers saw them: one thing at a time, what sitemaps list, few that fail."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import last_line, printed
from tests.e2e.crawls import ANY, each, exact, options, outcomes_of, synthetic, write_labels
from tests.webs.serving import Exchange, serving
from tests.webs.watched import check, crawled

NAMES = ("a.localhost", "b.localhost", "c.localhost", "127.0.0.1", "localhost")


class Site:
    """A server of many names: each has a few pages, a robots.txt, and a sitemap that lists others."""

    def __init__(self) -> None:
        self.at_once = self.most = 0

    async def answer(self, exchange: Exchange) -> None:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0.02)
        self.at_once -= 1
        origin = f"http://{exchange.headers['host']}"
        listed = "".join(f"<url><loc>{origin}/listed{number}</loc></url>" for number in range(3))
        if exchange.target == "/robots.txt":
            exchange.send(200, f"Sitemap: {origin}/map.xml\nUser-agent: *\nDisallow: /listed2".encode())
        elif exchange.target == "/map.xml":
            exchange.send(200, f"<urlset>{listed}</urlset>".encode(), "application/xml")
        else:
            exchange.send(200, b"<title>A page</title><a href='/1'>one</a><a href='/2'>two</a>")


@pytest.mark.parametrize(
    ("names", "sitemaps", "judged", "asked"),
    [
        # Sitemaps are left alone unless the operator wants them: robots.txt and three pages of each name.
        (NAMES, False, ("", "1", "2"), 4 * len(NAMES)),
        (["127.0.0.1"], True, ("", "1", "2", "listed0", "listed1"), 7),
    ],
    ids=["many names of one address", "sitemaps"],
)
def test_a_server_is_asked_in_turn(
    tmp_path: Path, names: Sequence[str], sitemaps: bool, judged: Sequence[str], asked: int
) -> None:
    site = Site()
    given = {
        "fetch.allow": ",".join(("::1", *NAMES)), "fetch.sitemaps": sitemaps, "fetch.delay_seconds": 0.05,
        "frontier.policy": "breadth-first",
    }  # fmt: skip
    with serving(site.answer) as served:
        seeds = each("--seed", (f"http://{name}:{served.port}/" for name in names))
        printed(tmp_path, "crawl", *seeds, "--predicate", 'p="page"', *options(given))
    found = {page.url.replace(f":{served.port}", "") for page in outcomes_of(tmp_path / "scentline-data")}
    assert found == {f"http://{name}/{path}" for name in names for path in judged}
    assert len(served.asked) == asked
    assert served.targets().count("/map.xml") == sitemaps
    assert site.most == 1


@pytest.mark.slow
def test_no_host_is_asked_before_its_time_by_a_crawl_that_is_killed(tmp_path: Path) -> None:
    check(crawled(tmp_path, ("--data", "data"), Random(1)))


def test_of_as_many_requests_fewer_fail_than_in_the_order_of_links(tmp_path: Path) -> None:
    web = SyntheticWeb(1, 8, 100, 4, dead=0.3)  # pages that satisfy are left to the end
    write_labels(tmp_path / "labels.tsv", web)
    found: dict[str, Any] = {}
    with synthetic(web) as served:
        for policy in ("learned", "breadth-first"):
            found[policy] = last_line(printed(
                tmp_path, "crawl", *each("--seed", web.seeds(2)), "--labels", "labels.tsv", "--data", policy,
                "--predicate", 'sports=category("Sports")', "--requests", "240", "--json",
                *options({"fetch.proxy": served.origin, "fetch.delay_seconds": 0, "frontier.policy": policy}),
            ))  # fmt: skip
            exact(tmp_path, "--data", policy, judged=found[policy]["fetched"])
    assert {each["requests"] for each in found.values()} == {240}
    assert found["learned"]["fetched"] > found["breadth-first"]["fetched"]


def test_a_crawl_whose_seed_waits_for_a_commit_goes_on(tmp_path: Path, web: SyntheticWeb, proxy: str) -> None:
    given = {"fetch.proxy": proxy, "fetch.delay_seconds": 0, "streams.group_seconds": 0.3}
    command = ("crawl", "--seed", web.seeds(1)[0], "--predicate", ANY, "--budget", "3", "--json")
    assert last_line(printed(tmp_path, *command, *options(given)))["fetched"] == 3
