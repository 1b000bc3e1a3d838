"""The demo command: make a synthetic web, crawl it twice, compare the crawls."""

import asyncio
import json
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import typer

from scentline.agents.cli.output import print_json, print_table
from scentline.agents.observe.observer import Observer
from scentline.agents.observe.pseudonym import KEY_FILE, user_key
from scentline.agents.operate.record import judged_pages
from scentline.agents.worker.command import seeds_of_log
from scentline.agents.worker.crawl import run_crawl
from scentline.agents.worker.status import reporter
from scentline.models.published import Outcome
from scentline.streams.logging import configure
from scentline.streams.settings import LogSettings, load
from scentline.streams.transport.journal import Journal
from scentline_lab.experiment import Cut, Output, cell
from scentline_lab.synthetic.web import SyntheticWeb, synthetic_server

BASELINE, LEARNED = "breadth-first", "learned"
POLICIES = (BASELINE, LEARNED)
PREDICATES = {
    "sports": 'category("Sports")',
    "hockey": 'category("Sports") and "hockey"',
    "music": 'category("Music")',
}
#: The log names some of the web's pages, far from all.
SITES, PAGES_PER_SITE, TOPICS = 40, 250, 12
USERS, ACCESSES = 20, 1_500


class Crawled(NamedTuple):
    """One policy's crawl: its pages in the order of judging, and its seconds."""

    pages: Sequence[Outcome]
    seconds: float = 0.0

    def hits(self, predicate: str) -> int:
        return sum(page.verdict[predicate] for page in self.pages)

    def rate(self, predicate: str) -> float:
        return self.hits(predicate) / len(self.pages) if self.pages else 0.0

    def told(self, predicate: str) -> str:
        return f"{self.rate(predicate):.1%} ({self.hits(predicate)} of {len(self.pages)})"

    def figures(self) -> dict[str, Any]:
        rates = {
            name: {"hits": self.hits(name), "harvest_rate": round(self.rate(name), 4)} for name in PREDICATES
        }
        return {"fetched": len(self.pages), "seconds": round(self.seconds, 1), "predicates": rates}

    def rates(self, predicate: str) -> list[float]:
        """Return the harvest rate after each page."""
        hits = accumulate(page.verdict[predicate] for page in self.pages)
        return [found / pages for pages, found in enumerate(hits, start=1)]


def judged(data: Path) -> list[Outcome]:
    """Return the pages of a crawl, each once, in the order of judging."""
    with Journal.open(data / "journal", read_only=True) as journal:
        return sorted(judged_pages(journal).values(), key=lambda outcome: outcome.time)


