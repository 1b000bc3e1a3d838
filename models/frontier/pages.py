"""The rows of URLs: made when a URL is found, kept while it is open, closed when something became of it.

URLs that differ in numbers only are of one space. How many of a space's pages, in a row, brought nothing is
a function of the pages that were judged and refused, in their order; what is left of a spent space is not
chosen.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable

from scentline.models.frontier.keys import (
    ALIKE_PREFIX,
    PAGE_PREFIX,
    TOTALS_KEY,
    Rows,
    alike_key,
    page_key,
    totals_of,
)
from scentline.models.frontier.rows import OPEN, HostRow, PageRow, State
from scentline.models.page import Verdict
from scentline.models.settings import FrontierSettings
from scentline.models.traps import Barren, Bounds, dated, pattern, trap
from scentline.models.url import identifier


class Pages:
    """Makes and changes the rows of URLs; ``touched`` gathers, by partition, those to be scored again.

    ``bounds`` say what a URL may be like, where any may not be.
    """

    def __init__(self, bounds: Bounds | None = None) -> None:
        self._bounds = bounds
        self.touched: dict[int, set[bytes]] = defaultdict(set)

    def find(self, shard: Rows, url: str, depth: int | None = None) -> tuple[bytes, PageRow]:
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

    def keep(self, shard: Rows, key: bytes, row: PageRow) -> None:
        """Stage a row of which more is known now; an open one is to be scored again."""
        shard.put(key, row)
        if row.state in OPEN:
            self.touched[shard.partition].add(key)

    def free(self, shard: Rows, row: PageRow) -> None:
        """Make a candidate of a URL that was asked for by name, whatever it looks like."""
        if row.state == "trapped":
            totals = totals_of(shard)
            totals.count(row.state, -1)
            shard.put(TOTALS_KEY, totals)
            row.state, row.reason = "candidate", ""

    def touch(self, shard: Rows, pages: Iterable[bytes]) -> None:
        """Have URLs scored again, by their identifiers."""
        self.touched[shard.partition].update(PAGE_PREFIX + page for page in pages)

    def close(self, shard: Rows, key: bytes, row: PageRow, state: State) -> None:
        """Bring a URL to an end, and count it there."""
        totals = totals_of(shard)
        if row.state not in OPEN:  # given up, and judged after all
            totals.count(row.state, -1)
        totals.count(state, 1)
        shard.put(TOTALS_KEY, totals)
        row.state = state
        row.lease = 0.0
        shard.put(key, row)

    def count_verdict(self, shard: Rows, verdict: Verdict) -> None:
        """Count a page for the predicates that judged it."""
        totals = totals_of(shard)
        totals.count_verdict(verdict)
        shard.put(TOTALS_KEY, totals)

    def count_request(self, shard: Rows, row: PageRow) -> None:
        """Count a request for a page that was answered."""
        row.requests += 1
        totals = totals_of(shard)
        totals.requests += 1
        shard.put(TOTALS_KEY, totals)


class Spaces:
    """Counts the pages of spaces. ``spent`` has the identifiers of those that are worth no more fetches."""

    def __init__(self, settings: FrontierSettings) -> None:
        self._settings = settings
        self.spent: set[bytes] = set()

    def open(self, shard: Rows) -> None:
        """Take up the spent spaces of a shard."""
        for key, row in shard.scan(ALIKE_PREFIX):
            if isinstance(row, HostRow) and why_spent(row, self._settings):
                self.spent.add(key[len(ALIKE_PREFIX) :])

    def judged(self, shard: Rows, url: str, *, hit: bool, repeated: bool = False) -> None:
        """Count a judged page: whether it satisfied any predicate, and whether only numbers were new in it."""
        self._count(shard, url, lambda barren: barren.judged(hit, repeated))

    def barren(self, shard: Rows, url: str) -> None:
        """Count a page that was none of its own: a near-duplicate, a soft 404."""
        self._count(shard, url, Barren.copied)

    def _count(self, shard: Rows, url: str, count: Callable[[Barren], None]) -> None:
        name = pattern(url) if self._settings.traps else None
        if name is None:
            return
        space = identifier(name)
        found = shard.get(alike_key(space))
        row = found if isinstance(found, HostRow) else HostRow(alike=name)
        row.barren = row.barren or Barren()
        count(row.barren)
        shard.put(alike_key(space), row)
        if why_spent(row, self._settings):
            self.spent.add(space)
        else:
            self.spent.discard(space)


def why_spent(row: HostRow, settings: FrontierSettings) -> str:
    """Return why a space is worth no more fetches; empty where it is."""
    if row.barren is None:
        return ""
    misses = settings.barren_dates if dated(row.alike) else settings.barren_misses
    for number, most, what in (
        (row.barren.copies, settings.barren_copies, "were copies of others or soft 404s"),
        (row.barren.misses, misses, "satisfied no predicate"),
    ):
        if number >= most:
            return f"the last {number} pages like {row.alike} {what}"
    return ""
