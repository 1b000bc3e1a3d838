"""The shards that were opened and are not all taken up: what they hold may be the best there is."""

from itertools import islice

from agents.frontier.keys import PAGE_PREFIX
from agents.frontier.rows import FrontierShard, PageRow

#: Rows taken up by one step.
TAKEN_UP = 200


class Opening:
    """Goes through the rows of shards, one shard after the other, once each."""

    def __init__(self) -> None:
        self._shards: dict[int, tuple[FrontierShard, bytes | None]] = {}

    def __bool__(self) -> bool:
        return bool(self._shards)

    def add(self, shard: FrontierShard) -> None:
        """Begin with a shard, from its first row on."""
        self._shards[shard.partition] = shard, None

    def discard(self, shard: FrontierShard) -> None:
        """Leave a shard where it stands: another worker has it now."""
        self._shards.pop(shard.partition, None)

    def step(self) -> tuple[FrontierShard, list[PageRow]]:
        """Return the next few rows of URLs, and whose they are."""
        partition, (shard, cursor) = next(iter(self._shards.items()))
        found = list(islice(shard.scan(PAGE_PREFIX, cursor), TAKEN_UP))
        if len(found) < TAKEN_UP:
            del self._shards[partition]
        else:
            self._shards[partition] = shard, found[-1][0]
        return shard, [row for _, row in found if isinstance(row, PageRow)]
