"""The order command: webs read, crawled in every order, and what it leaves of them."""

import gzip
import random
from collections import Counter
from pathlib import Path

import pytest

from lab_tests.files import quiet, rows, small_web
from scentline.streams.settings import Settings
from scentline_lab.order.crawl import Job, run
from scentline_lab.order.reading import Web, read_archive, read_web
from scentline_lab.order.results import Results
from tests.agents.commands import TOLD_TO_END, printed, running, wait_until
from tests.agents.test_archive import page, write
from tests.patience import PATIENCE
from tests.shared import shared

TABLES = {"buffer", "figures", "histogram", "stop", "threshold", "walk"}
PICTURES = {"buffer", "histogram", "stop", "threshold-backlinks", "threshold-pagerank", "thresholds"}
THRESHOLDS = ("--threshold", "5", "--threshold", "15")
# 7 links into a web of its own, which can't be reached from 1.
NAMED = """8 9 1
1 http://a.test/
2 http://a.test/b/c
3 http://a.test/d
4 http://a.test/b/e
5 http://a.test/d/f
6 http://b.test/
7 http://c.test/
8 http://c.test/x
1 2
1 3
2 4
4 2
3 5
5 3
5 6
6 6
7 8
"""


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
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with webs: links by number, links by URL, and an archive."""
    directory = tmp_path_factory.mktemp("webs")
    (directory / "links.tsv.gz").write_bytes(gzip.compress(random_links(300, 3).encode()))
    (directory / "named.dat").write_text(NAMED)
    small_web(directory)
    return directory


@pytest.fixture(scope="module")
def out(files: Path) -> Path:
    printed(files, "order", "links.tsv.gz", *THRESHOLDS, "--out", "out", "--jobs", "2")
    return files / "out"


def test_links_by_url_are_a_web_of_what_can_be_reached(files: Path) -> None:
    web = read(files / "named.dat", start="http://a.test/")
    assert web.graph.names == (
        "http://a.test/", "http://a.test/b/c", "http://a.test/d", "http://a.test/b/e", "http://a.test/d/f",
        "http://b.test/",
    )  # fmt: skip
    assert [web.graph.links(number) for number in range(6)] == [[1, 2], [3], [4], [1], [2, 5], []]
    best = read(files / "named.dat")
    assert best.name(best.start) == "http://a.test/", "where most can be reached from"


def test_a_web_may_be_a_part_of_a_file(files: Path) -> None:
    assert read(files / "named.dat", within="http://a.test/b").graph.names == (
        "http://a.test/b/c", "http://a.test/b/e"
    )  # fmt: skip
    assert len(read(files / "named.dat", start="http://A.test:80/d")) == 3


def test_everything_is_there_and_the_same_whatever_the_number_of_processes(files: Path, out: Path) -> None:
    orders = {f"order.{name}" for name in ("breadth-first", "backlink", "pagerank")}
    names = {f"{name}.csv" for name in TABLES | orders} | {f"{name}.png" for name in PICTURES}
    assert {path.name for path in out.iterdir()} == names | {".scentline-order"}
    printed(files, "order", "links.tsv.gz", *THRESHOLDS, "--out", "alone", "--jobs", "1")
    for name in names:
        assert (files / "alone" / name).read_bytes() == (out / name).read_bytes(), name


def test_the_curves_are_those_of_the_orders(files: Path, out: Path) -> None:
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
    histogram = {int(row["backlinks"]): int(row["pages"]) for row in rows(out / "histogram.csv")}
    assert sum(pages for backlinks, pages in histogram.items() if backlinks >= 5) == len(hot)


def test_forward_links_are_known_of_crawled_pages_so_that_a_buffer_is_ideal(out: Path) -> None:
    found = [row for row in rows(out / "buffer.csv") if row["importance"] == "forward links"]
    crawled = [float(row["p_bc"]) for row in found if row["ordering"] not in ("ideal", "random")]
    assert crawled == [1.0] * (3 * 5)


def test_topics_of_an_archive(files: Path) -> None:
    printed(files, "order", "pages.warc.gz", "--topic", "Hockey", "--out", "topics")
    found = {row["graph"] for row in rows(files / "topics" / "topics.csv")}
    assert {"graph-7", "graph-8", "similarity", "combined"} <= found
    assert (files / "topics" / "topic-hockey.png").stat().st_size > 10_000
    assert (files / "topics" / "order.hockey.modified.pagerank.csv").is_file()
    assert (files / "topics" / "order.location.csv").is_file()


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


@TOLD_TO_END
def test_an_interrupted_comparison_leaves_the_orders_that_were_done(
    tmp_path: Path, program: tuple[str, ...], number: int
) -> None:
    (tmp_path / "links.tsv").write_text(random_links(20_000, 2))
    with running(tmp_path, "order", "links.tsv", "--out", "out", "--jobs", "1", program=program) as process:
        wait_until((tmp_path / "out" / "order.breadth-first.csv").exists, process)
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Interrupted: out has the orders" in errors
    assert len(rows(tmp_path / "out" / "order.breadth-first.csv")) == 20_000
    assert not list((tmp_path / "out").glob("*.partial"))


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
