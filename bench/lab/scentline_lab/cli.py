"""The commands of the laboratory, as `scentline` finds them; what a command does is imported when it runs."""

import os
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from scentline.agents.cli.app import CommandError
from scentline.agents.cli.options import (
    AsJson,
    Given,
    Labels,
    LogSite,
    OneSite,
    PredicateTexts,
    RandomSeed,
    command,
    command_group,
    given_predicates,
    of_site,
)


def _option(metavar: str | None, text: str, *names: str, **bounds: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, **bounds)


_Paths: TypeAlias = list[Path] | None
_Names: TypeAlias = list[str] | None
_OUT = _option("DIR", "Directory for tables and pictures; replaces an earlier run's.")
_OutDirectory = Annotated[Path | None, _OUT]
_Jobs = Annotated[int | None, _option("N", "Number of processes; doesn't change the results.", min=1)]
_AsJsonLine = Annotated[bool, typer.Option("--json", help="End with one line of JSON.")]

# What does not fit beside its parameter.
_DEPTH_LOGS = typer.Argument(metavar="LOG...", help='Logs to read; "-" is standard input.')
_DEPTH_ARCHIVE = _option("WARC", "Archive whose sites to crawl; repeatable.", "--archive")
_DEPTH_GRAPH = _option("FILE", "Link graph whose sites to crawl; repeatable.", "--graph")
_LASTS = "Let time pass: each crawl goes on for so long, in place of a budget."
_EVALUATE_REUSE = (
    "Also crawl with the state of an earlier crawl. Give its log first, then the later one's, or one log, "
    "which is split at the middle of its time."
)
_EVALUATE_WEBS = _option("TOML", "Several webs, each with its predicates, from a file.")
_EVALUATE_LOGS = _option("FILE", "Log of visits, known from the start; repeatable.", "--log")
_NEWS_LOGS = typer.Argument(metavar="LOG|-...", help="Logs, oldest first; - is standard input.")
_ORDER_LINKS = "Least backlinks of a hot page; repeatable. Default: 3, 10 and 100."
_ORDER_RANK = "Least PageRank of a hot page; repeatable. Default: 13."
_ORDER_TOPIC = "Also compare crawlers for this topic; repeatable."
_PATTERNS_MERGED = "Similarity of referrers and targets above which siblings are merged.  [default: 0.7]"
_PATTERNS_MIRROR = _option("WARC", "Mirror of the site, with its links; repeatable.", "--archive")
_SYNTHETIC_OPAQUE = typer.Option("--opaque", help="Links and URLs tell nothing: only users know where to go.")
_DEAD = _option("SHARE", "Share of the links to articles that are dead.", min=0.0, max=1.0)
_OWNERS = "Registered domains that the sites share; by default each has its own."


def _processes(jobs: int | None) -> int:
    return jobs or os.cpu_count() or 1


