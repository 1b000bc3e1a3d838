"""The sweep: all rows of the shards held are scored again, a few at a time; evicted candidates come back.

Of shards that were opened and are not all taken up, the best of what they hold comes first, then all the rest.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from scentline.models.frontier.keys import PAGE_PREFIX, Rows, host_key, start_of, totals_of
from scentline.models.frontier.politeness import HostState
from scentline.models.frontier.queue import SWEPT, CandidateQueue
from scentline.models.frontier.rows import HostRow, PageRow, TotalsRow
from scentline.models.records import partition_of
from scentline.models.url import host, identifier

#: Rows taken up by a step, and by the first step of what a shard starts with: the first choices are of these.
TAKEN_UP, FIRST = 20, 200


def _place(cursor: bytes | None) -> float:
    """Return the part of all rows of URLs up to a key: they are spread evenly, as identifiers are hashes."""
    found = (cursor or b"")[len(PAGE_PREFIX) :][:4]
    return int.from_bytes(found.ljust(4, b"\0")) / 2**32


class Opening:
    """Goes through the rows of shards: those that they start with, then each row once, shard by shard.

    What a shard starts with may be out of date: some is gone through twice, and nothing is missed.
    """

    def __init__(self) -> None:
        self._best: dict[int, tuple[Rows, Iterator[bytes]]] = {}
        self._rest: dict[int, tuple[Rows, bytes | None]] = {}
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

    def taken_up(self, shards: int) -> float:
        """Return the part of the rows of so many shards, held in all, that is taken up."""
        left = sum(1.0 - _place(cursor) for _, cursor in self._rest.values())
        return 1.0 - left / max(1, shards)

    def add(self, shard: Rows) -> None:
        """Begin with a shard."""
        start = start_of(shard)
        if start is not None:
            self._best[shard.partition] = shard, iter(start.best)
        self._unknown.add(shard.partition)
        self._rest[shard.partition] = shard, None

    def discard(self, shard: Rows) -> None:
        """Leave a shard where it stands: another worker has it now."""
        self._best.pop(shard.partition, None)
        self._rest.pop(shard.partition, None)
        self._unknown.discard(shard.partition)

    def step(self) -> tuple[Rows, list[PageRow]]:
        """Return the next few rows of URLs, and whose they are."""
        return self._step_of_the_best() if self._best else self._step_of_the_rest()

    def _step_of_the_best(self) -> tuple[Rows, list[PageRow]]:
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

    def _step_of_the_rest(self) -> tuple[Rows, list[PageRow]]:
        partition, (shard, cursor) = next(iter(self._rest.items()))
        found = list(islice(shard.scan(PAGE_PREFIX, cursor), TAKEN_UP))
        if len(found) < TAKEN_UP:
            del self._rest[partition]
            self._unknown.discard(partition)
        else:
            self._rest[partition] = shard, found[-1][0]
        return shard, [row for _, row in found if isinstance(row, PageRow)]


class Shards(dict[int, Rows]):
    """The shards held, by partition; ``partitions`` is how many there are in all."""

    def __init__(self) -> None:
        super().__init__()
        self.partitions = 1

    def partition(self, url: str) -> int:
        """Return the partition of a URL, held or not."""
        return 0 if self.partitions == 1 else self.partition_of(host(url))

    def partition_of(self, name: str) -> int:
        """Return the partition of a host, held or not."""
        return 0 if self.partitions == 1 else partition_of(name, self.partitions)

    def host_state(self, name: str) -> HostState | None:
        """Return what a host has said of how it wants to be asked, None where that is not known here."""
        shard = self.get(self.partition_of(name))
        row = None if shard is None else shard.get(host_key(name))
        return row.state if isinstance(row, HostRow) and row.state != HostState() else None

    def of(self, url: str) -> Rows | None:
        """Return the shard of a URL, if it is held."""
        return self.get(self.partition(url))

    def find(self, url: str) -> tuple[Rows, PageRow] | None:
        """Return a URL's shard and row, if its shard is held and it is known."""
        shard = self.of(url)
        row = shard.get(PAGE_PREFIX + identifier(url)) if shard is not None else None
        return (shard, row) if shard is not None and isinstance(row, PageRow) else None

    def rows_of(self, urls: Iterable[str]) -> list[tuple[Rows, list[PageRow]]]:
        """Return the known of some URLs by the shards held."""
        rows: dict[int, list[PageRow]] = {}
        for found in map(self.find, urls):
            if found is not None:
                rows.setdefault(found[0].partition, []).append(found[1])
        return [(self[partition], each) for partition, each in rows.items()]

    def totals(self) -> TotalsRow:
        """Return the totals over the shards held; who asks changes nothing of them."""
        if len(self) == 1:
            return totals_of(next(iter(self.values())))
        total = TotalsRow()
        for shard in self.values():
            total.add(totals_of(shard))
        return total


#: Predicates for which a step looks at `SWEPT` rows: at fewer for more, each of which is scored for all, and
#: everything else waits.
SWEPT_FOR, SWEPT_LEAST = 10, 10
#: How full a queue that evicted may be for the sweep to bring others back.
SWEPT_FULL = 0.9


class Sweep:
    """Goes round the shards held, and has ``offer`` offer what there is room for in the queues of ``limit``.

    ``filling`` says that a round which is needed is not done: a queue is new, or the order changed.
    """

    def __init__(
        self,
        shards: Shards,
        queues: Mapping[str, CandidateQueue],
        limit: int,
        offer: Callable[[Rows, Iterable[PageRow], float], None],
    ) -> None:
        self._shards = shards
        self._queues = queues
        self._full = SWEPT_FULL * limit
        self._offer = offer
        self._unswept: list[int] = []
        self._cursor: bytes | None = None
        self.filling = False
        self._again = False

    def begin(self) -> None:
        """Begin a round that is needed: what was swept so far is swept once more."""
        self._again = False
        self._unswept, self._cursor = list(self._shards), None
        self.filling = bool(self._shards)

    def renew(self) -> None:
        """Have every row scored again: at once, or after the needed round that goes on."""
        if self.filling:
            self._again = True
        else:
            self.begin()

    def step(self, now: float) -> bool:
        """Score the next few rows again, shard by shard; return whether that ended a round of all of them."""
        if not self._unswept:
            self._unswept = list(self._shards)
            for queue in self._queues.values():
                queue.reset_floor()
        rows = max(SWEPT_LEAST, SWEPT * SWEPT_FOR // max(SWEPT_FOR, len(self._queues)))
        looked_at = 0
        while self._unswept and looked_at < rows:
            looked_at += self._step_in(self._shards.get(self._unswept[0]), rows - looked_at, now)
        ended = not self._unswept
        self.filling = self.filling and not ended
        if ended and self._again:
            self.begin()
        return ended

    def _step_in(self, shard: Rows | None, rows: int, now: float) -> int:
        looked_at = 0
        if shard is not None:
            found = []
            for key, row in islice(shard.scan(PAGE_PREFIX, self._cursor), rows):
                looked_at += 1
                self._cursor = key
                if not isinstance(row, PageRow) or row.state != "candidate":
                    continue
                if row.not_before > now or self.has_room(row.url):
                    found.append(row)
            self._offer(shard, found, now)
            shard.let_go_of_excess()
        if looked_at < rows:
            self._cursor = None
            del self._unswept[0]
        return looked_at

    def has_room(self, url: str) -> bool:
        """Return whether a candidate is in a queue, or would not push another one out of all of them."""
        return any(
            url in queue or queue.floor is None or len(queue) < self._full for queue in self._queues.values()
        )
