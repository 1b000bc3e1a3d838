"""``scentline audit``: recount every statistic and compare it with the state."""

import typer

from scentline.agents.cli.options import AsJson, Given, command
from scentline.agents.cli.output import print_json


@command("audit", "scentline audit --data scentline-data --json")
def audit(given: Given, as_json: AsJson = False) -> None:
    """Recount every statistic from the outcomes and accesses, and compare it with the state; only reads.

    Exits with status 1 if anything differs, or where messages wait that the state does not have yet: in a crawl
    that is running, or was stopped and not continued to its end. One that keeps up has no end: with --requests
    1 and --set frontier.revisit=0.5 in place of --keep-up it takes in what waits, and ends.
    """
    from scentline.agents.operate.audit.audit import audit as run

    settings = given.settings()
    report = run(settings)
    for example in report.examples:
        typer.echo(example, err=True)
    if report.forgotten:
        typer.echo(
            f"{report.forgotten} rare features were forgotten to save memory: except for the base, links and "
            "regions, only kept features are compared",
            err=True,
        )
    if report.quarantined:
        typer.echo(
            f"{report.quarantined} messages and facts were quarantined (scentline dead-letters): the recount "
            f"leaves them out, except for {report.uncounted} whose effect is unknown",
            err=True,
        )
    if report.behind:
        typer.echo(
            f"nothing was compared: {report.behind:,} messages are not absorbed yet; let the crawl go on to "
            "its end first",
            err=True,
        )
    if as_json:
        print_json(report.as_dict())
    elif not report.behind:
        typer.echo(
            f"{report.judged} pages judged, {report.judged_twice} counted twice, {report.lost} lost; "
            f"{report.rows} rows compared, {report.differences} differ"
        )
    if not report.clean:
        raise typer.Exit(1)