@command("demo", "scentline demo", "scentline demo --out short --budget 200 --json")
def demo(
    out: Annotated[Path, _option("DIR", "Directory for the files; replaces an earlier demo.")] = Path("demo"),
    budget: Annotated[int, _option("N", "Pages to judge in each crawl.", min=1)] = 1500,
    random_seed: Annotated[int, _option("N", "Seed of the web and of every choice.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Crawl a synthetic web twice, breadth-first and learned, and compare; takes about a minute.

    Makes no request to the internet: the web is generated and served on this machine.
    """
    from scentline_lab.demo import run

    run(out, random_seed, budget, as_json=as_json)


@command(
    "depth",
    "scentline depth access.log.gz --site example.org --out depths",
    "scentline depth access.log.gz --archive pages.warc.gz --share 0.95 --json",
    takes=(),
)
def depth(
    given: Given,
    logs: Annotated[_Names, _DEPTH_LOGS] = None,
    site: OneSite = None,
    archives: Annotated[_Paths, _DEPTH_ARCHIVE] = None,
    graphs: Annotated[_Paths, _DEPTH_GRAPH] = None,
    share: Annotated[float, _option("PART", "Share of the page views to keep.", min=0, max=0.9999)] = 0.9,
    out: _OutDirectory = None,
    as_json: _AsJsonLine = False,
) -> None:
    """Advise how deep to crawl each site, in links from the pages where users enter.

    From a log, the command reconstructs sessions, counts the depth of each page view, and fits three models of
    a random surfer: A goes back one level, B to the start, C to any earlier level. Without a log it crawls the
    sites of an archive or graph breadth-first, offline, and compares new and seen URLs level by level.

    DIR gets sites.csv, levels.csv, moves.csv, directories.csv, and a picture of each site.
    """
    from scentline_lab.depth.command import run

    read = logs or (), archives or (), graphs or ()
    run(given.settings(), *read, out, site, share, as_json=as_json)


@command(
    "evaluate",
    "scentline evaluate --archive pages.warc.gz --log access.log.gz --labels topics.tsv.gz"
    " --predicate 'science=category(\"Science\")' --policy combined,linkage,breadth-first,oracle"
    " --budget 100 --starts 2 --out evaluation",
    "scentline evaluate --webs webs.toml --policy learned,breadth-first,oracle --starts 2 --out evaluation",
    takes=(),
)
def evaluate(
    given: Given,
    out: Annotated[Path, _option("DIR", "Directory for the files; replaces an earlier evaluation.")],
    archives: Annotated[_Paths, _option("WARC", "Web to crawl; repeatable.", "--archive")] = None,
    webs: Annotated[Path | None, _EVALUATE_WEBS] = None,
    chosen: Annotated[_Names, _option("NAME", "Of that file only this; repeatable.", "--web")] = None,
    logs: Annotated[_Names, _EVALUATE_LOGS] = None,
    site: LogSite = None,
    labels: Labels = None,
    predicates: PredicateTexts = None,
    policies: Annotated[_Names, _option("A,B,...", "Policies; by default all.", "--policy")] = None,
    budget: Annotated[int | None, _option("N", "Pages to fetch in each crawl; 1000 by default.", min=1)] = None,
    clock: Annotated[float | None, _option("SECONDS", _LASTS, min=1)] = None,
    starts: Annotated[int | None, _option("K", "Sets of seed pages; 5 by default.", min=1)] = None,
    seeds: Annotated[int | None, _option("N", "Seed pages in a set; 10 by default.", min=1)] = None,
    seed_file: Annotated[Path | None, _option("FILE", "URLs to draw seeds from instead of all pages.")] = None,
    random_seed: RandomSeed = None,
    reuse: Annotated[bool, typer.Option("--reuse", help=_EVALUATE_REUSE)] = False,
    jobs: _Jobs = None,
    as_json: _AsJsonLine = False,
) -> None:
    """Simulate crawls of an archive with each policy, predicate and start, and compare their harvest.

    Each start has its own seeds, drawn uniformly from all pages, the same for every policy and predicate; they
    are fetched first, and count. A link whose page is not in the archive is a request that brings none. DIR
    gets the order of every crawl, tables, and report.html, which shows them all.

    With --clock, answers are as late as the web's, requests to a host are fetch.delay_seconds apart, pages take
    time to be read, and hits are counted by the second. No time is spent waiting.

    With --webs, all that is done for each web of a file; options given here win, and tables have the means.

    With --reuse, NAME+reuse starts with the state of an earlier crawl, of its own seeds; "new pages only" are
    those that it left.
    """
    told: dict[str, Any] = {
        "policies": tuple(name.strip() for name in ",".join(policies or ()).split(",") if name.strip()) or None,
        "budget": budget, "clock": clock, "starts": starts, "seeds": seeds, "seed_file": seed_file,
        "processes": _processes(jobs),
    }  # fmt: skip
    from scentline_lab.evaluate.command import read_webs, show, show_webs
    from scentline_lab.evaluate.run import Options

    told = {key: value for key, value in told.items() if value is not None}
    if webs is not None:
        if archives or logs or site or labels or predicates or reuse:
            raise CommandError("--webs: archives, logs, labels and predicates are in the file, not beside it")
        read = read_webs(webs, chosen or ())
        show_webs(read, lambda own: given.settings(**own, random_seed=random_seed), told, out, as_json=as_json)
        return
    if not archives:
        raise CommandError("an evaluation needs a web: give --archive WARC, or several by --webs TOML")
    own = {"random_seed": random_seed, "judge.labels": labels and str(labels)}
    options = Options(archives=tuple(archives), logs=tuple(logs or ()), reuse=reuse, **told)
    settings = of_site(given.settings(**own, **given_predicates(predicates or ())), site, options.logs)
    show(settings, options, out, as_json=as_json)


@command(
    "news",
    "scentline news access.log.gz",
    "scentline news access.log.gz --site example.org --first-days 1 --out news --json",
    takes=(),
)
def news(
    given: Given,
    sources: Annotated[list[str], _NEWS_LOGS],
    site: OneSite = None,
    labels: Annotated[Path | None, _option("TSV", 'True labels, URL and "news" or another.')] = None,
    out: _OutDirectory = None,
    first_days: Annotated[int | None, _option("M", "First days of a page's life; m in the paper.")] = None,
    window: Annotated[int | None, _option("DAYS", "Latest days to use.")] = None,
    threshold: Annotated[float | None, _option("C", "Concentration above which a page is news.")] = None,
    hubs: Annotated[int | None, _option("N", "Number of hub pages.")] = None,
    as_json: _AsJsonLine = False,
) -> None:
    """Find news pages, whose clicks concentrate in their first days, and the hubs where more will appear.

    A user counts once per page and day. DIR gets the pages, hubs and news prefixes as CSV, a picture of the
    daily clicks of a few pages and, with labels, precision and recall. The settings of [news] have more
    options. After Ctrl-C, the command reports on what it has read.
    """
    from scentline_lab.news import run

    own = {"first_days": first_days, "window": window, "threshold": threshold, "hubs": hubs}
    settings = given.settings(**{f"news.{name}": value for name, value in own.items()})
    run(settings, sources, labels, out, site, as_json=as_json)


@command(
    "order",
    "scentline order links.tsv.gz --threshold 3 --threshold 10",
    "scentline order pages.warc.gz --topic hockey --out ordering",
    takes=(),
)
def order(
    given: Given,
    path: Annotated[Path, typer.Argument(metavar="GRAPH|ARCHIVE", help="File of links, or WARC file.")],
    out: _OutDirectory = None,
    start: Annotated[str | None, _option("PAGE", "Start page: a URL or a number.")] = None,
    within: Annotated[str | None, _option("PREFIX", "Crawl only URLs with this prefix.")] = None,
    thresholds: Annotated[list[float] | None, _option("G", _ORDER_LINKS, "--threshold")] = None,
    ranks: Annotated[list[float] | None, _option("G", _ORDER_RANK, "--rank-threshold")] = None,
    topics: Annotated[_Names, _option("WORD", _ORDER_TOPIC, "--topic")] = None,
    jobs: _Jobs = None,
) -> None:
    """Crawl a known web breadth-first, by backlinks and by PageRank, and compare how soon each finds hot pages.

    Works offline. The web is everything reachable from the start page. By default that is the page with the
    most reachable pages, among those with the most in-links or out-links. A file of links has one link per
    line, two numbers; or a header, a line for each URL, then the links.

    A page is hot if it has at least G backlinks, or a PageRank of at least G (the mean is 1). P_ST is the
    share of hot pages that was crawled. DIR gets curves of P_ST, P_CS and limited buffers (P_BC), and the
    order of every crawl.
    """
    number = _processes(jobs)
    from scentline_lab.order.command import show
    from scentline_lab.order.reading import IB, IR

    hot = {IB: thresholds or (3, 10, 100), IR: ranks or (13,)}
    show(given.settings(), (path, start, within), out, topics or (), hot, number)


@command(
    "patterns",
    "scentline patterns access.log.gz",
    "scentline patterns access.log.gz --site example.org --archive pages.warc.gz --out patterns --json",
    takes=(),
)
def patterns(
    given: Given,
    log: Annotated[str, typer.Argument(metavar="LOG", help="Log, oldest line first.")],
    site: OneSite = None,
    archives: Annotated[_Paths, _PATTERNS_MIRROR] = None,
    threshold: Annotated[float | None, _option("X", _PATTERNS_MERGED, min=0.0, max=1.0)] = None,
    out: _OutDirectory = None,
    as_json: _AsJsonLine = False,
) -> None:
    """Find the URL patterns of a site and rank them by what people do there.

    The log's URLs form a tree, which is cut to the patterns that separate people's visits (Liu 2011). Then the
    log is split into six periods, and the patterns of the first are tested on the later ones. With --archive,
    orderings are compared by crawling the site; without it, those that need links are left out.
    """
    from scentline.models.papers.patterns import THRESHOLD
    from scentline_lab.patterns.command import Options, show

    least = THRESHOLD if threshold is None else threshold
    show(given.settings(), Options(log, site, tuple(archives or ()), least), out, as_json=as_json)


@command("revisits", "scentline revisits --pages 50 --seeds 1 --out revisits")
def revisits(
    pages: Annotated[int, _option("N", "Pages of each web.", min=10)] = 1000,
    seeds: Annotated[int, _option("N", "Number of webs.", min=1)] = 3,
    out: _OutDirectory = None,
    jobs: _Jobs = None,
) -> None:
    """Crawl simulated webs whose pages change, again and again, and compare how fresh each policy keeps them.

    Works offline, and is the same each time. Freshness is the share of requests for pages whose copy is
    right, after 20 visits a page, during 10 more. Policies: uniform; in proportion to the rates of change; the
    adaptive intervals of Nutch and StormCrawler; what a crawl learns, without and with signals of changes; and,
    for both, the optimum, which knows the rates.
    """
    number = _processes(jobs)
    from scentline_lab.revisits import show

    show(pages, seeds, number, out)


command_group("semantic", "Make tables of word meanings for the learned policy.")


@command("semantic build", "scentline semantic build --model potion-base-8M --out words.table")
def build(
    out: Annotated[Path, _option("FILE", "File to write or replace.")],
    model: Annotated[Path, _option("DIR", "Static model of Model2Vec.")],
) -> None:
    """Make a table of about 1 MB of a static model, for learn.semantic.

    One made of all-MiniLM-L6-v2 comes with the program. Another model's pieces have to be BERT's, in lower
    case. Reading it needs the package model2vec: pip install 'scentline-lab[semantic]'.
    """
    from scentline_lab.static_model import build as run

    table, size = run(model, out)
    typer.echo(f"{out}: {len(table.pieces):,} word pieces, {table.size} numbers each, {size:,} bytes")


@command("synthetic", "scentline synthetic --out web --sites 4 --pages 40 --dead 0.3 --days 50")
def synthetic(
    out: Annotated[Path, _option("DIR", "Directory for the files; replaces an earlier web.")],
    sites: Annotated[int, typer.Option(min=1, help="Sites.")] = 12,
    pages: Annotated[int, typer.Option(min=4, help="Articles of a site, about.")] = 200,
    topics: Annotated[int, typer.Option(min=1, max=12, help="Topics.")] = 12,
    users: Annotated[int, typer.Option(min=0, help="Users in the log.")] = 400,
    accesses: Annotated[int, typer.Option(min=0, help="Page views in the log.")] = 20_000,
    dead: Annotated[float, _DEAD] = 0.0,
    days: Annotated[int, typer.Option(min=0, help="Empty pages of each site's calendar.")] = 0,
    eras: Annotated[int, typer.Option(min=1, help="Parts of the sites: what a category names moves on.")] = 1,
    opaque: Annotated[bool, _SYNTHETIC_OPAQUE] = False,
    owners: Annotated[int | None, _option(None, _OWNERS, min=1)] = None,
    random_seed: Annotated[int, _option("N", "Seed of the web.")] = 1,
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
