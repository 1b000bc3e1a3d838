"""The depth command: a log, an archive or a graph in, advice, tables and pictures out."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from lab_tests.files import BROWSER, PNG, line, rows
from scentline_lab.reading import GraphError, read_graph
from tests.agents.commands import last_line, printed
from tests.agents.test_archive import page, write
from tests.cases import each_case

SITE = "http://example.org"


def log() -> list[str]:
    """Return the log of 120 users: all see the start page, half of them /a, and every fourth /a/b as well."""
    lines = []
    for user in range(120):
        lines.append(line(user, user, "/", "http://search.example/"))
        lines += [line(user, user + 20, "/a", f"{SITE}/")] if user % 2 == 0 else []
        lines += [line(user, user + 40, "/a/b", f"{SITE}/a")] if user % 4 == 0 else []
    wrong = [line(200, 300, "/wp-login.php"), line(201, 301, "/?page=1+union+select+1")]
    return [*lines, *wrong, line(202, 302, "/", agent="Examplebot/1.0")]


def sites_of(directory: Path, *arguments: str) -> Any:
    return last_line(printed(directory, "depth", *arguments, "--json"))["sites"]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a directory in which the command has read the log, and what it printed."""
    directory = tmp_path_factory.mktemp("depth")
    (directory / "access.log").write_text("".join(f"{text}\n" for text in log()))
    given = "access.log", "--site", "example.org", "--out", "depths", "--json"
    return directory, printed(directory, "depth", *given)


def test_the_figures_are_those_of_the_log(done: tuple[Path, str]) -> None:
    found: Any = last_line(done[1])
    (site,) = found["sites"]
    # 120 views of the start page, 60 of /a, 30 of /a/b: the levels sum up to 120, q_B = 120 / 330.
    whole = {
        "site": "example.org", "sessions": 120, "views": 210, "views_put_back": 0, "start_at_home": 1.0,
        "single_view": 0.5, "depth": 2, "source": "views", "depth_views": 2,
    }  # fmt: skip
    assert site.items() >= whole.items()
    fitted = [site[f"q_{surfer}"] for surfer in "BAC"]
    assert fitted == pytest.approx([120 / 330, 120 / 450, 120 / 540], abs=1e-6)
    assert site["low_B"] < site["q_B"] < site["high_B"]
    assert [found["passed"][reason] for reason in ("application", "attack", "robot by agent")] == [1, 1, 1]


def test_the_tables_have_levels_and_moves(done: tuple[Path, str]) -> None:
    directory, out = done
    levels = rows(directory / "depths" / "levels.csv")
    assert [(row["level"], row["views"]) for row in levels] == [("0", "120"), ("1", "60"), ("2", "30")]
    assert float(levels[1]["reached"]) == pytest.approx(180 / 210, abs=1e-6)
    assert float(levels[1]["reached_B"]) == pytest.approx(1 - (120 / 330) ** 2, abs=1e-6)
    assert levels[0]["pages"] == ""
    directories = rows(directory / "depths" / "directories.csv")
    assert [(row["pages"], row["entry_pages"]) for row in directories] == [("2", "1"), ("1", "0")]
    moves = rows(directory / "depths" / "moves.csv")
    assert [(row["next"], row["jump"]) for row in moves] == [("0.5", "0.5"), ("0.5", "0.5"), ("0.0", "1.0")]
    (site,) = rows(directory / "depths" / "sites.csv")
    assert site["depth"] == "2"
    assert (directory / "depths" / "sites" / "example.org.png").read_bytes().startswith(PNG)
    assert "example.org\t2\t100% of 210 page views in 120 sessions" in out
    written = [path.read_text() for path in (directory / "depths").glob("*.csv")]
    assert all("10.0." not in text and "Firefox" not in text for text in [out, *written]), "no user is named"
    (less,) = sites_of(directory, "access.log", "--site", "www.example.org", "--share", "0.8")
    assert less["depth"] == 1


