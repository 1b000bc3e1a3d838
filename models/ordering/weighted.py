"""Several importances as one."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from models.ordering.estimate import Crawled, Estimate

K = TypeVar("K", bound=Hashable)


class Weighted(Generic[K]):
    """IC(P) = k1 I1(P) + k2 I2(P) + ... (Cho 1998, section 2): ``parts`` are pairs of weight and estimate.

    >>> from models.ordering.backlinks import Backlinks
    >>> from models.ordering.forward_links import ForwardLinks
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
