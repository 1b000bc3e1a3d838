"""The rows of URLs: made when a URL is found, kept while it is open, closed when something became of it."""

from collections import defaultdict
from collections.abc import Iterable

from agents.frontier.keys import PAGE_PREFIX, TOTALS_KEY, host_key, page_key, totals_of
from agents.frontier.rows import OPEN, FrontierShard, HostRow, PageRow, State
from models.traps.spaces import Bounds, trap
from models.url import host
from models.verdict import Verdict


class Pages:
    """Makes and changes the rows of URLs; ``touched`` gathers, by partition, those to be scored anew.

    ``bounds`` say what a URL may be like, where any may not be.
    """

    def __init__(self, bounds: Bounds | None = None) -> None:
        self._bounds = bounds
        self.touched: dict[int, set[bytes]] = defaultdict(set)

    def find(self, shard: FrontierShard, url: str, depth: int | None = None) -> tuple[bytes, PageRow]:
        """Return a URL's key and row, a new one where it was unknown; ``depth`` is one way that leads to it."""
        key = page_key(url)
        row = shard.get(key)
        if not isinstance(row, PageRow):
            totals = totals_of(shard)
            row = PageRow(url=url, depth=depth or 0, discovered=totals.discovered)
            totals.discovered += 1
            row.reason = trap(url, self._bounds) if self._bounds is not None else ""
            if row.reason:
                row.state = "trapped"
                totals.count(row.state, 1)
            shard.put(TOTALS_KEY, totals)
        elif depth is not None:
            row.depth = min(row.depth, depth)
        return key, row

    def keep(self, shard: FrontierShard, key: bytes, row: PageRow) -> None:
        """Stage a row of which more is known now; an open one is to be scored anew."""
        shard.put(key, row)
        if row.state in OPEN:
            self.touched[shard.partition].add(key)

    def free(self, shard: FrontierShard, row: PageRow) -> None:
        """Make a candidate of a URL that was asked for by name, whatever it looks like."""
        if row.state == "trapped":
            totals = totals_of(shard)
            totals.count(row.state, -1)
            shard.put(TOTALS_KEY, totals)
            row.state, row.reason = "candidate", ""

    def touch(self, shard: FrontierShard, pages: Iterable[bytes]) -> None:
        """Have URLs scored anew, by their identifiers."""
        self.touched[shard.partition].update(PAGE_PREFIX + page for page in pages)

    def close(self, shard: FrontierShard, key: bytes, row: PageRow, state: State) -> None:
        """Bring a URL to an end, and count it there."""
        totals = totals_of(shard)
        if row.state not in OPEN:  # given up, and judged after all
            totals.count(row.state, -1)
        totals.count(state, 1)
        shard.put(TOTALS_KEY, totals)
        row.state = state
        row.lease = 0.0
        shard.put(key, row)

    def count_verdict(self, shard: FrontierShard, verdict: Verdict) -> None:
        """Count a page for the predicates that judged it."""
        totals = totals_of(shard)
        totals.count_verdict(verdict)
        shard.put(TOTALS_KEY, totals)

    def count_for_host(self, shard: FrontierShard, url: str) -> None:
        """Count a judged page for its host."""
        key = host_key(host(url))
        row = shard.get(key)
        counts = row if isinstance(row, HostRow) else HostRow()
        counts.judged += 1
        shard.put(key, counts)
