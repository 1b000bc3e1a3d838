"""What a comparison found: curves against the share of the web that was crawled, and the same as CSV files.

Similarity-based crawlers are compared on pages on a topic, as in section 7 of Cho 1998.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scentline.models.ordering.similarity import Idf, Similarity
from scentline_lab.order.crawls import (
    ANCHOR,
    BACKLINK,
    BACKLINK_WEIGHT,
    BASIC,
    BREADTH_FIRST,
    COMBINED,
    MODIFIED,
    PAGERANK,
    PLAIN,
    Job,
    Kept,
)
from scentline_lab.order.graph import Ints, Walk, walk
from scentline_lab.order.orderings import is_hot
from scentline_lab.order.performance import (
    area,
    crawl_and_stop,
    crawl_and_stop_with_threshold,
    ideal_limited_buffer,
    ideal_with_threshold,
    limited_buffer,
    random_crawl_and_stop,
    random_limited_buffer,
)
from scentline_lab.order.reading import Web
from scentline_lab.output import OutputDirectory, write_table

Curve = npt.NDArray[np.float64]

#: Points of a curve.
_POINTS = 200
#: Shares of the web at which figures are told.
TOLD = (0.05, 0.1, 0.2, 0.4, 0.6)
#: The lines that are worked out, not crawled.
IDEAL, RANDOM = "ideal", "random"


class Hot(NamedTuple):
    """A definition of hot pages: I(P) >= ``threshold``; ``pages`` are hot, H."""

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
    """P_BC of one ordering for a buffer of ``size`` pages.

    Without a ``threshold`` the ``size`` most important pages are hot.
    """

    importance: str
    threshold: float | None
    ordering: str
    size: int
    performance: float


@dataclass(frozen=True)
class Results:
    """The plain crawls of a web, by ordering, and what buffers hold after them."""

    web: Web
    orders: Mapping[str, Ints]
    thresholds: Mapping[str, Sequence[float]]
    kept: Sequence[Kept] = ()

    @cached_property
    def points(self) -> Ints:
        """The numbers of pages of each curve's points."""
        return points(len(self.web))

    @property
    def shares(self) -> Curve:
        """The same as shares of the web."""
        return np.asarray(self.points / len(self.web), np.float64)

    @cached_property
    def hot(self) -> list[Hot]:
        """The definitions of hot pages that some page meets."""
        found = [
            Hot(importance, threshold, int((self.web.importance[importance] >= threshold).sum()))
            for importance, thresholds in self.thresholds.items()
            for threshold in sorted(thresholds)
        ]
        return [hot for hot in found if hot.pages]

    def with_threshold(self, hot: Hot) -> dict[str, Curve]:
        """Return P_ST by ordering, with the ideal and the random crawler's."""
        values = self.web.importance[hot.importance]
        curves = {
            name: crawl_and_stop_with_threshold(values[order], hot.threshold, self.points)
            for name, order in self.orders.items()
        }
        return {IDEAL: ideal_with_threshold(hot.pages, self.points), **curves, RANDOM: self.shares}

    def stop(self, importance: str) -> dict[str, Curve]:
        """Return P_CS by ordering, with the random crawler's; the ideal is 1."""
        values = self.web.importance[importance]
        curves = {name: crawl_and_stop(values[order], self.points) for name, order in self.orders.items()}
        return {**curves, RANDOM: random_crawl_and_stop(values, self.points)}

    def figures(self) -> Iterator[Figure]:
        """Yield the figures of every ordering by every definition of hot pages."""
        for hot in self.hot:
            for ordering, curve in self.with_threshold(hot).items():
                yield Figure(hot, ordering, [told(curve, share) for share in TOLD], area(curve))

    def buffers(self) -> Iterator[BufferFigure]:
        """Yield P_BC of every ordering, importance and size, with the ideal and the random crawler's."""
        for importance, values in self.web.importance.items():
            found = [kept for kept in self.kept if kept.importance == importance]
            for threshold in (None, *(hot.threshold for hot in self.hot if hot.importance == importance)):
                for kept in found:
                    performance = limited_buffer(values[kept.pages], values, threshold)
                    yield BufferFigure(importance, threshold, kept.ordering, kept.size, performance)
                for size in dict.fromkeys(kept.size for kept in found):
                    ideal = ideal_limited_buffer(values, size, threshold)
                    yield BufferFigure(importance, threshold, IDEAL, size, ideal)
                    by_chance = random_limited_buffer(values, size, threshold)
                    yield BufferFigure(importance, threshold, RANDOM, size, by_chance)

    def walks(self) -> Iterator[tuple[str, float, Walk]]:
        """Yield each ordering's walk up to each share of `TOLD`."""
        counts = [max(1, int(share * len(self.web))) for share in TOLD]
        for ordering, order in self.orders.items():
            for share, found in zip(TOLD, walk(self.web.graph, order, counts), strict=True):
                yield ordering, share, found


