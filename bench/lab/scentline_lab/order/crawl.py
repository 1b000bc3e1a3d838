"""The paper's virtual crawler: a web that is known, crawled in the order of an estimate (Cho 1998)."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush, heapreplace, nsmallest
from typing import Generic, Protocol, TypeVar

from scentline.models.ordering.estimate import Crawled, Estimate, Values
from scentline.models.ordering.similarity import PAGES, BoundedCounts, Idf, Similarity

K = TypeVar("K", bound=Hashable)

# Stale items that the heap may hold before it is rebuilt.
_SLACK = 256


class Frontier(Generic[K]):
    """url_queue and hot_queue, both kept in the order of ``estimate`` (Cho 1998, Figures 1, 2 and 4).

    All hot pages come before all others. Without an estimate both are first in, first out, which is
    breadth-first. Equal values go by order of discovery.

    >>> frontier = Frontier[str]()
    >>> for page, hot in (("a", False), ("b", True), ("c", False)):
    ...     frontier.add(page, hot)
    >>> frontier.next(), frontier.next(), frontier.next(), frontier.next()
    ('b', 'a', 'c', None)
    """

    def __init__(self, estimate: Estimate[K] | None = None) -> None:
        self._estimate = estimate
        # By page: whether it is not hot, its negated value, its place, which is unique, and the page. A changed
        # value makes a new item; the old one stays in the heap until it comes up.
        self._live: dict[K, tuple[bool, float, int, K]] = {}
        self._heap: list[tuple[bool, float, int, K]] = []
        self._found = 0

    def add(self, page: K, hot: bool = False) -> None:
        """Make a page a candidate: enqueue."""
        self._put(not hot, self._found, page)
        self._found += 1

    def crawled(self, found: Crawled[K]) -> None:
        """Give a crawled page to the estimate, and put the queues in order: reorder_queue of Figure 2."""
        if self._estimate is None:
            return
        for page in self._estimate.crawled(found):
            known = self._live.get(page)
            if known is not None and known[1] != -self._estimate.value(page):
                self._put(known[0], known[2], page)
        if self._estimate.sweep():
            self._live = {
                page: (cold, -self._estimate.value(page), place, page)
                for page, (cold, _, place, _) in self._live.items()
            }
            self._rebuild()

    def next(self) -> K | None:
        """Take out and return the best hot candidate, the best of the others where there is none: dequeue2."""
        while self._heap:
            item = heappop(self._heap)
            if self._live.get(item[3]) is item:
                del self._live[item[3]]
                return item[3]
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


class Heat(Protocol[K]):
    """Says which links of a page lead to the hot queue."""

    def leads(self, found: Crawled[K]) -> Sequence[bool]:
        """Learn of a crawled page; return of each of its targets whether it looks hot."""


def crawl(
    start: K, fetch: Callable[[K], Crawled[K]], frontier: Frontier[K], heat: Heat[K] | None = None
) -> Iterator[K]:
    """Yield the pages in the order in which they are crawled, from ``start`` (Cho 1998, Figure 1).

    With ``heat`` it is the similarity-based crawler of Figure 4 or 5. Their loops end when either queue is
    empty, which they mean of both.

    >>> links = {"a": "bc", "b": "d", "c": "d", "d": "a"}
    >>> "".join(crawl("a", lambda page: Crawled(page, links[page]), Frontier[str]()))
    'abcd'
    """
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


class Buffer(Generic[K]):
    """At most ``size`` pages; of one too many, that of the lowest value is evicted (Cho 1998, section 3).

    Of equal pages the one added last goes. ``values`` may rise without notice; where some may have fallen,
    `reorder` has to be called.

    >>> kept = Buffer[str](2, Backlinks())
    >>> for page in "abc":
    ...     kept.add(page)
    >>> sorted(kept.pages())
    ['a', 'b']
    """

    def __init__(self, size: int, values: Values[K]) -> None:
        if size < 1:
            raise ValueError(f"buffer: the size is {size}, expected at least 1 page")
        self._size = size
        self._values = values
        self._heap: list[tuple[float, int, K]] = []
        self._added = 0
        self._stale = False

    def add(self, page: K) -> None:
        """Keep a page, and evict one if there is no room."""
        self._added += 1
        heappush(self._heap, (self._values.value(page), -self._added, page))
        if len(self._heap) > self._size and self._stale:
            self._stale = False
            self._heap = [(self._values.value(page), place, page) for _, place, page in self._heap]
            heapify(self._heap)
        while len(self._heap) > self._size:
            value, place, least = self._heap[0]
            now = self._values.value(least)
            if now > value:
                heapreplace(self._heap, (now, place, least))
            else:
                heappop(self._heap)

    def reorder(self) -> None:
        """Read the values of all pages again before one is evicted."""
        self._stale = True

    def pages(self) -> list[K]:
        """Return the pages that are kept, in no order."""
        return [page for _, _, page in self._heap]


def limited_buffers(pages: Iterable[Crawled[K]], sizes: Sequence[int], estimate: Estimate[K]) -> list[list[K]]:
    """Return what buffers of some sizes hold after ``pages`` were visited in their order.

    Evicted pages are not visited again, but their links are not forgotten: ``estimate`` knows them.
    """
    buffers = [Buffer(size, estimate) for size in sizes]
    for found in pages:
        estimate.crawled(found)
        swept = estimate.sweep()
        for buffer in buffers:
            if swept:
                buffer.reorder()
            buffer.add(found.page)
    return [buffer.pages() for buffer in buffers]


class _Counts(Generic[K]):
    """An estimate that is a count of each page, exact up to ``limit`` pages."""

    def __init__(self, limit: int = PAGES) -> None:
        self._counts = BoundedCounts[K](limit)

    def sweep(self) -> bool:
        """Return False: the counts are always exact."""
        return False

    def value(self, page: K) -> int:
        """Return the count of a page."""
        return self._counts[page]


class Backlinks(_Counts[K]):
    """IB'(P), the number of crawled pages that link to P (Cho 1998, section 2, 2).

    >>> backlinks = Backlinks[str]()
    >>> for page, targets in (("a", "bc"), ("b", "c")):
    ...     changed = backlinks.crawled(Crawled(page, targets))
    >>> backlinks.value("c"), backlinks.value("a")
    (2, 0)
    """

    def crawled(self, found: Crawled[K]) -> Iterable[K]:
        """Count the links of a page."""
        for target in found.targets:
            self._counts.add(target)
        return found.targets


class ForwardLinks(_Counts[K]):
    """IF(P), the number of links of P, 0 until it is crawled (Cho 1998, section 2, 4).

    So it orders no candidates, but it tells which crawled pages a limited buffer keeps.

    >>> links = ForwardLinks[str]()
    >>> changed = links.crawled(Crawled("a", "bc"))
    >>> changed, links.value("a"), links.value("b")
    (('a',), 2, 0)
    """

    def crawled(self, found: Crawled[K]) -> Iterable[K]:
        """Note the number of a page's links."""
        self._counts.add(found.page, len(found.targets))
        return (found.page,)


