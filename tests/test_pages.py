"""The pages say what the code does: files, links, commands, settings, metrics, numbers and examples."""

import doctest
import importlib.util
import pkgutil
import re
import shlex
import tomllib
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, get_args

import pytest
import typer
import typer.core
from msgspec.structs import fields

import deploy
import scentline
import scentline_lab
from deploy.settings_page import markdown
from scentline.agents.door.leases import Taken
from scentline.agents.fetch import guard
from scentline.agents.fetch.orders import EXPIRED
from scentline.agents.fetch.result import OUTCOMES
from scentline.agents.frontier.metrics import CHOSEN, HUB_OUTCOMES, KINDS
from scentline.agents.judge.kept import files
from scentline.agents.operate.starting import meanings
from scentline.models.accesslog.entry import DEFAULTS
from scentline.models.accesslog.formats import RECOGNISED
from scentline.models.frontier.flights import OUTCOMES as REVISIT_OUTCOMES
from scentline.models.frontier.rows import TotalsRow
from scentline.models.frontier.standing import WHY
from scentline.models.predicate import PredicateError, View, parse
from scentline.models.predicate.parser import FUNCTIONS
from scentline.models.secrets import Secrets
from scentline.streams import topics
from scentline.streams.attempts import Why
from scentline.streams.metrics import catalogue
from scentline.streams.metrics.catalogue import CATALOGUE
from scentline.streams.settings import OPEN, Settings, assignment, keys, load
from tests.agents.commands import ROOT, printed, program, typed
from tests.agents.test_archive import write
from tests.agents.test_changes import a_change, tell
from tests.cases import each_case

README, DOCS = ROOT / "README.md", ROOT / "docs"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
#: Pages whose sentences, too, name commands only with their arguments.
WHOLE = "architecture judges kafka logs metrics output pages predicates privacy reuse semantic upgrades"
SENTENCES = [README, *(DOCS / f"{name}.md" for name in WHOLE.split()), *sorted((DOCS / "papers").glob("*.md"))]
METRICS = (DOCS / "metrics.md").read_text(encoding="utf-8")
PACKAGE = DOCS / "examples" / "judge-by-length"

CODE = re.compile(r"`([^`]+)`")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PATH = re.compile(r"(?:models|streams|agents|tests|docs|bench|deploy|\.ci)/[\w./-]*[\w/]")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_ROW = re.compile(r"^`.+ \| .+$", re.MULTILINE)


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str | Path, language: str) -> list[str]:
    text = page(name) if isinstance(name, str) else name.read_text(encoding="utf-8")
    return [block for kind, block in _FENCE.findall(text) if kind == language]


def prose(path: Path) -> str:
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def names(path: Path) -> list[str]:
    """Return what stands in a page between backquotes, on one line each."""
    return [" ".join(name.split()) for name in CODE.findall(prose(path))]


# files, links, commands


def test_every_file_that_a_page_names_is_there() -> None:
    found = {(path.name, name) for path in PAGES for code in names(path) for name in _PATH.findall(code)}
    assert {each for each in found if not (ROOT / each[1]).exists()} == set()


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    plain = [re.sub(r"[^\w -]", "", heading.lower()) for heading in _HEADING.findall(prose(path))]
    return {heading.replace(" ", "-") for heading in plain}


