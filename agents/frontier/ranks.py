"""PageRank of what each partition knows: pages judged anywhere, and their links into the partition."""

from typing import TYPE_CHECKING

from agents.frontier.keys import PARENT_PREFIX, parent_of
from agents.frontier.rows import FrontierShard, PageRow, ParentRow
from models.ordering.estimate import Crawled
from models.url import identifier
from streams.records import Linked

if TYPE_CHECKING:
    from models.ordering.rank import Rank

#: Linking pages between two sweeps: at least so many, and this part of those that there were.
EVERY, GROWTH = 10, 0.1
#: A sweep ends when the ranks moved by less than this a page.
TOLERANCE = 1e-4


class Ranks:
    """IR'(P), by sweeps now and then, and by the links found since (Cho 1998, section 2, 3).

    A partition knows of a linking page only the links to its own hosts: its rank is passed on to these, and
    that of one whose own host is elsewhere is what every page has.
    """

    def __init__(self) -> None:
        self._ranks: dict[int, Rank[bytes]] = {}

    def open(self, shard: FrontierShard) -> None:
        """Take up the links of a partition."""
        # Imported when it is used: sparse matrices take a tenth of a second, and most crawls have no ranks.
        from models.ordering.rank import Rank

        rank = self._ranks[shard.partition] = Rank[bytes](every=EVERY, growth=GROWTH, tolerance=TOLERANCE)
        for key, row in shard.scan(PARENT_PREFIX):
            if isinstance(row, ParentRow) and row.linked:
                rank.crawled(Crawled(key[len(PARENT_PREFIX) :], tuple(row.targets)))
        rank.sweep()

    def close(self, shard: FrontierShard) -> None:
        """Forget the links of a partition."""
        self._ranks.pop(shard.partition, None)

    def absorb(self, shard: FrontierShard, sighting: object) -> None:
        """Take in the links of a judged page, once."""
        if isinstance(sighting, Linked) and not parent_of(shard, sighting.page).linked:
            targets = dict.fromkeys(identifier(link.url) for link in sighting.links)
            targets.pop(sighting.page, None)
            self._ranks[shard.partition].crawled(Crawled(sighting.page, tuple(targets)))

    def sweep(self, shard: FrontierShard) -> bool:
        """Work out all ranks anew if it is time, and return whether it was."""
        return self._ranks[shard.partition].sweep()

    def value(self, shard: FrontierShard, row: PageRow, topic: tuple[str, ...] = ()) -> float:
        """Return the rank of a page, 1 on the mean over all."""
        return self._ranks[shard.partition].value(identifier(row.url))
