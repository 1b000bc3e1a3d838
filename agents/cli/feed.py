"""``scentline feed``: a log's accesses into a crawl's data, without crawling."""

from typing import Annotated, Literal

import typer

from agents.cli.app import app, examples
from agents.cli.options import AsJson, Assignments, ConfigFile, DataDirectory, load_settings
from agents.cli.output import print_json


@app.command(
    epilog=examples("feed", "scentline feed access.log.gz --json", "zcat logs/*.gz | scentline feed -")
)
def feed(
    source: Annotated[str, typer.Argument(metavar="FILE|-", help="A log, gzip or not; - is standard input.")],
    form: Annotated[
        Literal["auto", "squid", "combined", "common"] | None,
        typer.Option("--format", help="The log's format; auto looks at its first lines."),
    ] = None,
    data: DataDirectory = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Write a log's page views to the topic `accesses`, its malformed lines to `dead-letters`.

    The next crawl with the same data learns of them. A log that was fed before is recognised: it counts once.
    """
    from agents.crawl.feeding import feed_alone

    settings = load_settings(config, assignments, {"data": data, "observe.format": form}).settings
    observer = feed_alone(settings, source)
    if as_json:
        print_json(
            {"accepted": observer.accepted, "filtered": observer.filtered, "malformed": observer.malformed}
        )
        return
    typer.echo(f"{observer.accepted} accepted, {observer.malformed} malformed")
    for reason, number in sorted(observer.filtered.items()):
        typer.echo(f"{number} filtered: {reason}")
