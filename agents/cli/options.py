"""Options that several commands share, and the settings they set."""

import re
import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from inspect import Parameter, getdoc, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from scentline.agents.cli import panel
from scentline.agents.cli.app import CommandError, app, examples, literal
from scentline.agents.cli.output import UNITS, Shape, print_json, print_rows

if TYPE_CHECKING:
    from scentline.agents.operate.requests import Request
    from scentline.streams.settings import Loaded, Settings

ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings file instead of ./scentline.toml.")
]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any setting, such as frontier.budget=100; repeatable."),
]
DataDirectory = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Directory of everything a crawl keeps.")
]
BrokerAddress = Annotated[
    str | None,
    typer.Option("--broker", metavar="URL", help="Where messages go: kafka://HOST:PORT or the embedded log."),
]
#: One site, where a log is read on its own; for a log fed to a crawl, `LogSite`.
_PATHS = "paths without a host belong to it."
OneSite = Annotated[
    str | None, typer.Option("--site", metavar="HOST", help=f"Use only this host and its subdomains; {_PATHS}")
]
LogSite = Annotated[
    str | None, typer.Option("--site", metavar="HOST", help=f"Use only the log's views of this host; {_PATHS}")
]
PredicateTexts = Annotated[
    list[str] | None, typer.Option("--predicate", metavar="NAME=EXPR", help="Pages to look for; repeatable.")
]
Labels = Annotated[
    Path | None, typer.Option("--labels", metavar="TSV", help="Table of URL and category, for category(...).")
]
PolicyName = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="P",
        help="learned (default), combined, collaborative, linkage, breadth-first or random.",
    ),
]
OrderingName = Annotated[
    str | None,
    typer.Option(
        "--ordering",
        metavar="O",
        help="Instead of a policy: breadth-first, backlink, pagerank, similarity, location, visits, "
        "behaviour-fetch or another of the setting frontier.ordering; needs no predicate.",
    ),
]
BudgetPages = Annotated[
    int | None, typer.Option("--budget", metavar="N", help="Pages to judge in all: pages are scarce.")
]
BudgetRequests = Annotated[
    int | None, typer.Option("--requests", metavar="N", help="Requests to have answered in all.")
]
RandomSeed = Annotated[
    int | None, typer.Option("--random-seed", metavar="N", help="Seed of every random choice.")
]
Door = Annotated[
    str | None,
    typer.Option("--door", metavar="HOST:PORT", help="Have other crawlers fetch, by the door at this address."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_LINES = Annotated[bool, typer.Option("--json", help="Print JSON lines, as --format jsonl does.")]
_ARRAY = Annotated[bool, typer.Option("--json", help="Print one JSON array, whatever --format says.")]
_FORM = Annotated[
    Literal["table", "jsonl", "csv"], typer.Option("--format", help="A table, JSON lines, or CSV.")
]
_FORM_OR_RSS = Annotated[
    Literal["table", "jsonl", "csv", "rss"],
    typer.Option("--format", help="A table, JSON lines, CSV, or a feed for reader programs."),
]
_FORM_OR_WARC = Annotated[
    Literal["table", "jsonl", "csv", "warc"],
    typer.Option("--format", help="A table, JSON lines, CSV, or the pages themselves as WARC."),
]
_OUT = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="File to write, instead of standard output.")
]
_SINCE = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="TIME|DURATION", help="Only what came since 2026-05-01, 2026-05-01T12:00, or 1d."
    ),
]

_DURATION = re.compile(r"(\d{1,6})([wdhms])")


def duration(text: str) -> int | None:
    """Return the seconds of a duration, None for other text.

    >>> duration("90m"), duration("1d"), duration("soon")
    (5400, 86400, None)
    """
    found = _DURATION.fullmatch(text)
    units = {word[0]: seconds for word, seconds in UNITS.items()}
    return int(found[1]) * units[found[2]] if found else None


def _time_since(text: str | None) -> float:
    """Return the time that ``--since`` names, in seconds since the epoch; -inf without the option.

    A time without a zone is a local one. Raises `CommandError` for what is neither a time nor a duration.
    """
    if text is None:
        return float("-inf")
    if (ago := duration(text)) is not None:
        return clock.time() - ago
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError) as error:
        expected = "expected a time, such as 2026-05-01T12:00, or a duration: 90m, 12h, 1d"
        raise CommandError(f"--since {text!r}: {expected}") from error


