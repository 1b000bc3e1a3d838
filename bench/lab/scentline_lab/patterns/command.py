"""The patterns command: read, mine, compare with later accesses and a mirror, write."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from scentline.agents.observe.logfile import LogFile
from scentline.agents.observe.site import HINT
from scentline.agents.offline.archive import Archive
from scentline.agents.progress import Progress
from scentline.models.page import Page
from scentline.models.patterns.mine import Patterns, mine
from scentline.models.patterns.ranking import DISCOVERY, FETCH, Pattern, score
from scentline.streams.configuration import ConfigurationError
from scentline.streams.logging import printable
from scentline.streams.settings import Settings
from scentline_lab.experiment import OutputDirectory, check_files, write_table
from scentline_lab.patterns.measures import (
    ALL,
    FIRST,
    BehaviourCounts,
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
from scentline_lab.patterns.pictures import draw_coverage, draw_curves, draw_tree
from scentline_lab.patterns.quality import Layout, Result, crawled, static
from scentline_lab.reading import load_web

#: Pages of a mirror whose layouts are compared, each with each.
LAYOUTS = 300
#: Shares of the pages at which the table of orderings has the visits: the throughputs of the paper's figures.
THROUGHPUTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
_POINTS = 200


class Output(OutputDirectory):
    """The output directory of ``scentline patterns``."""

    command = "patterns"
    files = (
        "patterns.csv", "trees.csv", "coverage.csv", "traffic.csv", "orderings.csv", "curves.csv",
        "tree.svg", "coverage.png", "fetch.png", "discovery.png",
    )  # fmt: skip

    def write(self, name: str, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
        """Write a table."""
        write_table(self.table(name), columns, rows, form=".6g")


@dataclass(frozen=True)
class Options:
    """The options of the command beside its settings."""

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


def run(settings: Settings, options: Options, bars: Progress) -> Found:
    """Mine the patterns of a log and measure them; each file is written as soon as its figures are known.

    Raises what is wrong with the options before anything is started, and what reading a file raises.
    """
    site = Site(options.site, settings.observe.base_url)
    if options.log == "-":
        raise ConfigurationError("log -: standard input can't be read twice; expected a file")
    LogFile(options.log).close()
    check_files("--archive ", options.archives)
    output = Output.prepared(options.out)
    found = Found()
    try:
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
        output, threshold = self._output, self._options.threshold
        counts, total = BehaviourCounts(), 0
        for total, record in enumerate(self._records("read the log"), start=1):  # noqa: B007
            counts.add(record.user, record.url, record.referrer)
        if not total:
            raise ConfigurationError(
                f"log {self._options.log}: no page view of {self._options.site or 'any site'}; {HINT}"
            )
        found.forgotten = counts.forgotten
        whole = counts.snapshot()
        found.patterns = mine(whole, threshold=threshold)
        if output is not None:
            _write_patterns(output, found.patterns)
            name = printable(self._options.site or Path(self._options.log).name)
            draw_tree(output.directory / "tree.svg", found.patterns, f"URL patterns of {name}")
        pages = self._mirror()
        found.mirror = len(pages)
        layouts = self._layouts(pages)
        found.trees = tree_figures(ALL, found.patterns, whole, pages, layouts)
        periods, counts = split(self._records("read it again in parts"), total)
        first = counts.snapshot()
        early = mine(first, threshold=threshold)
        found.reliability = reliability(early, {url: n for url, n in first.visits.items() if n}, periods)
        found.trees += tree_figures(FIRST, early, first, pages, layouts)
        if output is not None:
            _write_reliability(output, found.trees, found.reliability)
            draw_coverage(output.picture("coverage"), found.reliability)
        visits = found.reliability.later_visits
        if pages:
            found.orderings = crawled(early, first, pages, visits, self._settings.random_seed, self._bars)
        else:
            found.orderings = static(early, first, {*whole.visits, *visits}, visits)
        if output is not None:
            _write_orderings(output, found.orderings)

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


def by_fetch(patterns: Patterns) -> list[Pattern]:
    """Return a site's patterns in the order of a comprehensive fetch by the behaviour graph."""
    ranking = FETCH["behaviour-fetch"]
    return sorted(patterns.chosen, key=lambda each: (-score(ranking, each), -each.visits, each.name))


def _write_patterns(output: Output, patterns: Patterns) -> None:
    """Write each pattern with its figures and its place in each ranking, 1 the first."""
    chosen = by_fetch(patterns)
    places: list[dict[str, int]] = []
    for ranking in ({**FETCH, **DISCOVERY}).values():
        ranked = sorted(chosen, key=lambda each: -score(ranking, each))
        places.append({pattern.name: place for place, pattern in enumerate(ranked, start=1)})
    rows = (
        (
            each.name,
            each.urls,
            each.visits,
            each.referrals,
            each.authority,
            each.hub,
            *(p[each.name] for p in places),
        )
        for each in chosen
    )
    columns = ("pattern", "urls", "visits", "referrals", "authority", "hub", *FETCH, *DISCOVERY)
    output.write("patterns", columns, rows)


def _write_reliability(output: Output, trees: Iterable[TreeFigures], found: Reliability) -> None:
    """Write the trees' figures, the coverage of each later period by URLs and patterns, and all visits."""
    columns = ("mined", "tree", "patterns", "height", "traffic_approximation", "mirror_coverage",
               "layout_similarity", "of_different_patterns")  # fmt: skip
    output.write("trees", columns, (vars(each).values() for each in trees))
    coverage = (
        (number, found.periods[number - 1].span, name, float(each.urls), float(each.visits))
        for number, coverages in enumerate(found.coverages, start=2)
        for name, each in coverages.items()
    )
    output.write("coverage", ("period", "days", "by", "urls", "visits"), coverage)
    traffic = (
        (number, period.span, len(period.visits), sum(period.visits.values()))
        for number, period in enumerate(found.periods, start=1)
    )
    output.write("traffic", ("period", "days", "urls", "visits"), traffic)


def _write_orderings(output: Output, results: Sequence[Result]) -> None:
    """Write the share of the pages at 80 % of the visits, the visits at each throughput, and the curves."""

    def at(each: Result, part: float) -> float:
        return float(each.curve[round(part * (len(each.curve) - 1))])

    columns = ("aim", "ordering", "pages_for_80_percent", *(f"visits_at_{part:g}" for part in THROUGHPUTS))
    rows = (
        (each.aim, each.ordering, each.pages, *(at(each, part) for part in THROUGHPUTS)) for each in results
    )
    output.write("orderings", columns, rows)

    def points(each: Result) -> Iterator[Sequence[object]]:
        pages = len(each.curve) - 1
        for place in sorted({round(pages * point / _POINTS) for point in range(_POINTS + 1)}):
            yield each.aim, each.ordering, place / max(pages, 1), float(each.curve[place])

    output.write(
        "curves", ("aim", "ordering", "pages", "visits"), (row for each in results for row in points(each))
    )
    for aim, title in (("fetch", "Comprehensive fetch"), ("discovery", "Timely discovery")):
        found = [result for result in results if result.aim == aim]
        if found:
            done = "fetched" if aim == "fetch" else "discovered"
            draw_curves(output.picture(aim), found, title, f"share of the visits {done}")
