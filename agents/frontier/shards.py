"""The shards of the frontier that this worker holds: where a URL's row is."""

from agents.frontier.keys import page_key, totals_of
from agents.frontier.rows import FrontierShard, PageRow, TotalsRow
from models.url import host
from streams.topics import partition_of


class Shards(dict[int, FrontierShard]):
    """The shards held, by partition; ``partitions`` is how many there are in all."""

    def __init__(self) -> None:
        super().__init__()
        self.partitions = 1

    def partition(self, url: str) -> int:
        """Return the partition of a URL, held or not."""
        return partition_of(host(url), self.partitions)

    def of(self, url: str) -> FrontierShard | None:
        """Return the shard of a URL, if it is held."""
        return self.get(self.partition(url))

    def find(self, url: str) -> tuple[FrontierShard, PageRow] | None:
        """Return a URL's shard and row, if its shard is held and it is known."""
        shard = self.of(url)
        row = shard.get(page_key(url)) if shard is not None else None
        return (shard, row) if shard is not None and isinstance(row, PageRow) else None

    def totals(self) -> TotalsRow:
        """Return the totals over the shards held."""
        total = TotalsRow()
        for shard in self.values():
            total.add(totals_of(shard))
        return total
