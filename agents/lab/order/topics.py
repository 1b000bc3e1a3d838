"""Similarity-based crawlers compared: pages on a topic, as in section 7 of Cho 1998."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from agents.lab.order.crawls import (
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
)
from agents.lab.order.results import IDEAL, RANDOM, Curve, points
from agents.lab.order.web import Web
from models.ordering.graph import Ints
from models.ordering.orderings import is_hot
from models.ordering.performance import (
    crawl_and_stop,
    crawl_and_stop_with_threshold,
    ideal_with_threshold,
    random_crawl_and_stop,
)
from models.ordering.similarity import Idf, Similarity

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
