"""What commands write: `command_lines.txt`, a transcript that is reviewed as prose, and rows that others read.

Lines that print the same stand above it. A command that prints an error ends with the status 2.
``UPDATE_COMMAND_LINES=1 pytest tests/agents/test_cli_lines.py`` writes it from what the commands print.
"""

import csv
import io
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from scentline.agents.cli.output import csv_line, json_line
from scentline.agents.worker.directory import keep_settings
from scentline.models.records import DeadLetter, encode
from scentline.streams.settings import Settings
from scentline.streams.topics import DEAD_LETTERS
from scentline.streams.transport.journal import Journal
from tests.agents.commands import complaint, printed, program, scentline, typed
from tests.agents.test_archive import write
from tests.cases import each_case

TRANSCRIPT = Path(__file__).with_name("command_lines.txt")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
#: A title that would be a formula in a spreadsheet, and that would clear a terminal.
HOSTILE = '=HYPERLINK("http://evil.example/","tea") \x1b[2J\x9b2J\u202e, tea'
PAGES = {
    "http://a.org/": f"<title>{HOSTILE}</title>{'<a href=/%s>it</a> ' * 3 % (*'bcd',)} tea".encode(),
    "http://a.org/b": b"<title>Tea, hot</title><p>A pot of it.",
    "http://a.org/c": b"<title>Snow</title><p>White and cold.",
}
CRAWL = ("crawl", "--seed", "http://a.org/", "--predicate", 'tea="tea"')


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a crawl of three pages, of which two are of tea."""
    directory = tmp_path_factory.mktemp("crawl")
    html = [("Content-Type", "text/html; charset=utf-8")]
    write(directory / "pages.warc.gz", *((url, "200 OK", html, body) for url, body in PAGES.items()))
    printed(directory, *CRAWL, "--archive", "pages.warc.gz")
    return directory


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory with files that commands can't use, settings, and a log and another crawl."""
    for name in ("empty.warc", "empty.log"):
        (tmp_path / name).touch()
    for name in ("linkage", "settings"):
        (tmp_path / name).mkdir()
    (tmp_path / "hello.warc").write_text("hello")
    asked = "1700000000.123 10 10.0.0.7 TCP_MISS/200 512 {} http://a.org/ - DIRECT/- text/html\n".format
    (tmp_path / "mixed.log").write_text(asked("GET") + asked("POST") + "damaged\n\0\1 not a line either\n")
    (tmp_path / "urls.tsv").write_text("http://a.test/\tSports\nhttp://b.test/\tArts\n")
    (tmp_path / "else.log").write_text(asked("GET").replace("a.org", "else.test"))
    (tmp_path / "links.tsv").write_text("1\t2\n")
    (tmp_path / "named.dat").write_text("2 1 1\n1 http://a.test/\n2 http://a.test/b\n1 2\n")
    (tmp_path / "kafka.toml").write_text('broker = "kafka://127.0.0.1:9"\n')
    (tmp_path / "settings" / "scentline.toml").write_text(
        '[frontier]\nbudget = 7\n[predicates]\nice = "hockey"\n'
    )
    keep_settings(Settings.model_validate({"data": tmp_path / "linkage", "frontier": {"policy": "linkage"}}))
    return tmp_path


# the transcript


class Section(NamedTuple):
    """Lines that are typed one after the other in one directory, each with what it prints."""

    name: str
    lines: list[tuple[str, str]]

    def __str__(self) -> str:
        of_each = groupby(self.lines, key=lambda line: line[1])
        lines = ("".join(f"$ {line}\n" for line, _ in group) + f"{said}\n" for said, group in of_each)
        return f"## {self.name}\n\n{''.join(lines)}"


def sections(text: str) -> Iterator[Section]:
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        name, _, rest = part.partition("\n")
        lines: list[tuple[str, str]] = []
        for each in reversed(re.split(r"^\$ ", rest, flags=re.MULTILINE)[1:]):
            line, _, said = each.partition("\n")
            lines.append((line, said.strip("\n") or lines[-1][1]))
        yield Section(name, lines[::-1])


SECTIONS = list(sections(TRANSCRIPT.read_text(encoding="utf-8")))


def shown(cwd: Path, line: str) -> str:
    run = typed(cwd, line, SCENTLINE_LOG__LEVEL="error")
    refused = "scentline: error: " in run.stderr or "Usage: " in run.stderr
    assert run.returncode == (2 if refused else 0), run.stderr
    said = (run.stdout + run.stderr).replace(f"{cwd}/", "").rstrip("\n")
    return re.sub(r"^ +\d+\.\d s  ", "   0.0 s  ", said, flags=re.MULTILINE)  # of a progress display


