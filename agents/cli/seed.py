"""``scentline seed``: add seeds, during or between runs."""

from typing import Annotated

import typer

from scentline.agents.cli.app import CommandError, app, examples
from scentline.agents.cli.options import Assignments, BrokerAddress, ConfigFile, DataDirectory, load_settings
from scentline.agents.cli.output import NOT_YET


@app.command(
    epilog=examples(
        "seed",
        "scentline seed http://example.org/tea",
        "scentline seed http://example.org/tea http://example.org/crawlers --data scentline-data",
    )
)
def seed(
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Pages to start from.")],
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Add seeds to a crawl; a known page changes nothing."""
    from scentline.agents.operate.control.command import submit
    from scentline.agents.operate.control.requests import MOST_URLS, Seeds
    from scentline.models.url import canonical

    settings = load_settings(config, assignments, {"data": data, "broker": broker}).settings
    if len(urls) > MOST_URLS:
        raise CommandError(f"{len(urls)} URLs, expected at most {MOST_URLS} at a time")
    found = {url: canonical(url) for url in urls}
    for url, known_as in found.items():
        if known_as is None:
            raise CommandError(f"{url!r} can't be crawled; expected an http or https URL")
    seeds = tuple(dict.fromkeys(known_as for known_as in found.values() if known_as is not None))
    typer.echo(submit(settings, Seeds(seeds)) or NOT_YET)
