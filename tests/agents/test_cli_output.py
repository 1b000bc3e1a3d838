"""What commands write: complete, readable by other programs, and harmless whatever a page holds."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command
from warcio.archiveiterator import ArchiveIterator

from scentline.agents.cli import load_commands
from scentline.agents.cli.app import app
from scentline.agents.cli.output import csv_line, json_line
from tests.agents.commands import crawl_tea, printed, scentline
from tests.cases import each_case

#: A title that would be a formula in a spreadsheet, and that would clear a terminal.
HOSTILE = '=HYPERLINK("http://evil.example/","tea") \x1b[2J\x9b2J\u202e, tea'
PAGES = {
    "http://a.org/": (
        f'<title>{HOSTILE}</title><a href="/b">b</a> <a href="/c">c</a> <a href="/d">d</a> tea'.encode()
    ),
    "http://a.org/b": b"<title>Tea, hot</title><p>A pot of it.",
    "http://a.org/c": b"<title>Snow</title><p>White and cold.",
}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a crawl of three pages, of which two are of tea."""
    directory = tmp_path_factory.mktemp("crawl")
    crawl_tea(directory, PAGES)
    return directory


def test_matches_are_written_as_csv_that_no_spreadsheet_takes_for_formulas(crawl: Path) -> None:
    out = printed(crawl, "matches", "tea", "--format", "csv")
    header, *rows = list(csv.reader(io.StringIO(out)))
    assert header == ["url", "title", "time", "depth"]
    assert [row[0] for row in rows] == ["http://a.org/", "http://a.org/b"]
    assert rows[0][1].startswith("'=HYPERLINK(")
    assert rows[1][1] == "Tea, hot"
    assert out.replace("\n", "").isprintable()


@each_case("form", ["table", "jsonl", "csv"])
def test_nothing_that_a_page_holds_reaches_a_terminal_as_it_is(crawl: Path, form: str) -> None:
    out = printed(crawl, "matches", "tea", "--format", form)
    assert "HYPERLINK" in out
    assert all(sign.isprintable() for sign in out if sign not in "\n\t")
    if form == "jsonl":
        assert [json.loads(line)["title"] for line in out.splitlines()] == [HOSTILE, "Tea, hot"]


def test_matches_are_written_as_warc_that_others_read(crawl: Path) -> None:
    printed(crawl, "matches", "tea", "--format", "warc", "--out", "tea.warc.gz")
    bodies: dict[str, bytes] = {}
    kinds: list[str] = []
    with (crawl / "tea.warc.gz").open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            kinds.append(record.rec_type)
            if record.rec_type == "response":
                bodies[record.rec_headers.get_header("WARC-Target-URI")] = record.content_stream().read()
    assert kinds == ["warcinfo", *["request", "response", "metadata"] * 2]
    assert bodies == {url: PAGES[url] for url in ("http://a.org/", "http://a.org/b")}


def test_matches_written_as_warc_can_be_crawled_again(crawl: Path, tmp_path: Path) -> None:
    out = tmp_path / "tea.warc.gz"
    printed(crawl, "matches", "tea", "--format", "warc", "--out", str(out))
    printed(tmp_path, "crawl", "--archive", str(out), "--seed", "http://a.org/b", "--predicate", 'tea="tea"')
    assert printed(tmp_path, "matches", "tea").splitlines()[1:] == ["http://a.org/b\tTea, hot"]


def test_a_page_that_is_not_kept_is_said_to_be_missing(crawl: Path, tmp_path: Path) -> None:
    printed(
        tmp_path, "crawl", "--archive", str(crawl / "pages.warc.gz"), "--seed", "http://a.org/",
        "--predicate", 'tea="tea"', "--set", "keep.pages=none",
    )  # fmt: skip
    run = scentline(tmp_path, "matches", "tea", "--format", "warc", "--out", "tea.warc.gz")
    assert (run.returncode, run.stderr) == (0, "2 of 2 pages are no longer kept\n")


#: Commands that print rows of a crawl, and how many there are of this one.
ROWS = {
    ("matches", "tea"): 2, ("predicate", "list"): 1, ("refused",): 1,
    ("dead-letters",): 0, ("steer", "list"): 0,
}  # fmt: skip


@pytest.mark.parametrize("command", [*ROWS, ("harvest",), ("topics", "list")])
def test_rows_are_the_same_in_every_format_and_in_a_file(
    crawl: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    rows = [json.loads(line) for line in printed(crawl, *command, "--format", "jsonl").splitlines()]
    found = printed(crawl, *command, "--json")
    assert (json.loads(found) if found.startswith("[") else list(map(json.loads, found.splitlines()))) == rows
    names, *cells = csv.reader(io.StringIO(printed(crawl, *command, "--format", "csv")))
    assert len(cells) == len(rows) == ROWS.get(command, len(rows))
    assert {len(names), *map(len, cells)} == {len(names)}
    assert not rows or rows[0].keys() <= set(names) or command == ("harvest",)
    for form in ("table", "jsonl", "csv"):
        told = printed(crawl, *command, "--format", form, "--out", str(tmp_path / form))
        assert told == ""
    assert (tmp_path / "csv").read_text(encoding="utf-8") == printed(crawl, *command, "--format", "csv")
    assert len((tmp_path / "table").read_text(encoding="utf-8").splitlines()) >= min(1, len(rows))


def test_every_command_that_has_formats_has_them_alike() -> None:
    load_commands()
    found = {name: each for name, each in commands(get_command(app)).items() if "--format" in each}
    del found["feed"]  # the format is that of the log that it reads
    assert {words[0] for words in (*ROWS, ("harvest",), ("changes",), ("topics",), ("lag",))} == {
        name.split()[0] for name in found
    }
    for options in found.values():
        assert {"--json", "--out"} <= options


def commands(group: Any, name: str = "") -> dict[str, set[str]]:
    """Return the options of each command by its name."""
    if not hasattr(group, "commands"):
        return {name: {option for each in group.params for option in each.opts}}
    return {
        known: options
        for word, each in group.commands.items()
        for known, options in commands(each, f"{name} {word}".strip()).items()
    }


def test_rows_are_left_out_that_came_before(crawl: Path) -> None:
    for command in ("harvest", "matches tea"):
        assert printed(crawl, *command.split(), "--format", "jsonl", "--since", "1d")
        assert printed(crawl, *command.split(), "--format", "jsonl", "--since", "2100-01-01") == ""
    last = list(csv.DictReader(io.StringIO(printed(crawl, "harvest", "--format", "csv"))))[-1]
    assert (last["predicate"], last["pages"], last["hits"]) == ("tea", "3", "2")
    assert float(last["harvest_rate"]) == pytest.approx(2 / 3)


@given(st.lists(st.text() | st.floats(allow_nan=False) | st.none(), min_size=1, max_size=4))
def test_a_line_of_csv_is_one_line_of_printable_cells_that_are_no_formulas(cells: list[object]) -> None:
    line = csv_line(cells)
    assert line.isprintable()
    (row,) = list(csv.reader([line])) or [[""]]
    for cell, value in zip(row, cells, strict=True):
        assert not isinstance(value, str) or not cell.startswith(("=", "+", "-", "@"))
    for value in filter(None, cells):
        text = json_line({"title": value})
        assert text.isprintable() and json.loads(text) == {"title": value}
