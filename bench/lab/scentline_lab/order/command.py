"""The order command: read the web, crawl it in every order, write tables and pictures."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np

from scentline.agents.progress import Progress
from scentline.models.ordering.estimate import Estimate
from scentline.models.ordering.rank import Rank
from scentline.models.ordering.similarity import Location
from scentline.models.words import words
from scentline.streams.configuration import ConfigurationError
from scentline.streams.settings import Settings
from scentline_lab.experiment import OutputDirectory, check_files, spread, working, write_table
from scentline_lab.order.crawl import (
    AnchorSimilarity,
    Backlinks,
    ForwardLinks,
    Frontier,
    Heat,
    Mentions,
    NearHot,
    Weighted,
    crawl,
    limited_buffers,
)
from scentline_lab.order.graph import Ints
from scentline_lab.order.pictures import draw_results, draw_topic
from scentline_lab.order.reading import IB, IF, IR, Chosen, Web, read_web
from scentline_lab.order.results import (
    BACKLINK_WEIGHT,
    BASIC,
    MODIFIED,
    TOLD,
    By,
    Curve,
    Job,
    Kept,
    Panel,
    Results,
    TopicResults,
    points,
    topic_jobs,
)

#: Shares of the web that a buffer has room for.
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)


class Output(OutputDirectory):
    """The output directory of ``scentline order``."""

    command = "order"
    files = (
        "order.*.csv", "figures.csv", "threshold.csv", "stop.csv", "buffer.csv", "walk.csv", "histogram.csv",
        "topics.csv", "thresholds.png", "threshold-*.png", "stop.png", "buffer.png", "histogram.png",
        "topic-*.png",
    )  # fmt: skip


@dataclass(frozen=True)
class Options:
    """The options of a comparison; ``processes`` changes the time it takes and nothing else."""

    path: Path
    chosen: Chosen = field(default_factory=Chosen)
    topics: tuple[str, ...] = ()
    thresholds: tuple[float, ...] = (3, 10, 100)
    ranks: tuple[float, ...] = (13,)
    processes: int = 1


def run(settings: Settings, options: Options, out: Path | None) -> Results:
    """Compare orderings, and write everything into ``out`` where there is one.

    Raises what is wrong with the options before anything is started.
    """
    topics = tuple(dict.fromkeys(map(_word, options.topics)))
    check_files("", [options.path])
    output = Output.prepared(out)
    left = f": {out} has the orders of the crawls that finished" if out else ""
    with working(lambda: left) as bars:
        return _compare(settings, options, topics, output, bars)


def _word(topic: str) -> str:
    found = words(topic)
    if len(found) != 1:
        raise ConfigurationError(f"--topic {topic!r}: expected one word")
    return found[0]


def _compare(
    settings: Settings, options: Options, topics: Sequence[str], output: Output | None, bars: Progress
) -> Results:
    web = read_web(options.path, options.chosen, settings, options.processes, bars)
    if topics and not web.texts:
        raise ConfigurationError(f"--topic: {options.path} has only links, expected an archive of pages")
    jobs = [Job(By.BREADTH_FIRST), Job(By.BACKLINK), Job(By.PAGERANK)]
    if web.has_urls:
        jobs.append(Job(By.LOCATION))
    jobs += [job for topic in topics for job in topic_jobs(topic)]
    crawls = Crawls(web)
    orders: dict[Job, Ints] = {}
    for job, order in crawls.run(jobs, options.processes, bars):
        orders[job] = order
        if output is not None:
            rows = ((number, web.name(page)) for number, page in enumerate(order.tolist(), 1))
            write_table(output.table(f"order.{order_name(job)}"), ("n", "page"), rows)
    plain = {job.ordering: orders[job] for job in jobs if not job.topic}
    thresholds = {IB: options.thresholds, IR: options.ranks}
    results = Results(web, plain, thresholds, crawls.buffers(options.processes, bars))
    if output is not None:
        bars.phase("write tables and pictures", 2 + len(topics))
        for name, (columns, lines) in _tables(results).items():
            write_table(output.table(name), columns, lines, form=".6g")
        bars.advance()
        draw_results(output, results)
        bars.advance()
        _write_topics(output, results, topics, orders, bars)
    return results


class Crawls:
    """Makes the crawls; with all it holds it is inherited by worker processes."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._orders: dict[Job, Ints] = {}

    def run(self, jobs: Sequence[Job], processes: int, progress: Progress) -> Iterator[tuple[Job, Ints]]:
        """Yield the order of each crawl as it is done."""
        progress.phase("crawl", len(jobs))
        for job, order in spread(self._crawl, jobs, processes):
            self._orders[job] = order
            progress.advance()
            yield job, order

    def buffers(self, processes: int, progress: Progress) -> list[Kept]:
        """Return what limited buffers hold after each of the crawls without a topic."""
        jobs = [(job, importance) for job in self._orders if not job.topic for importance in EVICTED_BY]
        progress.phase("fill limited buffers", len(jobs))
        found: list[Kept] = []
        for kept in spread(self._keep, jobs, processes):
            found += kept
            progress.advance()
        # In an order that does not depend on what was done first.
        return sorted(found, key=lambda kept: (kept.importance, kept.ordering, kept.size))

    def _crawl(self, job: Job) -> tuple[Job, Ints]:
        order = crawl(self._web.start, self._web.fetch, Frontier(self._estimate(job)), self._heat(job))
        return job, np.fromiter(order, np.int64)

    def _keep(self, job: tuple[Job, str]) -> list[Kept]:
        crawled, importance = job
        sizes = sorted({max(1, round(share * len(self._web))) for share in SHARES})
        pages = map(self._web.fetch, self._orders[crawled].tolist())
        buffers = limited_buffers(pages, sizes, EVICTED_BY[importance]())
        return [
            Kept(crawled.ordering, importance, size, np.array(pages, np.int64))
            for size, pages in zip(sizes, buffers, strict=True)
        ]

    def _estimate(self, job: Job) -> Estimate[int] | None:
        anchors = AnchorSimilarity[int]([job.topic])
        estimates: dict[str, Estimate[int]] = {
            By.BACKLINK: Backlinks[int](),
            By.PAGERANK: swept_rank(),
            By.LOCATION: Location[int](self._web.name),
            By.ANCHOR: anchors,
            By.COMBINED: Weighted[int]([(1.0, anchors), (BACKLINK_WEIGHT, Backlinks[int]())]),
        }
        return estimates.get(job.ordering)

    def _heat(self, job: Job) -> Heat[int] | None:
        if job.crawler == BASIC:
            return Mentions[int](job.topic, self._web.name)
        return NearHot[int](job.topic, self._web.name) if job.crawler == MODIFIED else None


