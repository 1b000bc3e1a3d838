"""Whole crawls, as servers saw them, and in the order of an importance."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import last_line, printed
from tests.agents.test_archive import page, write
from tests.e2e.crawls import ANY, each, exact, options, outcomes_of, pages_of, synthetic, view, write_labels
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


# in the order of an importance, on webs that have what the papers tell of


#: One page at a time, and none by chance.
IN_ORDER: dict[str, object] = {"frontier.explore": 0, "frontier.window_max": 1}


def archive_of(path: Path, web: Mapping[str, Sequence[str]]) -> None:
    """Write pages with these links."""

    def html(url: str, links: Sequence[str]) -> bytes:
        anchors = "".join(f'<a href="{link}">{link.rpartition("/")[2]}</a> ' for link in links)
        return f"<title>{url}</title><p>{anchors}".encode()

    write(path, *(page(url, html(url, links)) for url, links in web.items()))


def judged(cwd: Path) -> list[str]:
    """Return the pages in the order in which they were judged."""
    found = sorted(outcomes_of(cwd / "scentline-data"), key=lambda outcome: outcome.time)
    return [outcome.url for outcome in found]


def test_pagerank_finds_the_important_page_before_the_cluster_and_goes_on(tmp_path: Path) -> None:
    # Figure 3 of Cho 1998: the start leads to two pages of a large cluster, whose pages all link to each other,
    # and to pages that share a target, which is more important than the cluster's pages are.
    root = "http://site.test"
    cluster = [f"{root}/cluster/{number}" for number in range(30)]
    ways, popular = [f"{root}/way/{number}" for number in range(6)], f"{root}/a/b/popular"
    leaves = {way: [f"{way}/leaf-{number}" for number in range(4)] for way in ways}
    web = {f"{root}/": [*cluster[:2], *ways], popular: [f"{root}/"]}
    web |= {one: [other for other in cluster if other != one] for one in cluster}
    web |= {way: [popular, *leaves[way]] for way in ways} | {leaf: [] for way in ways for leaf in leaves[way]}
    archive_of(tmp_path / "pages.warc.gz", web)

    def crawled(budget: int) -> list[str]:
        summary = last_line(printed(
            tmp_path, "crawl", "--archive", "pages.warc.gz", "--seed", f"{root}/", "--ordering", "pagerank",
            "--budget", f"{budget}", "--json", *options(IN_ORDER),
        ))  # fmt: skip
        assert summary["policy"] == "pagerank"
        assert summary["predicates"]["every-page"]["harvest_rate"] == 1.0
        return judged(tmp_path)

    pages = crawled(20)
    assert popular in pages[1:10]
    assert sum(url in cluster for url in pages[:10]) <= 2
    later = crawled(30)
    assert (later[:20], len(later)) == (pages, 30)
    waiting = next(row.url for row in pages_of(tmp_path / "scentline-data") if row.state == "candidate")
    assert json.loads(printed(tmp_path, "explain", waiting, "--json"))["priorities"]["every-page"] > 0


# by what users do there: a forum that has what Liu 2011 assumes


# Its lists and topics are read, its profiles hardly, its printable copies never; half of its topics are newer
# than the log. Nothing but the pattern of their URLs tells these from the copies.
FORUM = "http://forum.test"
LISTS = [f"{FORUM}/list/{name}" for name in ("cars", "boats", "bikes", "trains", "planes", "trams")]
TOPICS = {name: [f"{name.replace('list', 'topic')}-{number}" for number in range(10)] for name in LISTS}


def of(kind: str, topic: str) -> str:
    return topic.replace("/topic/", f"/{kind}/")


def log(random: Random) -> Iterator[str]:
    """Yield what forty people did: each reads a list's topics, every fourth a profile."""
    second = 0
    for number in range(40):
        name = random.choice(LISTS)
        ways = [(name, "-"), *((topic, name) for topic in random.sample(TOPICS[name][:5], 4))]
        if number % 4 == 0:
            topic = ways[-1][0]
            ways.append((of("user", topic), topic))
        for url, referrer in ways:
            second += 7
            yield view(1_795_000_000 + second, f"10.0.0.{number}", url, referrer)


def test_behaviour_fetch_takes_what_is_read_first_and_what_matches_no_visits_never(tmp_path: Path) -> None:
    topics = [topic for found in TOPICS.values() for topic in found]
    profiles, copies = [of("user", topic) for topic in topics], [of("print", topic) for topic in topics]
    web = {f"{FORUM}/": [*copies[:5], *profiles[:5], *LISTS]}
    for name, found in TOPICS.items():
        around = (link for topic in found for link in (of("print", topic), of("user", topic), topic))
        web[name] = [*LISTS, *around]
    web |= {topic: [of("user", topic), of("print", topic)] for topic in topics}
    archive_of(tmp_path / "pages.warc.gz", web | {url: [] for url in (*profiles, *copies)})
    (tmp_path / "access.log").write_text("".join(log(Random(5))))
    never = options({**IN_ORDER, "frontier.visited_patterns_only": "true"})
    command = (
        "crawl", "--archive", "pages.warc.gz", "--log", "access.log", "--seed", f"{FORUM}/",
        "--ordering", "behaviour-fetch", *never,
    )  # fmt: skip
    printed(tmp_path, *command, "--set", "frontier.host_budget=1")  # reads the log while one page is fetched
    printed(tmp_path, *command)
    pages, read = judged(tmp_path), {*LISTS, *topics}
    assert set(pages[1 : len(read)]) <= read
    assert sorted(pages[1:]) == sorted([*read, *profiles])
    left = {row.state for row in pages_of(tmp_path / "scentline-data") if row.url in copies}
    assert left == {"candidate"}
    said = printed(tmp_path, "explain", copies[0], *never)
    assert "not fetched: no visits match its pattern" in said
    exact(tmp_path, judged=len(pages))
