"""``scentline crawl``: every agent in one process, on the embedded log."""

from pathlib import Path
from typing import Annotated

import typer

from scentline.agents.cli.options import Given, LogSite, command, of_site
from scentline.streams.memory import uncollected


@command(
    "crawl",
    'scentline crawl --seed http://example.org/ --predicate \'crawlers="crawler" and title("crawl*")\'',
    "scentline crawl --archive pages.warc.gz --log access.log.gz --labels topics.tsv.gz"
    " --predicate 'science=category(\"Science\")' --budget 1000",
    "scentline crawl --seed http://example.org/ --predicate 'news=url(\"/news/\")' --time 10m",
    "scentline crawl --seed http://example.org/ --ordering pagerank --budget 1000",
    takes=("crawl", "data", "broker"),
)
def crawl(
    given: Given,
    seeds: Annotated[
        list[str] | None, typer.Option("--seed", metavar="URL", help="Page to start from; repeatable.")
    ] = None,
    logs: Annotated[
        list[str] | None, typer.Option("--log", metavar="FILE|-", help="Log to learn from; repeatable.")
    ] = None,
    site: LogSite = None,
    archives: Annotated[
        list[Path] | None,
        typer.Option("--archive", metavar="WARC", help="Crawl the pages in these files, not the web."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for new log lines, through rotation, until Ctrl-C.")
    ] = False,
    keep_up: Annotated[
        bool, typer.Option("--keep-up", help="Visit pages again, and tell what changes, until Ctrl-C.")
    ] = False,
    window: Annotated[
        bool, typer.Option("--window", help="Show the crawl in a browser, and steer it there, while it runs.")
    ] = False,
    join: Annotated[
        bool, typer.Option("--join", help="Take part in the crawl at the broker of the settings.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print no progress, and no figures at the end.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="End with one line of JSON.")] = False,
) -> None:
    """Crawl until the budget or the time is spent. After Ctrl-C, the same command continues; it needs no seeds.

    With a budget pages are scarce, and each has to be worth one. Else time is, and no host waits in vain.

    Give seeds, a log or both; without seeds, ten pages of the log become the seeds. With --archive, pages come
    from WARC files, served on loopback without politeness delays. With --keep-up, half of the requests visit
    judged pages again (the setting frontier.revisit), and the crawl goes on for ever; scentline changes prints
    what appeared, changed and left. With --window, it prints the address of pages that show it.
    """
    with uncollected():
        from scentline.agents.crawl.command import CrawlOptions, run
    from scentline.agents.window.process import beside

    given_files = tuple(seeds or ()), tuple(logs or ()), tuple(archives or ())
    join = join or given.options["broker"] is not None
    options = CrawlOptions(*given_files, as_json, follow, keep_up, beside if window else None, join, quiet)
    status = run(of_site(given.settings(), site, logs or ()), options)
    if status:
        raise typer.Exit(status)