def swept_rank() -> Rank[int]:
    """Return the rank with the schedule of its sweeps: often at first, then at each growth by a fiftieth."""
    return Rank[int](every=10, growth=0.02, tolerance=1e-4)


#: The estimate that decides which page a buffer evicts, for each importance.
EVICTED_BY: Mapping[str, Callable[[], Estimate[int]]] = MappingProxyType({
    IB: Backlinks[int], IR: swept_rank, IF: ForwardLinks[int],
})  # fmt: skip


def order_name(job: Job) -> str:
    """Return the name of a crawl in its file's name.

    >>> order_name(Job("backlink")), order_name(Job("pagerank", "basic", "computer"))
    ('backlink', 'computer.basic.pagerank')
    """
    return ".".join(part for part in (job.topic, job.crawler if job.topic else "", job.ordering) if part)


def _tables(results: Results) -> Mapping[str, tuple[Sequence[str], Iterable[Iterable[object]]]]:
    """Return the columns and rows of each table of the crawls without a topic."""
    web = results.web
    counts = np.bincount(web.graph.backlinks)
    hot = ("importance", "threshold", "hot")
    return {
        "figures": (
            (*hot, "ordering", *(f"p_st_{share}" for share in TOLD), "area"),
            ((*each.hot, each.ordering, *each.at, each.area) for each in results.figures()),
        ),
        "threshold": (
            (*hot, "ordering", "pages", "share", "p_st"),
            ((*hot, *row) for hot in results.hot for row in _curves(web, results.with_threshold(hot))),
        ),
        "stop": (
            ("importance", "ordering", "pages", "share", "p_cs"),
            ((name, *row) for name in web.importance for row in _curves(web, results.stop(name))),
        ),
        "buffer": (("importance", "threshold", "ordering", "buffer", "p_bc"), results.buffers()),
        "walk": (
            ("ordering", "share", "depth", "wait"),
            ((ordering, share, *walk) for ordering, share, walk in results.walks()),
        ),
        "histogram": (
            ("backlinks", "pages"), ((links, int(counts[links])) for links in np.flatnonzero(counts).tolist()),
        ),
    }  # fmt: skip


def _write_topics(
    output: Output, results: Results, topics: Sequence[str], orders: Mapping[Job, Ints], bars: Progress
) -> None:
    web = results.web
    panels: dict[str, list[Panel]] = {t: list(TopicResults(web, t, orders).panels()) for t in topics}
    if topics:
        rows = (
            (topic, panel.name, panel.hot, panel.measure, *row)
            for topic, found in panels.items()
            for panel in found
            for row in _curves(web, panel.curves)
        )
        columns = ("topic", "graph", "hot", "measure", "ordering", "pages", "share", "performance")
        write_table(output.table("topics"), columns, rows, form=".6g")
    for topic, found in panels.items():
        draw_topic(output, topic, results.shares, found)
        bars.advance()


def _curves(web: Web, curves: Mapping[str, Curve]) -> Iterator[tuple[str, int, float, float]]:
    at = points(len(web)).tolist()
    for ordering, curve in curves.items():
        for pages, performance in zip(at, curve.tolist(), strict=True):
            yield ordering, pages, pages / len(web), performance
