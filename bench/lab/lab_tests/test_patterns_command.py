"""The patterns command: from a log to tables and pictures, with a mirror and without."""

import gzip
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from lxml import etree

from lab_tests.files import PNG, line, quiet, rows
from scentline.models.facts import Access
from scentline.models.page import Link, Page
from scentline.models.papers.pattern_tree import Growth
from scentline.models.papers.patterns import mine
from scentline.models.papers.ways import Behaviour
from scentline_lab.patterns.pictures import draw_tree
from scentline_lab.patterns.quality import (
    PERIODS,
    Record,
    Site,
    counted,
    crawled,
    layout_of,
    layout_similarity,
    reliability,
    split,
)
from tests.agents.commands import last_line, printed
from tests.agents.test_archive import page, write

# A forum as those of the paper: list pages lead to topics, which people read; profiles and printable copies are
# linked as often, and hardly ever read. Topics written after the patterns were mined are as popular as others.
HOME, TOPICS, USERS = "http://forum.test/", 300, 200
SVG = "{http://www.w3.org/2000/svg}"


def forum() -> dict[str, Page]:
    topics, prints = ([f"{HOME}{kind}/{number}" for number in range(TOPICS)] for kind in ("topic", "print"))
    users = [f"{HOME}user/{number}" for number in range(USERS)]
    lists = [f"{HOME}list?page={number}" for number in range(TOPICS // 10)]
    links = {HOME: [*users[:20], lists[0]]}
    for number, url in enumerate(lists):
        links[url] = [*topics[10 * number : 10 * number + 10], *lists[number + 1 : number + 3]]
    for number, url in enumerate(topics):
        links[url] = [prints[number], users[number % USERS], users[7 * number % USERS], lists[number // 10]]
    for number, url in enumerate(users):
        links[url] = [users[(number + step) % USERS] for step in range(1, 9)]
    links |= {url: [topic] for url, topic in zip(prints, topics, strict=True)}
    return {url: Page(url, links=(*map(Link, targets), Link(HOME))) for url, targets in links.items()}


def forum_visits(topics: range, seed: int) -> Behaviour:
    """Return what people did: through lists to topics that were there, often home again, rarely elsewhere."""
    random, log = Random(seed), list[Record]()
    for reader in range(1500):
        topic = random.choice(topics)
        path = [HOME, f"{HOME}list?page={topic // 10}", f"{HOME}topic/{topic}"]
        if random.random() < 0.4:
            path.append(HOME)
        elif random.random() < 0.05:
            path.append(f"{HOME}{random.choice(['print', 'user'])}/{random.randrange(USERS)}")
        log += [
            Record(f"reader {reader}", url, source) for source, url in zip([None, *path], path, strict=False)
        ]
    return counted(log)


def test_where_kinds_of_pages_differ_in_traffic_the_papers_orderings_beat_those_by_links() -> None:
    first = forum_visits(range(TOPICS // 2), seed=1)
    known = mine(first)
    assert {f"{HOME}topic/**", f"{HOME}list?page=*"} <= {pattern.name for pattern in known.chosen}
    results = crawled(known, first, forum(), forum_visits(range(TOPICS), seed=2).visits, 0, quiet())
    fetch = {each.ordering: each.pages or 2 for each in results if each.aim == "fetch"}
    discovery = {each.ordering: each.pages or 2 for each in results if each.aim == "discovery"}
    assert fetch["behaviour-fetch"] < 0.5 * min(fetch["breadth-first"], fetch["pagerank"])
    assert fetch["behaviour-fetch"] < fetch["overall-visit"]
    assert discovery["behaviour-discovery"] < 0.2 * min(discovery["breadth-first"], discovery["pagerank"])
    # Half the topics were not there when the log was taken: a single page's visits say nothing of them, unless
    # they are shrunk to those of its pattern.
    assert max(fetch["behaviour-fetch"], fetch["visits"]) < 0.5 * fetch["own-visits"]
    assert max(fetch, key=fetch.__getitem__) == "volume"


def forum_log() -> list[str]:
    lines = []
    for reader in range(400):
        topic, second = 7 * reader % TOPICS, 900 * reader
        lines.append(line(reader, second, "/", "http://search.example/?q=forum"))
        lines.append(line(reader, second + 60, f"/list?page={topic // 10}", "http://www.forum.test/"))
        lines.append(line(reader, second + 120, f"/topic/{topic}", f"{HOME}list?page={topic // 10}"))
    return [*lines, "rubbish"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a forum's log and its pages."""
    directory = tmp_path_factory.mktemp("forum")
    (directory / "forum.log.gz").write_bytes(gzip.compress("\n".join(forum_log()).encode()))
    pages = []
    for url, found in forum().items():
        links = "".join(f'<a href="{link.url}">further</a> ' for link in found.links)
        pages.append(page(url, f"<title>T</title><p>words {links}".encode()))
    write(directory / "pages.warc.gz", *pages)
    return directory


def test_a_log_and_its_mirror_come_to_tables_and_pictures(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    text = printed(
        files, "patterns", "forum.log.gz", "--site", "forum.test", "--archive", "pages.warc.gz",
        "--out", str(out), "--json",
    )  # fmt: skip
    assert "http://forum.test/topic/**" in text
    patterns = {row["pattern"]: row for row in rows(out / "patterns.csv")}
    topics = patterns["http://forum.test/topic/**"]
    assert (int(topics["urls"]), int(topics["visits"])) == (TOPICS, 400)
    home = next(row for name, row in patterns.items() if "list" not in name and "topic" not in name)
    assert int(home["referrals"]) == 400, "who comes from www.forum.test comes from the site"
    trees = {(row["mined"], row["tree"]): row for row in rows(out / "trees.csv")}
    assert len(trees) == 6
    assert all(0 < float(row["mirror_coverage"]) <= 1 for row in trees.values())
    assert all(float(row["layout_similarity"]) == 1 for row in trees.values()), "each page is of one template"
    coverage = rows(out / "coverage.csv")
    assert {row["period"] for row in coverage} == {str(number) for number in range(2, PERIODS + 1)}
    assert all(float(row["visits"]) == 1 for row in coverage if row["by"] == "transit")
    orderings = {(row["aim"], row["ordering"]): row for row in rows(out / "orderings.csv")}
    assert {("fetch", "pagerank"), ("discovery", "behaviour-discovery")} <= orderings.keys()
    assert all(
        (out / f"{name}.png").read_bytes().startswith(PNG) for name in ("coverage", "fetch", "discovery")
    )
    told = last_line(text)
    assert {each["name"] for each in told["patterns"]} == set(patterns)
    assert len(told["orderings"]) == len(orderings)


def test_without_a_mirror_what_needs_links_is_left_out_and_said(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    text = printed(files, "patterns", "forum.log.gz", "--site", "forum.test", "--out", str(out))
    assert "orderings that need links are left out" in text
    assert not (out / "discovery.png").exists()
    assert {row["aim"] for row in rows(out / "orderings.csv")} == {"fetch"}
    assert all(row["mirror_coverage"] == "" for row in rows(out / "trees.csv"))
    files_too = text + "".join(path.read_text() for path in out.iterdir() if path.suffix in (".csv", ".svg"))
    assert "10.0." not in files_too, "a user is named"


def test_a_log_of_one_access_is_enough_and_replaces_an_earlier_runs_files(tmp_path: Path) -> None:
    (tmp_path / "one.log").write_text(line(1, 0, "/only"))
    given, out = ("patterns", "one.log", "--site", "forum.test", "--out", "out", "--json"), tmp_path / "out"
    for _ in range(2):
        (found,) = last_line(printed(tmp_path, *given))["patterns"]
        assert found["name"] == "http://forum.test/only"
        assert (out / "coverage.png").exists()
        assert not (out / "discovery.png").exists()
        (out / "discovery.png").write_text("of a run with a mirror")


def test_a_site_is_a_host_and_those_beneath_it_and_a_referrer_elsewhere_is_none() -> None:
    site = Site("Forum.test", None)
    assert site.holds("http://forum.test/a")
    assert site.holds("https://www.forum.test:8443/a")
    assert not site.holds("http://notforum.test/a")
    assert Site(None, None).holds("http://anything.test/")
    assert not Site(None, "http://forum.test:81/").holds("http://anything.test/")
    access = Access("u", "http://forum.test/a", 1.0, "http://search.example/", 200, None)
    assert site.record(access) == Record("u", "http://forum.test/a", None, 1.0)
    assert site.record(Access("u", "http://else.test/", 1.0, None, 200, None)) is None
    https = Access("u", "http://forum.test/a", 1.0, "https://www.forum.test/b?c=1", 200, None)
    assert site.record(https) == Record("u", "http://forum.test/a", "http://forum.test/b?c=1", 1.0)


def test_layouts_are_the_distinct_tag_paths_of_pages() -> None:
    pages = {
        "list": b"<ul><li><a>one</a><li><a>two</a></ul>",
        "longer": b"<!-- old --><ul><li><a>one</a><li>two<li>three</ul>",
        "topic": b"<h1>T</h1><p>words",
        "empty": b"",
        "deep": b"<p>" + b"<b>" * 100_000,
    }
    found = {name: layout_of(html) for name, html in pages.items()}
    assert found["list"] == found["longer"], "how long a list is does not count"
    assert (len(found["list"]), len(found["topic"]), found["empty"]) == (5, 4, frozenset())
    assert 4 < len(found["deep"]) < 3_000
    # html and body are common: 2 of 5 + 4 - 2 paths.
    groups = {"list": 1, "longer": 1, "topic": 2, "empty": -1}
    assert list(layout_similarity({url: found[url] for url in groups}, groups)) == pytest.approx([1, 2 / 7])


def test_periods_have_as_many_accesses_each_and_coverage_over_time_is_that_by_hand() -> None:
    log = [Record(f"u{n}", f"{HOME}{n % 7}", None, 86400.0 * n) for n in range(60)]
    periods, first = split(log)
    assert [sum(period.visits.values()) for period in periods] == [10] * PERIODS
    assert periods[0].span == "1970-01-01 to 1970-01-10"
    assert first.visits == periods[0].visits
    assert len(split(log[:2])[0]) == 2
    periods, first = split([Record(f"u{n}", f"{HOME}topic/{n}", None, float(n)) for n in range(30)])
    found = reliability(mine(first, Growth(5)), periods)
    assert [each["URLs"] for each in found.coverages] == [(0, 0)] * (PERIODS - 1)
    assert [each["transit"] for each in found.coverages] == [(1, 1)] * (PERIODS - 1)
    assert sum(found.later_visits.values()) == 25


def test_the_tree_is_drawn_a_line_a_node_and_escaped(tmp_path: Path) -> None:
    visits = {f"http://t/a%3Cb&'{folder}'/{n}": 5**folder for folder in range(5) for n in range(6)}
    patterns = mine(Behaviour(visits, {}, {}), Growth(5))
    draw_tree(tmp_path / "tree.svg", patterns, "<script>")
    svg = etree.parse(tmp_path / "tree.svg").getroot()
    assert next(svg.iter(f"{SVG}script"), None) is None
    lines = [next(line.iter(f"{SVG}text")) for line in svg.iter(f"{SVG}g")]
    tops = [float(line.get("y", "0")) for line in lines]
    assert len(tops) == len([each for each in patterns.all if each])
    assert all(lower - upper >= 20 for upper, lower in pairwise(tops))