class DemoOutput(Output):
    """The directory of the web's log and labels, and of both crawls' settings and data."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "demo", ("access.log", "labels.tsv", "scentline.toml", "lift.png"))
        self.log, self.labels, self.config, self.lift = map(self.path, self.files)

    def _clear(self, directory: Path) -> None:
        """Remove the data of both crawls too; raises `JournalInUseError` while a crawl runs on them."""
        made = [directory / policy for policy in POLICIES]
        for data in made:
            if (data / "journal").is_dir():
                Journal.open(data / "journal").close()
        super()._clear(directory)
        for data in made:
            if data.is_dir() and not data.is_symlink():
                shutil.rmtree(data)
            else:
                data.unlink(missing_ok=True)


def run(out: Path, random_seed: int, budget: int, *, as_json: bool) -> None:
    """Run the demo, and print what came of it. Raises `OccupiedError`."""
    configure(LogSettings(level="warning"))
    started, output = time.monotonic(), DemoOutput(out)
    with Cut() as cut:
        crawls = _crawls(output, random_seed, budget)
    cut.end("Interrupted. The next demo with the same --out starts over.")
    typer.echo("\nHarvest rate: the share of fetched pages that satisfy a predicate.")
    baseline, learned = crawls.values()
    ratios = {
        name: learned.rate(name) / baseline.rate(name) if baseline.hits(name) else None for name in PREDICATES
    }
    rows = (
        (name, text, baseline.told(name), learned.told(name), cell(ratios[name], ".1f"))
        for name, text in PREDICATES.items()
    )
    print_table(("predicate", "looks for", *POLICIES, "ratio"), rows)
    files = {
        output.lift: "harvest rate against pages fetched",
        output.log: "the log that both crawls read",
        output.labels: "the category of each page",
        output.config: "the settings of both crawls",
        output.path(BASELINE): "data directory of the first crawl",
        output.path(LEARNED): "data directory of the second crawl",
    }
    width = max(len(str(path)) for path in files)
    typer.echo("\nFiles:")
    for path, what in files.items():
        typer.echo(f"  {path!s:{width}}  {what}")
    _print_next(learned, shlex.quote(str(output.path(LEARNED))))
    if as_json:
        print_json({
            "seconds": round(time.monotonic() - started, 1),
            "crawls": {policy: crawled.figures() for policy, crawled in crawls.items()},
            "ratios": {name: None if ratio is None else round(ratio, 2) for name, ratio in ratios.items()},
            "files": list(map(str, files)),
        })  # fmt: skip


def _crawls(output: DemoOutput, random_seed: int, budget: int) -> Mapping[str, Crawled]:
    from scentline_lab.pictures import draw_demo

    output.prepare()
    size = random_seed, SITES, PAGES_PER_SITE, TOPICS
    web = SyntheticWeb(*size)
    labels = map("\t".join, web.labels())
    for path, rows in ((output.log, web.access_log(USERS, ACCESSES)), (output.labels, labels)):
        path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    # A JSON string is a TOML string.
    predicates = "\n".join(f"{name} = {json.dumps(text)}" for name, text in PREDICATES.items())
    config = Path(__file__).with_name("demo.toml").read_text(encoding="utf-8")
    given = {"random_seed": random_seed, "predicates": predicates}
    labelled = json.dumps(str(output.labels), ensure_ascii=False)
    output.config.write_text(config.format(**given, labels=labelled), encoding="utf-8")
    pages = sum(page.kind != "private" and page.topic is not None for page in web.plan.pages)
    people = f"{USERS} people who visited some of them"
    typer.echo(f"A synthetic web of {pages} pages on {SITES} sites, and the log of {people}.")
    crawls = {}
    with synthetic_server(*size) as server:
        for number, policy in enumerate(POLICIES, start=1):
            typer.echo(f"\nCrawl {number} of {len(POLICIES)}: policy {policy}, {budget} pages.")
            crawls[policy] = _crawl(output, policy, budget, server.url)
    draw_demo(output.lift, PREDICATES, crawls)
    return crawls


def _crawl(output: DemoOutput, policy: str, budget: int, proxy: str) -> Crawled:
    # Not the environment: every demo of a seed has the same settings.
    data = output.path(policy)
    given = {"data": data, "frontier.policy": policy, "frontier.budget": budget, "fetch.proxy": proxy}
    settings = load(given, config_file=output.config, environ={}).settings
    data.mkdir(mode=0o700)
    started = time.monotonic()
    seeds = seeds_of_log(str(output.log), settings)
    observer = Observer(settings.observe, user_key(settings.observe, data / KEY_FILE))
    with reporter(sys.stderr) as report:
        _, interrupted = asyncio.run(run_crawl(settings, observer, seeds, [str(output.log)], report))
    if interrupted:
        raise KeyboardInterrupt
    return Crawled(judged(data), time.monotonic() - started)


def _print_next(learned: Crawled, data: str) -> None:
    """Print commands to try; ``data`` is the learned crawl's directory, quoted for a shell."""
    typer.echo("\nTry next:")
    program, called = Path(sys.argv[0]), "scentline"
    if program.name == called and not shutil.which(called):  # by its path, where a shell does not find it
        called = str(program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program)
    # A page that the policy chose and that was worth it.
    chosen = [page for page in learned.pages if not page.explored and page.verdict[page.predicate]]
    found = (chosen or learned.pages)[-1].url
    own = '--seed https://YOUR.SITE/ --predicate \'mine="a phrase" or title("word*")\''
    for what, command in (
        ("the pages found", f"matches sports --data {data}"),
        ("the crawl in a browser", f"window --data {data}"),
        ("why a page was fetched", f"explain {found} --data {data}"),
        ("recount every statistic", f"audit --data {data}"),
        ("crawl a site of your own", f"crawl {own} --budget 200 --set fetch.allow=YOUR.SITE"),
    ):
        typer.echo(f"  # {what}\n  {called} {command}")
