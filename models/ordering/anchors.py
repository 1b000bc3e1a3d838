"""How much the links to a page are like a query: what is known of its text before it is fetched."""

from collections import Counter
from collections.abc import Hashable, Iterable
from heapq import nsmallest
from typing import Generic, TypeVar

from models.ordering.bounded import PAGES
from models.ordering.estimate import Crawled
from models.ordering.similarity import Idf, Similarity

K = TypeVar("K", bound=Hashable)

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