@pytest.mark.parametrize("section", SECTIONS, ids=[section.name for section in SECTIONS])
def test_what_people_read_is_what_was_reviewed(section: Section, crawl: Path, place: Path) -> None:
    if section.name.startswith("Of a crawl"):
        shutil.copytree(crawl, place, dirs_exist_ok=True)
    found = Section(section.name, [(line, shown(place, line)) for line, _ in section.lines])
    if os.environ.get("UPDATE_COMMAND_LINES"):
        known = [found if each.name == found.name else each for each in sections(TRANSCRIPT.read_text())]
        TRANSCRIPT.write_text("\n".join(map(str, known)), encoding="utf-8")
    assert found.lines == section.lines


def options(*words: str) -> set[str]:
    """Return the options of the command that a line of words is."""
    known = commands(program())
    return next(known[name] for end in (1, 2) if (name := " ".join(words[:end])) in known)


def test_an_error_is_one_line_that_names_no_option_that_the_command_has_not() -> None:
    wrong = [(line, said) for section in SECTIONS for line, said in section.lines if ": error: " in said]
    assert len(wrong) > 60
    for line, said in wrong:
        (error,) = re.findall(r"^scentline: error: (.*)", said, flags=re.MULTILINE)
        assert error.startswith("predicate ") or said.splitlines()[-1].endswith(error), line
        assert set(OPTION.findall(error)) <= options(*shlex.split(line)[1:]), line


def test_a_worker_takes_what_a_crawl_takes_but_for_its_beginning_and_its_end() -> None:
    beside = {"--follow", "--keep-up", "--window", "--join", "--quiet", "--json"}
    assert options("crawl") - options("worker") == {"--seed", "--log", "--site", "--archive", *beside}
    assert options("worker") <= options("crawl")


def test_nothing_is_made_by_a_command_that_is_refused(tmp_path: Path) -> None:
    untabled = ("--predicate", 'p="word"', "--set", "learn.semantic=none.table")
    crawl = ("crawl", "--seed", "http://a.test/", "--set", "fetch.allow=a.test", *untabled)
    (tmp_path / "empty.warc").touch()
    evaluate = ("evaluate", "--archive", "empty.warc", "--out", "refused", *untabled)
    news = ("news", "empty.warc", "--labels", "missing.tsv", "--out", "refused")
    for command in (("dead-letters",), ("seed", "http://a.org/"), ("worker", "judge"), crawl, evaluate, news):
        complaint(tmp_path, *command)
    assert [path.name for path in tmp_path.iterdir()] == ["empty.warc"]


def test_a_worker_that_observes_needs_the_key_of_the_pseudonyms(tmp_path: Path) -> None:
    worker = ("worker", "observe", "--broker", "kafka://127.0.0.1:9")
    assert "observe.user_key: missing" in complaint(tmp_path, *worker, SCENTLINE_OBSERVE__USER_KEY="")


# rows: complete, readable by other programs, and harmless whatever a page holds


@each_case("form", ["table", "jsonl", "csv"])
def test_nothing_that_a_page_holds_reaches_a_terminal_as_it_is(crawl: Path, form: str) -> None:
    out = printed(crawl, "matches", "tea", "--format", form)
    assert all(sign.isprintable() for sign in out if sign not in "\n\t")
    if form == "jsonl":
        assert [json.loads(line)["title"] for line in out.splitlines()] == [HOSTILE, "Tea, hot"]
    elif form == "csv":
        header, *rows = list(csv.reader(io.StringIO(out)))
        assert header == ["url", "title", "time", "depth"]
        assert [row[0] for row in rows] == ["http://a.org/", "http://a.org/b"]
        assert rows[0][1].startswith("'=HYPERLINK(") and rows[1][1] == "Tea, hot"


def test_matches_are_written_as_warc_that_others_read_and_crawls_take(crawl: Path, tmp_path: Path) -> None:
    out = tmp_path / "tea.warc.gz"
    printed(crawl, "matches", "tea", "--format", "warc", "--out", str(out))
    bodies: dict[str, bytes] = {}
    kinds: list[str] = []
    with out.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            kinds.append(record.rec_type)
            if record.rec_type == "response":
                bodies[record.rec_headers.get_header("WARC-Target-URI")] = record.content_stream().read()
    assert kinds == ["warcinfo", *["request", "response", "metadata"] * 2]
    assert bodies == {url: PAGES[url] for url in ("http://a.org/", "http://a.org/b")}
    printed(tmp_path, *CRAWL, "--seed", "http://a.org/b", "--archive", str(out), "--set", "keep.pages=none")
    assert printed(tmp_path, "matches", "tea").splitlines()[2:] == ["http://a.org/b\tTea, hot"]
    run = scentline(tmp_path, "matches", "tea", "--format", "warc", "--out", "again.warc.gz")
    assert (run.returncode, run.stderr) == (0, "2 of 2 pages are no longer kept\n")


