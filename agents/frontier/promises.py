"""The promises of links: what was expected of a page when it was chosen, told of those who link to it.

A row for each owner in each partition, so that a restart forgets nothing.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from agents.frontier.keys import OWNER_PREFIX, owner_key, parent_of
from agents.frontier.rows import FrontierShard, OwnerRow, PageRow
from models.domain import owner
from models.frontier.promises import Promises
from models.url import host

#: Part of a promise that a redirect within a site breaks, whatever comes of it.
MOVED = 0.5
#: Linking pages of a page whose owners answer for it.
SOURCES = 8


class LinkPromises:
    """Counts promises in rows, and keeps in memory what they come to over the partitions held."""

    def __init__(self) -> None:
        self._promises = Promises()

    def open(self, shard: FrontierShard) -> None:
        """Take up a partition's owners."""
        for key, row in shard.scan(OWNER_PREFIX):
            if isinstance(row, OwnerRow):
                self._promises.take_up(key[len(OWNER_PREFIX) :].decode(), row.promises)

    def close(self, held: Iterable[FrontierShard]) -> None:
        """Forget the owners of a partition that another worker has now; those ``held`` are taken up anew."""
        self._promises = Promises()
        for shard in held:
            self.open(shard)

    def ended(self, shard: FrontierShard, row: PageRow, hit: bool, part: float = 1.0) -> None:
        """Count what came of a page that the policy chose: a ``hit`` or not, and a ``part`` of its promise."""
        choice = row.choice
        if choice is None or choice.promised is None or row.seed:
            return
        expected = part * choice.promised
        for name in sorted(set(self._sources(shard, row))):
            found = shard.get(owner_key(name))
            kept = found if isinstance(found, OwnerRow) else OwnerRow()
            kept.promises.add(expected, hit)
            shard.put(owner_key(name), kept)
            self._promises.ended(name, expected, hit)

    def judged(self, shard: FrontierShard, row: PageRow) -> None:
        """Count what came of a page that was judged."""
        verdict = row.verdict or {}
        self.ended(shard, row, row.choice is not None and verdict.get(row.choice.predicate, False))

    def belief(self, shard: FrontierShard, row: PageRow) -> float:
        """Return how far those who link to a candidate are believed."""
        return self._promises.belief(self._sources(shard, row))

    def redirected(self, shard: FrontierShard, row: PageRow, target: str) -> None:
        """Count a redirect: to another owner it breaks the promise; a page that was moved costs a fetch."""
        self.ended(shard, row, hit=False, part=MOVED if owner(host(target)) == owner(host(row.url)) else 1.0)

    def _sources(self, shard: FrontierShard, row: PageRow) -> Iterator[str]:
        """Yield the owners of the pages that link to a page; its own where none does."""
        if not row.parents:
            yield owner(host(row.url))
        for parent in islice(row.parents, SOURCES):
            yield owner(host(parent_of(shard, parent).url))
