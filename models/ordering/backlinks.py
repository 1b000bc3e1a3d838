"""How many pages link to a page, as far as the crawl has seen."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from models.ordering.bounded import PAGES, BoundedCounts
from models.ordering.estimate import Crawled

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
