"""Crawls that stop each site at its depth, seen from the servers: by links, and by users."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from scentline.agents.offline.squidlog import squid_line
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import complaint, printed
from tests.e2e.crawls import ANY, exact, options, synthetic
from tests.webs.dangers import ADDRESSES, NETWORK, by_host, dangers

#: One page at a time, in the order of links from the seed, so that it is known which is asked for when.
AUTO: dict[str, object] = {
    "frontier.depth": "auto", "frontier.traps": "false", "fetch.delay_seconds": 0, "frontier.explore": 0,
    "frontier.policy": "breadth-first", "frontier.window_max": 1,
}  # fmt: skip


def level(target: str) -> int:
    """Return the level of a page of the calendar, which begins with January 2024 on level 1."""
    if target in ("/", "/robots.txt"):
        return 0
    if target == "/about":
        return 1
    digits = "".join(sign for sign in target if sign.isdigit())
    months = (int(digits[:4]) - 2024) * 12 + int(digits[4:6]) - 1
    return 1 + abs(months) + (target.startswith("/day/"))


def test_a_calendar_ends_at_its_depth_by_links_and_explain_says_so(tmp_path: Path) -> None:
    never = {"fetch.allow": NETWORK, "judge.duplicates": "false", "judge.soft_404": "false"}
    with dangers() as served:
        site = f"{ADDRESSES['calendar']}:{served.port}"
        given = ("crawl", "--seed", f"http://{site}/", "--predicate", ANY)

        def crawl(share: float) -> list[str]:
            """Crawl on to the end; return what the calendar was asked for so far, each once."""
            printed(tmp_path, *given, *options(AUTO | never | {"frontier.depth_share": share}))
            asked = [asked.target for asked in by_host(served)["calendar"]]
            assert len(set(asked)) == len(asked)
            return asked

        asked = crawl(0.9)
        # It has 33 pages down to level 2, and 58 on each further one: two months.
        assert (max(map(level, asked)), len(asked)) == (3, 1 + 33 + 58)
        exact(tmp_path)
        told = printed(tmp_path, "explain", f"http://{site}/calendar?month=2024-04")
        assert f"not fetched: it is on level 4 of {site}, which is crawled to level 3 (frontier.depth)" in told
        asked = crawl(0.95)
        assert (max(map(level, asked)), len(asked)) == (4, 1 + 33 + 2 * 58)
        said = complaint(tmp_path, *given, *options({**never, "frontier.policy": "breadth-first"}))
        assert 'holds a crawl with frontier.depth = "auto"' in said


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
    (tmp_path / "access.log").write_text("\n".join(browsed(sessions)) + "\n")
    with synthetic(web) as served:

        def crawl(share: float, *more: str) -> set[str]:
            """Crawl on; return what the server was asked for so far."""
            given = {"fetch.proxy": served.origin, "frontier.depth_share": share, "frontier.window_max": 16}
            printed(tmp_path, "crawl", "--seed", home, "--predicate", ANY, *options(AUTO | given), *more)
            return {url for url in served.targets() if not url.endswith("/robots.txt")}

        printed(tmp_path, "feed", "access.log")
        assert crawl(0.9, "--budget", "1") == {home}  # and the log is counted then
        assert crawl(0.9) == {url for url, links in levels.items() if links <= 1}
        told = printed(tmp_path, "explain", deep, *options({"frontier.depth_share": 0.9}))
        assert "state: candidate" in told
        assert "which is crawled to level 1 (frontier.depth): that keeps 93% of 280 page views" in told
        within = {url for url, links in levels.items() if links <= 2 and url not in web.facts().forbidden}
        assert crawl(0.95) >= within
    exact(tmp_path)
