"""The order command: crawl a known web in every order, and measure how soon each found what is important."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import typer
from scipy.sparse.csgraph import breadth_first_order

from scentline.agents.cli.output import print_table
from scentline.models.words import words
from scentline.streams.settings import ConfigurationError, Settings
from scentline_lab.experiment import Cut, Output, Progress, cell, check_files
from scentline_lab.order.crawl import BASIC, BY_LINKS, MODIFIED, By, Job, Kept, buffers, is_hot, run
from scentline_lab.order.pictures import draw_results, draw_topic
from scentline_lab.order.reading import Curve, Graph, Ints, Web, read_web


def crawl_and_stop(visited: Curve, points: Ints) -> Curve:
    """Return P_CS after the first K pages for each K of ``points``; ``visited`` has I(P) in crawl order.

    It is M / K: M of them are at least as important as the K-th most important page (Cho 1998, section 3).
    """
    bars = -np.sort(-visited)[points - 1]
    return np.array([(visited[:k] >= bar).sum() / k for k, bar in zip(points, bars, strict=True)])


def random_crawl_and_stop(visited: Curve, points: Ints) -> Curve:
    """Return a random crawler's expected P_CS, the share of hot pages."""
    ranked = np.sort(visited)
    bars = ranked[len(ranked) - points]
    return np.asarray((len(ranked) - np.searchsorted(ranked, bars)) / len(ranked), np.float64)


def crawl_and_stop_with_threshold(visited: Curve, threshold: float, points: Ints) -> Curve:
    """Return P_ST at each point: the visited share of the pages with I(P) >= ``threshold`` (section 3)."""
    hot = np.cumsum(visited >= threshold)
    return np.asarray(hot[points - 1] / hot[-1], np.float64)


def limited_buffer(
    kept: Curve, importance: Curve, threshold: float | None = None
) -> tuple[float, float, float]:
    """Return P_BC, the hot share (section 3), of the B pages kept, the B most important, and B random pages.

    Hot pages have an I(P) of ``threshold`` or more, without it that of the B-th most important page.
    """
    bar = float(np.sort(importance)[-len(kept)]) if threshold is None else threshold
    hot = int((importance >= bar).sum())
    return float((kept >= bar).mean()), min(1.0, hot / len(kept)), hot / len(importance)


def mean_depths(graph: Graph, order: Ints, counts: Sequence[int]) -> list[float]:
    """Return the mean depth, in links from the start, of the first pages of ``order`` for each count."""
    crawled, parents = breadth_first_order(graph.matrix, int(order[0]))
    depths = np.zeros(len(graph), np.int64)
    for page in crawled[1:].tolist():
        depths[page] = depths[parents[page]] + 1
    return [float(depths[order[:n]].mean()) for n in counts]


#: The least I(P) of hot pages, by importance metric.
Thresholds: TypeAlias = Mapping[str, Sequence[float]]
#: Points of a curve.
_POINTS = 200
#: Shares of the web in the tables.
TOLD = (0.05, 0.1, 0.2, 0.4, 0.6)
#: Backlinks of a hot page by the combined metric of the paper's Graphs 9 and 10.
HOT_LINKS = 5


class Hot(NamedTuple):
    """The H ``pages`` with I(P) >= ``threshold``."""

    importance: str
    threshold: float
    pages: int


class Figure(NamedTuple):
    """P_ST of one ordering at the shares of `TOLD`, and the mean over the crawl, 0.5 by chance."""

    hot: Hot
    ordering: str
    at: Sequence[float]
    area: float


class BufferFigure(NamedTuple):
    """P_BC of one ordering, of ``size`` pages, which are hot themselves without a ``threshold``."""

    importance: str
    threshold: float | None
    ordering: str
    size: int
    performance: float


class Panel(NamedTuple):
    """One of the paper's graphs of a topic: P_ST by ordering, of ``hot`` pages."""

    name: str
    title: str
    hot: int
    curves: Mapping[str, Curve]


