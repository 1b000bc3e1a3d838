"""``scentline state export|import``: start a crawl with what another one has learned."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from scentline.agents.cli.options import AsJson, Given, command, command_group
from scentline.agents.cli.output import print_json

command_group("state", "Start a crawl with what another one has learned.")

StateFile = Annotated[Path, typer.Argument(metavar="FILE", help="File of the learned state.")]


@command(
    "state export",
    "scentline state export science.state --data scentline-data",
    "scentline state export science.state --no-users --json",
)
def export(
    given: Given,
    file: StateFile,
    users: Annotated[bool, typer.Option("--users/--no-users", help="Include the users' pseudonyms.")] = True,
    as_json: AsJson = False,
) -> None:
    """Write what a crawl has learned to a file, or replace one; a crawl may be running.

    The file has counts of words, parts of URLs and users, and the weights of the learned policy: of each
    predicate, and of which requests fail, the 100,000 features with the largest effect. It has no pages and no
    users' identities.
    """
    from scentline.agents.operate.reuse import export as run

    settings = given.settings()
    done = run(settings, file, users)
    if as_json:
        print_json(
            {"predicates": done.features, "requests": done.requests, "users": done.users, "bytes": done.size}
        )
        return
    _tell(done.features, done.requests)
    typer.echo(f"{done.users:,} users; {done.size:,} bytes in {file}")


@command(
    "state import",
    "scentline state import learned.state --data new-data",
    "scentline state import learned.state --data new-data --weight 1 --json",
)
def import_(
    given: Given,
    file: StateFile,
    weight: Annotated[
        float, typer.Option(min=0.001, max=1, help="Factor for the file's counts: evidence fades.")
    ] = 0.25,
    as_json: AsJson = False,
) -> None:
    """Give a data directory what another crawl has learned; no crawl may be running there.

    Predicates are matched by name. A file that is imported twice counts once, with the first weight.
    """
    from scentline.agents.operate.reuse import import_state

    settings = given.settings()
    done = import_state(settings, file, weight)
    for remark in done.remarks:
        typer.echo(remark, err=True)
    if as_json:
        print_json({"predicates": done.features, "requests": done.requests, "repeated": done.repeated})
        return
    if done.repeated:
        typer.echo(f"{settings.data} already has this file: nothing was changed")
        return
    _tell(done.features, done.requests, f" at weight {weight:g}")


def _tell(features: Mapping[str, int], requests: int, how: str = "") -> None:
    for name, number in features.items():
        typer.echo(f"{name}: {number:,} features{how}")
    if requests:
        typer.echo(f"of requests: {requests:,} features{how}")