class Weighted(Generic[K]):
    """IC(P) = k1 I1(P) + k2 I2(P) + ... (Cho 1998, section 2): ``parts`` are pairs of weight and estimate.

    >>> both = Weighted[str]([(1.0, Backlinks()), (0.5, ForwardLinks())])
    >>> changed = [both.crawled(Crawled(page, targets)) for page, targets in (("a", "b"), ("b", "cd"))]
    >>> both.value("b")
    2.0
    """

    def __init__(self, parts: Sequence[tuple[float, Estimate[K]]]) -> None:
        self._parts = tuple(parts)

    def crawled(self, found: Crawled[K]) -> Iterable[K]:
        """Give a crawled page to every part."""
        return dict.fromkeys(page for _, part in self._parts for page in part.crawled(found))

    def sweep(self) -> bool:
        """Sweep every part that is due."""
        swept = [part.sweep() for _, part in self._parts]  # all of them, whatever the first ones return
        return any(swept)

    def value(self, page: K) -> float:
        """Return the weighted sum of the parts' values."""
        return sum(weight * part.value(page) for weight, part in self._parts)


#: Distinct words that are kept of the links to a page.
ANCHOR_WORDS = 64
# The idf factors are taken again when the crawled pages are more by this share.
_GROWTH = 0.1


