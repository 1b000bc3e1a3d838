"""The demo command: make a synthetic web, crawl it twice, compare the crawls."""

import asyncio
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from scentline.agents.crawl.command import seeds_of_log
from scentline.agents.crawl.run import run_crawl
from scentline.agents.crawl.view import reporter
from scentline.agents.observe.observer import Observer
from scentline.agents.observe.pseudonym import KEY_FILE, user_key
from scentline.agents.operate.inspect.record import judged_pages
from scentline.streams.configuration import load
from scentline.streams.published import Outcome
from scentline.streams.settings import Settings
from scentline.streams.transport.journal import Journal
from scentline_lab.experiment import OutputDirectory
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb


@dataclass(frozen=True)
class Curve:
    """One predicate in one crawl: ``hits[n]`` of the first n + 1 pages judged satisfy it."""

    hits: tuple[int, ...]

    @property
    def found(self) -> int:
        """Pages that satisfy the predicate."""
        return self.hits[-1] if self.hits else 0

    @property
    def rates(self) -> list[float]:
        """The harvest rate after each page.

        >>> Curve((0, 1, 2, 2)).rates
        [0.0, 0.5, 0.6666666666666666, 0.5]
        """
        return [hits / pages for pages, hits in enumerate(self.hits, start=1)]

    @property
    def rate(self) -> float:
        """The harvest rate of the whole crawl; 0 before its first page."""
        return self.found / len(self.hits) if self.hits else 0.0


def judged(data: Path) -> list[Outcome]:
    """Return the pages of the crawl in directory ``data``, each once, in the order of judging."""
    with Journal.open(data / "journal", read_only=True) as journal:
        return sorted(judged_pages(journal).values(), key=lambda outcome: outcome.time)


def curves(pages: Iterable[Outcome], predicates: Iterable[str]) -> dict[str, Curve]:
    """Return the curve of each of ``predicates`` over pages in the order of judging."""
    hits: dict[str, list[int]] = {name: [] for name in predicates}
    for page in pages:
        for name, counts in hits.items():
            counts.append((counts[-1] if counts else 0) + page.verdict[name])
    return {name: Curve(tuple(counts)) for name, counts in hits.items()}


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

#: The settings of the demo's crawls, with names in braces for what a demo fills in.
_CONFIG = Path(__file__).with_name("settings.toml")


class Output(OutputDirectory):
    """The output directory of ``scentline demo``."""

    command = "demo"
    files = ("access.log", "labels.tsv", "scentline.toml", "lift.png")

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        #: The synthetic web's access log, URL and category of each page, and the settings of both crawls.
        self.log, self.labels, self.config = (directory / name for name in self.files[:3])
        self.lift = directory / self.files[3]

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


def run_demo(output: Output, random_seed: int, budget: int, say: Callable[[str], None]) -> Comparison:
    """Run the demo. Raises `OccupiedError` where ``output`` holds files of others."""
    from scentline_lab.demo.picture import draw

    output.prepare()
    web = SyntheticWeb(random_seed, SITES, PAGES_PER_SITE, TOPICS)
    _write_files(output, web, random_seed)
    say(
        f"A synthetic web of {sum(web.facts().pages.values())} pages on {SITES} sites, and the log of {USERS} "
        f"people who visited some of them."
    )
    crawls = {}
    with synthetic_server(random_seed, SITES, PAGES_PER_SITE, TOPICS) as server:
        for number, policy in enumerate(POLICIES, start=1):
            say(f"\nCrawl {number} of {len(POLICIES)}: policy {policy}, {budget} pages.")
            crawls[policy] = _crawl(_settings(output, policy, budget, server.url), output)
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
    config = _CONFIG.read_text(encoding="utf-8").format(
        random_seed=random_seed, predicates=predicates, labels=labelled
    )
    output.config.write_text(config, encoding="utf-8")


def _settings(output: Output, policy: str, budget: int, proxy: str) -> Settings:
    # Not the environment: every demo of a seed has the same settings.
    data = output.data(policy)
    given = {"data": data, "frontier.policy": policy, "frontier.budget": budget, "fetch.proxy": proxy}
    return load(given, config_file=output.config, environ={}).settings


def _crawl(settings: Settings, output: Output) -> Crawled:
    settings.data.mkdir(mode=0o700)
    started = time.monotonic()
    seeds = seeds_of_log(str(output.log), settings)
    observer = Observer(settings.observe, user_key(settings.observe, settings.data / KEY_FILE))
    with reporter(sys.stderr) as report:
        _, interrupted = asyncio.run(run_crawl(settings, observer, seeds, [str(output.log)], report))
    if interrupted:
        raise KeyboardInterrupt
    pages = judged(settings.data)
    return Crawled(pages, curves(pages, PREDICATES), time.monotonic() - started)
