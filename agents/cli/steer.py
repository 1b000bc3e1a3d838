"""``scentline steer``, ``seed`` and ``predicate``: change what a crawl does, during or between runs."""

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from scentline.agents.cli.app import CommandError
from scentline.agents.cli.options import Given, command, command_group
from scentline.agents.cli.output import Shape
from scentline.models.published import Exclusion, Limit, Pausing, Slowing, Steering, control_key

if TYPE_CHECKING:
    from scentline.agents.operate.requests import State
    from scentline.streams.settings import Settings

#: Seconds between two progress lines of a preview.
LINE_SECONDS = 5.0

command_group("steer", "Pause a crawl, leave URLs out, set its budget, while it runs.")
command_group("predicate", "Change what a crawl looks for, while it runs.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A predicate's name.")]
Share = Annotated[
    float,
    typer.Option("--share", min=0.001, max=1_000_000, help="Share of the fetches, relative to the others'."),
]


@command("steer pause", "scentline steer pause", takes=("data", "broker"))
def pause(given: Given) -> None:
    """Order no more fetches, and wait. What is in flight is taken in; the crawl does not end."""
    given.submit(Pausing(on=True))


@command("steer resume", "scentline steer resume", takes=("data", "broker"))
def resume(given: Given) -> None:
    """Go on with a paused crawl."""
    given.submit(Pausing(on=False))


@command(
    "steer exclude",
    "scentline steer exclude --prefix http://example.org/shop/",
    "scentline steer exclude --expression '[?&]print=' --preview",
    takes=("data", "broker"),
)
def exclude(
    given: Given,
    prefix: Annotated[
        str, typer.Option("--prefix", metavar="URL", help="What the URLs begin with, host and slash included.")
    ] = "",
    expression: Annotated[
        str, typer.Option("--expression", metavar="RE2", help="A regular expression that the URLs match.")
    ] = "",
    preview: Annotated[
        bool, typer.Option("--preview", help="Only count the candidates that it would leave out.")
    ] = False,
) -> None:
    """Fetch no URLs that begin with a prefix, or match an expression; they stay candidates.

    What is in flight already is taken in. The command include undoes it.
    """
    if bool(prefix) == bool(expression):
        raise CommandError("expected --prefix URL or --expression RE2")
    exclusion = Exclusion(prefix=prefix, expression=expression)
    if preview:
        _preview(given.settings(), exclusion)
    else:
        given.submit(exclusion)


def _preview(settings: "Settings", exclusion: Exclusion) -> None:
    """Print how many candidates an exclusion would leave out, with progress; submit nothing."""
    from scentline.agents.operate.requests import Known, checked, resolve
    from scentline.agents.window.steer import left_out
    from scentline.models.frontier.steered import Steered
    from scentline.streams.transport.journal import Journal

    if settings.on_kafka:
        raise CommandError(
            "--preview reads a data directory: make one by `scentline snapshot`, and give it by --data, "
            "without --broker"
        )
    resolve(checked(exclusion), Known({}, Steered()))  # refuses an invalid exclusion
    said = time.monotonic()
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        for told, more in left_out(journal, exclusion.prefix, exclusion.expression):
            if more and time.monotonic() >= said + LINE_SECONDS:
                said = time.monotonic()
                typer.echo(f"{told.read:,} of {told.of:,} candidates read", err=True)
    typer.echo(f"it would leave out {told.found} of {told.read} candidates")


@command("steer include", "scentline steer include d7180576d6", takes=("data", "broker"))
def include(
    given: Given,
    name: Annotated[str, typer.Argument(metavar="ID", help="The exclusion, as steer list names it.")],
) -> None:
    """Fetch again what an exclusion left out."""
    given.submit(Exclusion(name=name, on=False))


