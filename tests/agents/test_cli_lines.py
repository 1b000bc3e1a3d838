"""Command lines and what people read of them: `command_lines.txt`, a transcript that is reviewed as prose.

Lines that print the same stand above it. A command that prints an error ends with the status 2.
``UPDATE_COMMAND_LINES=1 pytest tests/agents/test_cli_lines.py`` writes it from what the commands print.
"""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

from scentline.agents.cli import load_commands
from scentline.agents.cli.app import app
from tests.agents.commands import complaint, crawl_tea, typed

TRANSCRIPT = Path(__file__).with_name("command_lines.txt")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
PAGES = {
    "http://a.org/": b'<title>Tea house</title><a href="/b">b</a> <a href="/c">c</a> tea',
    "http://a.org/b": b"<title>Tea, hot</title><p>A pot of it.",
    "http://a.org/c": b"<title>Snow</title><p>White and cold.",
}


class Section(NamedTuple):
    """Lines that are typed one after the other in one directory, each with what it prints."""

    name: str
    lines: list[tuple[str, str]]


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
    """Return all that a line prints."""
    run = typed(cwd, line, SCENTLINE_LOG__LEVEL="error")
    refused = "scentline: error: " in run.stderr or "Usage: " in run.stderr
    assert run.returncode == (2 if refused else 0), run.stderr
    said = (run.stdout + run.stderr).replace(f"{cwd}/", "").rstrip("\n")
    return re.sub(r"^ +\d+\.\d s  ", "   0.0 s  ", said, flags=re.MULTILINE)  # of a progress display


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a crawl of three pages."""
    directory = tmp_path_factory.mktemp("crawled")
    crawl_tea(directory, PAGES)
    return directory


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory with files that commands can't use, and the data of a crawl by another policy."""
    for name in ("empty.warc", "empty.log"):
        (tmp_path / name).touch()
    (tmp_path / "hello.warc").write_text("hello")
    (tmp_path / "urls.tsv").write_text("http://a.test/\tSports\nhttp://b.test/\tArts\n")
    (tmp_path / "kafka.toml").write_text('broker = "kafka://127.0.0.1:9"\n')
    (tmp_path / "linkage").mkdir()
    (tmp_path / "linkage" / "policy").write_text("linkage")
    return tmp_path


@pytest.mark.parametrize("section", SECTIONS, ids=[section.name for section in SECTIONS])
def test_what_people_read_is_what_was_reviewed(section: Section, request: pytest.FixtureRequest) -> None:
    cwd: Path = request.getfixturevalue("crawled" if section.name.startswith("Of a crawl") else "place")
    found = Section(section.name, [(line, shown(cwd, line)) for line, _ in section.lines])
    if os.environ.get("UPDATE_COMMAND_LINES"):
        known = [found if each.name == found.name else each for each in sections(TRANSCRIPT.read_text())]
        TRANSCRIPT.write_text("\n".join(map(as_text, known)), encoding="utf-8")
    assert found.lines == section.lines


def as_text(section: Section) -> str:
    of_each = groupby(section.lines, key=lambda line: line[1])
    lines = ("".join(f"$ {line}\n" for line, _ in group) + f"{said}\n" for said, group in of_each)
    return f"## {section.name}\n\n{''.join(lines)}"


def command_of(words: Sequence[str]) -> typer.core.TyperCommand:
    found = typer.main.get_command(app)
    for word in words:
        if not isinstance(found, typer.core.TyperGroup):
            break
        found = found.commands[word]
    assert isinstance(found, typer.core.TyperCommand)
    return found


def options(*words: str) -> set[str]:
    load_commands()
    return {option for each in command_of(words).params for option in each.opts if option[0] == "-"}


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
    for command in (("dead-letters",), ("seed", "http://a.org/"), ("worker", "judge")):
        complaint(tmp_path, *command)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_observes_needs_the_key_of_the_pseudonyms(tmp_path: Path) -> None:
    worker = ("worker", "observe", "--broker", "kafka://127.0.0.1:9")
    assert "observe.user_key: missing" in complaint(tmp_path, *worker, SCENTLINE_OBSERVE__USER_KEY="")
