"""Estimates of importance (Cho 1998, section 2): similarity, what a URL says, and PageRank while crawling."""

from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from math import sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array


K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Crawled(Generic[K]):
    """A crawled page, identified by a URL or a number, and its parsed content.

    ``targets`` are the distinct other pages that it links to, ``anchors`` the words of the link to each, or
    empty where links have no words. ``title`` has the words of its title, ``words`` the count of each word in
    its text.
    """

    page: K
    targets: Sequence[K] = ()
    anchors: Sequence[Sequence[str]] = ()
    title: Sequence[str] = ()
    words: Mapping[str, int] = field(default_factory=dict)

    def links(self) -> Iterator[tuple[K, Sequence[str]]]:
        """Return each target with the words of the link to it."""
        return zip(self.targets, self.anchors or ((),) * len(self.targets), strict=True)


#: Pages that an estimate keeps, by default.
PAGES = 1_000_000


class BoundedCounts(Generic[K]):
    """Counts of at most ``limit`` keys: beyond it the tenth with the lowest counts is forgotten.

    >>> counts = BoundedCounts[str](2)
    >>> for key in ("a", "a", "b", "b", "b", "c"):
    ...     counts.add(key)
    >>> counts["a"], counts["b"], counts["c"], len(counts)
    (2, 3, 0, 2)
    """

    def __init__(self, limit: int = PAGES) -> None:
        if limit < 1:
            raise ValueError(f"counts: the limit is {limit}, expected at least 1")
        self._limit = limit
        self._counts: dict[K, int] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def __iter__(self) -> Iterator[K]:
        return iter(self._counts)

    def __getitem__(self, key: K) -> int:
        return self._counts.get(key, 0)

    def add(self, key: K, times: int = 1) -> None:
        """Count a key."""
        counts = self._counts
        counts[key] = counts.get(key, 0) + times
        if len(counts) > self._limit:
            for least in nsmallest(self._limit // 10 or 1, counts, key=counts.__getitem__):
                del counts[least]


#: Words whose occurrences are counted, by default.
WORDS = 200_000


class Idf:
    """Inverse document frequencies, estimated from the pages crawled so far (Cho 1998, section 2, 1).

    The idf of a word is one divided by the number of its occurrences, at least one.

    >>> idf = Idf()
    >>> idf.add({"the": 4, "queue": 1})
    >>> idf["the"], idf["queue"], idf["unheard"]
    (0.25, 1.0, 1.0)
    """

    def __init__(self, limit: int = WORDS) -> None:
        self._occurrences = BoundedCounts[str](limit)

    def add(self, words: Mapping[str, int]) -> None:
        """Count the words of a page."""
        for word, times in words.items():
            self._occurrences.add(word, times)

    def __getitem__(self, word: str) -> float:
        return 1 / max(1, self._occurrences[word])


class Similarity:
    """IS(P, Q), the cosine of a text and ``query``, words weighing tf x idf (Cho 1998, section 2, 1)."""

    def __init__(self, query: Iterable[str], idf: Idf) -> None:
        self._query = Counter(query)
        self._idf = idf

    def of(self, words: Mapping[str, int]) -> float:
        """Return the similarity of a text, given the count of each of its ``words``."""
        product = sum(
            times * words[word] * self._idf[word] ** 2 for word, times in self._query.items() if word in words
        )
        return product / (self._length(words) * self._length(self._query)) if product else 0.0

    def _length(self, words: Mapping[str, int]) -> float:
        return sqrt(sum((times * self._idf[word]) ** 2 for word, times in words.items()))


_NOTHING: Mapping[str, float] = MappingProxyType({})


class Location(Generic[K]):
    """IL(P) (Cho 1998, section 2, 5): weights of the ``wanted`` parts in the URL, less its path's slashes.

    ``url`` gives a page's canonical URL.

    >>> location = Location[str](str, {".com/": 1.5, "home": 1.0})
    >>> [location.value(url) for url in ("http://a.org/", "http://a.org/b/c", "http://a.com/home")]
    [-1.0, -2.0, 1.5]
    """

    def __init__(self, url: Callable[[K], str], wanted: Mapping[str, float] = _NOTHING) -> None:
        self._url = url
        self._wanted = wanted

    def crawled(self, found: Crawled[K]) -> Iterable[K]:
        """Return nothing: a page does not change the value of others."""
        return ()

    def sweep(self) -> bool:
        """Return False: a URL does not change."""
        return False

    def value(self, page: K) -> float:
        """Return the value of a page's URL."""
        url = self._url(page)
        path = url.partition("://")[2].partition("?")[0]
        return float(sum(weight for part, weight in self._wanted.items() if part in url) - path.count("/"))


#: The paper's d, in all of its experiments (Cho 1998, section 6).
DAMPING = 0.9
#: The iteration ends when the ranks move by less than this per page.
TOLERANCE = 1e-10
# Each step moves the ranks at most d times as far as the one before, so that this bound matters only for a d
# near 1.
_STEPS = 1000


def pagerank(
    links: "csr_array",
    linking: npt.NDArray[np.int64] | None = None,
    damping: float = DAMPING,
    start: npt.NDArray[np.float64] | None = None,
    tolerance: float = TOLERANCE,
) -> npt.NDArray[np.float64]:
    """Return the PageRank IR of each of n pages, shape (n,), mean 1.

    Row i of ``links``, of shape (rows, n), has a 1 for each page that page ``linking[i]`` links to; by default
    there are n rows, in the order of the pages. IR(P) = (1 - d) + d (IR(T1)/c1 + ... + IR(Tn)/cn), and a page
    without links links to every page (Cho 1998, section 2, 3). ``start`` has the initial ranks, with mean 1,
    such as earlier ones; by default every rank is 1.
    """
    rows, pages = links.shape
    sources = np.arange(rows) if linking is None else linking
    counts = np.diff(links.indptr)
    leaf = np.ones(pages, np.bool_)
    leaf[sources[counts > 0]] = False
    part = damping / np.maximum(counts, 1)
    passing = links.T  # a view: its products take no longer than those of the matrix
    ranks = np.ones(pages) if start is None else start
    for _ in range(_STEPS):
        spread = everyones(ranks, leaf, damping)
        found = np.asarray(spread + passing @ (part * ranks[sources]), np.float64)
        moved = float(np.abs(found - ranks).sum())
        ranks = found
        if moved < tolerance * pages:
            break
    return ranks


def everyones(ranks: npt.NDArray[np.float64], leaf: npt.NDArray[np.bool_], damping: float) -> float:
    """Return the base rank of every page: 1 - d, and its share of the pages without links."""
    return float(1 - damping + damping * ranks[leaf].sum() / len(ranks))


#: Least number of pages between two sweeps.
EVERY = 100
#: Links kept, of twelve bytes each.
LINKS = 10_000_000
# Share of the links kept when there are too many.
_KEPT = 0.9


class Rank(Generic[K]):
    """IR'(P), PageRank over the crawled pages and their targets (Cho 1998, section 2, 3, and Figure 2, 3).

    A sweep recomputes it from the current ranks, when ``every`` pages were crawled since the last one and the
    crawled pages grew by the share ``growth``. Between two sweeps each new link adds d times the linking page's
    rank over the number of its links. Beyond ``limit`` links those of the lowest ranked pages are forgotten; a
    page without a link left has the base rank (`everyones`).
    """

    def __init__(
        self,
        damping: float = DAMPING,
        every: int = EVERY,
        growth: float = 0.0,
        tolerance: float = TOLERANCE,
        limit: int = LINKS,
    ) -> None:
        self._damping = damping
        self._every = every
        self._growth = growth
        self._tolerance = tolerance
        self._limit = limit
        self._nodes: dict[K, int] = {}
        self._ranks = array("d")
        # The links of page linking[i] are targets[ends[i]:ends[i + 1]].
        self._linking, self._ends, self._targets = array("q"), array("q", [0]), array("i")
        self._spread = 1.0  # all ranks are 1 before there are links
        self._crawled = 0
        self._due = every

    def crawled(self, found: Crawled[K]) -> Iterable[K]:
        """Add the links of a page to the graph, and its share of rank to each target."""
        self._crawled += 1
        if not found.targets:
            return ()
        source = self._node(found.page)
        targets = [self._node(target) for target in found.targets]
        share = self._damping * self._ranks[source] / len(targets)
        for target in targets:
            self._ranks[target] += share
        self._linking.append(source)
        self._targets.extend(targets)
        self._ends.append(len(self._targets))
        if len(self._targets) > self._limit:
            self._forget()
        return found.targets

    def sweep(self) -> bool:
        """Recompute all ranks if a sweep is due; return whether they were recomputed."""
        if self._crawled < self._due:
            return False
        self._due = self._crawled + max(self._every, int(self._crawled * self._growth))
        if not self._targets:
            return False
        start = np.array(self._ranks)
        links, linking = self._matrix()
        ranks = pagerank(links, linking, self._damping, start / start.mean(), self._tolerance)
        leaf = np.ones(len(ranks), np.bool_)
        leaf[linking] = False
        self._spread = everyones(ranks, leaf, self._damping)
        self._ranks = array("d", ranks.tobytes())
        return True

    def value(self, page: K) -> float:
        """Return the rank of a page; the base rank if it is not in the graph."""
        node = self._nodes.get(page)
        return self._spread if node is None else self._ranks[node]

    @property
    def links(self) -> int:
        """The number of links that are kept."""
        return len(self._targets)

    def _node(self, page: K) -> int:
        node = self._nodes.get(page)
        if node is None:
            node = self._nodes[page] = len(self._ranks)
            self._ranks.append(self._spread)
        return node

    def _matrix(self) -> tuple["csr_array", npt.NDArray[np.int64]]:
        # Imported on use: sparse matrices take a tenth of a second, and most crawls have no ranks.
        from scipy.sparse import csr_array

        # Copies: an array with a view can't grow.
        linking, ends, targets = (np.array(part) for part in (self._linking, self._ends, self._targets))
        shape = (len(linking), len(self._ranks))
        return csr_array((np.ones(len(targets)), targets, ends), shape=shape), linking

    def _forget(self) -> None:
        links, linking = self._matrix()
        ranks, counts = np.array(self._ranks), np.diff(links.indptr)
        best = np.argsort(-ranks[linking], kind="stable")
        rows = np.sort(best[counts[best].cumsum() <= _KEPT * self._limit])
        kept = links[rows]
        pages = np.union1d(linking[rows], kept.indices)
        number = np.full(len(ranks), -1, np.int64)
        number[pages] = np.arange(len(pages))
        self._nodes = {page: int(number[node]) for page, node in self._nodes.items() if number[node] >= 0}
        self._ranks = array("d", ranks[pages].tobytes())
        self._linking = array("q", number[linking[rows]].tobytes())
        self._ends = array("q", kept.indptr.astype(np.int64).tobytes())
        self._due = self._crawled  # a sweep now takes these links out of the other ranks
        self._targets = array("i", number[kept.indices].astype(np.int32).tobytes())
