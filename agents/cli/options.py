"""Options that several commands share, and the settings they set."""

import re
import time as clock
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from scentline.agents.cli.app import CommandError

if TYPE_CHECKING:
    from scentline.streams.configuration import Loaded
    from scentline.streams.settings import Settings

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
#: One site, wherever a log is read on its own; where it is fed to a crawl, `LogSite`.
_PATHS = "paths without a host belong to it."
OneSite = Annotated[
    str | None,
    typer.Option("--site", metavar="HOST", help=f"Use only this host and its subdomains; {_PATHS}"),
]
LogSite = Annotated[
    str | None,
    typer.Option("--site", metavar="HOST", help=f"Use only the log's views of this host; {_PATHS}"),
]
PredicateTexts = Annotated[
    list[str] | None,
    typer.Option("--predicate", metavar="NAME=EXPR", help="Pages to look for; repeatable."),
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
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
#: Of a command whose rows may be many, or have no end.
AsJsonLines = Annotated[bool, typer.Option("--json", help="Print JSON lines, as --format jsonl does.")]
#: Of a command that lists what is in force.
AsJsonArray = Annotated[bool, typer.Option("--json", help="Print one JSON array, whatever --format says.")]
Format = Annotated[
    Literal["table", "jsonl", "csv"], typer.Option("--format", help="A table, JSON lines, or CSV.")
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="File to write, instead of standard output.")
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="TIME|DURATION", help="Only what came since 2026-05-01, 2026-05-01T12:00, or 1d."
    ),
]

#: Seconds in each unit of a duration.
UNITS = {"w": 7 * 86_400, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION = re.compile(rf"(\d{{1,6}})([{''.join(UNITS)}])")


def duration(text: str) -> int | None:
    """Return the seconds of a duration, None for what is none.

    >>> duration("90m"), duration("1d"), duration("soon")
    (5400, 86400, None)
    """
    found = _DURATION.fullmatch(text)
    return int(found[1]) * UNITS[found[2]] if found else None


def time_since(text: str | None) -> float:
    """Return the time that ``--since`` names, in seconds since the epoch; without the option all time.

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


def crawl_settings(
    predicates: Iterable[str] | None,
    labels: Path | None,
    policy: str | None,
    ordering: str | None,
    budget: int | None,
    requests: int | None,
    time: int | None,
    random_seed: int | None,
    **others: object,
) -> dict[str, object]:
    """Return what the options of a crawl come to, by dotted key; ``others`` are settings of these names.

    Raises `CommandError` for a predicate that is none.
    """
    return {
        **others,
        "random_seed": random_seed,
        "frontier.policy": policy,
        "frontier.ordering": ordering,
        "frontier.budget": budget,
        "frontier.requests": requests,
        "frontier.time": time,
        "judge.labels": str(labels) if labels is not None else None,
        **given_predicates(predicates or ()),
    }


def load_settings(
    config: Path | None, assignments: list[str] | None, options: Mapping[str, Any] | None = None
) -> "Loaded":
    """Return the current settings and configure the log.

    ``options`` are a command's own options by dotted key; None is an option that was not given. They win
    over ``--set``. Raises `streams.configuration.ConfigurationError`.
    """
    from scentline.streams.configuration import assignment, load
    from scentline.streams.logging import configure

    overrides: dict[str, Any] = dict(assignment(text) for text in assignments or ())
    overrides |= {key: value for key, value in (options or {}).items() if value is not None}
    loaded = load(overrides, config_file=config)
    configure(loaded.settings.log)
    return loaded


def of_site(settings: "Settings", site: str | None, logs: Sequence[str]) -> "Settings":
    """Return the settings for logs of the host that --site names, if any.

    Raises `CommandError` without a log, for it limits nothing else.
    """
    if site is None:
        return settings
    if not logs:
        raise CommandError("--site needs a log of that host: give --log FILE")
    from scentline.agents.observe.site import observed, site_named

    return settings.model_copy(update={"observe": observed(settings.observe, site_named(site))})


def kafka_settings(
    config: Path | None, assignments: list[str] | None, options: Mapping[str, Any] | None = None
) -> "Settings":
    """Return the settings as `load_settings` does; raises `CommandError` where the broker is not Kafka."""
    settings = load_settings(config, assignments, options).settings
    if not settings.on_kafka:
        raise CommandError(
            f"the broker is {settings.broker}; expected kafka://HOST:PORT from --broker or the setting broker"
        )
    return settings
