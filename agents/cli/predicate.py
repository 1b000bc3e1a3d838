"""``scentline predicate``: change what a crawl looks for, during or between runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.app import app, examples
from scentline.agents.cli.options import (
    AsJsonArray,
    Assignments,
    BrokerAddress,
    ConfigFile,
    DataDirectory,
    Format,
    Out,
    load_settings,
)
from scentline.agents.cli.output import NOT_YET, Shape, print_rows

if TYPE_CHECKING:
    from scentline.agents.operate.control.requests import AddPredicate, ChangePredicate, State
    from scentline.streams.published import PredicateDefinition
    from scentline.streams.settings import Settings

predicate = typer.Typer(no_args_is_help=True)
app.add_typer(predicate, name="predicate", help="Change what a crawl looks for, while it runs.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A predicate's name.")]
Share = Annotated[
    float,
    typer.Option("--share", min=0.001, max=1_000_000, help="Share of the fetches, relative to the others'."),
]


@predicate.callback()
def group() -> None:
    """Change what a crawl looks for, while it runs."""


@predicate.command(
    "add",
    epilog=examples(
        "predicate add",
        'scentline predicate add crawlers \'"crawler" or title("crawl*")\'',
        "scentline predicate add german 'lang(\"de\")' --share 0.5 --kept",
    ),
)
def add(
    name: Name,
    expression: Annotated[str, typer.Argument(metavar="EXPR", help="The predicate.")],
    share: Share = 1.0,
    kept: Annotated[bool, typer.Option("--kept", help="Also judge the pages that are still kept.")] = False,
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Add a predicate: from now on it judges every page, and learns from it.

    With --kept, it also judges the pages of the last day, and they count as if it had been there. You can
    repeat --kept, also for an existing predicate. A name always means one expression.
    """
    from scentline.agents.operate.control.command import known_predicates
    from scentline.agents.operate.control.requests import AddPredicate, RefusedError
    from scentline.models.predicate import parse

    settings = _settings(data, broker, config, assignments)
    parse(expression)
    known = known_predicates(settings).get(name)
    if known is not None and not (kept and known.expression == expression):
        raise RefusedError(f"there is or was a predicate {name} already: choose another name")
    _submit(settings, AddPredicate(name, expression, share, kept))


@predicate.command(
    "list", epilog=examples("predicate list", "scentline predicate list", "scentline predicate list --json")
)
def list_(
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    form: Format = "table",
    as_json: AsJsonArray = False,
    out: Out = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Print the predicates of a crawl: state, share and expression."""
    from scentline.agents.operate.control.command import known_predicates

    settings = _settings(data, broker, config, assignments)
    known = [found for _, found in sorted(known_predicates(settings).items())]
    names = ("name", "state", "share", "expression")
    shape: Shape[PredicateDefinition] = Shape(
        names,
        lambda each: (each.name, each.state, f"{each.share:g}", each.expression),
        names,
        lambda each: {name: getattr(each, name) for name in names},
    )
    print_rows(known, shape, "json" if as_json else form, out)


@predicate.command("pause", epilog=examples("predicate pause", "scentline predicate pause science"))
def pause(
    name: Name,
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Fetch nothing more for a predicate. It still judges pages fetched for others, and learns from them."""
    _state(name, "paused", _settings(data, broker, config, assignments))


@predicate.command("resume", epilog=examples("predicate resume", "scentline predicate resume science"))
def resume(
    name: Name,
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Fetch for a paused predicate again."""
    _state(name, "active", _settings(data, broker, config, assignments))


@predicate.command("remove", epilog=examples("predicate remove", "scentline predicate remove science"))
def remove(
    name: Name,
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Stop judging pages by a predicate, for good. Its results stay; its name can't be used again."""
    _state(name, "removed", _settings(data, broker, config, assignments))


@predicate.command("share", epilog=examples("predicate share", "scentline predicate share science 3"))
def share(
    name: Name,
    value: Annotated[
        float, typer.Argument(metavar="S", min=0.001, max=1_000_000, help="Relative to the others' shares.")
    ],
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Give a predicate another share of the fetches."""
    from scentline.agents.operate.control.requests import ChangePredicate

    settings = _settings(data, broker, config, assignments)
    _submit(settings, ChangePredicate(name, share=value))


def _settings(
    data: Path | None, broker: str | None, config: Path | None, assignments: list[str] | None
) -> "Settings":
    return load_settings(config, assignments, {"data": data, "broker": broker}).settings


def _state(name: str, state: "State", settings: "Settings") -> None:
    from scentline.agents.operate.control.requests import ChangePredicate

    _submit(settings, ChangePredicate(name, state=state))


def _submit(settings: "Settings", request: "AddPredicate | ChangePredicate") -> None:
    from scentline.agents.operate.control.command import submit
    from scentline.agents.operate.control.requests import checked

    typer.echo(submit(settings, checked(request)) or NOT_YET)
