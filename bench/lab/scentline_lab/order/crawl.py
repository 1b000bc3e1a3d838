"""The paper's virtual crawler: a web that is known, crawled in the order of an estimate (Cho 1998)."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from heapq import heapify, heappop, heappush, heapreplace
from itertools import chain
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from scentline.models.ordering import Crawled, Rank
from scentline_lab.experiment import Progress, spread
from scentline_lab.order.reading import IB, IR, Ints, Web

K = TypeVar("K", bound=Hashable)

# Stale items that the heap may hold before it is rebuilt.
_SLACK = 256


class Estimate(Protocol[K]):
    """I'(P), Cho 1998, section 2; ``crawled`` returns the changed pages, ``sweep`` whether any may have."""

    def crawled(self, found: Crawled[K]) -> Iterable[K]: ...
    def sweep(self) -> bool: ...
    def value(self, page: K) -> float: ...


class Frontier(Generic[K]):
    """hot_queue and then url_queue (Cho 1998, Figures 1, 2 and 4): by ``estimate``, then by discovery."""

    def __init__(self, estimate: Estimate[K] | None = None) -> None:
        self._estimate = estimate
        # By page: cold, negated value, unique place, page. An item that a newer one replaced stays in the heap.
        self._live: dict[K, tuple[bool, float, int, K]] = {}
        self._heap: list[tuple[bool, float, int, K]] = []
        self._found = 0

    def add(self, page: K, hot: bool = False) -> None:
        self._put(not hot, self._found, page)
        self._found += 1

    def crawled(self, found: Crawled[K]) -> None:
        """Reorder the queues: reorder_queue of Figure 2."""
        if self._estimate is None:
            return
        for page in self._estimate.crawled(found):
            known = self._live.get(page)
            if known is not None and known[1] != -self._estimate.value(page):
                self._put(known[0], known[2], page)
        if self._estimate.sweep():
            for page, (cold, _, place, _) in self._live.items():
                self._live[page] = cold, -self._estimate.value(page), place, page
            self._rebuild()

    def next(self) -> K | None:
        """Remove and return the first page: dequeue2."""
        while self._heap:
            if self._live.get(page := (item := heappop(self._heap))[3]) is item:
                del self._live[page]
                return page
        return None

    def _put(self, cold: bool, place: int, page: K) -> None:
        value = 0.0 if self._estimate is None else self._estimate.value(page)
        self._live[page] = item = (cold, -value, place, page)
        heappush(self._heap, item)
        if len(self._heap) > 2 * len(self._live) + _SLACK:
            self._rebuild()

    def _rebuild(self) -> None:
        self._heap = list(self._live.values())
        heapify(self._heap)


#: Occurrences in the text that make a page hot. Figure 5 has "10 or more", where section 7 says "more than 10".
OCCURRENCES = 10


def is_hot(found: Crawled[K], word: str) -> bool:
    """Return whether a page has ``word`` in its title, or 10 times in its text (Cho 1998, section 7)."""
    return word in found.title or found.words.get(word, 0) >= OCCURRENCES


class Heat(Generic[K]):
    """The links that lead to the hot queue: those with the word in their anchor or URL (Cho 1998, Figure 4).

    With ``near``, also all links of a hot page and of the pages that a crawled hot page links to (Figure 5).
    """

    def __init__(self, word: str, url: Callable[[K], str], *, near: bool = False) -> None:
        self._word, self._url, self._near = word, url, near
        self._beside: set[K] = set()

    def leads(self, found: Crawled[K]) -> Sequence[bool]:
        """Return whether each target of a crawled page looks hot."""
        if self._near:
            hot = is_hot(found, self._word)
            self._beside.update(found.targets if hot else ())
            if hot or found.page in self._beside:
                return [True] * len(found.targets)
        word = self._word
        return [word in anchor or word in self._url(target).lower() for target, anchor in found.links()]


def crawl(
    start: K, fetch: Callable[[K], Crawled[K]], frontier: Frontier[K], heat: Heat[K] | None = None
) -> Iterator[K]:
    """Yield the pages as they are crawled from ``start`` (Cho 1998, Figure 1; with ``heat`` 4 or 5)."""
    known = {start}
    frontier.add(start)
    while (page := frontier.next()) is not None:
        yield page
        found = fetch(page)
        frontier.crawled(found)
        hot = heat.leads(found) if heat is not None else (False,) * len(found.targets)
        for target, looks_hot in zip(found.targets, hot, strict=True):
            if target not in known:
                known.add(target)
                frontier.add(target, looks_hot)


