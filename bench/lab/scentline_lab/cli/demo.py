"""``scentline demo``: crawl a synthetic web with and without learning, in about a minute."""

from pathlib import Path
from typing import Annotated

import typer

from scentline.agents.cli.options import AsJson, command

_OUT = typer.Option(metavar="DIR", help="Directory for the files; replaces an earlier demo.")


@command("demo", "scentline demo", "scentline demo --out short --budget 200 --json")
def demo(
    out: Annotated[Path, _OUT] = Path("demo"),
    budget: Annotated[int, typer.Option(min=1, metavar="N", help="Pages to judge in each crawl.")] = 1500,
    random_seed: Annotated[int, typer.Option(metavar="N", help="Seed of the web and of every choice.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Crawl a synthetic web twice, breadth-first and learned, and compare; takes about a minute.

    Makes no request to the internet: the web is generated and served on this machine.
    """
    from scentline_lab.demo import run

    run(out, random_seed, budget, as_json=as_json)