def _run_time(text: str) -> int:
    seconds = duration(text)
    if not seconds:
        raise typer.BadParameter(f"{text!r} is no duration, such as 90s, 10m or 1d")
    return seconds


RunTime = Annotated[
    int | None,
    typer.Option(
        "--time",
        metavar="T",
        parser=_run_time,
        help="How long to crawl in this run, such as 10m: time is scarce.",
    ),
]


def given_predicates(texts: Iterable[str]) -> dict[str, str]:
    """Return the setting of each ``NAME=EXPR`` by its dotted key; raises `CommandError` for another text."""
    found = {}
    for text in texts:
        name, equals, expression = text.partition("=")
        if not equals or not expression.strip():
            raise CommandError(f"--predicate {text!r}: expected NAME=EXPR, such as news='title(\"news\")'")
        found[f"predicates.{name.strip()}"] = expression
    return found


def load_settings(
    config: Path | None, assignments: list[str] | None, options: Mapping[str, Any] | None = None
) -> "Loaded":
    """Return the current settings and configure the log.

    ``options`` are a command's own options by dotted key; None is an option that was not given. They win
    over ``--set``. Raises `streams.settings.ConfigurationError`.
    """
    from scentline.streams.logging import configure
    from scentline.streams.settings import assignment, load

    overrides: dict[str, Any] = dict(assignment(text) for text in assignments or ())
    overrides |= {key: value for key, value in (options or {}).items() if value is not None}
    loaded = load(overrides, config_file=config)
    configure(loaded.settings.log)
    return loaded


def of_site(settings: "Settings", site: str | None, logs: Sequence[str]) -> "Settings":
    """Return the settings for logs of the host that --site names, if any.

    Raises `CommandError` without a log: --site limits nothing else.
    """
    if site is None:
        return settings
    if not logs:
        raise CommandError("--site needs a log of that host: give --log FILE")
    from scentline.agents.observe.observer import observed, site_named

    return settings.model_copy(update={"observe": observed(settings.observe, site_named(site))})


T = TypeVar("T")
Command = Callable[..., None]

#: The options of a crawl that are settings: the key of each, and its annotation.
_CRAWL: Mapping[str, tuple[str, object]] = {
    "predicates": ("predicates", PredicateTexts),
    "labels": ("judge.labels", Labels),
    "policy": ("frontier.policy", PolicyName),
    "ordering": ("frontier.ordering", OrderingName),
    "budget": ("frontier.budget", BudgetPages),
    "requests": ("frontier.requests", BudgetRequests),
    "time": ("frontier.time", RunTime),
    "random_seed": ("random_seed", RandomSeed),
    "door": ("door.address", Door),
}
#: The options that commands share, by the name under which a command `takes` them: keys and annotations.
_SETTINGS: Mapping[str, Mapping[str, tuple[str, object]]] = {
    "crawl": _CRAWL,
    "judge": {name: _CRAWL[name] for name in ("predicates", "labels")},
    "data": {"data": ("data", DataDirectory)},
    "broker": {"broker": ("broker", BrokerAddress)},
}
#: How results are printed, by name in `takes`: the form that --json means, and the options --json and --format.
#: A report is one object. Rows that may be many, or have no end, are lines; records in force are one array.
_ROWS: Mapping[str, tuple[str, object, object]] = {
    "json": ("json", AsJson, None),
    "lines": ("jsonl", _LINES, _FORM),
    "array": ("json", _ARRAY, _FORM),
    "rss": ("jsonl", _LINES, _FORM_OR_RSS),
    "warc": ("jsonl", _LINES, _FORM_OR_WARC),
}