class AnchorSimilarity(Generic[K]):
    """IS(A, Q), A being the anchor words of all known links to a page (Cho 1998, section 4).

    The idf factors are estimated from the crawled pages. A page's value is as of the last link to it or the
    last sweep. Beyond ``limit`` pages the tenth that is least like the query is forgotten.

    >>> similar = AnchorSimilarity[str](["ski"])
    >>> changed = similar.crawled(Crawled("a", "bc", (["ski"], ["ski", "snow"])))
    >>> [round(similar.value(page), 3) for page in "abc"]
    [0.0, 1.0, 0.707]
    """

    def __init__(self, query: Iterable[str], limit: int = PAGES) -> None:
        self._idf = Idf()
        self._similarity = Similarity(query, self._idf)
        self._limit = limit
        self._anchors: dict[K, Counter[str]] = {}
        self._values: dict[K, float] = {}
        self._crawled = 0
        self._due = 1.0

    def crawled(self, found: Crawled[K]) -> Iterable[K]:
        """Count the words of a page, and add its links' words to their targets."""
        self._crawled += 1
        self._idf.add(found.words)
        for kept in (self._anchors, self._values):
            kept.pop(found.page, None)  # a fetched page is no candidate
        for target, words in found.links():
            known = self._anchors.setdefault(target, Counter())
            known.update(word for word in words if word in known or len(known) < ANCHOR_WORDS)
            self._values[target] = self._similarity.of(known)
        if len(self._values) > self._limit:
            excess = len(self._values) - self._limit + self._limit // 10
            for page in nsmallest(excess, self._values, key=self._values.__getitem__):
                del self._values[page]
                self._anchors.pop(page, None)
        return found.targets

    def sweep(self) -> bool:
        """Compute all values again if the idf factors have moved, and return whether they have."""
        if self._crawled < self._due:
            return False
        self._due = self._crawled * (1 + _GROWTH)
        for page, words in self._anchors.items():
            self._values[page] = self._similarity.of(words)
        return True

    def value(self, page: K) -> float:
        """Return how much the links to a page are like the query, from 0 to 1."""
        return self._values.get(page, 0.0)


#: Occurrences in the text that make a page hot. Figure 5 has "10 or more", where section 7 says "more than 10".
OCCURRENCES = 10


def is_hot(found: Crawled[K], word: str) -> bool:
    """Return whether a page has ``word`` in its title, or 10 times in its text (Cho 1998, section 7).

    >>> is_hot(Crawled("a", title=["computer", "science"]), "computer")
    True
    >>> is_hot(Crawled("a", words={"computer": 9}), "computer")
    False
    """
    return word in found.title or found.words.get(word, 0) >= OCCURRENCES


class Mentions(Generic[K]):
    """Links that have the word in their anchor or anywhere in their URL (Cho 1998, Figure 4).

    ``url`` gives a page's canonical URL.

    >>> mentions = Mentions[str]("computer", str)
    >>> page = Crawled("a", ("b", "/computers", "c"), (["the", "computer"], [], ["computers"]))
    >>> mentions.leads(page)
    [True, True, False]
    """

    def __init__(self, word: str, url: Callable[[K], str]) -> None:
        self._word = word
        self._url = url

    def leads(self, found: Crawled[K]) -> Sequence[bool]:
        """Return of each target of a page whether it looks hot."""
        word, url = self._word, self._url
        return [word in anchor or word in url(target).lower() for target, anchor in found.links()]


class NearHot(Mentions[K]):
    """Links that mention the word, and those within three links of a hot page (Cho 1998, Figure 5).

    The figure asks for a distance below 3 at the moment when a URL is found. Its distance is 1 if the page that
    it is found on is hot, and 2 if a hot page, crawled by then, links to that one: no other page links to it
    yet. Of the targets of hot pages ``limit`` are kept.

    >>> near = NearHot[str]("computer", str)
    >>> [near.leads(Crawled(page, links, title=title)) for page, links, title in (
    ...     ("a", "b", ["computer"]), ("b", "c", []), ("c", "d", []))]
    [[True], [True], [False]]
    """

    def __init__(self, word: str, url: Callable[[K], str], limit: int = PAGES) -> None:
        super().__init__(word, url)
        self._beside = BoundedCounts[K](limit)

    def leads(self, found: Crawled[K]) -> Sequence[bool]:
        """Learn of a crawled page; return of each of its targets whether it looks hot."""
        hot = is_hot(found, self._word)
        if hot:
            for target in found.targets:
                self._beside.add(target)
        if hot or self._beside[found.page]:
            return [True] * len(found.targets)
        return super().leads(found)