@command("steer budget", "scentline steer budget --pages 5000", takes=("data", "broker"))
def budget(
    given: Given,
    pages: Annotated[
        int | None, typer.Option("--pages", metavar="N", min=0, help="Pages to judge in all; 0 is no limit.")
    ] = None,
    requests: Annotated[
        int | None,
        typer.Option("--requests", metavar="N", min=0, help="Requests to have answered in all; 0 is no limit."),
    ] = None,
) -> None:
    """Give the crawl another budget. A later run with another budget in its settings goes by that."""
    if pages is None and requests is None:
        raise CommandError("expected --pages N, --requests N or both")
    limits = [] if pages is None else [Limit(name="pages", most=pages)]
    given.submit(*limits, *([] if requests is None else [Limit(name="requests", most=requests)]))


@command("steer delay", "scentline steer delay example.org 10", takes=("data", "broker"))
def delay(
    given: Given,
    host: Annotated[str, typer.Argument(metavar="HOST", help="A host, with its port if it has one.")],
    seconds: Annotated[
        float, typer.Argument(metavar="SECONDS", min=0, max=86_400, help="Between two requests; 0 undoes it.")
    ],
) -> None:
    """Ask a host more seldom than is polite; what its robots.txt and fetch.delay_seconds say is the least."""
    given.submit(Slowing(name=host, seconds=seconds))


@command("steer list", "scentline steer list", takes=("data", "broker", "array", "since"))
def list_(given: Given) -> None:
    """Print what is in force: whether the crawl is paused, exclusions, budgets that were set, delays."""
    from scentline.agents.operate.control import known_steering

    found = known_steering(given.settings()).in_force
    rows = (_in_force(each) for each in found if each.time >= given.begin)
    given.print_rows(rows, Shape(InForce._fields))


class InForce(NamedTuple):
    """What is in force, as it is printed."""

    what: str
    name: str
    value: str
    since: str


def _in_force(told: Steering) -> InForce:
    value = ""
    if isinstance(told, Exclusion):
        value = told.prefix or told.expression
    elif isinstance(told, Limit | Slowing):
        value = f"{told.most}" if isinstance(told, Limit) else f"{told.seconds:g} s"
    since = datetime.fromtimestamp(told.time, UTC).isoformat(timespec="seconds")
    return InForce(control_key(told).partition(":")[0], told.name, value, since)


@command(
    "seed",
    "scentline seed http://example.org/tea",
    "scentline seed http://example.org/tea http://example.org/crawlers --data scentline-data",
    takes=("data", "broker"),
)
def seed(
    given: Given, urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Pages to start from.")]
) -> None:
    """Add seeds to a crawl; a known page changes nothing."""
    from scentline.agents.operate.requests import MOST_URLS, Seeds
    from scentline.models.url import canonical

    if len(urls) > MOST_URLS:
        raise CommandError(f"{len(urls)} URLs, expected at most {MOST_URLS} at a time")
    found = {url: canonical(url) for url in urls}
    for url, known_as in found.items():
        if known_as is None:
            raise CommandError(f"{url!r} can't be crawled; expected an http or https URL")
    seeds = tuple(dict.fromkeys(known_as for known_as in found.values() if known_as is not None))
    given.submit(Seeds(seeds))


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
    from scentline.agents.operate.control import known_predicates
    from scentline.agents.operate.requests import Redefinition, RefusedError
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
def list_predicates(given: Given) -> None:
    """Print the predicates of a crawl: state, share and expression."""
    from scentline.agents.operate.control import known_predicates

    known = [found for _, found in sorted(known_predicates(given.settings()).items())]
    given.print_rows(known, Shape(("name", "state", "share", "expression")))


@command("predicate pause", "scentline predicate pause science", takes=("data", "broker"))
def pause_predicate(given: Given, name: Name) -> None:
    """Fetch nothing more for a predicate. It still judges pages fetched for others, and learns from them."""
    _redefine(given, name, state="paused")


@command("predicate resume", "scentline predicate resume science", takes=("data", "broker"))
def resume_predicate(given: Given, name: Name) -> None:
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
    from scentline.agents.operate.requests import Redefinition

    given.submit(Redefinition(name, share=share, state=state))
