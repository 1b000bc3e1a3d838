"""Whole crawls of a web half of whose pages need scripts, with the browser of this machine."""

import time
from itertools import chain, pairwise
from pathlib import Path
from urllib.parse import urlsplit

from bench.render.web import ScriptedWeb
from tests.agents.commands import forked, last_line, printed
from tests.e2e.crawls import each, exact, options, pages_of, synthetic
from tests.patience import PATIENCE

WEB = ScriptedWeb(4, 8)
#: Seconds by which a server on a busy machine may see the first of two requests late.
LATE = 0.4


def words(proxy: str, pages: str) -> list[str]:
    given = {"fetch.delay_seconds": 0, "fetch.proxy": proxy, "render.pages": pages, "render.chance": 0.2}
    return ["crawl", "--json", *each("--seed", WEB.seeds), "--predicate", 'nebula="nebula"', *options(given)]


def reached(*, scripts: bool) -> set[str]:
    """Return the pages that links lead to, those of shells with ``scripts`` alone."""
    found, new = set[str](), set(WEB.seeds)
    while new:
        found |= new
        new = {link for url in new for link, _ in WEB.pages[url].links}
        new = {url for url in new - found if scripts or not WEB.needs(url)}
    return found


def test_a_crawl_that_is_killed_while_it_renders_judges_every_page_once(tmp_path: Path) -> None:
    with synthetic(WEB) as served:  # type: ignore[arg-type]  # it answers as the synthetic web does
        for kill in range(1, 3):
            with forked(tmp_path, *words(served.origin, "where-needed")) as run:
                deadline = time.monotonic() + PATIENCE
                while sum("/api/" in target for target in served.targets()) < 2 * kill:
                    assert run.process.is_alive(), run.err.read_text()
                    assert time.monotonic() < deadline
                    time.sleep(0.02)
        found = last_line(printed(tmp_path, *words(served.origin, "where-needed")))
    expected = reached(scripts=True)
    exact(tmp_path, judged=len(expected))
    assert found["fetched"] == len(expected)
    rows = [row for row in pages_of(tmp_path / "scentline-data") if row.state == "judged"]
    assert {row.url for row in rows if row.render} == set(filter(WEB.needs, expected))
    hits = {row.url for row in rows if row.verdict == {"nebula": True}}
    assert hits == {url for url in expected if WEB.pages[url].topical}


def test_without_rendering_shells_are_refused_and_everything_else_is_judged(tmp_path: Path) -> None:
    with synthetic(WEB) as served:  # type: ignore[arg-type]  # as above
        printed(tmp_path, *words(served.origin, "never"))
    exact(tmp_path, judged=len(reached(scripts=False)))
    rows = [row for row in pages_of(tmp_path / "scentline-data") if row.state == "refused"]
    assert {row.reason for row in rows} == {"needs scripts"}
    assert all(WEB.needs(row.url) for row in rows)


def test_a_host_is_left_alone_for_as_many_delays_as_a_page_took_requests(tmp_path: Path) -> None:
    delay = 1.6
    with synthetic(WEB) as served:  # type: ignore[arg-type]  # as above
        settings = options({"fetch.delay_seconds": delay, "fetch.delay_factor": 0})
        printed(tmp_path, *words(served.origin, "where-needed"), *settings)
    hosts: dict[str, list[list[float]]] = {}
    for asked in sorted(served.asked, key=lambda asked: asked.began):
        parts = urlsplit(asked.target)
        groups = hosts.setdefault(parts.netloc, [])
        if parts.path.startswith("/api/") or parts.path.endswith(".js"):
            groups[-1].append(asked.began)  # of the page before
        else:
            groups.append([asked.began])
    assert max(map(len, chain(*hosts.values()))) > 2
    for groups in hosts.values():
        for before, after in pairwise(groups):
            assert after[0] - before[0] > len(before) * delay - LATE, (before, after)
