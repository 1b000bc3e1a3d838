"""The sweep: all rows of the shards held are rescored, a few at a time, and evicted candidates come back.

Opened shards are loaded first: their best candidates, then all other rows.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from scentline.models.frontier.keys import HOST_PREFIX, PAGE_PREFIX, TOTALS_KEY, Rows, known_pages, start_of
from scentline.models.frontier.politeness import HostState
from scentline.models.frontier.queue import SWEPT, CandidateQueue
from scentline.models.frontier.rows import HostRow, PageRow, TotalsRow
from scentline.models.records import partition_of
from scentline.models.url import host, identifier

#: Rows loaded by a step, and by the first step of a shard's best: the first choices are from these.
TAKEN_UP, FIRST = 20, 200


def _place(cursor: bytes | None) -> float:
    """Return the share of the rows of URLs up to a key: they are spread evenly, as identifiers are hashes."""
    found = (cursor or b"")[len(PAGE_PREFIX) :][:4]
    return int.from_bytes(found.ljust(4, b"\0")) / 2**32


class Opening(dict[int, tuple[Rows, bytes | None]]):
    """Loads the rows of shards: the best of each by its snapshot, then each row once, shard by shard.

    It has each shard that is not loaded, by its partition, and the key of the last row loaded in turn.

    The snapshot may be out of date: some rows are loaded twice, and none is missed.
    """

    def __init__(self) -> None:
        super().__init__()
        self._best: dict[int, tuple[Rows, Iterator[bytes]]] = {}
        #: The partitions whose best candidates may be among their unloaded rows.
        self.unknown: set[int] = set()

    @property
    def starting(self) -> bool:
        """Whether some of the shards' best are not loaded yet."""
        return bool(self._best or self.unknown)

    def taken_up(self, shards: int) -> float:
        """Return the loaded share of the rows of all ``shards`` held."""
        left = sum(1.0 - _place(cursor) for _, cursor in self.values())
        return 1.0 - left / max(1, shards)

    def add(self, shard: Rows) -> None:
        """Begin to load a shard."""
        start = start_of(shard)
        if start is not None:
            self._best[shard.partition] = shard, iter(start.best)
        self.unknown.add(shard.partition)
        self[shard.partition] = shard, None

    def discard(self, shard: Rows) -> None:
        """Stop loading a shard: another worker has it now."""
        self._best.pop(shard.partition, None)
        self.pop(shard.partition, None)
        self.unknown.discard(shard.partition)

    def step(self) -> tuple[Rows, list[PageRow]]:
        """Return the next few rows of URLs, and their shard."""
        return self._step_of_the_best() if self._best else self._step_of_the_rest()

    def _step_of_the_best(self) -> tuple[Rows, list[PageRow]]:
        """Continue with the best of one shard, and leave the next turn to the next shard."""
        partition, (shard, pages) = next(iter(self._best.items()))
        del self._best[partition]
        most = FIRST if partition in self.unknown else TAKEN_UP
        taken = list(islice(pages, most))
        if len(taken) == most:
            self._best[partition] = shard, pages
        self.unknown.discard(partition)
        return shard, [*known_pages(shard, [PAGE_PREFIX + page for page in taken]).values()]

    def _step_of_the_rest(self) -> tuple[Rows, list[PageRow]]:
        partition, (shard, cursor) = next(iter(self.items()))
        found = list(islice(shard.scan(PAGE_PREFIX, cursor), TAKEN_UP))
        if len(found) < TAKEN_UP:
            del self[partition]
            self.unknown.discard(partition)
        else:
            self[partition] = shard, found[-1][0]
        return shard, [row for _, row in found if isinstance(row, PageRow)]


class Shards(dict[int, Rows]):
    """The shards held, by partition; ``partitions`` is the number of all partitions."""

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
        """Return the politeness state of a host, None where it is unknown here."""
        shard = self.get(self.partition_of(name))
        row = None if shard is None else shard.get(HOST_PREFIX + name.encode())
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
        """Return the rows of the known URLs by shard held."""
        keys: dict[int, list[bytes]] = {}
        for url in urls:
            keys.setdefault(self.partition(url), []).append(PAGE_PREFIX + identifier(url))
        held = [(self[partition], each) for partition, each in keys.items() if partition in self]
        return [(shard, [*known_pages(shard, each).values()]) for shard, each in held]

    def totals(self) -> TotalsRow:
        """Return the totals over the shards held; callers must not change them."""
        rows = [row for shard in self.values() if isinstance(row := shard.get(TOTALS_KEY), TotalsRow)]
        if len(rows) == 1:
            return rows[0]
        total = TotalsRow()
        for row in rows:
            total.add(row)
        return total


#: Predicates for which a step examines `SWEPT` rows: fewer rows for more predicates, as each row is scored for
#: all while everything else waits; and the least rows of a step.
SWEPT_FOR, SWEPT_LEAST = 10, 10
#: Fill level below which the sweep brings candidates back to a queue that evicted some.
SWEPT_FULL = 0.9


class Sweep:
    """Cycles through the shards held, and calls ``offer`` with rows that fit the queues, each of ``limit``.

    ``filling`` is true until a required round is done: one for a new queue or a changed order.
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
        """Begin a required round; rows swept so far are swept once more."""
        self._again = False
        self._unswept, self._cursor = list(self._shards), None
        self.filling = bool(self._shards)

    def renew(self) -> None:
        """Rescore every row: at once, or after the required round in progress."""
        if self.filling:
            self._again = True
        else:
            self.begin()

    def step(self, now: float) -> bool:
        """Rescore the next few rows, shard by shard; return whether that completed a round."""
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
        """Return whether a candidate is in a queue, or one of the queues has room for it."""
        return any(
            url in queue or queue.floor is None or len(queue) < self._full for queue in self._queues.values()
        )
