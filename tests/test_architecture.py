"""The pages that people read first say what is there: files, names, topics, bounds, commands, links."""

import ast
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
import typer.core

from scentline.agents.cli import load_commands
from scentline.agents.cli.app import app
from scentline.models.predicate import parse
from scentline.streams.configuration import assignment, keys, load
from scentline.streams.topics import TOPICS
from tests.cases import each_case

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAPERS = sorted((ROOT / "docs" / "papers").glob("*.md"))
PAGES = [
    README,
    ARCHITECTURE,
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "judges.md",
    ROOT / "docs" / "kafka.md",
    ROOT / "docs" / "logs.md",
    ROOT / "docs" / "metrics.md",
    ROOT / "docs" / "output.md",
    ROOT / "docs" / "pages.md",
    ROOT / "docs" / "predicates.md",
    ROOT / "docs" / "privacy.md",
    ROOT / "docs" / "reuse.md",
    ROOT / "docs" / "semantic.md",
    ROOT / "docs" / "upgrades.md",
    *PAPERS,
]
ROOMS = ("models", "streams", "agents", "bench/lab/scentline_lab")
SOURCES = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]

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


def files_in(text: str) -> list[str]:
    return [name for code in _CODE.findall(text) for name in _PATH.findall(code)]


def table(page: Path, heading: str) -> list[list[str]]:
    """Return the cells of the rows of the first table below a heading."""
    below = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line for line in below.splitlines() if line.startswith("|")]
    return [[cell.strip(" `") for cell in row.strip("|").split(" | ")] for row in rows[2:]]


@each_case("page", PAGES)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    found = files_in(prose(page))
    assert found
    assert [name for name in found if not (ROOT / name).exists()] == []


@each_case("page", [*PAGES, ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"])
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    targets = [target for target in _LINK.findall(prose(page)) if "://" not in target]
    assert [target for target in targets if not (page.parent / target.partition("#")[0]).exists()] == []


@each_case("page", PAPERS)
def test_a_papers_page_ends_with_where_each_part_is_its_test_and_what_uses_it(page: Path) -> None:
    last = prose(page).rpartition("\n## ")[2]
    assert last.startswith("Where each part is, and what uses it\n")
    rows = table(page, "Where each part is, and what uses it")
    assert len(rows) > 5
    load_commands()
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    for what, files, tests, use in rows:
        assert all((ROOT / name).is_file() for name in files.replace("`", "").split(", ")), what
        assert all((ROOT / name).is_file() for name in tests.replace("`", "").split(", ")), what
        assert "test_" not in files, what
        assert all(Path(name).name.startswith("test_") for name in tests.replace("`", "").split(", ")), what
        assert re.match(r"default|option `|command `", use), what
        named = re.findall(r"command `(\w+)", use)
        assert [name for name in named if name not in group.commands] == [], what
        assert [name for name in re.findall(r"\b[a-z]+\.[a-z_]+\b", use) if name not in keys()] == [], what


def test_the_steps_meet_every_agent() -> None:
    modules = [*(ROOT / "agents").glob("*.py"), *(ROOT / "agents").glob("*/agent.py")]
    documented = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "" for path in modules)
    agents = [found[1] for text in documented if (found := re.match(r"The (\w+) agent\b", text))]
    steps = re.findall(r"^\d+\. \*\*(\w+)\*\*", prose(ARCHITECTURE), flags=re.MULTILINE)
    assert (len(agents), set(agents)) == (7, set(steps))


def test_the_table_of_topics_is_the_topology() -> None:
    assert [row[0] for row in table(ARCHITECTURE, "Topics")] == [topic.name for topic in TOPICS]


def test_the_table_of_bounds_has_the_defaults() -> None:
    rows = table(ARCHITECTURE, "What is bounded, and where")
    known = keys()
    assert len(rows) > 10
    assert {row[0]: row[1] for row in rows} == {row[0]: str(known[row[0]].default) for row in rows}


def _members(sources: list[Path]) -> Iterator[str]:
    """Yield what is defined at the top of modules, and "Class.member" for what classes define or annotate."""
    for path in sources:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.name
            elif isinstance(node, ast.ClassDef):
                yield node.name
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                        yield f"{node.name}.{inner.name}"
                    elif isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                        yield f"{node.name}.{inner.target.id}"


@each_case("page", [ARCHITECTURE, *PAPERS])
def test_every_class_method_and_setting_that_a_page_names_is_there(page: Path) -> None:
    packages = {f"scentline.{path.name}" for path in (ROOT / "src" / "scentline").iterdir()}
    members = {*_members(SOURCES), *keys(), *packages}
    dotted = re.compile(r"[A-Za-z_]\w*\.[a-z]\w*")
    foreign = {"asyncio.wait_for", "asyncio.timeout"}
    asked = [
        name for name in names(page) if dotted.fullmatch(name) or re.fullmatch(r"_?[A-Z]\w*[a-z]\w*", name)
    ]
    asked = [name for name in asked if name not in foreign and name != "README.md"]
    assert len(asked) > 5
    assert [name for name in asked if name not in members] == []


def commands() -> list[str]:
    """Return every command line of the pages: those in their blocks, and those within a sentence."""
    found = []
    for block in (block for page in PAGES for block in blocks(page, "sh")):
        lines = block.replace("\\\n", " ").splitlines()
        found += [shlex.join(shlex.split(line, comments=True)) for line in lines]
    found += [name for page in PAGES for name in names(page)]
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


def test_every_option_that_the_readme_shows_in_a_sentence_is_one() -> None:
    load_commands()
    shown = {name.split()[0] for name in names(README) if name.startswith("--")}
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    known = {option for command in group.commands.values() for part in command.params for option in part.opts}
    assert shown
    assert shown <= known
    assigned = [name.partition(" ")[2] for name in names(README) if name.startswith("--set ")]
    load(dict(assignment(shlex.split(text)[0]) for text in assigned), environ={}, cwd=ROOT)


def test_the_settings_that_the_readme_shows_are_settings() -> None:
    (text,) = blocks(README, "toml")
    given = tomllib.loads(text)
    for expression in given["predicates"].values():
        assert parse(expression)
    flat = {
        f"{name}.{key}": value
        for name, section in given.items()
        if isinstance(section, dict)
        for key, value in section.items()
    }
    assert load({"data": given["data"], **flat}, environ={}, cwd=ROOT).settings.predicates


def test_the_makefile_has_every_target_that_the_readme_shows() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    targets = set(re.findall(r"(?:^|`)make (\w+)", text, flags=re.MULTILINE))
    assert {"demo", "test"} <= targets
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, flags=re.MULTILINE)] == []


def test_the_picture_is_small() -> None:
    assert (ROOT / "docs" / "images" / "lift.png").stat().st_size < 150_000
