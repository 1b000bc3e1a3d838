"""Crawls that stop each site at its depth, seen from the servers: by links, by users, and after kill -9."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

from scentline.agents.frontier.keys import DEPTH_PREFIX
from scentline.agents.frontier.rows import DepthRow, FrontierRow
from scentline.agents.offline.squidlog import squid_line
from scentline.streams.inbox import Codec
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import complaint, last_line, printed
from tests.agents.shards import rows_of
from tests.e2e.test_kill import WEB, Crawl, kill_again_and_again
from tests.webs.dangers.server import read_log
from tests.webs.dangers.web import NETWORK, address
from tests.webs.process import serve_dangers

#: One page at a time, in the order of links from the seed, so that it is known which is asked for when.
IN_ORDER = {"frontier.policy": "breadth-first", "frontier.window_max": 1, "frontier.explore": 0}
#: Where the order is of no account.
FAST = {"frontier.window_max": 16}
AUTO = {"frontier.depth": "auto", "frontier.traps": "false", "fetch.delay_seconds": 0} | IN_ORDER


def options(given: dict[str, object]) -> list[str]:
    return [word for name, value in given.items() for word in ("--set", f"{name}={value}")]


def audited(cwd: Path, data: str) -> None:
    report = last_line(printed(cwd, "audit", "--data", data, "--json"))
    assert report["rows"]
    assert (report["judged_twice"], report["lost"], report["differences"]) == (0, 0, 0)


# a calendar without an end


def level(target: str) -> int:
    """Return the level of a page of the calendar, which begins with January 2024 on level 1."""
    if target in ("/", "/robots.txt"):
        return 0
    if target == "/about":
        return 1
    digits = "".join(sign for sign in target if sign.isdigit())
    months = (int(digits[:4]) - 2024) * 12 + int(digits[4:6]) - 1
    return 1 + abs(months) + (target.startswith("/day/"))


def calendar(cwd: Path, share: float) -> tuple[list[str], str]:
    """Crawl the calendar to its end; return what it was asked for, and its home page."""
    record = cwd / f"asked-{share}.jsonl"
    never = {"fetch.allow": NETWORK, "judge.duplicates": "false", "judge.soft_404": "false"}
    with serve_dangers(record) as server:
        home = server.url.replace(address("home"), address("calendar"))
        printed(
            cwd, "crawl", "--seed", home, "--predicate", 'any=not "unheard-of"', "--data", f"{share}",
            *options(AUTO | never | {"frontier.depth_share": share}),
        )  # fmt: skip
    asked = [asked.target for asked in read_log(record)]
    assert len(set(asked)) == len(asked)
    return asked, home


def pages_to(deepest: int) -> int:
    """Return how many pages the calendar has down to a level, 2 at least: from there on two months on each."""
    return 1 + 2 + 30 + 58 * (deepest - 2)


def test_a_calendar_ends_at_its_depth_by_links_and_explain_says_so(tmp_path: Path) -> None:
    asked, home = calendar(tmp_path, 0.9)
    deepest = max(map(level, asked))
    assert deepest == 3
    assert len(asked) == 1 + pages_to(deepest)
    audited(tmp_path, "0.9")
    told = printed(tmp_path, "explain", f"{home}calendar?month=2024-04", "--data", "0.9")
    site = urlsplit(home).netloc
    assert f"not fetched: it is on level 4 of {site}, which is crawled to level 3 (frontier.depth)" in told
    said = complaint(
        tmp_path, "crawl", "--seed", home, "--predicate", 'p=title("calendar")', "--data", "0.9",
        "--set", f"fetch.allow={NETWORK}", "--set", "frontier.policy=breadth-first",
    )  # fmt: skip
    assert 'holds a crawl with frontier.depth = "auto"' in said


def test_a_larger_share_of_the_page_views_goes_deeper_into_the_calendar(tmp_path: Path) -> None:
    asked, _ = calendar(tmp_path, 0.95)
    deepest = max(map(level, asked))
    assert deepest == 4
    assert len(asked) == 1 + pages_to(deepest)


# users that do not go deep


SYNTHETIC = (3, 1, 60, 2)  # seed, sites, pages a site, topics


def distances(web: SyntheticWeb, start: str) -> dict[str, int]:
    """Return the links from the start to each URL of the synthetic web."""
    found, reached = {start: 0}, [start]
    for url in reached:
        for link in web.links(url) if web.planned(url) is not None else ():
            if link.target not in found:
                found[link.target] = found[url] + 1
                reached.append(link.target)
    return found


def browsed(sessions: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a proxy's log in which each session is a user's."""
    for number, session in enumerate(sessions):
        for view, url in enumerate(session):
            yield squid_line(
                time=1_700_000_000.0 + 60 * view + number / 100, elapsed=9, client=f"10.0.0.{number}",
                status=200, size=5000, url=url, content_type="text/html",
            )  # fmt: skip


def test_a_site_is_crawled_as_deep_as_its_users_go(tmp_path: Path) -> None:
    web = SyntheticWeb(*SYNTHETIC)
    [home] = web.seeds(1)
    levels = distances(web, home)
    [hub, *_] = [link.target for link in web.links(home)]
    deep = next(link.target for link in web.links(hub) if levels[link.target] == 2)
    sessions = [[home, hub]] * 110 + [[home, hub, deep]] * 20
    log, record = tmp_path / "access.log", tmp_path / "asked.log"
    log.write_text("\n".join(browsed(sessions)) + "\n")
    with synthetic_server(*SYNTHETIC, log=record) as server:

        def crawl(share: float, *more: str) -> set[str]:
            """Crawl on; return what the server was asked for so far."""
            printed(
                tmp_path, "crawl", "--seed", home, "--predicate", 'any=not "unheard-of"',
                *options(AUTO | {"fetch.proxy": server.url, "frontier.depth_share": share, **FAST}), *more,
            )  # fmt: skip
            asked = {line.split()[6] for line in record.read_text().splitlines()}
            return {url for url in asked if not url.endswith("/robots.txt")}

        printed(tmp_path, "feed", str(log))
        assert crawl(0.9, "--budget", "1") == {home}  # and the log is counted then
        assert crawl(0.9) == {url for url, links in levels.items() if links <= 1}
        told = printed(tmp_path, "explain", deep, *options({"frontier.depth_share": 0.9}))
        assert "state: candidate" in told
        assert "which is crawled to level 1 (frontier.depth): that keeps 93% of 280 page views" in told
        forbidden = web.facts().forbidden
        within = {url for url, links in levels.items() if links <= 2 and url not in forbidden}
        assert crawl(0.95) >= within
    audited(tmp_path, "scentline-data")


# kill -9


def test_a_killed_crawl_has_the_depths_of_one_that_was_not(tmp_path: Path) -> None:
    auto = ("--set", "frontier.depth=auto", "--set", "streams.partitions=2")
    with synthetic_server(*WEB) as server:
        crawl = Crawl(tmp_path, server.url, "learned", 60, auto)
        kill_again_and_again(crawl, 2, Random(5))
    codec: Codec[FrontierRow] = Codec(FrontierRow)
    rows = [codec.decode(raw) for _, raw in rows_of(crawl.data, "frontier", DEPTH_PREFIX)]
    depths = [row for row in rows if isinstance(row, DepthRow)]
    assert sum(sum(row.growth.pages) for row in depths) == crawl.budget
    assert sum(row.sessions for row in depths) > len(depths) > 1