@each_case(
    ("agent", "referrer", "expected"),
    [
        # The second agent's start page was in its cache, and is put back.
        ("Opera/9.80", f"{SITE}/", (2, 4, 1)),
        (BROWSER, f"{SITE}/wp-admin/edit.php", (2, 3, 0)),
    ],
)
def test_another_agent_is_another_visitor_and_an_application_that_refers_is_elsewhere(
    done: tuple[Path, str], agent: str, referrer: str, expected: tuple[int, int, int]
) -> None:
    lines = [line(1, 0, "/"), line(1, 5, "/a", f"{SITE}/", agent=agent), line(1, 9, "/b", referrer)]
    (done[0] / "two.log").write_text("\n".join(lines))
    (site,) = sites_of(done[0], "two.log", "--site", "example.org")
    assert (site["sessions"], site["views"], site["views_put_back"]) == expected


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
    clicks = [
        ("/", "-"),
        ("/a", f"{SITE}/"),
        ("/b", f"{SITE}/a"),
        ("/copy", f"{SITE}/b"),
        ("/b", f"{SITE}/copy"),
    ]
    lines = [line(1, 10 * number, path, referrer) for number, (path, referrer) in enumerate(clicks)]
    (tmp_path / "access.log").write_text("\n".join(lines))
    given = "access.log", "--archive", "web.warc.gz", "--site", "example.org", "--out", "o"
    (site,) = sites_of(tmp_path, *given)
    # Of the start page's links /copy has the text of /a and /gone is no page: one of three leads on.
    assert (site["pages"], site["links"], site["links_to_new"]) == (3, 6, 2)
    assert (site["source"], site["depth"]) == ("links", site["depth_links"])
    levels = rows(tmp_path / "o" / "levels.csv")
    assert [(row["pages"], row["links_to_new"]) for row in levels] == [("1", "1"), ("1", "1"), ("1", "0")]
    # The user's way over /copy is one back from /b to /a, and on to /b again.
    assert ([row["views"] for row in levels], site["views_put_back"]) == (["1", "2", "2"], 0)
    # The three pages are in a row, each linked to the next and back: the middle one has the most PageRank.
    assert float(levels[1]["pagerank"]) > float(levels[0]["pagerank"])
    assert float(levels[2]["pagerank_reached"]) == pytest.approx(1)


def test_a_graph_with_urls_has_sites_and_one_without_is_one(tmp_path: Path) -> None:
    (tmp_path / "named.dat").write_text(
        "4 3 1\n1 http://example.org/ \n2 http://example.org/a \n3 http://example.com/ \n"
        "4 mailto:x@example.org \n1 2\n1 3\n1 4\n"
    )
    (tmp_path / "numbers.tsv.gz").write_bytes(gzip.compress(b"5\t0\n5\t1\n5\t2\n2\t5\n2\t3\n0\t1\n"))
    found = sites_of(tmp_path, "--graph", "named.dat", "--graph", "numbers.tsv.gz", "--out", "o")
    sites = {site["site"]: site for site in found}
    assert sites.keys() == {"example.org", "example.com", "numbers"}
    assert (sites["example.org"]["pages"], sites["example.org"]["links"]) == (2, 1)
    assert (sites["numbers"]["pages"], sites["numbers"]["links"], sites["numbers"]["links_to_new"]) == (5, 6, 4)
    assert (tmp_path / "o" / "sites" / "numbers.png").read_bytes().startswith(PNG)


@each_case("text", ["", "a b\n", "1\n", "-1 2\n", "1 99999999999\n", "2 1 1\n1 http://a.example/\n"])
def test_what_is_no_graph_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "graph.tsv").write_text(text)
    (tmp_path / "short.tsv.gz").write_bytes(gzip.compress(b"1 2\n" * 1000)[:-10])
    for name in ("graph.tsv", "short.tsv.gz"):
        with pytest.raises(GraphError, match=rf"{name}: expected lines of two numbers, source and target"):
            read_graph(tmp_path / name)
