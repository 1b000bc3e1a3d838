"""``scentline feed``: read logs into a crawl's data, without crawling."""

from typing import Annotated

import typer

from scentline.agents.cli.app import INTERRUPTED
from scentline.agents.cli.options import AsJson, Given, LogSite, command, of_site
from scentline.agents.cli.output import print_json


@command(
    "feed",
    "scentline feed access.log.gz --json",
    "zcat logs/*.gz | scentline feed -",
    "scentline feed /var/log/squid/access.log --follow",
    takes=("data", "broker"),
)
def feed(
    given: Given,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|-...", help="Logs, plain or compressed (gzip, Zstandard); - is standard input."
        ),
    ],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="F",
            help="auto, squid, combined, common, w3c, json, apache:LOGFORMAT, squid:LOGFORMAT or w3c:FIELDS.",
        ),
    ] = None,
    site: LogSite = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for new lines, through rotation, until Ctrl-C.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the page views of logs to the topic `accesses`, and malformed lines to `dead-letters`.

    The next crawl with the same data learns from them. A log that was fed before is recognised and counts once.
    """
    from scentline.agents.crawl.following import feed_alone

    settings = given.settings(**{"observe.format": form})
    observer, interrupted = feed_alone(of_site(settings, site, sources), sources, follow)
    if as_json:
        print_json(
            {"accepted": observer.accepted, "filtered": observer.filtered, "malformed": observer.malformed}
        )
    else:
        typer.echo(f"{observer.accepted} accepted, {observer.malformed} malformed")
        for reason, number in sorted(observer.filtered.items()):
            typer.echo(f"{number} filtered: {reason}")
    if interrupted:
        raise typer.Exit(INTERRUPTED)