def points(pages: int) -> Ints:
    """Return the numbers of pages at which a web of ``pages`` pages is looked at, ascending and distinct."""
    return np.unique(np.maximum(1, np.arange(1, _POINTS + 1) * pages // _POINTS))


def told(curve: Curve, share: float) -> float:
    """Return a curve's value at a share of the web."""
    return float(curve[max(0, round(share * len(curve)) - 1)])


#: Backlinks of a hot page by the combined metric of the paper's Graphs 9 and 10.
HOT_LINKS = 5
_BY_LINKS = (BREADTH_FIRST, BACKLINK, PAGERANK)


class Panel(NamedTuple):
    """One of the paper's graphs: what ``curves``, by ordering, are of, in words and as a name.

    ``hot`` is the number of hot pages, None where it differs from point to point.
    """

    name: str
    title: str
    measure: str
    hot: int | None
    curves: Mapping[str, Curve]


def topic_jobs(topic: str) -> list[Job]:
    """Return the crawls for a topic; the plain ones that go by links alone are made without it."""
    crawlers = [Job(ordering, crawler, topic) for crawler in (BASIC, MODIFIED) for ordering in _BY_LINKS]
    return [*crawlers, Job(ANCHOR, PLAIN, topic), Job(COMBINED, PLAIN, topic)]


@dataclass(frozen=True)
class TopicResults:
    """The crawls of one topic."""

    web: Web
    topic: str
    orders: Mapping[Job, Ints]

    @cached_property
    def hot(self) -> npt.NDArray[np.bool_]:
        """Of each page whether it is on the topic."""
        return np.array([is_hot(self.web.fetch(page), self.topic) for page in range(len(self.web))])

    @cached_property
    def similarity(self) -> Curve:
        """IS(P, Q) of each page, with the idf of the whole web."""
        idf = Idf()
        for text in self.web.texts:
            idf.add(text.words)
        similarity = Similarity([self.topic], idf)
        return np.array([similarity.of(text.words) for text in self.web.texts])

    def panels(self) -> Iterator[Panel]:
        """Yield the graphs that there are hot pages for."""
        linked = self.web.graph.backlinks >= HOT_LINKS
        yield from self._with_threshold("graph-7", "on the topic, crawler of Figure 4", self.hot, BASIC)
        yield from self._with_threshold("graph-8", "on the topic, crawler of Figure 5", self.hot, MODIFIED)
        both = f"on the topic, {HOT_LINKS} backlinks, Figure 5"
        yield from self._with_threshold("graph-9", both, self.hot & linked, MODIFIED)
        if self.similarity.any():
            yield self._stop("similarity", "I(P) = cosine", self.similarity, ANCHOR)
            combined = self.similarity + BACKLINK_WEIGHT * self.web.graph.backlinks
            yield self._stop("combined", f"I(P) = cosine + {BACKLINK_WEIGHT} backlinks", combined, COMBINED)

    def _with_threshold(
        self, name: str, title: str, hot: npt.NDArray[np.bool_], crawler: str
    ) -> Iterator[Panel]:
        count = int(hot.sum())
        if count:
            values, at = hot.astype(np.float64), points(len(self.web))
            curves = {
                ordering: crawl_and_stop_with_threshold(
                    values[self.orders[Job(ordering, crawler, self.topic)]], 1, at
                )
                for ordering in _BY_LINKS
            }
            shares = np.asarray(at / len(self.web), np.float64)
            curves = {IDEAL: ideal_with_threshold(count, at), **curves, RANDOM: shares}
            yield Panel(name, title, "P_ST", count, curves)

    def _stop(self, name: str, title: str, values: Curve, own: str) -> Panel:
        jobs = {own: Job(own, PLAIN, self.topic)} | {ordering: Job(ordering) for ordering in _BY_LINKS}
        at = points(len(self.web))
        curves = {ordering: crawl_and_stop(values[self.orders[job]], at) for ordering, job in jobs.items()}
        return Panel(name, title, "P_CS", None, {**curves, RANDOM: random_crawl_and_stop(values, at)})


def order_name(job: Job) -> str:
    """Return the name of a crawl in its file's name.

    >>> order_name(Job("backlink")), order_name(Job("pagerank", "basic", "computer"))
    ('backlink', 'computer.basic.pagerank')
    """
    return ".".join(part for part in (job.topic, job.crawler if job.topic else "", job.ordering) if part)


def write_order(output: OutputDirectory, web: Web, job: Job, order: Ints) -> None:
    """Write the pages of one crawl in their order."""
    rows = ((number, web.name(page)) for number, page in enumerate(order.tolist(), 1))
    _write(output.table(f"order.{order_name(job)}"), ("n", "page"), rows)


def write_results(output: OutputDirectory, results: Results) -> None:
    """Write the curves and figures of the crawls without a topic."""
    _write(
        output.table("figures"),
        ("importance", "threshold", "hot", "ordering", *(f"p_st_{share}" for share in TOLD), "area"),
        (
            (each.hot.importance, each.hot.threshold, each.hot.pages, each.ordering, *each.at, each.area)
            for each in results.figures()
        ),
    )
    _write(
        output.table("threshold"),
        ("importance", "threshold", "hot", "ordering", "pages", "share", "p_st"),
        (
            (hot.importance, hot.threshold, hot.pages, *row)
            for hot in results.hot
            for row in _curves(results.web, results.with_threshold(hot))
        ),
    )
    _write(
        output.table("stop"),
        ("importance", "ordering", "pages", "share", "p_cs"),
        (
            (importance, *row)
            for importance in results.web.importance
            for row in _curves(results.web, results.stop(importance))
        ),
    )
    _write(output.table("buffer"), ("importance", "threshold", "ordering", "buffer", "p_bc"), results.buffers())
    _write(
        output.table("walk"),
        ("ordering", "share", "depth", "wait"),
        ((ordering, share, *walk) for ordering, share, walk in results.walks()),
    )
    counts = np.bincount(results.web.graph.backlinks)
    _write(
        output.table("histogram"),
        ("backlinks", "pages"),
        ((links, int(counts[links])) for links in np.flatnonzero(counts).tolist()),
    )


def write_topics(output: OutputDirectory, web: Web, panels: Mapping[str, Sequence[Panel]]) -> None:
    """Write the curves of each topic's graphs."""
    _write(
        output.table("topics"),
        ("topic", "graph", "hot", "measure", "ordering", "pages", "share", "performance"),
        (
            (topic, panel.name, panel.hot, panel.measure, *row)
            for topic, found in panels.items()
            for panel in found
            for row in _curves(web, panel.curves)
        ),
    )


def _curves(web: Web, curves: Mapping[str, Curve]) -> Iterator[tuple[str, int, float, float]]:
    at = points(len(web)).tolist()
    for ordering, curve in curves.items():
        for pages, performance in zip(at, curve.tolist(), strict=True):
            yield ordering, pages, pages / len(web), performance


def _write(path: Path, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    # Importance has no bound: six digits, not six decimals.
    cells = ((f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row) for row in rows)
    write_table(path, columns, cells)
