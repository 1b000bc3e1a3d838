"""What a comparison found: curves against the share of the web that was crawled."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agents.lab.order.crawls import Kept
from agents.lab.order.web import Web
from models.ordering.graph import Ints, Walk, walk
from models.ordering.performance import (
    area,
    crawl_and_stop,
    crawl_and_stop_with_threshold,
    ideal_limited_buffer,
    ideal_with_threshold,
    limited_buffer,
    random_crawl_and_stop,
    random_limited_buffer,
)

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
