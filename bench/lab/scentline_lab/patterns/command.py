"""What the patterns command does: read, mine, hold against later accesses and a mirror, write."""

import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from scentline.agents.observe.logfile import LogFile
from scentline.agents.observe.site import HINT
from scentline.agents.offline.archive import Archive
from scentline.agents.progress import Progress, progress
from scentline.models.page import Page
from scentline.models.patterns.counts import Behaviour
from scentline.models.patterns.mine import Patterns, mine
from scentline.streams.configuration import ConfigurationError
from scentline.streams.logging import printable
from scentline.streams.settings import Settings
from scentline_lab.output import OutputDirectory
from scentline_lab.patterns.counts import BehaviourCounts
from scentline_lab.patterns.measures import (
    ALL,
    FIRST,
    Record,
    Reliability,
    Site,
    TreeFigures,
    read_layouts,
    records,
    reliability,
    split,
    tree_figures,
)
from scentline_lab.patterns.orderings import Result, crawled, static
from scentline_lab.patterns.pictures import draw_coverage, draw_curves, draw_tree
from scentline_lab.patterns.quality import Layout
from scentline_lab.patterns.tables import (
    write_coverage,
    write_curves,
    write_orderings,
    write_patterns,
    write_traffic,
    write_trees,
)
from scentline_lab.reading import load_web

#: Pages of a mirror whose layouts are compared, each with each.
LAYOUTS = 300


class Output(OutputDirectory):
    """The output directory of ``scentline patterns``.

    The tables are the patterns, what the trees came to, coverage over time, traffic, and the orderings.
    """

    command = "patterns"
    files = (
        "patterns.csv", "trees.csv", "coverage.csv", "traffic.csv", "orderings.csv", "curves.csv",
        "tree.svg", "coverage.png", "fetch.png", "discovery.png",
    )  # fmt: skip

    @property
    def tree(self) -> Path:
        """The drawing of the tree."""
        return self.directory / "tree.svg"


@dataclass(frozen=True)
class Options:
    """What the command is given beside its settings."""

    log: str
    site: str | None
    archives: tuple[Path, ...]
    threshold: float
    out: Path | None


@dataclass
class Found:
    """What was found so far; ``interrupted`` says that the rest is missing."""

    patterns: Patterns | None = None
    forgotten: int = 0
    trees: list[TreeFigures] = field(default_factory=list)
    reliability: Reliability | None = None
    orderings: list[Result] = field(default_factory=list)
    mirror: int = 0
    interrupted: bool = False


def run(settings: Settings, options: Options) -> Found:
    """Mine the patterns of a log and measure them; each file is written as soon as what it tells is known.

    Raises what is wrong with the options before anything is started, and what reading a file raises.
    """
    site = Site(options.site, settings.observe.base_url)
    _check(options)
    output = Output.prepared(options.out)
    found = Found()
    try:
        with progress(sys.stderr) as bars:
            _Work(settings, options, site, output, bars).into(found)
    except KeyboardInterrupt:
        found.interrupted = True
    return found


class _Work:
    """The steps of one run."""

    def __init__(
        self, settings: Settings, options: Options, site: Site, output: Output | None, bars: Progress
    ) -> None:
        self._settings = settings
        self._options = options
        self._site = site
        self._output = output
        self._bars = bars

    def into(self, found: Found) -> None:
        """Do all steps, each of which adds to ``found``."""
        whole, total = self._count()
        found.forgotten = whole.forgotten
        behaviour = whole.snapshot()
        found.patterns = mine(behaviour, threshold=self._options.threshold)
        if self._output is not None:
            write_patterns(self._output.table("patterns"), found.patterns)
            draw_tree(self._output.tree, found.patterns, self._title())
        pages = self._mirror()
        found.mirror = len(pages)
        layouts = self._layouts(pages)
        found.trees = tree_figures(ALL, found.patterns, behaviour, pages, layouts)
        self._measure(found, behaviour, pages, layouts, total)

    def _measure(
        self,
        found: Found,
        whole: Behaviour,
        pages: Mapping[str, Page],
        layouts: Mapping[str, Layout],
        total: int,
    ) -> None:
        periods, counts = split(self._records("read it again in parts"), total)
        first = counts.snapshot()
        early = mine(first, threshold=self._options.threshold)
        found.reliability = reliability(early, {url: n for url, n in first.visits.items() if n}, periods)
        found.trees += tree_figures(FIRST, early, first, pages, layouts)
        if self._output is not None:
            write_trees(self._output.table("trees"), found.trees)
            write_coverage(self._output.table("coverage"), found.reliability)
            write_traffic(self._output.table("traffic"), found.reliability)
            draw_coverage(self._output.picture("coverage"), found.reliability)
        visits = found.reliability.later_visits
        if pages:
            found.orderings = crawled(early, first, pages, visits, self._settings.random_seed, self._bars)
        else:
            found.orderings = static(early, first, {*whole.visits, *visits}, visits)
        if self._output is not None:
            self._write_orderings(self._output, found.orderings)

    def _write_orderings(self, output: Output, results: list[Result]) -> None:
        write_orderings(output.table("orderings"), results)
        write_curves(output.table("curves"), results)
        fetch = [result for result in results if result.aim == "fetch"]
        discovery = [result for result in results if result.aim == "discovery"]
        draw_curves(output.picture("fetch"), fetch, "Comprehensive fetch", "share of the visits fetched")
        if discovery:
            draw_curves(
                output.picture("discovery"), discovery, "Timely discovery", "share of the visits discovered"
            )

    def _count(self) -> tuple[BehaviourCounts, int]:
        counts, total = BehaviourCounts(), 0
        for record in self._records("read the log"):
            counts.add(record.user, record.url, record.referrer)
            total += 1
        if not total:
            raise ConfigurationError(
                f"log {self._options.log}: no page view of {self._options.site or 'any site'}; {HINT}"
            )
        return counts, total

    def _records(self, name: str) -> Iterator[Record]:
        return records(self._options.log, self._settings.observe, self._site, name, self._bars)

    def _mirror(self) -> dict[str, Page]:
        """Return the pages of the site that the archives have."""
        if not self._options.archives:
            return {}
        web = load_web(self._options.archives, {}, None, self._settings, 1, self._bars)
        pages = {url: page for url, page in web.pages.items() if self._site.holds(url)}
        if not pages:
            raise ConfigurationError(
                f"--archive: none of its {len(web.pages):,} pages is of {self._options.site or 'the log'}; "
                "expected a mirror of the site"
            )
        return pages

    def _layouts(self, pages: Collection[str]) -> dict[str, Layout]:
        """Return the layouts of some pages of the mirror, drawn by chance."""
        if not pages:
            return {}
        drawn = Random(self._settings.random_seed).sample(sorted(pages), min(LAYOUTS, len(pages)))
        with Archive(self._options.archives) as archive:
            return read_layouts((url, archive.answer(url, {}).body) for url in drawn)

    def _title(self) -> str:
        return f"URL patterns of {printable(self._options.site or Path(self._options.log).name)}"


def _check(options: Options) -> None:
    if options.log == "-":
        raise ConfigurationError("log -: standard input can't be read twice; expected a file")
    LogFile(options.log).close()
    for path in options.archives:
        if not path.is_file():
            raise ConfigurationError(f"--archive {path}: there is no such file")