def limited_buffers(pages: Iterable[Crawled[K]], sizes: Sequence[int], estimate: Estimate[K]) -> list[list[K]]:
    """Return the pages that buffers keep; the lowest value is evicted, of equal ones the last (section 3)."""
    heaps: list[list[tuple[float, int, K]]] = [[] for _ in sizes]
    for number, found in enumerate(pages):
        estimate.crawled(found)
        swept = estimate.sweep()
        for heap, size in zip(heaps, sizes, strict=True):
            if swept:  # some values may have fallen; between sweeps they only rise
                heap[:] = [(estimate.value(page), place, page) for _, place, page in heap]
                heapify(heap)
            heappush(heap, (estimate.value(found.page), -number, found.page))
            while len(heap) > size:
                value, place, least = heap[0]
                if (now := estimate.value(least)) > value:
                    heapreplace(heap, (now, place, least))
                else:
                    heappop(heap)
    return [[page for _, _, page in heap] for heap in heaps]


class Backlinks(Generic[K]):
    """IB'(P), the number of crawled pages that link to P (Cho 1998, section 2, 2)."""

    def __init__(self) -> None:
        self._counts = Counter[K]()

    def sweep(self) -> bool:
        return False

    def value(self, page: K) -> int:
        return self._counts[page]

    def crawled(self, found: Crawled[K]) -> Iterable[K]:
        self._counts.update(found.targets)
        return found.targets


class By(StrEnum):
    """The orderings, and the lines that are computed, not crawled."""

    IDEAL = "ideal"
    BREADTH_FIRST = "breadth-first"
    BACKLINK = "backlink"
    PAGERANK = "pagerank"
    RANDOM = "random"


#: Similarity-based crawlers: none, Figure 4, Figure 5.
PLAIN, BASIC, MODIFIED = "plain", "basic", "modified"
BY_LINKS: tuple[str, ...] = (By.BREADTH_FIRST, By.BACKLINK, By.PAGERANK)
#: Shares of the web that a buffer has room for.
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)


class Job(NamedTuple):
    """One crawl: its ordering, and for a topic the similarity-based crawler and its word."""

    ordering: str
    crawler: str = PLAIN
    topic: str = ""


class Kept(NamedTuple):
    """The pages in a buffer of ``size`` after a crawl."""

    importance: str
    ordering: str
    size: int
    pages: Ints


def run(web: Web, jobs: Sequence[Job], processes: int, progress: Progress) -> Iterator[tuple[Job, Ints]]:
    """Yield the order of each crawl as it is done."""

    def crawled(job: Job) -> tuple[Job, Ints]:
        heat = None if job.crawler == PLAIN else Heat(job.topic, web.name, near=job.crawler == MODIFIED)
        frontier = Frontier(_ESTIMATES.get(job.ordering, lambda: None)())
        return job, np.fromiter(crawl(web.start, web.fetch, frontier, heat), np.int64)

    return spread(crawled, jobs, processes, progress, "crawl")


def buffers(web: Web, orders: Mapping[str, Ints], processes: int, progress: Progress) -> list[Kept]:
    """Return the content of limited buffers after each crawl of ``orders``."""
    sizes = sorted({max(1, round(share * len(web))) for share in SHARES})

    def kept(job: tuple[str, str]) -> list[Kept]:
        importance, ordering = job
        pages = map(web.fetch, orders[ordering].tolist())
        held = limited_buffers(pages, sizes, EVICTED_BY[importance]())
        return [Kept(*job, size, np.array(each, np.int64)) for size, each in zip(sizes, held, strict=True)]

    jobs = [(importance, ordering) for importance in EVICTED_BY for ordering in orders]
    found = chain.from_iterable(spread(kept, jobs, processes, progress, "fill limited buffers"))
    return sorted(found, key=lambda each: each[:3])  # whatever was done first


# Sweeps: often at first, then at each growth by a fiftieth.
_swept_rank = partial(Rank[int], every=10, growth=0.02, tolerance=1e-4)
_ESTIMATES: Mapping[str, Callable[[], Estimate[int]]] = {By.BACKLINK: Backlinks[int], By.PAGERANK: _swept_rank}
#: The estimate that decides which page a buffer evicts, for each importance.
EVICTED_BY: Mapping[str, Callable[[], Estimate[int]]] = {IB: Backlinks[int], IR: _swept_rank}
