"""The crawls of a comparison: each ordering on the same web, and what limited buffers hold after it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from scentline.agents.progress import Progress
from scentline.models.ordering.estimate import Estimate
from scentline.models.ordering.rank import Rank
from scentline.models.ordering.similarity import Location
from scentline_lab.order.crawl import Frontier, Heat, crawl, limited_buffers
from scentline_lab.order.graph import Ints
from scentline_lab.order.orderings import (
    AnchorSimilarity,
    Backlinks,
    ForwardLinks,
    Mentions,
    NearHot,
    Weighted,
)
from scentline_lab.order.reading import IB, IF, IR, Web
from scentline_lab.spread import spread


def swept_rank() -> Rank[int]:
    """Return the rank as it is swept here: often at first, then whenever the web has grown by a fiftieth."""
    return Rank[int](every=10, growth=0.02, tolerance=1e-4)


#: Shares of the web that a buffer has room for.
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)
#: The orderings of the paper's Figure 2, and those of its section 4 for URLs and for anchors.
BREADTH_FIRST, BACKLINK, PAGERANK = "breadth-first", "backlink", "pagerank"
LOCATION, ANCHOR, COMBINED = "location", "anchor", "anchor+backlink"
#: Similarity-based crawlers: none, Figure 4, Figure 5.
PLAIN, BASIC, MODIFIED = "plain", "basic", "modified"
#: The estimate that a buffer throws out by, for each importance.
FLUSHED_BY: Mapping[str, Callable[[], Estimate[int]]] = MappingProxyType({
    IB: Backlinks[int],
    IR: swept_rank,
    IF: ForwardLinks[int],
})  # fmt: skip
#: k2 of IC(P) = IS(P, Q) + k2 IB(P).
BACKLINK_WEIGHT = 0.001


class Job(NamedTuple):
    """One crawl: its ordering, and for a topic the similarity-based crawler and its word."""

    ordering: str
    crawler: str = PLAIN
    topic: str = ""


class Kept(NamedTuple):
    """What a buffer of ``size`` pages holds after a crawl in which the lowest I' was thrown out."""

    ordering: str
    importance: str
    size: int
    pages: Ints


class Crawls:
    """Makes the crawls; with what it holds it is inherited by worker processes."""

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
        jobs = [(job, importance) for job in self._orders if not job.topic for importance in FLUSHED_BY]
        progress.phase("fill limited buffers", len(jobs))
        found: list[Kept] = []
        for kept in spread(self._keep, jobs, processes):
            found += kept
            progress.advance()
        # In an order that does not depend on what was done first.
        return sorted(found, key=lambda kept: (kept.importance, kept.ordering, kept.size))

    def _crawl(self, job: Job) -> tuple[Job, Ints]:
        frontier = Frontier(self._estimate(job))
        order = crawl(self._web.start, self._web.fetch, frontier, self._heat(job))
        return job, np.fromiter(order, np.int64)

    def _keep(self, job: tuple[Job, str]) -> list[Kept]:
        crawled, importance = job
        sizes = sorted({max(1, round(share * len(self._web))) for share in SHARES})
        pages = map(self._web.fetch, self._orders[crawled].tolist())
        buffers = limited_buffers(pages, sizes, FLUSHED_BY[importance]())
        return [
            Kept(crawled.ordering, importance, size, np.array(pages, np.int64))
            for size, pages in zip(sizes, buffers, strict=True)
        ]

    def _estimate(self, job: Job) -> Estimate[int] | None:
        if job.ordering == BACKLINK:
            return Backlinks[int]()
        if job.ordering == PAGERANK:
            return swept_rank()
        if job.ordering == LOCATION:
            return Location[int](self._web.name)
        if job.ordering == ANCHOR:
            return AnchorSimilarity[int]([job.topic])
        if job.ordering == COMBINED:
            return Weighted[int](
                [(1.0, AnchorSimilarity[int]([job.topic])), (BACKLINK_WEIGHT, Backlinks[int]())]
            )
        return None

    def _heat(self, job: Job) -> Heat[int] | None:
        if job.crawler == BASIC:
            return Mentions[int](job.topic, self._web.name)
        if job.crawler == MODIFIED:
            return NearHot[int](job.topic, self._web.name)
        return None
