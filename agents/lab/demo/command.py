"""The demo's work: a synthetic web, its files, two crawls of it and their comparison."""

import asyncio
import json
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agents.crawl.run import run_crawl
from agents.crawl.seeds import seeds_of_log
from agents.crawl.view import reporter
from agents.lab.demo.lift import Curve, curves, draw, judged
from agents.lab.output import OutputDirectory
from agents.observe.observer import Observer
from agents.observe.pseudonym import KEY_FILE, user_key
from agents.offline.process import ServerProcess
from agents.offline.synthetic.web import SyntheticWeb
from streams.configuration import load
from streams.records import Outcome
from streams.settings import Settings
from streams.transport.journal import Journal

BASELINE, LEARNED = "breadth-first", "learned"
POLICIES = (BASELINE, LEARNED)
PREDICATES = {
    "sports": 'category("Sports")',
    "hockey": 'category("Sports") and "hockey"',
    "music": 'category("Music")',
}
#: The size of the web, and of its log: one that names some of its pages, far from all.
SITES, PAGES_PER_SITE, TOPICS = 40, 250, 12
USERS, ACCESSES = 20, 1_500

_CONFIG = """\
# The settings of the demo's crawls. What is not here has its default: scentline config show.
random_seed = {random_seed}

[predicates]
{predicates}

[judge]
labels = {labels}

[observe]
user_key = "demo"  # the users of a synthetic web need no secret

[fetch]
delay_seconds = 0.0  # the web is on this machine; robots.txt is obeyed all the same

[frontier]
explore = 0.05  # of the pages, by chance: what the lift is measured against

[log]
level = "warning"
"""


class Output(OutputDirectory):
    """The output directory of ``scentline demo``."""

    command = "demo"
    files = ("access.log", "labels.tsv", "scentline.toml", "lift.png")
    others = "files that no demo made"
    earlier = "an earlier demo's"

    @property
    def log(self) -> Path:
        """The synthetic web's access log."""
        return self.directory / "access.log"

    @property
    def labels(self) -> Path:
        """URL and category of each page."""
        return self.directory / "labels.tsv"

    @property
    def config(self) -> Path:
        """The settings of both crawls."""
        return self.directory / "scentline.toml"

    @property
    def lift(self) -> Path:
        """The lift curves."""
        return self.picture("lift")

    def data(self, policy: str) -> Path:
        """Return the data directory of a policy's crawl."""
        return self.directory / policy

    def _clear(self) -> None:
        """Remove the data of both crawls too; raises `JournalInUseError` while a crawl runs on them."""
        made = [self.data(policy) for policy in POLICIES]
        for journal in (data / "journal" for data in made):
            if journal.is_dir():
                Journal.open(journal).close()
        super()._clear()
        for data in made:
            if data.is_dir() and not data.is_symlink():
                shutil.rmtree(data)
            else:
                data.unlink(missing_ok=True)


@dataclass(frozen=True)
class Crawled:
    """One policy's crawl: its pages in the order of judging, each predicate's curve, and its seconds."""

    pages: list[Outcome]
    curves: dict[str, Curve]
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """Both crawls of the demo, by policy."""

    crawls: dict[str, Crawled]

    def ratio(self, predicate: str) -> float | None:
        """Return how often the learned rate is the baseline's; None where the baseline found nothing."""
        baseline = self.crawls[BASELINE].curves[predicate].rate
        return self.crawls[LEARNED].curves[predicate].rate / baseline if baseline else None

    def found(self) -> str:
        """Return the URL of a page that the learned policy chose and that was worth it, for a closer look."""
        pages = self.crawls[LEARNED].pages
        chosen = [page.url for page in pages if not page.explored and page.verdict[page.predicate]]
        return (chosen or [page.url for page in pages])[-1]


def run_demo(output: Output, random_seed: int, budget: int, say: Callable[[str], None]) -> Comparison | None:
    """Run the demo; None when it was interrupted.

    Raises `OccupiedError` where ``output`` holds another's files.
    """
    output.prepare()
    web = SyntheticWeb(random_seed, SITES, PAGES_PER_SITE, TOPICS)
    _write_files(output, web, random_seed)
    say(
        f"A synthetic web of {sum(web.facts().pages.values())} pages on {SITES} sites, and the log of {USERS} "
        f"people who visited some of them."
    )
    crawls = {}
    with ServerProcess.synthetic(random_seed, SITES, PAGES_PER_SITE, TOPICS) as server:
        for number, policy in enumerate(POLICIES, start=1):
            say(f"\nCrawl {number} of {len(POLICIES)}: policy {policy}, {budget} pages.")
            settings = _settings(output, policy, budget, server.url)
            crawled = _crawl(settings, output)
            if crawled is None:
                return None
            crawls[policy] = crawled
    draw(output.lift, PREDICATES, crawls[BASELINE].curves, crawls[LEARNED].curves, POLICIES)
    return Comparison(crawls)


def _write_files(output: Output, web: SyntheticWeb, random_seed: int) -> None:
    with output.log.open("w", encoding="utf-8") as log:
        log.writelines(f"{line}\n" for line in web.access_log(USERS, ACCESSES))
    with output.labels.open("w", encoding="utf-8") as labels:
        labels.writelines(f"{url}\t{category}\n" for url, category in web.labels())
    # A JSON string is a TOML string.
    predicates = "\n".join(
        f"{name} = {json.dumps(text, ensure_ascii=False)}" for name, text in PREDICATES.items()
    )
    labelled = json.dumps(str(output.labels), ensure_ascii=False)
    config = _CONFIG.format(random_seed=random_seed, predicates=predicates, labels=labelled)
    output.config.write_text(config, encoding="utf-8")


def _settings(output: Output, policy: str, budget: int, proxy: str) -> Settings:
    # Not the environment: every demo of a seed has the same settings.
    given = {
        "data": output.data(policy),
        "frontier.policy": policy,
        "frontier.budget": budget,
        "fetch.proxy": proxy,
    }
    return load(given, config_file=output.config, environ={}).settings


def _crawl(settings: Settings, output: Output) -> Crawled | None:
    settings.data.mkdir(mode=0o700)
    started = time.monotonic()
    seeds = seeds_of_log(str(output.log), settings)
    observer = Observer(settings.observe, user_key(settings.observe, settings.data / KEY_FILE))
    with reporter(sys.stderr) as report:
        _, interrupted = asyncio.run(run_crawl(settings, observer, seeds, [str(output.log)], report))
    if interrupted:
        return None
    pages = judged(settings.data)
    return Crawled(pages, curves(pages, PREDICATES), time.monotonic() - started)
