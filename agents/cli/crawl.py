"""The commands that run a crawl or some of its roles, feed it, serve it a recorded web, or train a judge."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scentline.agents.cli.app import INTERRUPTED, CommandError
from scentline.agents.cli.options import AsJson, Given, LogSite, command, command_group, load_settings, of_site
from scentline.agents.cli.output import print_json, print_table
from scentline.streams.memory import uncollected

if TYPE_CHECKING:
    from scentline.agents.judge.examples import Examples
    from scentline.models.classifier import Holdout


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
        from scentline.agents.worker.command import CrawlOptions, run
    from scentline.agents.window.process import beside

    join = join or given.options["broker"] is not None
    options = CrawlOptions(
        tuple(logs or ()), tuple(archives or ()), as_json, follow, keep_up, beside if window else None, join,
        quiet,
    )  # fmt: skip
    settings = given.settings(seeds=tuple(seeds) if seeds else None)
    status = run(of_site(settings, site, logs or ()), options)
    if status:
        raise typer.Exit(status)


@command(
    "feed",
    "scentline feed access.log.gz --json",
    "zcat logs/*.gz | scentline feed -",
    "scentline feed /var/log/squid/access.log --follow",
    takes=("data", "broker", "json"),
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
) -> None:
    """Write the page views of logs to the topic `accesses`, and malformed lines to `dead-letters`.

    The next crawl with the same data learns from them. A log that was fed before is recognised and counts once.
    """
    from scentline.agents.observe.following import feed_alone

    settings = given.settings(**{"observe.format": form})
    counts, interrupted = feed_alone(of_site(settings, site, sources), sources, follow)
    given.report(
        {name: getattr(counts, name) for name in ("accepted", "filtered", "malformed")},
        f"{counts.accepted} accepted, {counts.malformed} malformed",
        *(f"{number} filtered: {reason}" for reason, number in sorted(counts.filtered.items())),
    )
    if interrupted:
        raise typer.Exit(INTERRUPTED)


@command(
    "worker",
    "scentline worker fetch judge --broker kafka://localhost:9092",
    "scentline worker all --broker kafka://localhost:9092 --config crawl.toml --data worker-1",
    takes=("crawl", "data", "broker"),
)
def worker(
    given: Given,
    roles: Annotated[
        list[str],
        typer.Argument(
            metavar="ROLE...",
            help="observe, browse, fetch, judge, frontier, learn, harvest, render, door, or all.",
        ),
    ],
) -> None:
    """Run some roles of a crawl, beside any number of other workers, until SIGTERM or Ctrl-C.

    Workers with the same role share its partitions. Each worker needs its own --data directory. `scentline
    topics create` makes the topics; a worker waits for missing ones. Options mean the same as in `scentline
    crawl`; give every worker the same.
    """
    from scentline.agents.worker.worker import played, run

    wanted = played(roles)
    run(given.on_kafka(), wanted)


@command("serve-archive", "scentline serve-archive pages.warc.gz --log served.log")
def serve_archive(
    paths: Annotated[list[Path], typer.Argument(metavar="PAGES.warc.gz...", help="WARC files.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 0,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append each request to this file, in Squid's format.")
    ] = None,
) -> None:
    """Serve WARC files under their original hosts, as an HTTP forward proxy, until Ctrl-C.

    Point a crawl at it with --set fetch.proxy=http://127.0.0.1:PORT.
    """
    import asyncio

    from scentline.agents.offline.serve import serve_archive as serve

    load_settings(None, None)

    def ready(url: str) -> None:
        typer.echo(f"serving {len(paths)} archives as a forward proxy on {url}")

    try:
        asyncio.run(serve(paths, host, port, log, ready))
    except KeyboardInterrupt:
        return
    except OSError as error:
        raise CommandError(f"can't serve the archives: {error}") from error


# a judge of categories

command_group("classifier", "Train a judge of categories on examples.")


@command(
    "classifier train",
    "scentline classifier train examples.tsv --out topics.classifier",
    "scentline classifier train topics.tsv.gz --archive pages.warc.gz --out topics.classifier --json",
)
def train(
    examples_file: Annotated[
        Path, typer.Argument(metavar="EXAMPLES", help="Lines of a URL or text, a tab, and a category.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File to write.")],
    archives: Annotated[
        list[Path] | None, typer.Option("--archive", metavar="WARC", help="Pages of the URLs; repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a text classifier, and print how accurate it is (cross-validated).

    The file's classifier is trained on all examples. A crawl uses it with --set judge.classifier=FILE.
    """
    from scentline.agents.judge.examples import load
    from scentline.agents.judge.examples import train as run
    from scentline.agents.offline.archive import Archive

    with ExitStack() as resources:
        for path in archives or ():
            if not path.is_file():
                raise CommandError(f"--archive {path}: there is no such file")
        archive = resources.enter_context(Archive(archives)) if archives else None
        found = load(examples_file, archive)
    holdout = run(found, out)
    if as_json:
        _print_as_json(found, holdout)
    else:
        _print(found, holdout)


def _print_as_json(found: "Examples", holdout: "Holdout") -> None:
    print_json({
        "examples": len(found.found), "missing": found.missing, "empty": found.empty,
        "accuracy": round(holdout.accuracy, 4),
        "categories": {
            name: {"examples": each.examples, "precision": each.precision, "recall": each.recall}
            for name, each in holdout.categories.items()
        },
    })  # fmt: skip


def _print(found: "Examples", holdout: "Holdout") -> None:
    typer.echo(f"{len(found.found)} examples, {found.missing} pages missing, {found.empty} without a word")
    typer.echo(f"accuracy {holdout.accuracy:.1%} in {holdout.folds}-fold cross-validation")
    print_table(
        ("category", "examples", "precision", "recall"),
        (
            (
                name, str(each.examples), "-" if each.precision is None else f"{each.precision:.2f}",
                f"{each.recall:.2f}",
            )
            for name, each in holdout.categories.items()
        ),
    )  # fmt: skip
