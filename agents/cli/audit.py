"""``scentline audit``: every statistic counted again and compared with the state."""

import typer

from agents.cli.app import app, examples
from agents.cli.options import AsJson, Assignments, ConfigFile, DataDirectory, load_settings
from agents.cli.output import print_json


@app.command(epilog=examples("audit", "scentline audit --data scentline-data --json"))
def audit(
    data: DataDirectory = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> None:
    """Count every statistic again from the outcomes and accesses, and compare with the state; only reads.

    Ends with status 1 when anything differs. A crawl that is running, or was killed and not continued, has
    messages that wait to be absorbed and differs by them.
    """
    from agents.audit.audit import audit as run

    settings = load_settings(config, assignments, {"data": data}).settings
    report = run(settings)
    for example in report.examples:
        typer.echo(example, err=True)
    if report.behind:
        typer.echo(f"{report.behind} messages wait to be absorbed: continue the crawl first", err=True)
    if report.forgotten:
        typer.echo(
            f"{report.forgotten} rare features were forgotten for want of room: all but the base, links and "
            "regions are compared as far as they are kept",
            err=True,
        )
    if report.quarantined:
        typer.echo(
            f"{report.quarantined} messages and facts were quarantined (scentline dead-letters): the recount "
            f"leaves them out, but for {report.uncounted} whose part in it can't be told",
            err=True,
        )
    if as_json:
        print_json(report.as_dict())
    else:
        typer.echo(
            f"{report.judged} pages judged, {report.judged_twice} counted twice, {report.lost} lost; "
            f"{report.rows} rows compared, {report.differences} differ"
        )
    if not report.clean:
        raise typer.Exit(1)
