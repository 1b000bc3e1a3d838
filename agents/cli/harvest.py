"""``scentline harvest``: the harvest-rate stream of each predicate."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.app import CommandError
from scentline.agents.cli.options import Given, Since, command, time_since
from scentline.agents.cli.output import Shape, lasting

if TYPE_CHECKING:
    from scentline.models.harvest import Lift
    from scentline.streams.published import HarvestPoint


@command(
    "harvest",
    "scentline harvest",
    "scentline harvest --json",
    "scentline harvest --format csv",
    takes=("data", "lines"),
)
def harvest(
    given: Given,
    follow: Annotated[bool, typer.Option("--follow", help="Print new points until Ctrl-C.")] = False,
    since: Since = None,
) -> None:
    """Print each predicate's latest point, or every point with --format jsonl (or --json), csv, or --follow."""
    if follow and given.out is not None:
        raise CommandError("--follow prints lines until Ctrl-C: it does not go with --out")
    settings = given.settings()
    begin = time_since(since)
    points = (point for point in _points(settings.data, follow) if point.time >= begin)
    if given.form == "table" and not follow:
        newest = {point.predicate: point for point in points}
        points = (newest[name] for name in sorted(newest))
    try:
        given.print_rows(points, Shape(COLUMNS, _cells, FIELDS, _fields, _values), follow=follow)
    except KeyboardInterrupt:
        return


def _points(data: Path, follow: bool) -> "Iterator[HarvestPoint]":
    from scentline.agents.operate.inspect.record import harvest_points
    from scentline.streams.transport.journal import Journal

    with Journal.open(data / "journal", read_only=True) as journal:
        yield from harvest_points(journal, follow)


FIELDS = (
    "time", "predicate", "pages", "hits", "harvest_rate", "rate_by_pages", "rate_by_time", "lift", "lift_least",
    "lift_most", "requests",
    "hits_per_request", "matches", "freshness", "age", "revisits", "revisit_share",
)  # fmt: skip
COLUMNS = (
    "predicate",
    "pages",
    "hits",
    "harvest rate",
    "lately",
    "lift (95 %)",
    "requests",
    "a request",
    "current",
    "age",
    "revisits",
)


def _lift(point: "HarvestPoint") -> "Lift | None":
    from scentline.models.harvest import RANDOM, lift_if_sure

    return lift_if_sure(point.pages, point.hits, *point.policies.get(RANDOM, (0, 0)))


def _fields(point: "HarvestPoint") -> dict[str, object]:
    import msgspec

    fields: dict[str, object] = msgspec.to_builtins(point)
    return fields | {"lift": _lift(point)}


def _values(point: "HarvestPoint") -> list[object]:
    lift = _lift(point)
    named = {"lift": lift and lift.lift, "lift_least": lift and lift.least, "lift_most": lift and lift.most}
    return [named[name] if name in named else getattr(point, name) for name in FIELDS]


def _cells(point: "HarvestPoint") -> tuple[str, ...]:
    return (
        point.predicate,
        str(point.pages),
        str(point.hits),
        f"{point.harvest_rate:.3f}",
        f"{point.rate_by_pages:.3f}",
        str(_lift(point) or "-"),
        str(point.requests),
        f"{point.hits_per_request:.3f}",
        "-" if point.freshness is None else f"{point.freshness:.0%} of {point.matches}",
        "-" if point.age is None else lasting(point.age),
        "-" if point.matches is None else f"{point.revisits} ({point.revisit_share:.0%})",
    )
