"""The depth command: a log, an archive or a graph in, advice, tables and pictures out."""

import csv
import gzip
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from scentline_lab.depth.command import Output
from scentline_lab.depth.reading import MOST_SITES, Copies, Sites, home
from scentline_lab.reading import GraphError, read_graph
from tests.agents.commands import TOLD_TO_END, complaint, environment, last_line, printed
from tests.agents.test_archive import page, write
from tests.cases import each_case
from tests.patience import PATIENCE
from tests.shared import shared

BROWSER = "Mozilla/5.0 (X11; Linux x86_64) Firefox/120.0"
SITE = "http://example.org"
PNG = b"\x89PNG\r\n\x1a\n"


def line(
    user: int, second: int, path: str, referrer: str = "-", agent: str = BROWSER, status: int = 200
) -> str:
    """Return a line of a log whose paths have no host."""
    time = datetime.fromtimestamp(1_700_000_000 + second, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
    return (
        f'10.0.{user // 250}.{user % 250} - - [{time}] "GET {path} HTTP/1.1" {status} 5 "{referrer}" "{agent}"'
    )


def log() -> list[str]:
    """Return the log of 120 users: all see the start page, half of them /a, and every fourth /a/b as well."""
    lines = []
    for user in range(120):
        lines.append(line(user, user, "/", "http://search.example/"))
        if user % 2 == 0:
            lines.append(line(user, user + 20, "/a", f"{SITE}/"))
        if user % 4 == 0:
            lines.append(line(user, user + 40, "/a/b", f"{SITE}/a"))
    lines.append(line(200, 300, "/wp-login.php"))
    lines.append(line(201, 301, "/?page=1+union+select+1"))
    lines.append(line(202, 302, "/", agent="Examplebot/1.0"))
    return lines


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory in which the command has read the log, with its output."""
    directory = tmp_path_factory.mktemp("depth")
    (directory / "access.log").write_text("".join(f"{text}\n" for text in log()))
    out = printed(directory, "depth", "access.log", "--site", "example.org", "--out", "depths", "--json")
    (directory / "out.txt").write_text(out)
    return directory


def test_the_figures_are_those_of_the_log(done: Path) -> None:
    found: Any = last_line((done / "out.txt").read_text())
    (site,) = found["sites"]
    # 120 views of the start page, 60 of /a, 30 of /a/b: the levels sum up to 120, q_B = 120 / 330.
    assert (site["site"], site["sessions"], site["views"], site["views_put_back"]) == (
        "example.org",
        120,
        210,
        0,
    )
    assert (site["start_at_home"], site["single_view"]) == (1.0, 0.5)
    assert site["q_B"] == pytest.approx(120 / 330, abs=1e-6)
    assert site["q_A"] == pytest.approx(120 / 450, abs=1e-6)
    assert site["q_C"] == pytest.approx(120 / 540, abs=1e-6)
    assert site["low_B"] < site["q_B"] < site["high_B"]
    assert (site["depth"], site["source"], site["depth_views"]) == (2, "views", 2)
    assert found["passed"]["application"] == 1
    assert found["passed"]["attack"] == 1
    assert found["passed"]["robot by agent"] == 1


def test_the_tables_have_levels_and_moves(done: Path) -> None:
    levels = rows(done / "depths" / "levels.csv")
    assert [(row["level"], row["views"]) for row in levels] == [("0", "120"), ("1", "60"), ("2", "30")]
    assert float(levels[1]["reached"]) == pytest.approx(180 / 210, abs=1e-6)
    assert float(levels[1]["reached_B"]) == pytest.approx(1 - (120 / 330) ** 2, abs=1e-6)
    assert levels[0]["pages"] == ""
    directories = rows(done / "depths" / "directories.csv")
    assert [(row["pages"], row["entry_pages"]) for row in directories] == [("2", "1"), ("1", "0")]
    moves = rows(done / "depths" / "moves.csv")
    assert [(row["next"], row["jump"]) for row in moves] == [("0.5", "0.5"), ("0.5", "0.5"), ("0.0", "1.0")]
    (site,) = rows(done / "depths" / "sites.csv")
    assert site["depth"] == "2"
    assert (done / "depths" / "sites" / "example.org.png").read_bytes().startswith(PNG)
    out = (done / "out.txt").read_text()
    assert "example.org\t2\t100% of 210 page views in 120 sessions" in out
    written = [path.read_text() for path in (done / "depths").glob("*.csv")]
    assert all("10.0." not in text and "Firefox" not in text for text in [out, *written]), "no user is named"
    less = printed(done, "depth", "access.log", "--site", "www.example.org", "--share", "0.8", "--json")
    assert last_line(less)["sites"][0]["depth"] == 1


@each_case(
    ("agent", "referrer", "expected"),
    [
        # The second agent's start page was in its cache, and is put back.
        ("Opera/9.80", f"{SITE}/", (2, 4, 1)),
        (BROWSER, f"{SITE}/wp-admin/edit.php", (2, 3, 0)),
    ],
)
def test_another_agent_is_another_visitor_and_an_application_that_refers_is_elsewhere(
    done: Path, agent: str, referrer: str, expected: tuple[int, int, int]
) -> None:
    lines = [line(1, 0, "/"), line(1, 5, "/a", f"{SITE}/", agent=agent), line(1, 9, "/b", referrer)]
    (done / "two.log").write_text("\n".join(lines))
    (site,) = last_line(printed(done, "depth", "two.log", "--site", "example.org", "--json"))["sites"]
    assert (site["sessions"], site["views"], site["views_put_back"]) == expected


def test_the_sites_of_a_log_are_told_apart(tmp_path: Path) -> None:
    proxied = [
        line(user, 10 * number, url, referrer)
        for user in range(3)
        for number, (url, referrer) in enumerate([
            ("http://example.org/", "-"), ("https://www.example.org/a", "http://example.org/"),
            ("http://example.com/", "http://example.org/a"),
        ])
    ]  # fmt: skip
    (tmp_path / "access.log").write_text("\n".join(proxied))
    sites = last_line(printed(tmp_path, "depth", "access.log", "--json"))["sites"]
    assert [(site["site"], site["sessions"], site["views"]) for site in sites] == [
        ("example.org", 3, 6), ("example.com", 3, 3),
    ]  # fmt: skip


def test_an_archive_gives_a_depth_without_a_log_and_names_copies(tmp_path: Path) -> None:
    long = " ".join(f"word{number}" for number in range(200))
    web = {
        "/": '<a href="/a">a</a> <a href="/copy">b</a> <a href="/gone">c</a> The start',
        "/a": f'<a href="/">back</a> <a href="/b">on</a> {long}',
        "/b": '<a href="/a">back</a> The end',
        "/copy": f'<a href="/c">on</a> {long}',
        "/c": "Not reached",
    }
    write(tmp_path / "web.warc.gz", *(page(SITE + path, text.encode()) for path, text in web.items()))
    clicks = [("/", "-"), ("/a", f"{SITE}/"), ("/b", f"{SITE}/a"), ("/copy", f"{SITE}/b")]
    lines = [line(1, 10 * number, path, referrer) for number, (path, referrer) in enumerate(clicks)]
    (tmp_path / "access.log").write_text("\n".join(lines))
    given = "--archive", "web.warc.gz", "--site", "example.org", "--out", "o", "--json"
    out = printed(tmp_path, "depth", "access.log", *given)
    (site,) = last_line(out)["sites"]
    # Of the start page's links /copy has the text of /a and /gone is no page: one of three leads on.
    assert (site["pages"], site["links"], site["links_to_new"]) == (3, 6, 2)
    assert (site["source"], site["depth"]) == ("links", site["depth_links"])
    levels = rows(tmp_path / "o" / "levels.csv")
    assert [(row["pages"], row["links_to_new"]) for row in levels] == [("1", "1"), ("1", "1"), ("1", "0")]
    # The user's way over /copy is one back from /b to /a.
    assert [row["views"] for row in levels] == ["1", "2", "1"]
    # The three pages are in a row, each linked to the next and back: the middle one has the most PageRank.
    assert float(levels[1]["pagerank"]) > float(levels[0]["pagerank"])
    assert float(levels[2]["pagerank_reached"]) == pytest.approx(1)


def test_a_graph_with_urls_has_sites_and_one_without_is_one(tmp_path: Path) -> None:
    (tmp_path / "named.dat").write_text(
        "4 3 1\n1 http://example.org/ \n2 http://example.org/a \n3 http://example.com/ \n"
        "4 mailto:x@example.org \n1 2\n1 3\n1 4\n"
    )
    (tmp_path / "numbers.tsv.gz").write_bytes(gzip.compress(b"5\t0\n5\t1\n5\t2\n2\t5\n2\t3\n0\t1\n"))
    out = printed(
        tmp_path, "depth", "--graph", "named.dat", "--graph", "numbers.tsv.gz", "--out", "o", "--json"
    )
    sites = {site["site"]: site for site in last_line(out)["sites"]}
    assert sites.keys() == {"example.org", "example.com", "numbers"}
    assert (sites["example.org"]["pages"], sites["example.org"]["links"]) == (2, 1)
    assert (sites["numbers"]["pages"], sites["numbers"]["links"], sites["numbers"]["links_to_new"]) == (5, 6, 4)
    assert (tmp_path / "o" / "sites" / "numbers.png").read_bytes().startswith(PNG)


@each_case("text", ["", "a b\n", "1\n", "-1 2\n", "1 99999999999\n", "2 1 1\n1 http://a.example/\n"])
def test_what_is_no_graph_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "graph.tsv"
    path.write_text(text)
    with pytest.raises(GraphError, match=r"graph\.tsv: expected lines of two numbers, source and target"):
        read_graph(path)
    (tmp_path / "short.tsv.gz").write_bytes(gzip.compress(b"1 2\n" * 1000)[:-10])
    with pytest.raises(GraphError, match="expected lines of two numbers"):
        read_graph(tmp_path / "short.tsv.gz")


OCCUPIED = "--out full: holds files that `scentline depth` did not make; expected a new or empty directory"
IN_VAIN = [
    ([], "depth needs something to read: a LOG, --archive WARC or --graph FILE"),
    (["--graph", "none.tsv"], "none.tsv: there is no such file"),
    (["none.log"], "log none.log can't be opened: No such file or directory"),
    (["a.log", "--site", "http://a.b/"], "--site 'http://a.b/': expected a host, such as example.org"),
    (["a.log", "--out", "full"], f"{OCCUPIED}, or an earlier run's"),
]


@each_case(("arguments", "message"), IN_VAIN)
def test_what_is_asked_for_in_vain_is_said(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "a.log").write_text(line(1, 0, "/"))
    (tmp_path / "full").mkdir(exist_ok=True)
    (tmp_path / "full" / "mine.txt").touch()
    assert complaint(tmp_path, "depth", *arguments) == message
    assert (tmp_path / "full" / "mine.txt").exists()


@TOLD_TO_END
def test_an_interrupt_keeps_what_was_read(tmp_path: Path, program: tuple[str, ...], number: int) -> None:
    arguments = [*program, "depth", "-", "--site", "example.org", "--out", "depths"]
    with subprocess.Popen(
        arguments, cwd=tmp_path, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        # More than a pipe holds: when all of it is written, some has been read.
        for view in range(3_000):
            process.stdin.write(line(view % 250, 10 * view, "/") + "\n")
        process.stdin.flush()
        process.send_signal(number)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Interrupted: these figures cover what was read so far." in out
    (site,) = rows(tmp_path / "depths" / "sites.csv")
    assert int(site["views"]) > 100


def test_short_texts_are_no_copies() -> None:
    originals: dict[str, str] = {}
    copies = Copies(0.9, 50, originals)
    assert not copies.take("a", "page not found")
    assert not copies.take("b", "page not found")
    long = " ".join(f"word{number}" for number in range(100))
    assert not copies.take("c", long)
    assert copies.take("d", long)
    assert originals == {"d": "c"}


def test_sites_are_bounded_and_begin_at_their_root_or_the_page_with_most_links() -> None:
    sites = Sites()
    for number in range(MOST_SITES + 5):
        sites.site(f"{number}.example")
    assert len(sites.known) == MOST_SITES
    assert sites.passed == {"site beyond the first 10,000": 5}
    assert sites.site("0.example") is sites.known["0.example"]
    assert home("example.org", {"example.org/a": [], "example.org/b": ["example.org/a"]}) == "example.org/b"


def test_a_real_log_stays_within_the_papers_depths() -> None:
    # "No more than 3 to 5 clicks" for nine tenths of what people visit: here it is one.
    path = shared("logs/sundog.log.gz")
    (found,) = last_line(printed(path.parent, "depth", path.name, "--site", "sundog-soft.com", "--json"))[
        "sites"
    ]
    assert (found["source"], found["depth"]) == ("views", 1)
    assert found["error_B"] < 0.1


def test_another_run_replaces_its_own_files_only_and_pictures_have_names_for_file_systems(
    tmp_path: Path,
) -> None:
    output = Output(tmp_path / "out")
    output.prepare()
    for path in (output.picture("example.org"), output.table("sites"), output.directory / "notes.txt"):
        path.touch()
    output.prepare()
    names = sorted(path.name for path in output.directory.iterdir())
    assert names == [".scentline-depth", "notes.txt", "sites"]
    assert list((output.directory / "sites").iterdir()) == []
    assert output.picture("example.org:8080").name == "example.org-8080.png"
    assert output.picture("../[::1]").parent == output.directory / "sites"
    assert len(output.picture("a" * 253).name) < 255
