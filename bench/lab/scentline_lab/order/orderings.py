"""Orderings by what links say of a page: how many lead to it, what their texts say, what is hot.

Sums of what links are worth, how much the texts of the links to a page are like a query before it is fetched,
and the hot queue: which pages are on a topic, and which links look as if they led to one.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from heapq import nsmallest
from typing import Generic, TypeVar

from scentline.models.ordering.estimate import Crawled, Estimate
from scentline.models.ordering.similarity import PAGES, BoundedCounts, Idf, Similarity

K = TypeVar("K", bound=Hashable)


class Backlinks(Generic[K]):
    """IB'(P), the number of crawled pages that link to P (Cho 1998, section 2, 2). Exact up to ``limit`` pages.

    >>> backlinks = Backlinks[str]()
    >>> for page, targets in (("a", "bc"), ("b", "c")):
    ...     changed = backlinks.crawled(Crawled(page, targets))
    >>> backlinks.value("c"), backlinks.value("a")
    (2, 0)
    """

    def __init__(self, limit: int = PAGES) -> None:
        self._counts = BoundedCounts[K](limit)

    def crawled(self, found: Crawled[K]) -> Iterable[K]:
        """Count the links of a page."""
        for target in found.targets:
            self._counts.add(target)
        return found.targets

    def sweep(self) -> bool:
        """Return False: the counts are always what they are."""
        return False

    def value(self, page: K) -> int:
        """Return the number of known links to a page."""
        return self._counts[page]


class ForwardLinks(Generic[K]):
    """IF(P), the number of links of P, 0 until it is crawled (Cho 1998, section 2, 4).

    So it orders no candidates; a crawled page's place in a limited buffer it can tell.

    >>> links = ForwardLinks[str]()
    >>> changed = links.crawled(Crawled("a", "bc"))
    >>> changed, links.value("a"), links.value("b")
    (('a',), 2, 0)
    """

    def __init__(self, limit: int = PAGES) -> None:
        self._counts = BoundedCounts[K](limit)

    def crawled(self, found: Crawled[K]) -> Iterable[K]:
        """Note the number of a page's links."""
        self._counts.add(found.page, len(found.targets))
        return (found.page,)

    def sweep(self) -> bool:
        """Return False: the numbers are always what they are."""
        return False

    def value(self, page: K) -> int:
        """Return the number of links of a page."""
        return self._counts[page]


class Weighted(Generic[K]):
    """IC(P) = k1 I1(P) + k2 I2(P) + ... (Cho 1998, section 2): ``parts`` are pairs of weight and estimate.

    >>> from scentline_lab.order.orderings import Backlinks
    >>> from scentline_lab.order.orderings import ForwardLinks
    >>> both = Weighted[str]([(1.0, Backlinks()), (0.5, ForwardLinks())])
    >>> changed = [both.crawled(Crawled(page, targets)) for page, targets in (("a", "b"), ("b", "cd"))]
    >>> both.value("b")
    2.0
    """

    def __init__(self, parts: Sequence[tuple[float, Estimate[K]]]) -> None:
        self._parts = tuple(parts)

    def crawled(self, found: Crawled[K]) -> Iterable[K]:
        """Tell every part of a crawled page."""
        return dict.fromkeys(page for _, part in self._parts for page in part.crawled(found))

    def sweep(self) -> bool:
        """Let every part do what is due."""
        swept = [part.sweep() for _, part in self._parts]  # each is asked, whatever the others say
        return any(swept)

    def value(self, page: K) -> float:
        """Return the weighted sum of the parts' values."""
        return sum(weight * part.value(page) for weight, part in self._parts)


#: Distinct words that are kept of the links to a page.
ANCHOR_WORDS = 64
# The idf factors have moved when the crawled pages are more by this share.
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
            kept.pop(found.page, None)  # what was fetched is no candidate
        for target, words in found.links():
            known = self._anchors.setdefault(target, Counter())
            known.update(word for word in words if word in known or len(known) < ANCHOR_WORDS)
            self._values[target] = self._similarity.of(known)
        if len(self._values) > self._limit:
            self._forget()
        return found.targets

    def sweep(self) -> bool:
        """Work out all values anew if the idf factors have moved, and return whether they have."""
        if self._crawled < self._due:
            return False
        self._due = self._crawled * (1 + _GROWTH)
        for page, words in self._anchors.items():
            self._values[page] = self._similarity.of(words)
        return True

    def value(self, page: K) -> float:
        """Return how much the links to a page are like the query, from 0 to 1."""
        return self._values.get(page, 0.0)

    def _forget(self) -> None:
        excess = len(self._values) - self._limit + self._limit // 10
        for page in nsmallest(excess, self._values, key=self._values.__getitem__):
            del self._values[page]
            self._anchors.pop(page, None)


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
        return [
            self._word in anchor or self._word in self._url(target).lower() for target, anchor in found.links()
        ]


class NearHot(Generic[K]):
    """Links that mention the word, and those within three links of a hot page (Cho 1998, Figure 5).

    The figure asks for a distance below 3 at the moment when a URL is found. Its distance is 1 if the page that
    it is found on is hot, and 2 if a hot page, crawled by then, links to that one: nobody else links to it yet.
    Of what hot pages link to, ``limit`` pages are kept.

    >>> near = NearHot[str]("computer", str)
    >>> [near.leads(Crawled(page, links, title=title)) for page, links, title in (
    ...     ("a", "b", ["computer"]), ("b", "c", []), ("c", "d", []))]
    [[True], [True], [False]]
    """

    def __init__(self, word: str, url: Callable[[K], str], limit: int = PAGES) -> None:
        self._word = word
        self._mentions = Mentions(word, url)
        self._beside = BoundedCounts[K](limit)  # what hot pages link to

    def leads(self, found: Crawled[K]) -> Sequence[bool]:
        """Take in a crawled page; return of each of its targets whether it looks hot."""
        hot = is_hot(found, self._word)
        if hot:
            for target in found.targets:
                self._beside.add(target)
        if hot or self._beside[found.page]:
            return [True] * len(found.targets)
        return self._mentions.leads(found)
