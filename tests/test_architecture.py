"""The pages that people read first: the files, links and commands that they show are there."""

import re
import shlex
from pathlib import Path

import pytest
import typer
import typer.core

from scentline.agents.cli import load_commands
from scentline.agents.cli.app import app
from scentline.models.predicate import parse
from scentline.streams.configuration import assignment, load
from tests.cases import each_case

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
#: Pages whose commands are whole, within sentences too.
SHOWING = "architecture judges kafka logs metrics output pages predicates privacy reuse semantic upgrades"
COMMANDS = [README, *(DOCS / f"{name}.md" for name in SHOWING.split()), *sorted((DOCS / "papers").glob("*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_PATH = re.compile(r"(?:models|streams|agents|tests|docs|bench|deploy|\.ci)/[\w./-]*[\w/]")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def blocks(page: Path, language: str) -> list[str]:
    return [text for name, text in _FENCE.findall(page.read_text(encoding="utf-8")) if name == language]


def names(page: Path) -> list[str]:
    """Return what stands in a page between backquotes, on one line each."""
    return [" ".join(name.split()) for name in _CODE.findall(prose(page))]


@each_case("page", PAGES)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    found = [name for code in names(page) for name in _PATH.findall(code)]
    assert [name for name in found if not (ROOT / name).exists()] == []


@each_case("page", [*PAGES, ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"])
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    targets = [target for target in _LINK.findall(prose(page)) if "://" not in target]
    assert [target for target in targets if not (page.parent / target.partition("#")[0]).exists()] == []


def commands() -> list[str]:
    """Return every command line of the pages: those in their blocks, and those within a sentence."""
    found = []
    for block in (block for page in COMMANDS for block in blocks(page, "sh")):
        lines = block.replace("\\\n", " ").splitlines()
        found += [shlex.join(shlex.split(line, comments=True)) for line in lines]
    found += [name for page in COMMANDS for name in names(page)]
    return [line for line in found if line.startswith("scentline ")]


def parsed(line: str) -> dict[str, object]:
    """Return the options that a command line gives; raises for a command or an option that is none."""
    load_commands()
    command = typer.main.get_command(app)
    context: typer.Context | None = None
    arguments = shlex.split(line)[1:]
    while isinstance(command, typer.core.TyperGroup):
        context = typer.Context(command, info_name=command.name, parent=context)
        _, found, arguments = command.resolve_command(context, arguments)
        assert found is not None, line
        command = found
    return dict(command.make_context(command.name, arguments, parent=context).params)


@each_case("line", sorted(set(commands())))
def test_every_command_that_a_page_shows_is_one(line: str) -> None:
    options = parsed(line)
    settings = options.get("assignments")
    assert isinstance(settings, list | tuple | None)
    load(dict(assignment(text) for text in settings or ()), environ={}, cwd=ROOT)
    predicates = options.get("predicates")
    assert isinstance(predicates, list | tuple | None)
    for text in predicates or ():
        assert parse(text.partition("=")[2])


def test_a_command_or_an_option_that_does_not_exist_is_found_out() -> None:
    for line in ("scentline crowl", "scentline crawl --sed http://example.org/", "scentline config list"):
        with pytest.raises(Exception, match=r"No such (command|option)"):
            parsed(line)
