"""How many pages a page links to."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from models.ordering.bounded import PAGES, BoundedCounts
from models.ordering.estimate import Crawled

K = TypeVar("K", bound=Hashable)


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
