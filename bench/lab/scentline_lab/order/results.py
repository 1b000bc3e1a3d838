"""What a comparison found: the paper's three measures, beside those of an ideal and of a random crawler.
Similarity-based crawlers are compared on pages on a topic, as in section 7 of Cho 1998.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import breadth_first_order

from scentline.models.ordering.estimate import Idf, Similarity
from scentline_lab.order.crawl import BACKLINK_WEIGHT, BASIC, BY_LINKS, MODIFIED, PLAIN, By, Job, Kept, is_hot
from scentline_lab.order.reading import Graph, Ints, Web

Curve: TypeAlias = npt.NDArray[np.float64]


def crawl_and_stop(visited: Curve, points: Ints) -> Curve:
    """Return P_CS after each number of pages of ``points`` (Cho 1998, section 3): M / K, shape as ``points``.
    ``visited`` has I(P) of all T pages of the web in the order of the crawl. M of the first K are hot: as
    important as the K-th most important page of all, or more. An ideal crawler has 1 everywhere.
    """
    bars = -np.sort(-visited)[points - 1]
    return np.array([(visited[:k] >= bar).sum() / k for k, bar in zip(points, bars, strict=True)])


def random_crawl_and_stop(visited: Curve, points: Ints) -> Curve:
    """Return a random crawler's expected P_CS, the share of hot pages: K/T where none are equally important."""
    ranked = np.sort(visited)
    bars = ranked[len(ranked) - points]
    return np.asarray((len(ranked) - np.searchsorted(ranked, bars)) / len(ranked), np.float64)


def crawl_and_stop_with_threshold(visited: Curve, threshold: float, points: Ints) -> Curve:
    """Return P_ST after each number of pages: the share of the hot pages that was visited (section 3). Hot are
    those with I(P) >= ``threshold``, of which there is one. A random crawler, with or without coming back to
    pages, is expected to have K/T.
    """
    hot = np.cumsum(visited >= threshold)
    return np.asarray(hot[points - 1] / hot[-1], np.float64)


def ideal_with_threshold(hot: int, points: Ints) -> Curve:
    """Return the P_ST of a crawler that visits the ``hot`` hot pages first: K/H, then 1."""
    return np.minimum(1.0, points / hot)


def limited_buffer(kept: Curve, importance: Curve, threshold: float | None = None) -> float:
    """Return P_BC, the share of the B pages kept that are hot (section 3). ``kept`` has I(P) of the pages in
    the buffer, ``importance`` that of all pages. Hot are those as important as the B-th most important page or,
    with ``threshold``, those with I(P) >= ``threshold``.
    """
    return float((kept >= _bar(importance, len(kept), threshold)).mean())


def random_limited_buffer(importance: Curve, size: int, threshold: float | None = None) -> float:
    """Return the P_BC that is expected of a buffer of pages drawn by chance: the share of hot pages."""
    return float((importance >= _bar(importance, size, threshold)).mean())


def ideal_limited_buffer(importance: Curve, size: int, threshold: float | None = None) -> float:
    """Return the P_BC of a crawler that keeps the most important pages: 1, or H/B where fewer are hot."""
    return min(1.0, float((importance >= _bar(importance, size, threshold)).sum()) / size)


def _bar(importance: Curve, size: int, threshold: float | None) -> float:
    """Return G: the threshold, or I of the page that is number ``size`` by importance."""
    return float(np.sort(importance)[-size]) if threshold is None else threshold


def mean_depths(graph: Graph, order: Ints, counts: Sequence[int]) -> list[float]:
    """Return the mean depth, in links from the start, of the first n pages of ``order``, the start among them,
    for each n of ``counts``.
    """
    crawled, parents = breadth_first_order(graph.matrix, int(order[0]))
    depths = np.zeros(len(graph), np.int64)
    for page in crawled[1:].tolist():  # each after the page that it is found on
        depths[page] = depths[parents[page]] + 1
    return [float(depths[order[:n]].mean()) for n in counts]


#: Points of a curve.
_POINTS = 200
#: Shares of the web at which figures are given.
TOLD = (0.05, 0.1, 0.2, 0.4, 0.6)
#: Backlinks of a hot page by the combined metric of the paper's Graphs 9 and 10.
HOT_LINKS = 5


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
    """P_BC of one ordering, of ``size`` pages, which are hot themselves without a ``threshold``."""

    importance: str
    threshold: float | None
    ordering: str
    size: int
    performance: float


class Panel(NamedTuple):
    """One of the paper's graphs of a topic: ``hot`` pages are None where they differ by point."""

    name: str
    title: str
    measure: str
    hot: int | None
    curves: Mapping[str, Curve]


