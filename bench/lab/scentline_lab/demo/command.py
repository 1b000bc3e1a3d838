"""The demo's work: a synthetic web, its files, two crawls of it, their lift curves and comparison."""

import asyncio
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
from scentline_lab.output import OutputDirectory
from scentline_lab.picture import INK, canvas, frame
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_COLOURS = ("#0072b2", "#d55e00", "#009e73")  # told apart by the colour-blind too (Okabe and Ito)
_BASELINE = "#8a8a8a"
#: The first pages' rates jump between 0 and 1 and would hide the rest.
_SKIPPED = 20


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


def draw(
    path: Path,
    expressions: Mapping[str, str],
    baseline: Mapping[str, Curve],
    learned: Mapping[str, Curve],
    names: tuple[str, str],
) -> None:
    """Write a PNG with a panel for each predicate of ``expressions`` (name to expression).

    ``baseline`` and ``learned`` have a curve for each; ``names`` are what the two policies are called.
    """
    figure = canvas(4 * len(expressions) + 0.5, 4.4)
    panels = figure.subplots(1, len(expressions), sharex=True, sharey=True, squeeze=False)[0]
    for number, (name, expression) in enumerate(expressions.items()):
        panel, colour = panels[number], _COLOURS[number % len(_COLOURS)]
        panel.set_title(f"{name}\n", color=colour, fontsize=14, fontweight="bold", loc="left")
        panel.text(0, 1.03, expression, transform=panel.transAxes, fontsize=8.5, color=INK, family="monospace")
        _line(panel, learned[name], colour)
        _line(panel, baseline[name], _BASELINE)
        _note(panel, 0.985, f"{names[1]} {learned[name].rate:.0%}", colour)
        _note(panel, 0.915, f"{names[0]} {baseline[name].rate:.0%}", _BASELINE)
        frame(panel)
        panel.margins(x=0.02)
    panels[0].set_ylabel("harvest rate of all pages so far", color=INK)
    # Room above the highest line for the notes, which so can't lie on one.
    panels[0].set_ylim(0, 1.25 * panels[0].get_ylim()[1])
    figure.supxlabel("pages fetched", fontsize=10, color=INK)
    figure.savefig(path, format="png")


def _line(panel: "Axes", curve: Curve, colour: str) -> None:
    pages = range(1, len(curve.hits) + 1)
    skipped = min(_SKIPPED, len(curve.hits) // 10)
    panel.plot(pages[skipped:], curve.rates[skipped:], color=colour, linewidth=2.2)


def _note(panel: "Axes", height: float, text: str, colour: str) -> None:
    panel.text(
        1,
        height,
        text,
        transform=panel.transAxes,
        ha="right",
        va="top",
        color=colour,
        fontweight="bold",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )


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
    with synthetic_server(random_seed, SITES, PAGES_PER_SITE, TOPICS) as server:
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
