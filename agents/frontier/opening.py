"""The shards that were opened and are not all taken up: the best of what they hold first, then all the rest."""

from collections.abc import Iterator
from itertools import islice

from agents.frontier.keys import PAGE_PREFIX, start_of
from agents.frontier.rows import FrontierShard, PageRow

#: Rows taken up by a step, and by the first step of what a shard starts with: the first choices are of these.
TAKEN_UP, FIRST = 20, 200


class Opening:
    """Goes through the rows of shards: those that they start with, then each row once, shard by shard.

    What a shard starts with may be out of date: some is gone through twice, and nothing is missed.
    """

    def __init__(self) -> None:
        self._best: dict[int, tuple[FrontierShard, Iterator[bytes]]] = {}
        self._rest: dict[int, tuple[FrontierShard, bytes | None]] = {}
        self._unknown: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._rest)

    @property
    def blind(self) -> bool:
        """Whether the best candidates of a shard may be among what was not taken up."""
        return bool(self._unknown)

    @property
    def starting(self) -> bool:
        """Whether there is left of what the shards start with."""
        return bool(self._best or self._unknown)

    def add(self, shard: FrontierShard) -> None:
        """Begin with a shard."""
        start = start_of(shard)
        if start is not None:
            self._best[shard.partition] = shard, iter(start.best)
        self._unknown.add(shard.partition)
        self._rest[shard.partition] = shard, None

    def discard(self, shard: FrontierShard) -> None:
        """Leave a shard where it stands: another worker has it now."""
        self._best.pop(shard.partition, None)
        self._rest.pop(shard.partition, None)
        self._unknown.discard(shard.partition)

    def step(self) -> tuple[FrontierShard, list[PageRow]]:
        """Return the next few rows of URLs, and whose they are."""
        return self._step_of_the_best() if self._best else self._step_of_the_rest()

    def _step_of_the_best(self) -> tuple[FrontierShard, list[PageRow]]:
        """Go on with the best of one shard, and let the next one have its turn."""
        partition, (shard, pages) = next(iter(self._best.items()))
        del self._best[partition]
        most = FIRST if partition in self._unknown else TAKEN_UP
        taken = list(islice(pages, most))
        if len(taken) == most:
            self._best[partition] = shard, pages
        self._unknown.discard(partition)
        rows = (shard.get(PAGE_PREFIX + page) for page in taken)
        return shard, [row for row in rows if isinstance(row, PageRow)]

    def _step_of_the_rest(self) -> tuple[FrontierShard, list[PageRow]]:
        partition, (shard, cursor) = next(iter(self._rest.items()))
        found = list(islice(shard.scan(PAGE_PREFIX, cursor), TAKEN_UP))
        if len(found) < TAKEN_UP:
            del self._rest[partition]
            self._unknown.discard(partition)
        else:
            self._rest[partition] = shard, found[-1][0]
        return shard, [row for _, row in found if isinstance(row, PageRow)]
