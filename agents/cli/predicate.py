"""``scentline predicate``: change what a crawl looks for, during or between runs."""

from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.options import Given, command, command_group
from scentline.agents.cli.output import Shape

if TYPE_CHECKING:
    from scentline.agents.operate.control.requests import State
    from scentline.streams.published import PredicateDefinition

command_group("predicate", "Change what a crawl looks for, while it runs.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A predicate's name.")]
Share = Annotated[
    float,
    typer.Option("--share", min=0.001, max=1_000_000, help="Share of the fetches, relative to the others'."),
]


@command(
    "predicate add",
    'scentline predicate add crawlers \'"crawler" or title("crawl*")\'',
    "scentline predicate add german 'lang(\"de\")' --share 0.5 --kept",
    takes=("data", "broker"),
)
def add(
    given: Given,
    name: Name,
    expression: Annotated[str, typer.Argument(metavar="EXPR", help="The predicate.")],
    share: Share = 1.0,
    kept: Annotated[bool, typer.Option("--kept", help="Also judge the pages that are still kept.")] = False,
) -> None:
    """Add a predicate: from now on it judges every page, and learns from it.

    With --kept, it also judges the pages of the last day, and they count as if it had been there. You can
    repeat --kept, also for an existing predicate. A name always means one expression.
    """
    from scentline.agents.operate.control.command import known_predicates
    from scentline.agents.operate.control.requests import Redefinition, RefusedError
    from scentline.models.predicate import parse

    settings = given.settings()
    parse(expression)
    known = known_predicates(settings).get(name)
    if known is not None and not (kept and known.expression == expression):
        raise RefusedError(f"there is or was a predicate {name} already: choose another name")
    given.submit(Redefinition(name, expression, share, kept=kept))


@command(
    "predicate list",
    "scentline predicate list",
    "scentline predicate list --json",
    takes=("data", "broker", "array"),
)
def list_(given: Given) -> None:
    """Print the predicates of a crawl: state, share and expression."""
    from scentline.agents.operate.control.command import known_predicates

    settings = given.settings()
    known = [found for _, found in sorted(known_predicates(settings).items())]
    names = ("name", "state", "share", "expression")
    shape: Shape[PredicateDefinition] = Shape(
        names,
        lambda each: (each.name, each.state, f"{each.share:g}", each.expression),
        names,
        lambda each: {name: getattr(each, name) for name in names},
    )
    given.print_rows(known, shape)


@command("predicate pause", "scentline predicate pause science", takes=("data", "broker"))
def pause(given: Given, name: Name) -> None:
    """Fetch nothing more for a predicate. It still judges pages fetched for others, and learns from them."""
    _redefine(given, name, state="paused")


@command("predicate resume", "scentline predicate resume science", takes=("data", "broker"))
def resume(given: Given, name: Name) -> None:
    """Fetch for a paused predicate again."""
    _redefine(given, name, state="active")


@command("predicate remove", "scentline predicate remove science", takes=("data", "broker"))
def remove(given: Given, name: Name) -> None:
    """Stop judging pages by a predicate, for good. Its results stay; its name can't be used again."""
    _redefine(given, name, state="removed")


@command("predicate share", "scentline predicate share science 3", takes=("data", "broker"))
def share(
    given: Given,
    name: Name,
    value: Annotated[
        float, typer.Argument(metavar="S", min=0.001, max=1_000_000, help="Relative to the others' shares.")
    ],
) -> None:
    """Give a predicate another share of the fetches."""
    _redefine(given, name, share=value)


def _redefine(given: Given, name: str, share: float | None = None, state: "State | None" = None) -> None:
    from scentline.agents.operate.control.requests import Redefinition

    given.submit(Redefinition(name, share=share, state=state))