def test_every_link_of_a_page_leads_somewhere() -> None:
    pages = [*PAGES, ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"]
    links = [(path, target) for path in pages for target in _LINK.findall(prose(path)) if "://" not in target]
    lost = []
    for path, target in links:
        file, _, anchor = target.partition("#")
        place = path.parent / file if file else path
        if not place.exists() or (anchor and anchor not in anchors(place)):
            lost.append((path.name, target))
    assert lost == []


def commands() -> Iterator[str]:
    """Yield every command line of the pages: those in their blocks, and those within a sentence."""
    for path in PAGES:
        for block in blocks(path, "sh"):
            lines = block.replace("\\\n", " ").splitlines()
            yield from (shlex.join(shlex.split(line, comments=True)) for line in lines)
        yield from names(path) if path in SENTENCES else ()


def parsed(line: str) -> dict[str, Any]:
    """Return the options that a command line gives; raises for a command or an option that is none."""
    command: Any = program()
    context: typer.Context | None = None
    arguments = shlex.split(line)[1:]
    while isinstance(command, typer.core.TyperGroup):
        context = typer.Context(command, info_name=command.name, parent=context)
        _, found, arguments = command.resolve_command(context, arguments)
        assert found is not None, line
        command = found
    return dict(command.make_context(command.name, arguments, parent=context).params)


@each_case("line", sorted({line for line in commands() if line.startswith("scentline ")}))
def test_every_command_that_a_page_shows_is_one(line: str) -> None:
    options = parsed(line)
    load(dict(assignment(text) for text in options.get("assignments") or ()), environ={}, cwd=ROOT)
    for text in options.get("predicates") or ():
        assert parse(text.partition("=")[2])


def test_every_module_and_target_that_a_page_runs_is_there() -> None:
    runs = [*commands(), *(name for path in PAGES for name in names(path))]
    modules = {found for line in runs for found in re.findall(r"^python -m ([\w.]+)", line)}
    targets = {found for line in runs for found in re.findall(r"^make ([a-z-]+)", line)}
    assert (len(modules) > 5, len(targets) > 10) == (True, True)
    assert {name for name in modules if importlib.util.find_spec(name) is None} == set()
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert targets - made == set()


# settings, examples in docstrings


def test_the_page_of_settings_is_what_the_class_says_and_has_a_meaning_of_each() -> None:
    assert page("settings") == markdown(), "run `make docs`"
    assert meanings().keys() == keys().keys() | {*OPEN}


def test_examples_in_docstrings_print_what_they_claim() -> None:
    packages = (deploy, scentline, scentline_lab)
    walked = [each for of in packages for each in pkgutil.walk_packages(of.__path__, f"{of.__name__}.")]
    runnable = [importlib.import_module(each.name) for each in walked if not each.name.endswith("__main__")]
    results = {module.__name__: doctest.testmod(module) for module in runnable}
    assert {name: result.failed for name, result in results.items() if result.failed} == {}
    assert sum(result.attempted for result in results.values()) > 300  # they were found


# logs, privacy


def test_the_settings_shown_are_settings(tmp_path: Path) -> None:
    for text in (*blocks("logs", "toml"), *blocks("privacy", "toml")):
        given = {f"observe.{name}": value for name, value in tomllib.loads(text)["observe"].items()}
        assert given
        load(given, environ={}, cwd=tmp_path)


def test_every_format_field_and_secret_is_named_and_the_retention_is_that_of_the_topics() -> None:
    assert [name for name in (*RECOGNISED, *DEFAULTS) if f"`{name}`" not in page("logs")] == []
    for name in re.findall(r"`(PHPSESSID|sid|gclid)`", page("privacy")):
        assert Secrets().strip(f"http://a.org/?{name}=1") == "http://a.org/"
    retained = (topics.PROXY_LOG, topics.ACCESSES, topics.SIGHTINGS)
    assert {topic.retention for topic in retained} == {7 * topics.DAY}
    assert " | 7 days, and until" in page("privacy")


# metrics


def rows(heading: str) -> list[list[str]]:
    """Return the cells of all tables below a heading, up to the next of its kind, without heads."""
    below = METRICS.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in line.split(" | ")] for line in _ROW.findall(below)]


def values(label: str, metric: str) -> list[str]:
    """Return the values that a label may have; ``metric`` is "all" for a label that is the same everywhere."""
    (found,) = [cells for name, of, cells in rows("Label values") if name == f"`{label}`" and metric in of]
    return CODE.findall(found)


def test_every_metric_and_label_is_on_the_page_as_it_is_declared_and_no_other() -> None:
    shown = [(*CODE.findall(name), CODE.findall(of), meaning) for name, of, meaning in rows("Metrics")]
    kinds = {"counter": "", "gauge": "", "histogram": " (histogram)"}
    assert shown == [
        (metric.name, list(metric.labels), metric.meaning + kinds[metric.kind]) for metric in CATALOGUE
    ]
    assert all((metric.kind == "counter") is metric.name.endswith("_total") for metric in CATALOGUE)
    labels = {name for cells in rows("Label values") for name in CODE.findall(cells[0])}
    assert labels == {label for metric in CATALOGUE for label in metric.labels}
    known = {metric.name for metric in CATALOGUE}
    known |= {f"{metric.name}_bucket" for metric in CATALOGUE if metric.kind == "histogram"}
    assert set(re.findall(r"scentline_\w+", METRICS)) <= known


def test_the_values_of_the_labels_are_those_of_the_code() -> None:
    assert set(values("outcome", catalogue.FETCHED.name)) == {*OUTCOMES, EXPIRED}
    assert values("outcome", catalogue.HUB_REVISITS.name) == list(HUB_OUTCOMES)
    assert values("outcome", catalogue.REVISITS.name) == list(REVISIT_OUTCOMES)
    assert values("outcome", catalogue.DOOR_ANSWERS.name) == list(get_args(Taken))
    assert values("kind", catalogue.CHANGES.name) == list(KINDS)
    assert values("chosen", catalogue.ORDERS.name) == list(CHOSEN)
    assert values("reason", catalogue.HOSTS_HELD.name) == list(WHY)
    assert values("reason", catalogue.DEAD_LETTERS.name) == list(get_args(Why))
    totals = {each.name for each in fields(TotalsRow) if each.type is int}
    ended = totals - {"discovered", "requests", "revisits", "forgotten"}
    assert set(values("state", catalogue.FOUND.name)) == ended | {"open"}
    assert values("table", "all") == list(topics.TABLES)
    unread = (topics.CHANGES, topics.HARVEST, topics.DEAD_LETTERS)
    assert values("topic", "all") == [topic.name for topic in topics.TOPICS if topic not in unread]
    assert [CODE.findall(row[0])[0] for row in rows("Which queue means what")] == values("topic", "all")