@dataclass(frozen=True)
class Results:
    """The crawls of a web, and the content of buffers after those without a topic."""

    web: Web
    crawled: Mapping[Job, Ints]
    thresholds: Thresholds
    kept: Sequence[Kept] = ()

    @cached_property
    def orders(self) -> Mapping[str, Ints]:
        """The crawls without a topic, by ordering."""
        return {job.ordering: order for job, order in self.crawled.items() if not job.topic}

    @cached_property
    def points(self) -> Ints:
        """Numbers of crawled pages, ascending and distinct."""
        return np.unique(np.maximum(1, np.arange(1, _POINTS + 1) * len(self.web) // _POINTS))

    @property
    def shares(self) -> Curve:
        return np.asarray(self.points / len(self.web), np.float64)

    @cached_property
    def hot(self) -> list[Hot]:
        return [
            Hot(importance, threshold, pages)
            for importance, thresholds in self.thresholds.items()
            for threshold in sorted(thresholds)
            if (pages := int((self.web.importance[importance] >= threshold).sum()))
        ]

    def with_threshold(self, hot: Hot) -> dict[str, Curve]:
        return self._with_threshold(self.web.importance[hot.importance] >= hot.threshold, self.orders)

    def _with_threshold(self, hot: npt.NDArray[np.bool_], orders: Mapping[str, Ints]) -> dict[str, Curve]:
        found = {By.IDEAL.value: np.minimum(1.0, self.points / int(hot.sum()))}
        for name, order in orders.items():
            found[name] = crawl_and_stop_with_threshold(hot[order].astype(np.float64), 1, self.points)
        return found | {By.RANDOM: self.shares}

    def stop(self, importance: str) -> dict[str, Curve]:
        values = self.web.importance[importance]
        found = {name: crawl_and_stop(values[order], self.points) for name, order in self.orders.items()}
        return found | {By.RANDOM: random_crawl_and_stop(values, self.points)}

    def figures(self) -> Iterator[Figure]:
        for hot in self.hot:
            for ordering, curve in self.with_threshold(hot).items():
                at = [float(curve[max(0, round(share * len(curve)) - 1)]) for share in TOLD]
                yield Figure(hot, ordering, at, float(np.mean(curve)))

    def buffers(self) -> Iterator[BufferFigure]:
        for importance, values in self.web.importance.items():
            found = [kept for kept in self.kept if kept.importance == importance]
            for threshold in (None, *(hot.threshold for hot in self.hot if hot.importance == importance)):
                bounds = {}
                for _, ordering, size, pages in found:
                    performance, *bounds[size] = limited_buffer(values[pages], values, threshold)
                    yield BufferFigure(importance, threshold, ordering, size, performance)
                for size, pair in bounds.items():
                    for by, bound in zip((By.IDEAL, By.RANDOM), pair, strict=True):
                        yield BufferFigure(importance, threshold, by, size, bound)

    def depths(self) -> Iterator[tuple[str, float, float]]:
        counts = [max(1, int(share * len(self.web))) for share in TOLD]
        for ordering, order in self.orders.items():
            for share, depth in zip(TOLD, mean_depths(self.web.graph, order, counts), strict=True):
                yield ordering, share, depth

    def topic(self, topic: str) -> Iterator[Panel]:
        hot = np.array([is_hot(self.web.fetch(page), topic) for page in range(len(self.web))])
        linked = hot & (self.web.graph.backlinks >= HOT_LINKS)
        for name, title, which, crawler in (
            ("graph-7", "on the topic, crawler of Figure 4", hot, BASIC),
            ("graph-8", "on the topic, crawler of Figure 5", hot, MODIFIED),
            ("graph-9", f"on the topic, {HOT_LINKS} backlinks, Figure 5", linked, MODIFIED),
        ):
            if which.any():
                orders = {ordering: self.crawled[Job(ordering, crawler, topic)] for ordering in BY_LINKS}
                yield Panel(name, title, int(which.sum()), self._with_threshold(which, orders))

    def rows(self, curves: Mapping[str, Curve]) -> Iterator[tuple[str, int, float, float]]:
        for ordering, curve in curves.items():
            for pages, value in zip(self.points.tolist(), curve.tolist(), strict=True):
                yield ordering, pages, pages / len(self.web), value


_CURVE = ("ordering", "pages", "share")
_FILES = (
    "order.*.csv", "figures.csv", "threshold.csv", "stop.csv", "buffer.csv", "depth.csv",
    "topics.csv", "thresholds.png", "threshold-*.png", "stop.png", "buffer.png", "topic-*.png",
)  # fmt: skip


#: A file, a start page and a prefix, for `read_web`.
Where: TypeAlias = tuple[Path, str | None, str | None]


def show(
    settings: Settings, where: Where, out: Path | None, topics: Sequence[str], hot: Thresholds, processes: int
) -> None:
    """Compare orderings of a web, write into ``out`` if given, and print."""
    found = tuple(dict.fromkeys(map(_word, topics)))
    check_files("", where[:1])
    output = Output(out, "order", _FILES).prepare()
    bars = Progress()
    with Cut() as cut:
        web = read_web(*where, settings, processes, bars)
        if found and not web.texts:
            raise ConfigurationError(f"--topic: {where[0]} has only links, expected an archive of pages")
        results = _compare(web, found, hot, processes, output, bars)
        bars.phase("write tables and pictures", 1)
        _write(output, results)
        draw_results(output, results)
        if found:
            _write_topics(output, results, found)
        bars.advance()
    cut.end(f"Interrupted: {out} has the orders of the crawls that finished." if out else "Interrupted.")
    typer.echo(f"{len(web):,} pages, {len(web.graph.targets):,} links, from {web.name(web.start)[:200]!a}\n")
    rows = (
        (f"{hot.importance} >= {hot.threshold:g}", f"{hot.pages:,}", by, *map("{:.2f}".format, at), cell(area))
        for hot, by, at, area in results.figures()
    )
    print_table(["importance", "hot", "ordering", *(f"@{share:.0%}" for share in TOLD), "area"], rows)
    output.finish()


def _word(topic: str) -> str:
    if len(found := words(topic)) != 1:
        raise ConfigurationError(f"--topic {topic!r}: expected one word")
    return found[0]


def _compare(
    web: Web, topics: Sequence[str], hot: Thresholds, processes: int, output: Output, bars: Progress
) -> Results:
    by_topic = [Job(by, crawler, topic) for topic in topics for crawler in (BASIC, MODIFIED) for by in BY_LINKS]
    jobs = [*map(Job, BY_LINKS), *by_topic]
    crawled = dict.fromkeys(jobs, np.zeros(0, np.int64))
    for job, order in run(web, jobs, processes, bars):
        crawled[job] = order
        rows = ((number, web.name(page)) for number, page in enumerate(order.tolist(), 1))
        names = (job.topic, job.crawler if job.topic else "", job.ordering)
        output.write(f"order.{'.'.join(filter(None, names))}", ("n", "page"), rows)
    plain = {job.ordering: order for job, order in crawled.items() if not job.topic}
    return Results(web, crawled, hot, buffers(web, plain, processes, bars))


def _write(output: Output, results: Results) -> None:
    hot, curve, write = ("importance", "threshold", "hot"), _CURVE, partial(output.write, form=".6g")
    figures = ((*found, by, *at, area) for found, by, at, area in results.figures())
    write("figures", (*hot, "ordering", *(f"p_st_{share}" for share in TOLD), "area"), figures)
    found = ((*each, *row) for each in results.hot for row in results.rows(results.with_threshold(each)))
    write("threshold", (*hot, *curve, "p_st"), found)
    stop = ((name, *row) for name in results.web.importance for row in results.rows(results.stop(name)))
    write("stop", ("importance", *curve, "p_cs"), stop)
    write("buffer", ("importance", "threshold", "ordering", "buffer", "p_bc"), results.buffers())
    write("depth", ("ordering", "share", "depth"), results.depths())


def _write_topics(output: Output, results: Results, topics: Sequence[str]) -> None:
    panels = {topic: list(results.topic(topic)) for topic in topics}
    each = ((topic, panel) for topic, found in panels.items() for panel in found)
    rows = ((topic, panel.name, panel.hot, *row) for topic, panel in each for row in results.rows(panel.curves))
    output.write("topics", ("topic", "graph", "hot", *_CURVE, "performance"), rows, form=".6g")
    for topic, found in panels.items():
        draw_topic(output, topic, results.shares, found)
