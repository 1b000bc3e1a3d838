"""``scentline steer``: pause a crawl, leave URLs out, set budgets and hosts' delays, during or between runs."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.app import CommandError, app, examples
from scentline.agents.cli.options import (
    AsJsonArray,
    Assignments,
    BrokerAddress,
    ConfigFile,
    DataDirectory,
    Format,
    Out,
    Since,
    load_settings,
    time_since,
)
from scentline.agents.cli.output import NOT_YET, Shape, print_rows

if TYPE_CHECKING:
    from scentline.agents.operate.control.requests import Exclude, Steer
    from scentline.streams.published import Steering
    from scentline.streams.settings import Settings

steer = typer.Typer(no_args_is_help=True)
app.add_typer(steer, name="steer", help="Pause a crawl, leave URLs out, set its budget, while it runs.")


@steer.callback()
def group() -> None:
    """Pause a crawl, leave URLs out, set its budget, while it runs."""


@steer.command("pause", epilog=examples("steer pause", "scentline steer pause"))
def pause(
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Order no more fetches, and wait. What is in flight is taken in; the crawl does not end."""
    from scentline.agents.operate.control.requests import Pause

    _submit(_settings(data, broker, config, assignments), Pause())


@steer.command("resume", epilog=examples("steer resume", "scentline steer resume"))
def resume(
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Go on with a paused crawl."""
    from scentline.agents.operate.control.requests import Resume

    _submit(_settings(data, broker, config, assignments), Resume())


@steer.command(
    "exclude",
    epilog=examples(
        "steer exclude",
        "scentline steer exclude --prefix http://example.org/shop/",
        "scentline steer exclude --expression '[?&]print=' --preview",
    ),
)
def exclude(
    prefix: Annotated[
        str, typer.Option("--prefix", metavar="URL", help="What the URLs begin with, host and slash included.")
    ] = "",
    expression: Annotated[
        str, typer.Option("--expression", metavar="RE2", help="A regular expression that the URLs match.")
    ] = "",
    preview: Annotated[
        bool, typer.Option("--preview", help="Only count the candidates that it would leave out.")
    ] = False,
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Fetch no URLs that begin with a prefix, or match an expression; they stay candidates.

    What is in flight already is taken in. The command include undoes it.
    """
    from scentline.agents.operate.control.requests import Exclude

    if bool(prefix) == bool(expression):
        raise CommandError("expected --prefix URL or --expression RE2")
    settings, request = _settings(data, broker, config, assignments), Exclude(prefix, expression)
    if preview:
        _preview(settings, request)
    else:
        _submit(settings, request)


def _preview(settings: "Settings", request: "Exclude") -> None:
    """Print how many candidates an exclusion would leave out, with how far that is; nothing is asked for."""
    from scentline.agents.frontier.steered import Steered
    from scentline.agents.operate.control.requests import checked, steering
    from scentline.agents.progress import progress
    from scentline.agents.window.trials import CandidateTrial
    from scentline.streams.transport.journal import Journal

    if settings.on_kafka:
        raise CommandError(
            "--preview reads a data directory: make one by `scentline snapshot`, and give it by --data, "
            "without --broker"
        )
    checked(request)
    steering(request, Steered(), 0.0)  # says what can't be excluded
    with Journal.open(settings.data / "journal", read_only=True) as journal, progress(sys.stderr) as shown:
        trial = CandidateTrial(journal, request.prefix, request.expression)
        shown.phase("per cent of the candidates", 100)
        done = 0
        while not trial.done:
            trial.step()
            told = trial.told()
            part = 100 if told.done else min(99, 100 * told.read // max(1, told.of))
            shown.advance(max(0, part - done))
            done = max(done, part)
        told = trial.told()
    typer.echo(f"it would leave out {told.found} of {told.read} candidates")


@steer.command("include", epilog=examples("steer include", "scentline steer include d7180576d6"))
def include(
    name: Annotated[str, typer.Argument(metavar="ID", help="The exclusion, as steer list names it.")],
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Fetch again what an exclusion left out."""
    from scentline.agents.operate.control.requests import Include

    _submit(_settings(data, broker, config, assignments), Include(name))


@steer.command("budget", epilog=examples("steer budget", "scentline steer budget --pages 5000"))
def budget(
    pages: Annotated[
        int | None, typer.Option("--pages", metavar="N", min=0, help="Pages to judge in all; 0 is no limit.")
    ] = None,
    requests: Annotated[
        int | None,
        typer.Option("--requests", metavar="N", min=0, help="Requests to have answered in all; 0 is no limit."),
    ] = None,
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Give the crawl another budget. A later run with another budget in its settings goes by that."""
    from scentline.agents.operate.control.requests import Budget

    if pages is None and requests is None:
        raise CommandError("expected --pages N, --requests N or both")
    _submit(_settings(data, broker, config, assignments), Budget(pages, requests))


@steer.command("delay", epilog=examples("steer delay", "scentline steer delay example.org 10"))
def delay(
    host: Annotated[str, typer.Argument(metavar="HOST", help="A host, with its port if it has one.")],
    seconds: Annotated[
        float,
        typer.Argument(metavar="SECONDS", min=0, max=86_400, help="Between two requests; 0 undoes it."),
    ],
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Ask a host more seldom than is polite; what its robots.txt and fetch.delay_seconds say is the least."""
    from scentline.agents.operate.control.requests import Delay

    _submit(_settings(data, broker, config, assignments), Delay(host, seconds))


@steer.command("list", epilog=examples("steer list", "scentline steer list"))
def list_(
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    form: Format = "table",
    as_json: AsJsonArray = False,
    out: Out = None,
    since: Since = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Print what is in force: whether the crawl is paused, exclusions, budgets that were set, delays."""
    from scentline.agents.operate.control.command import known_steering

    begin = time_since(since)
    found = known_steering(_settings(data, broker, config, assignments)).in_force
    columns, rows = ("what", "name", "value", "since"), (_row(each) for each in found if each.time >= begin)
    shape: Shape[tuple[str, ...]] = Shape(
        columns, lambda row: row, columns, lambda row: dict(zip(columns, row, strict=True))
    )
    print_rows(rows, shape, "json" if as_json else form, out)


def _row(told: "Steering") -> tuple[str, str, str, str]:
    from scentline.streams.published import Exclusion, Limit, Slowing

    since = datetime.fromtimestamp(told.time, UTC).isoformat(timespec="seconds")
    if isinstance(told, Exclusion):
        return "excluded", told.name, told.prefix or told.expression, since
    if isinstance(told, Limit):
        return "budget", told.name, f"{told.most}", since
    if isinstance(told, Slowing):
        return "delay", told.name, f"{told.seconds:g} s", since
    return "paused", "", "", since


def _settings(
    data: Path | None, broker: str | None, config: Path | None, assignments: list[str] | None
) -> "Settings":
    return load_settings(config, assignments, {"data": data, "broker": broker}).settings


def _submit(settings: "Settings", request: "Steer") -> None:
    from scentline.agents.operate.control.command import submit
    from scentline.agents.operate.control.requests import checked

    typer.echo(submit(settings, checked(request)) or NOT_YET)
