"""The paper's virtual crawler: a web that is known, crawled in some order."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Protocol, TypeVar

from models.ordering.estimate import Crawled
from models.ordering.frontier import Frontier

K = TypeVar("K", bound=Hashable)


class Heat(Protocol[K]):
    """Says which links of a page lead to the hot queue."""

    def leads(self, found: Crawled[K]) -> Sequence[bool]:
        """Take in a crawled page; return of each of its targets whether it looks hot."""


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
