"""Crawls without a predicate, in the order of an importance, on a web that has what the papers tell of."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scentline_lab.synthetic.serve import synthetic_server
from tests.agents.commands import complaint, last_line, printed
from tests.agents.test_archive import page, write
from tests.agents.test_cli_crawl import outcomes_of
from tests.e2e.test_kill import WEB, Crawl, kill_again_and_again

#: Figure 3 of Cho 1998: the start leads to two pages of a large cluster, whose pages all link to each other,
#: and to pages that share a target, which is more important than the cluster's pages are.
ROOT = "http://site.test"
CLUSTER = [f"{ROOT}/cluster/{number}" for number in range(30)]
WAYS = [f"{ROOT}/way/{number}" for number in range(6)]
POPULAR = f"{ROOT}/a/b/popular"
LEAVES = {way: [f"{way}/leaf-{number}" for number in range(4)] for way in WAYS}
BUDGET = 20


def html(links: Sequence[str]) -> bytes:
    found = "".join(f'<a href="{link}">{link.rpartition("/")[2]}</a> ' for link in links)
    return f"<title>page</title><p>{found}".encode()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages = {f"{ROOT}/": [*CLUSTER[:2], *WAYS], POPULAR: [f"{ROOT}/"]}
    pages |= {one: [other for other in CLUSTER if other != one] for one in CLUSTER}
    pages |= {way: [POPULAR, *leaves] for way, leaves in LEAVES.items()}
    pages |= {leaf: [] for leaves in LEAVES.values() for leaf in leaves}
    records = [page(url, html(links)) for url, links in pages.items()]
    return write(tmp_path_factory.mktemp("web") / "pages.warc.gz", *records)


def crawled(
    cwd: Path, archive: Path, ordering: str, budget: int = BUDGET, *options: str
) -> tuple[list[str], Any]:
    """Crawl; return the pages in the order in which they were judged, and the summary."""
    summary = last_line(printed(
        cwd, "crawl", "--archive", str(archive), "--seed", f"{ROOT}/", "--ordering", ordering,
        "--budget", str(budget), "--data", ordering, "--json", "--set", "frontier.explore=0",
        "--set", "frontier.window_max=1", *options,
    ))  # fmt: skip
    found = sorted(outcomes_of(cwd / ordering), key=lambda outcome: outcome.time)
    return [outcome.url for outcome in found], summary


def test_breadth_first_takes_what_the_start_links_to_before_all_else(tmp_path: Path, archive: Path) -> None:
    pages, summary = crawled(tmp_path, archive, "breadth-first")
    assert pages[0] == f"{ROOT}/"
    assert set(pages[1:9]) == {*CLUSTER[:2], *WAYS}
    assert summary["policy"] == "breadth-first"


def test_backlink_goes_deep_into_the_cluster(tmp_path: Path, archive: Path) -> None:
    pages, _ = crawled(tmp_path, archive, "backlink")
    assert set(pages[1:]) <= set(CLUSTER)
    found = json.loads(printed(tmp_path, "explain", CLUSTER[-1], "--data", "backlink", "--json"))
    assert found["priorities"] == {"every-page": len(pages) - 1 - (CLUSTER[-1] in pages)}
    said = complaint(
        tmp_path, "crawl", "--seed", f"{ROOT}/", "--ordering", "pagerank", "--data", "backlink",
        "--set", "fetch.user_agent=test (+https://scentline.dev)",
    )  # fmt: skip
    assert "backlink holds a crawl with the policy backlink" in said


def test_pagerank_finds_the_important_page_before_the_cluster(tmp_path: Path, archive: Path) -> None:
    pages, summary = crawled(tmp_path, archive, "pagerank")
    assert POPULAR in pages[1:10]
    assert sum(url in CLUSTER for url in pages[:10]) <= 2
    assert summary["predicates"]["every-page"]["harvest_rate"] == 1.0
    later, _ = crawled(tmp_path, archive, "pagerank", BUDGET + 10)
    assert later[:BUDGET] == pages
    assert len(later) == BUDGET + 10


def test_location_prefers_short_paths(tmp_path: Path, archive: Path) -> None:
    pages, _ = crawled(tmp_path, archive, "location", 60)
    slashes = [url.count("/") for url in pages]
    assert slashes == sorted(slashes)


def test_similarity_prefers_what_is_called_like_the_query(tmp_path: Path, archive: Path) -> None:
    said = complaint(tmp_path, "crawl", "--seed", f"{ROOT}/", "--ordering", "similarity")
    assert said.startswith("frontier.query: '' has no words")
    pages, _ = crawled(tmp_path, archive, "similarity", BUDGET, "--set", "frontier.query=popular ways")
    assert pages.index(POPULAR) <= 5


@pytest.mark.parametrize(
    "given",
    [
        ("frontier.ordering=pagerank",),
        ("frontier.ordering=behaviour-fetch", "frontier.visited_patterns_only=true"),
    ],
    ids=" ".join,
)
def test_a_killed_crawl_counts_every_page_and_access_once(tmp_path: Path, given: tuple[str, ...]) -> None:
    options = [word for text in given for word in ("--set", text)]
    with synthetic_server(*WEB) as server:
        kill_again_and_again(Crawl(tmp_path, server.url, "learned", 60, options), 2, Random(2))