def test_dead_letters_are_printed_once_each_and_on_one_line(crawl: Path, tmp_path: Path) -> None:
    shutil.copytree(crawl, tmp_path, dirs_exist_ok=True)
    given = {"topic": "proxy-log", "partition": 0, "reason": "no time\nin it", "value": b"\x1b[2J\xff"}
    offsets = [1, 2, 1, *range(10, 2510)]
    letters = [encode(DeadLetter(**given, offset=offset, time=0.5)) for offset in offsets]  # type: ignore[arg-type]
    with Journal.open(tmp_path / "scentline-data" / "journal") as journal:  # a crawl may be writing it
        entries = [(None, letter) for letter in (*letters, b"not a letter")]
        journal.append_batch(DEAD_LETTERS.name, 0, entries, timestamp=1.0)
        lines = printed(tmp_path, "dead-letters").splitlines()
    assert lines[1] == "1970-01-01T00:00:00+00:00\tproxy-log/0@1\tno time\\nin it\t\\x1b[2J\\xff"
    assert lines[-1].split("\t")[1].startswith("dead-letters/0@")
    written = list(map(json.loads, printed(tmp_path, "dead-letters", "--json").splitlines()))
    assert [letter["offset"] for letter in written[:-1]] == [1, 2, *range(10, 2510)]
    assert written[0]["reason"] == "no time\nin it"


#: Commands that print rows of a crawl, and how many there are of this one.
ROWS = {
    ("matches", "tea"): 2, ("predicate", "list"): 1, ("refused",): 1,
    ("dead-letters",): 0, ("steer", "list"): 0,
}  # fmt: skip


@pytest.mark.parametrize("command", [*ROWS, ("harvest",), ("topics", "list")])
def test_rows_are_alike_in_all_formats_and_files(crawl: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    rows = [json.loads(line) for line in printed(crawl, *command, "--format", "jsonl").splitlines()]
    found = printed(crawl, *command, "--json")
    assert (json.loads(found) if found.startswith("[") else list(map(json.loads, found.splitlines()))) == rows
    as_csv = printed(crawl, *command, "--format", "csv")
    names, *cells = csv.reader(io.StringIO(as_csv))
    assert len(cells) == len(rows) == ROWS.get(command, len(rows))
    assert {len(names), *map(len, cells)} == {len(names)}
    assert not rows or rows[0].keys() <= set(names) or command == ("harvest",)
    for form in ("table", "jsonl", "csv"):
        assert printed(crawl, *command, "--format", form, "--out", str(tmp_path / form)) == ""
    assert (tmp_path / "csv").read_text(encoding="utf-8") == as_csv
    assert len((tmp_path / "table").read_text(encoding="utf-8").splitlines()) >= min(1, len(rows))


def test_every_command_that_has_formats_has_them_alike() -> None:
    found = {name: each for name, each in commands(program()).items() if "--format" in each}
    del found["feed"], found["export"]  # the format is that of the log that it reads, or of a directory's files
    assert {words[0] for words in (*ROWS, ("harvest",), ("changes",), ("topics",), ("lag",))} == {
        name.split()[0] for name in found
    }
    assert all({"--json", "--out"} <= options for options in found.values())


def commands(group: Any, name: str = "") -> dict[str, set[str]]:
    if not hasattr(group, "commands"):
        return {name: {option for each in group.params for option in each.opts if option[0] == "-"}}
    below = (commands(each, f"{name} {word}".strip()) for word, each in group.commands.items())
    return {known: options for found in below for known, options in found.items()}


def test_rows_are_left_out_that_came_before(crawl: Path) -> None:
    for command in ("harvest", "matches tea"):
        assert printed(crawl, *command.split(), "--format", "jsonl", "--since", "1d")
        assert printed(crawl, *command.split(), "--format", "jsonl", "--since", "2100-01-01") == ""
    last = list(csv.DictReader(io.StringIO(printed(crawl, "harvest", "--format", "csv"))))[-1]
    assert (last["predicate"], last["pages"], last["hits"]) == ("tea", "3", "2")
    assert float(last["harvest_rate"]) == pytest.approx(2 / 3)


@each_case("sign")
def test_no_cell_of_csv_begins_a_formula_in_any_width(sign: str) -> None:
    assert csv_line([f"{sign}1+1"]).startswith("'")


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