# politeness


def test_every_setting_of_fetching_is_explained_and_every_setting_named_is_one() -> None:
    named = set(re.findall(r"`((?:fetch|frontier)\.\w+)`", page("politeness")))
    assert {key for key in keys() if key.startswith("fetch.")} <= named <= set(keys())


@each_case(("words", "name", "expected"))
def test_a_number_of_a_page_is_the_codes(words: str, name: str, expected: object) -> None:
    text = " ".join(f"{page('politeness')} {page('operations')} {METRICS}".split())
    assert words in text
    assert (resolve_name(f"scentline.{name}") if ":" in name else attrgetter(name)(Settings())) == expected
    assert (len(guard.BAD_PORTS), "The 83 ports that browsers block" in text) == (83, True)
    assert (
        not guard.names_contact(Settings().fetch.user_agent) and "The built-in User-Agent names nobody" in text
    )


# predicates


def test_an_example_of_a_predicate_is_one_and_every_function_is_explained() -> None:
    examples = [line for block in blocks("predicates", "predicate") for line in block.splitlines()]
    assert len(examples) > 10
    for example in examples:
        predicate = parse(example)
        assert parse(str(predicate)) == predicate
    assert [name for name in FUNCTIONS if f"**`{name}(" not in page("predicates")] == []


def test_an_example_holds_or_is_refused_as_the_page_says() -> None:
    row = re.compile(r"^`([^`]+)` \|([^|\n]*)\|([^|\n]*)\| (yes|no)$", re.MULTILINE)
    cases, errors = row.findall(page("predicates")), blocks("predicates", "error")
    assert (len(cases) > 10, len(errors) > 3) == (True, True)
    for expression, title, text, holds in cases:
        view = View("http://example.org/", title.strip(), text.strip())
        assert parse(expression).evaluate(view) is (holds == "yes"), expression
    for message in errors:
        with pytest.raises(PredicateError) as caught:
            parse(message.splitlines()[1].removeprefix("  "))
        assert str(caught.value) == message.rstrip("\n")


# commands, of judges, output and predicates

HOCKEY = b'<title>Hockey</title><a href="/boats">boats</a> The goalkeeper and the puck, ice and skates.'
ARCHIVED = {
    "http://example.org/": HOCKEY,
    "http://example.org/boats": b"<title>Rowers</title><p>Eight rowers in a boat on the river, and science.",
}
CRAWL = ("crawl", "--archive", "pages.warc.gz", "--seed", "http://example.org/", "--predicate")


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    kind = [("Content-Type", "text/html")]
    write(tmp_path / "pages.warc.gz", *((url, "200 OK", kind, body) for url, body in ARCHIVED.items()))
    return tmp_path


def run(cwd: Path, line: str) -> str:
    done = typed(cwd, line)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_judges_of_the_page_are_the_example_package_and_a_classifier_that_works(cwd: Path) -> None:
    assert blocks("judges", "python") == [(PACKAGE / "judge_by_length.py").read_text(encoding="utf-8")]
    (entry,) = blocks("judges", "toml")
    assert entry in (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")
    (examples,) = blocks("judges", "tsv")
    (cwd / "examples.tsv").write_text(examples)
    train, crawl = (block.strip() for block in blocks("judges", "sh"))
    assert "6 examples" in run(cwd, train)
    run(cwd, f"{crawl} --archive pages.warc.gz")
    assert run(cwd, "scentline matches hockey").splitlines()[1:] == ["http://example.org/\tHockey"]


def test_the_commands_of_the_page_on_output_run(cwd: Path) -> None:
    printed(cwd, *CRAWL, 'science="science"')
    tell(cwd / "scentline-data", a_change(1, predicate="science"))
    for block in blocks("output", "sh"):
        for line in block.splitlines():
            assert run(cwd, line) or "--out" in line
    assert "http://example.org/boats" in (cwd / "science.csv").read_text()
    assert [path.name for path in files(cwd / "scentline-data" / "kept")] == ["00000001.warc.gz"]
    run(cwd, "scentline crawl --archive science.warc.gz --seed http://example.org/boats --data again"
        " --predicate 'science=\"science\"'")  # fmt: skip


def test_the_commands_of_the_page_on_predicates_run_in_their_order(cwd: Path) -> None:
    printed(cwd, *CRAWL, 'ice="ice"')
    lines = [line for block in blocks("predicates", "sh") for line in block.splitlines()]
    assert len(lines) > 5
    for line in lines:
        assert run(cwd, line)
    states = [line.split("\t")[:3] for line in run(cwd, "scentline predicate list").splitlines()[1:]]
    assert states == [["german", "active", "0.5"], ["ice", "active", "1"], ["tea", "removed", "3"]]
