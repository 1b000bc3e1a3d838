"""What orders the candidates in the place of a policy: how important their pages are (Cho 1998).

Each importance is estimated from what its partition has absorbed. What is kept of it in memory is made anew
from the rows when a partition is opened.
"""

from typing import Protocol

from agents.frontier.rows import FrontierShard, PageRow
from models.ordering.location import Location


class Informed(Protocol):
    """What is kept in memory, beside the rows, of what a partition has absorbed."""

    def open(self, shard: FrontierShard) -> None:
        """Take up a partition."""

    def close(self, shard: FrontierShard) -> None:
        """Forget a partition that another worker has now."""

    def absorb(self, shard: FrontierShard, sighting: object) -> None:
        """Take in a sighting, before the rows do."""

    def sweep(self, shard: FrontierShard) -> bool:
        """Do what is worth doing now and then; return whether values may have changed without a sighting."""


class Ordering(Informed, Protocol):
    """An importance of pages."""

    def value(self, shard: FrontierShard, row: PageRow, topic: tuple[str, ...]) -> float:
        """Return the importance of a candidate's page; ``topic`` are the words of its predicate."""


class OfRows:
    """An importance that a page's row alone tells."""

    def open(self, shard: FrontierShard) -> None:
        """Nothing is kept beside the rows."""

    def close(self, shard: FrontierShard) -> None:
        """Nothing is kept beside the rows."""

    def absorb(self, shard: FrontierShard, sighting: object) -> None:
        """Nothing is kept beside the rows."""

    def sweep(self, shard: FrontierShard) -> bool:
        """Return False: a row tells what changes it."""
        return False


class BacklinkOrder(OfRows):
    """IB'(P), the judged pages that link to a page (Cho 1998, section 2, 2): exact."""

    def value(self, shard: FrontierShard, row: PageRow, topic: tuple[str, ...]) -> float:
        """Return the number of known links to a page."""
        return float(backlinks(row))


class LocationOrder(OfRows):
    """IL(P): the fewer slashes the better (Cho 1998, section 2, 5)."""

    def __init__(self) -> None:
        self._location = Location[str](str)

    def value(self, shard: FrontierShard, row: PageRow, topic: tuple[str, ...]) -> float:
        """Return the negated number of slashes in the path."""
        return self._location.value(row.url)


def backlinks(row: PageRow) -> int:
    """Return how many judged pages link to a page: as many as the predicate has judged that judged the most."""
    return max((links for links, _ in row.links.values()), default=0)