@dataclass(frozen=True)
class Given:
    """The values of the shared options of one call of a command."""

    config: Path | None
    assignments: list[str] | None
    #: The settings among the options, by dotted key; None where an option was not given.
    options: Mapping[str, object]
    #: How results are printed, and into which file.
    form: str = "table"
    out: Path | None = None
    #: The time that --since names.
    begin: float = float("-inf")

    def loaded(self, **options: object) -> "Loaded":
        """Return the settings with their origins; ``options`` are more of the command's own, by dotted key."""
        return load_settings(self.config, self.assignments, {**self.options, **options})

    def settings(self, **options: object) -> "Settings":
        """Return the settings."""
        return self.loaded(**options).settings

    def on_kafka(self, **options: object) -> "Settings":
        """Return the settings; raises `CommandError` where the broker is not Kafka."""
        settings = self.settings(**options)
        if not settings.on_kafka:
            expected = "expected kafka://HOST:PORT from --broker or the setting broker"
            raise CommandError(f"the broker is {settings.broker}; {expected}")
        return settings

    def submit(self, *requests: "Request") -> None:
        """Have the crawl carry out requests, and print what now holds."""
        from scentline.agents.operate.control import submit

        settings = self.settings()
        typer.echo("; ".join(submit(settings, request) for request in requests))

    def report(self, found: Mapping[str, object], *lines: str) -> None:
        """Print what was done: with --json one object, else lines."""
        if self.form == "json":
            print_json(found)
        else:
            for line in lines:
                typer.echo(line)

    def print_rows(self, rows: Iterable[T], shape: Shape[T], *, follow: bool = False) -> None:
        """Print rows in the form, and to the file, that the options name."""
        print_rows(rows, shape, self.form, self.out, follow=follow)


_GROUPS: dict[str, typer.Typer] = {}


def command_group(name: str, text: str) -> None:
    """Add a command that has commands of its own."""
    _GROUPS[name] = typer.Typer(no_args_is_help=True)
    _GROUPS[name].callback(help=text)(lambda: None)
    app.add_typer(_GROUPS[name], name=name, help=text, rich_help_panel=panel(name))


def command(name: str, *lines: str, takes: Sequence[str] = ("data",)) -> Callable[[Command], Command]:
    """Register a command by its full name, with the examples of its help.

    A command whose first parameter is `Given` has --config, --set and the options that it ``takes``: "data" and
    "broker", "crawl" (those of a crawl that are settings), "judge" (of these, those of judging), "since", and
    one of `_ROWS` for the output.
    """
    *above, own = name.split()
    group = _GROUPS[above[0]] if above else app

    def register(run: Command) -> Command:
        shared = "given" in signature(run).parameters
        text, shown_in = literal(getdoc(run) or ""), None if above else panel(name)
        add = group.command(own, help=text, epilog=examples(name, *lines), rich_help_panel=shown_in)
        add(_with_shared(run, takes) if shared else run)
        return run

    return register


def _with_shared(run: Command, takes: Sequence[str]) -> Command:
    """Return a command with the shared options instead of its first parameter."""
    settings = {name: each for taken in takes for name, each in _SETTINGS.get(taken, {}).items()}
    rows = next((_ROWS[taken] for taken in takes if taken in _ROWS), None)

    @wraps(run)
    def called(**values: Any) -> None:
        found = {key: values.pop(name) for name, (key, _) in settings.items()}
        options = {key: str(each) if isinstance(each, Path) else each for key, each in found.items()}
        options |= given_predicates(options.pop("predicates", None) or ())
        form, out = "table", None
        if rows is not None:
            form, out = values.pop("form", form), values.pop("out", out)
            form = rows[0] if values.pop("as_json") else form
        begin = _time_since(values.pop("since", None))
        run(Given(values.pop("config"), values.pop("assignments"), options, form, out, begin), **values)

    _, *own = signature(run, eval_str=True).parameters.values()
    added: dict[str, tuple[object, object]] = {name: (None, each) for name, (_, each) in settings.items()}
    if rows is not None:
        added |= {"as_json": (False, rows[1])}
        added |= {} if rows[2] is None else {"form": ("table", rows[2]), "out": (None, _OUT)}
    added |= {"since": (None, _SINCE)} if "since" in takes else {}
    added |= {"config": (None, ConfigFile), "assignments": (None, Assignments)}
    parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in own] + [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (default, annotation) in added.items()
    ]
    called.__signature__ = signature(run).replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called
