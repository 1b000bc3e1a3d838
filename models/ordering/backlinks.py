"""What links say of a page: how many lead to it, how many lead on from it, and sums of what they are worth."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from models.ordering.bounded import PAGES, BoundedCounts
from models.ordering.estimate import Crawled, Estimate

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

    >>> from models.ordering.backlinks import Backlinks
    >>> from models.ordering.backlinks import ForwardLinks
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