@dataclass(frozen=True)
class Results:
    """The crawls of a web, what buffers hold after those without a topic, and who is hot by each importance."""

    web: Web
    crawled: Mapping[Job, Ints]
    thresholds: Mapping[str, Sequence[float]]
    kept: Sequence[Kept] = ()

    @cached_property
    def orders(self) -> Mapping[str, Ints]:
        """The crawls without a topic, by ordering."""
        return {job.ordering: order for job, order in self.crawled.items() if not job.topic}

    @cached_property
    def points(self) -> Ints:
        """The numbers of pages of the points of a curve, ascending and distinct."""
        return np.unique(np.maximum(1, np.arange(1, _POINTS + 1) * len(self.web) // _POINTS))

    @property
    def shares(self) -> Curve:
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
        return self._with_threshold(self.web.importance[hot.importance] >= hot.threshold, self.orders)

    def _with_threshold(self, hot: npt.NDArray[np.bool_], orders: Mapping[str, Ints]) -> dict[str, Curve]:
        found = {By.IDEAL.value: ideal_with_threshold(int(hot.sum()), self.points)}
        for name, order in orders.items():
            found[name] = crawl_and_stop_with_threshold(hot[order].astype(np.float64), 1, self.points)
        return found | {By.RANDOM: self.shares}

    def stop(self, importance: str) -> dict[str, Curve]:
        """Return P_CS by ordering, with the random crawler's; the ideal is 1."""
        return self._stop(self.web.importance[importance], self.orders)

    def _stop(self, values: Curve, orders: Mapping[str, Ints]) -> dict[str, Curve]:
        found = {name: crawl_and_stop(values[order], self.points) for name, order in orders.items()}
        return found | {By.RANDOM: random_crawl_and_stop(values, self.points)}

    def figures(self) -> Iterator[Figure]:
        for hot in self.hot:
            for ordering, curve in self.with_threshold(hot).items():
                at = [float(curve[max(0, round(share * len(curve)) - 1)]) for share in TOLD]
                yield Figure(hot, ordering, at, float(np.mean(curve)))

    def buffers(self) -> Iterator[BufferFigure]:
        """Yield P_BC of every ordering, importance and size, with the ideal and the random crawler's."""
        for importance, values in self.web.importance.items():
            found = [kept for kept in self.kept if kept.importance == importance]
            for threshold in (None, *(hot.threshold for hot in self.hot if hot.importance == importance)):
                for kept in found:
                    performance = limited_buffer(values[kept.pages], values, threshold)
                    yield BufferFigure(importance, threshold, kept.ordering, kept.size, performance)
                for size in dict.fromkeys(kept.size for kept in found):
                    for by, expected in ((By.IDEAL, ideal_limited_buffer), (By.RANDOM, random_limited_buffer)):
                        yield BufferFigure(importance, threshold, by, size, expected(values, size, threshold))

    def depths(self) -> Iterator[tuple[str, float, float]]:
        """Yield each ordering's mean depth up to each share of `TOLD`."""
        counts = [max(1, int(share * len(self.web))) for share in TOLD]
        for ordering, order in self.orders.items():
            for share, depth in zip(TOLD, mean_depths(self.web.graph, order, counts), strict=True):
                yield ordering, share, depth

    def topic(self, topic: str) -> Iterator[Panel]:
        """Yield the graphs of a topic that there are hot pages for."""
        web, backlinks = self.web, self.web.graph.backlinks
        hot = np.array([is_hot(web.fetch(page), topic) for page in range(len(web))])
        both = f"on the topic, {HOT_LINKS} backlinks, Figure 5"
        for name, title, which, crawler in (
            ("graph-7", "on the topic, crawler of Figure 4", hot, BASIC),
            ("graph-8", "on the topic, crawler of Figure 5", hot, MODIFIED),
            ("graph-9", both, hot & (backlinks >= HOT_LINKS), MODIFIED),
        ):
            if which.any():
                orders = {ordering: self.crawled[Job(ordering, crawler, topic)] for ordering in BY_LINKS}
                yield Panel(name, title, "P_ST", int(which.sum()), self._with_threshold(which, orders))
        idf = Idf()
        for text in web.texts:
            idf.add(text.words)
        is_p_q = Similarity([topic], idf)
        similarity = np.array([is_p_q.of(text.words) for text in web.texts])
        combined = similarity + BACKLINK_WEIGHT * backlinks
        by_links = {ordering: self.orders[ordering] for ordering in BY_LINKS}
        for name, title, values, own in (
            ("similarity", "I(P) = cosine", similarity, By.ANCHOR),
            ("combined", f"I(P) = cosine + {BACKLINK_WEIGHT} backlinks", combined, By.COMBINED),
        ):
            if similarity.any():
                orders = {own.value: self.crawled[Job(own, PLAIN, topic)], **by_links}
                yield Panel(name, title, "P_CS", None, self._stop(values, orders))
