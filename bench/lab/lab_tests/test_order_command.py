"""The order command: webs read, crawled in every order, and what it leaves of them."""

import gzip
import random
from collections import Counter
from pathlib import Path

import pytest

from lab_tests.files import quiet, rows, small_web
from scentline.streams.settings import Settings
from scentline_lab.order.command import Results
from scentline_lab.order.crawl import Job, run
from scentline_lab.order.reading import Web, read_archive, read_web
from tests.agents.commands import printed
from tests.agents.test_archive import page, write
from tests.shared import shared

TABLES = {"buffer", "figures", "stop", "threshold", "depth"}
PICTURES = {"buffer", "stop", "threshold-backlinks", "threshold-pagerank", "thresholds"}
THRESHOLDS = ("--threshold", "5", "--threshold", "15")
URLS = ("a.test/", "a.test/b/c", "a.test/d", "a.test/b/e", "a.test/d/f", "b.test/", "c.test/", "c.test/x")
# 7 links into a web of its own, which can't be reached from 1.
NAMED = "8 9 1\n" + "".join(f"{number} http://{url}\n" for number, url in enumerate(URLS, 1))
NAMED += "1 2\n1 3\n2 4\n4 2\n3 5\n5 3\n5 6\n6 6\n7 8\n"


def read(path: Path, start: str | None = None, within: str | None = None) -> Web:
    return read_web(path, start, within, Settings(), 1, quiet())


def random_links(pages: int, links: int) -> str:
    """Return a web that grows: each link goes to a page that already has many, more likely."""
    rng = random.Random(1)
    pairs = [(0, 1), (1, 0)]
    for number in range(2, pages):
        known = rng.choice(rng.choice(pairs))
        pairs += [(known, number)] + [(number, rng.choice(rng.choice(pairs))) for _ in range(links)]
    return "".join(f"{one}\t{two}\n" for one, two in pairs)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a web of links by number, crawled into another one in it."""
    directory = tmp_path_factory.mktemp("webs")
    (directory / "links.tsv.gz").write_bytes(gzip.compress(random_links(300, 3).encode()))
    printed(directory, "order", "links.tsv.gz", *THRESHOLDS, "--out", "out", "--jobs", "2")
    return directory / "out"


def test_links_by_url_are_a_web_of_what_can_be_reached_or_of_a_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "named.dat").write_text(NAMED)
    web = read(tmp_path / "named.dat", start="http://a.test/")
    assert web.graph.names == tuple(f"http://{url}" for url in URLS[:6])
    assert [web.graph.links(number) for number in range(6)] == [[1, 2], [3], [4], [1], [2, 5], []]
    best = read(tmp_path / "named.dat")
    assert best.name(best.start) == "http://a.test/", "where most can be reached from"
    part = read(tmp_path / "named.dat", within="http://a.test/b")
    assert part.graph.names == ("http://a.test/b/c", "http://a.test/b/e")
    assert len(read(tmp_path / "named.dat", start="http://A.test:80/d")) == 3


def test_everything_is_there_and_the_same_whatever_the_number_of_processes(out: Path) -> None:
    orders = {f"order.{name}" for name in ("breadth-first", "backlink", "pagerank")}
    names = {f"{name}.csv" for name in TABLES | orders} | {f"{name}.png" for name in PICTURES}
    assert {path.name for path in out.iterdir()} == names | {".scentline-order"}
    printed(out.parent, "order", "links.tsv.gz", *THRESHOLDS, "--out", "alone", "--jobs", "1")
    for name in names:
        assert (out.parent / "alone" / name).read_bytes() == (out / name).read_bytes(), name


def test_the_curves_are_those_of_the_orders(out: Path) -> None:
    links = {tuple(line.split("\t")) for line in random_links(300, 3).splitlines()}
    linked = Counter(two for one, two in links if one != two)
    hot = {page for page, sources in linked.items() if sources >= 5}
    order = [row["page"] for row in rows(out / "order.backlink.csv")]
    assert sorted(order, key=int) == [str(number) for number in range(300)]
    chosen = {"importance": "backlinks", "threshold": "5", "ordering": "backlink"}
    found = [row for row in rows(out / "threshold.csv") if row.items() >= chosen.items()]
    assert {row["hot"] for row in found} == {str(len(hot))}
    assert len(found) == 200
    for row in found:
        visited = hot.intersection(order[: int(row["pages"])])
        assert float(row["p_st"]) == pytest.approx(len(visited) / len(hot), abs=1e-6)


def test_topics_of_an_archive(tmp_path: Path) -> None:
    small_web(tmp_path)
    printed(tmp_path, "order", "pages.warc.gz", "--topic", "Hockey", "--out", "topics")
    found = {row["graph"] for row in rows(tmp_path / "topics" / "topics.csv")}
    assert found == {"graph-7", "graph-8", "graph-9"}
    assert (tmp_path / "topics" / "topic-hockey.png").stat().st_size > 10_000
    assert (tmp_path / "topics" / "order.hockey.modified.pagerank.csv").is_file()


def test_an_archive_has_its_titles_words_and_anchors(tmp_path: Path) -> None:
    path = write(
        tmp_path / "two.warc.gz",
        page("http://a.test/", b"<title>My Computer</title><a href=/b>a link to it</a> <a href=/c>gone</a>"),
        page("http://a.test/b", b"<p>here here <a href=/>back</a>"),
    )
    web = read_archive(path, Settings(), 1, quiet())
    found = web.fetch(0)
    assert (found.targets, [list(words) for words in found.anchors]) == ([1], [["link", "to", "it"]])
    assert found.title == ("my", "computer")
    assert web.fetch(1).words == {"here": 2, "back": 1}


def test_the_paper_s_findings_on_hollins() -> None:
    web = read(shared("graphs/hollins.dat.gz"))
    assert web.name(web.start) == "http://www1.hollins.edu/"
    jobs = [Job("breadth-first"), Job("backlink"), Job("pagerank")]
    results = Results(web, dict(run(web, jobs, 1, quiet())), {"backlinks": (3, 10, 100)})
    area = {(each.hot.threshold, each.ordering): each.area for each in results.figures()}
    # The rarer hot pages are, the sooner they are found.
    assert area[3, "backlink"] < area[10, "backlink"] < area[100, "backlink"]
    # PageRank's lead is of pages with three links, which the paper's figures do not tell; of ten there is none.
    assert area[3, "pagerank"] > 1.05 * max(area[3, "backlink"], area[3, "breadth-first"])
    assert area[10, "pagerank"] < 1.05 * area[10, "backlink"]
