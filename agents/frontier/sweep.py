"""The sweep: all rows of the shards held are scored anew, a few at a time; evicted candidates come back."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from agents.frontier.keys import PAGE_PREFIX
from agents.frontier.rows import FrontierShard, PageRow
from agents.frontier.shards import Shards
from models.frontier.queue import CandidateQueue

#: Rows looked at by one step, for as many predicates: fewer for more, since each is scored for all of them, and
#: all else waits meanwhile.
SWEPT, SWEPT_FOR, SWEPT_LEAST = 200, 10, 10
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
        offer: Callable[[FrontierShard, Iterable[PageRow], float], None],
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
        """Have every row scored anew: at once, or after the needed round that goes on."""
        if self.filling:
            self._again = True
        else:
            self.begin()

    def step(self, now: float) -> bool:
        """Score the next few rows anew, shard by shard; return whether that ended a round of all of them."""
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

    def _step_in(self, shard: FrontierShard | None, rows: int, now: float) -> int:
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
