"""Estimates of importance: what is told of crawled pages and asked for any; similarity and what a URL says."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from math import sqrt
from types import MappingProxyType
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Crawled(Generic[K]):
    """A crawled page, known by a URL or a number, and what was read of it.

    ``targets`` are the distinct pages that it links to, itself not among them, ``anchors`` the words of the
    link to each, or empty where links have no words. ``title`` has the words of its title, ``words`` how often
    each word is in its text.
    """

    page: K
    targets: Sequence[K] = ()
    anchors: Sequence[Sequence[str]] = ()
    title: Sequence[str] = ()
    words: Mapping[str, int] = field(default_factory=dict)

    def links(self) -> Iterator[tuple[K, Sequence[str]]]:
        """Return each target with the words of the link to it."""
        return zip(self.targets, self.anchors or ((),) * len(self.targets), strict=True)


#: Pages that an estimate keeps a number of, by default.
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
    """IS(P, Q), the cosine of a text and the query ``query``, words weighing tf x idf (Cho 1998, section 2, 1).

    >>> idf = Idf()
    >>> similarity = Similarity(["ski", "alps"], idf)
    >>> round(similarity.of({"ski": 1, "snow": 1}), 3)
    0.5
    """

    def __init__(self, query: Iterable[str], idf: Idf) -> None:
        self._query = Counter(query)
        self._idf = idf

    def of(self, words: Mapping[str, int]) -> float:
        """Return the similarity of a text of which ``words`` says how often it has each word."""
        product = sum(
            times * words[word] * self._idf[word] ** 2 for word, times in self._query.items() if word in words
        )
        return product / (self._length(words) * self._length(self._query)) if product else 0.0

    def _length(self, words: Mapping[str, int]) -> float:
        return sqrt(sum((times * self._idf[word]) ** 2 for word, times in words.items()))


_NOTHING: Mapping[str, float] = MappingProxyType({})


class Location(Generic[K]):
    """IL(P) (Cho 1998, section 2, 5): weights of what the URL contains of ``wanted``, less its path's slashes.

    ``url`` gives a page's canonical URL.

    >>> location = Location[str](str, {".com/": 1.5, "home": 1.0})
    >>> [location.value(url) for url in ("http://a.org/", "http://a.org/b/c", "http://a.com/home")]
    [-1.0, -2.0, 1.5]
    """

    def __init__(self, url: Callable[[K], str], wanted: Mapping[str, float] = _NOTHING) -> None:
        self._url = url
        self._wanted = wanted

    def crawled(self, found: Crawled[K]) -> Iterable[K]:
        """Return nothing: no page tells of another's URL."""
        return ()

    def sweep(self) -> bool:
        """Return False: a URL does not change."""
        return False

    def value(self, page: K) -> float:
        """Return what the URL of a page is worth."""
        url = self._url(page)
        path = url.partition("://")[2].partition("?")[0]
        return float(sum(weight for part, weight in self._wanted.items() if part in url) - path.count("/"))
