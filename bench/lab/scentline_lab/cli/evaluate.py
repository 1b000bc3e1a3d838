"""``scentline evaluate``: compare policies on an archive, offline."""

from pathlib import Path
from typing import Annotated, Any

import typer

from scentline.agents.cli.app import CommandError
from scentline.agents.cli.options import (
    Given,
    Labels,
    LogSite,
    PredicateTexts,
    RandomSeed,
    command,
    given_predicates,
    of_site,
)
from scentline_lab.cli import AsJsonLine, Jobs, option, processes

_OUT = option("--out", "DIR", "Directory for the files; replaces an earlier evaluation.")
_WEBS = option("--webs", "TOML", "Several webs, each with its predicates, from a file.")
_CHOSEN = option("--web", "NAME", "Of that file only this; repeatable.")
_LOGS = option("--log", "FILE", "Log of visits, known from the start; repeatable.")
_BUDGET = option("--budget", "N", "Pages to fetch in each crawl; 1000 by default.", min=1)
_LASTS = "Let time pass: each crawl goes on for so long, in place of a budget."
_CLOCK = option("--clock", "SECONDS", _LASTS, min=1)
_STARTS = option("--starts", "K", "Sets of seed pages; 5 by default.", min=1)
_SEEDS = option("--seeds", "N", "Seed pages in a set; 10 by default.", min=1)
_SEED_FILE = option("--seed-file", "FILE", "URLs to draw seeds from instead of all pages.")
_REUSE = (
    "Also crawl with the state of an earlier crawl. Give its log first, then the later one's, or one log, "
    "which is split at the middle of its time."
)


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
    out: Annotated[Path, _OUT],
    archives: Annotated[list[Path] | None, option("--archive", "WARC", "Web to crawl; repeatable.")] = None,
    webs: Annotated[Path | None, _WEBS] = None,
    chosen: Annotated[list[str] | None, _CHOSEN] = None,
    logs: Annotated[list[str] | None, _LOGS] = None,
    site: LogSite = None,
    labels: Labels = None,
    predicates: PredicateTexts = None,
    policies: Annotated[list[str] | None, option("--policy", "A,B,...", "Policies; by default all.")] = None,
    budget: Annotated[int | None, _BUDGET] = None,
    clock: Annotated[float | None, _CLOCK] = None,
    starts: Annotated[int | None, _STARTS] = None,
    seeds: Annotated[int | None, _SEEDS] = None,
    seed_file: Annotated[Path | None, _SEED_FILE] = None,
    random_seed: RandomSeed = None,
    reuse: Annotated[bool, typer.Option("--reuse", help=_REUSE)] = False,
    jobs: Jobs = None,
    as_json: AsJsonLine = False,
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
    number = processes(jobs)
    from scentline_lab.evaluate.command import read_webs, show, show_webs
    from scentline_lab.evaluate.run import Options

    told: dict[str, Any] = {
        "policies": tuple(name.strip() for name in ",".join(policies or ()).split(",") if name.strip()) or None,
        "budget": budget, "clock": clock, "starts": starts, "seeds": seeds, "seed_file": seed_file,
        "processes": number,
    }  # fmt: skip
    told = {key: value for key, value in told.items() if value is not None}
    if webs is not None:
        if archives or logs or site or labels or predicates or reuse:
            raise CommandError("--webs: archives, logs, labels and predicates are in the file, not beside it")

        def settings_of(own: dict[str, Any]) -> Any:
            return given.settings(**own, random_seed=random_seed)

        show_webs(read_webs(webs, chosen or ()), settings_of, told, out, as_json=as_json)
        return
    if not archives:
        raise CommandError("an evaluation needs a web: give --archive WARC, or several by --webs TOML")
    own = {"random_seed": random_seed, "judge.labels": labels and str(labels)}
    options = Options(archives=tuple(archives), logs=tuple(logs or ()), reuse=reuse, **told)
    settings = of_site(given.settings(**own, **given_predicates(predicates or ())), site, options.logs)
    show(settings, options, out, as_json=as_json)
