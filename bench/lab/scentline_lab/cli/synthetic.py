"""``scentline synthetic``: write a synthetic web as an archive, a log and labels."""

from pathlib import Path
from typing import Annotated

import typer

from scentline.agents.cli.options import command

_OUT = typer.Option(metavar="DIR", help="Directory for the files; replaces an earlier web.")
_SHARE = typer.Option(min=0.0, max=1.0, metavar="SHARE", help="Share of the links to articles that are dead.")
_ERAS = typer.Option(min=1, help="Parts of the sites: what a category names moves on.")
_OPAQUE = typer.Option("--opaque", help="Links and URLs tell nothing: only users know where to go.")
_OWNERS = typer.Option(min=1, help="Registered domains that the sites share; by default each has its own.")


@command("synthetic", "scentline synthetic --out web --sites 4 --pages 40 --dead 0.3 --days 50")
def synthetic(
    out: Annotated[Path, _OUT],
    sites: Annotated[int, typer.Option(min=1, help="Sites.")] = 12,
    pages: Annotated[int, typer.Option(min=4, help="Articles of a site, about.")] = 200,
    topics: Annotated[int, typer.Option(min=1, max=12, help="Topics.")] = 12,
    users: Annotated[int, typer.Option(min=0, help="Users in the log.")] = 400,
    accesses: Annotated[int, typer.Option(min=0, help="Page views in the log.")] = 20_000,
    dead: Annotated[float, _SHARE] = 0.0,
    days: Annotated[int, typer.Option(min=0, help="Empty pages of each site's calendar.")] = 0,
    eras: Annotated[int, _ERAS] = 1,
    opaque: Annotated[bool, _OPAQUE] = False,
    owners: Annotated[int | None, _OWNERS] = None,
    random_seed: Annotated[int, typer.Option(metavar="N", help="Seed of the web.")] = 1,
) -> None:
    """Write a synthetic web: pages.warc.gz, access.log.gz, topics.tsv.gz and seeds.txt, its home pages.

    Equal options give equal files. The commands crawl, evaluate and serve-archive take them.
    """
    from scentline_lab.experiment import Output
    from scentline_lab.synthetic.web import FILES, SyntheticWeb, export

    Output(out, "synthetic", list(FILES.values())).prepare()
    size = random_seed, sites, pages, topics
    web = SyntheticWeb(*size, dead=dead, days=days, eras=eras, owners=owners, opaque=opaque)
    for what, path in export(web, out, users, accesses).items():
        typer.echo(f"{what:8} {path}")
