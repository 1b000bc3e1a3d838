"""The rows of URLs and of their hosts: what is known of them, and what came of the requests.

A URL's row is made when the URL is found, kept while it is open, closed when something became of it. URLs that
differ in numbers only are of one space. How many of a space's pages, in a row, brought nothing is a function of
the pages that were judged and refused, in their order; what is left of a spent space is not chosen.

A host's row has how it wants to be asked, and its robots.txt. That outlives the process: after a restart, or on
another worker, no host is asked before its time, and no robots.txt before it is due.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable

from scentline.models.facts import Early, Fetched, Missing, Moved, Page
from scentline.models.frontier.answers import cause_of, count_cause
from scentline.models.frontier.keys import (
    ALIKE_PREFIX,
    PAGE_PREFIX,
    TOTALS_KEY,
    Rows,
    host_key,
    host_of,
    robots_key,
    totals_of,
)
from scentline.models.frontier.politeness import HostClocks, HostState
from scentline.models.frontier.rows import OPEN, HostRow, PageRow, State
from scentline.models.page import Verdict
from scentline.models.records import RobotsTxt
from scentline.models.settings import FrontierSettings
from scentline.models.traps import Barren, Bounds, dated, pattern, trap
from scentline.models.url import host, identifier, origin, server


class Pages:
    """Makes and changes the rows of URLs; ``touched`` gathers, by partition, those to be scored again.

    ``bounds`` say what a URL may be like, where any may not be.
    """

    def __init__(self, bounds: Bounds | None = None) -> None:
        self._bounds = bounds
        self.touched: dict[int, set[bytes]] = defaultdict(set)

    def find(self, shard: Rows, url: str, depth: int | None = None) -> tuple[bytes, PageRow]:
        """Return a URL's key and row, a new one where it was unknown; ``depth`` is one way that leads to it."""
        key = PAGE_PREFIX + identifier(url)
        return key, self.at(shard, key, url, depth)

    def at(self, shard: Rows, key: bytes, url: str, depth: int | None = None) -> PageRow:
        """Return the row of a URL, whose key is known, as `find` does."""
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
        return row

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
        found = shard.get(ALIKE_PREFIX + space)
        row = found if isinstance(found, HostRow) else HostRow(alike=name)
        row.barren = row.barren or Barren()
        count(row.barren)
        shard.put(ALIKE_PREFIX + space, row)
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


#: The cause where an order for a new page was not answered in time.
LOST = "no answer from a fetcher"
#: Seconds for which a robots.txt is known at most: who told that it is for longer had a wrong clock.
ROBOTS_SECONDS = 86_400.0
#: Sites whose robots.txt was asked for by fetchers, and that had no order since.
MOST_ASKED = 100_000


def note_end(shard: Rows, end: Fetched, *, judged: bool) -> None:
    """Take the end of a fetch into the row of its host; ``judged`` counts a page judged for the first time.

    That nobody answered says nothing of how the host wants to be asked, and only counts: the network may have
    been ours.
    """
    name = host(end.url)
    row = host_of(shard, name)
    _count_end(row, end, judged=judged)
    if not end.host.unanswered:
        _take_end(row.state, end)
    shard.put(host_key(name), row)


def note_lost(shard: Rows, url: str, now: float) -> None:
    """Count an order that was not answered in time in the row of its host."""
    name = host(url)
    row = host_of(shard, name)
    count_cause(row.causes, LOST, now, identifier(url))
    shard.put(host_key(name), row)


def _count_end(row: HostRow, end: Fetched, *, judged: bool) -> None:
    if end.asked:
        first = judged or (end.visit == "first" and not isinstance(end.result, Page))
        row.requests += first
        row.again += not first
        if not end.host.unanswered:
            row.waits.take(end.host.elapsed)
    row.judged += judged
    if isinstance(end.result, Moved):
        row.moved += 1
    elif isinstance(end.result, Missing):
        count_cause(row.causes, cause_of(end.result.reason), end.time, identifier(end.url))


def _take_end(state: HostState, end: Fetched) -> None:
    told = end.host
    if told.server:
        state.server = server(told.server)
    if told.crawl_delay or told.elapsed:
        state.crawl_delay(told.crawl_delay or 0.0)
    if end.asked and told.elapsed:
        state.answered(end.time - told.elapsed, told.elapsed)
    if isinstance(end.result, Missing) and end.result.kind == "retry":
        state.failed(end.time, told.retry_after, overloaded=told.overloaded)
    elif end.asked:  # robots.txt may refuse without asking the host
        state.succeeded(end.time)


def tell_clocks(clocks: HostClocks, end: Fetched) -> None:
    """Tell the clocks how a fetch ended, once that is in the row of its host."""
    name = host(end.url)
    if end.host.server:
        clocks.serves(server(end.host.server), name, asked=not isinstance(end.result, Early))
    clocks.told(name, lambda state: _take_end(state, end))
    if end.host.elapsed:
        clocks.answered(name)


class KnownRobots:
    """What orders say of robots.txt: until when it is known here. All that is known would be too long for each.

    An order has that where a fetcher asked for it.
    """

    def __init__(self) -> None:
        self._asked: set[str] = set()

    def landed(self, end: Fetched) -> None:
        """Note how a fetch ended: its fetcher may have asked for what is known."""
        if end.host.robots:
            if len(self._asked) >= MOST_ASKED:
                self._asked.clear()  # they ask again
            self._asked.add(origin(end.url))

    def told(self, shard: Rows, url: str, now: float) -> RobotsTxt | float:
        """Return what the order of a URL says of its site's robots.txt, 0 where nothing is known."""
        site = origin(url)
        row = shard.get(robots_key(site))
        told = row.robots if isinstance(row, HostRow) else None
        if told is None or told.until > now + ROBOTS_SECONDS:
            return 0.0
        if site in self._asked:
            self._asked.discard(site)
            return told
        return told.until


def note_robots(shard: Rows, told: RobotsTxt) -> None:
    """Keep what was told of a robots.txt."""
    shard.put(robots_key(origin(told.url)), HostRow(robots=told))
