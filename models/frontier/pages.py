"""The rows of URLs and hosts: what is known of them, and the results of requests.

A URL's row is created when the URL is found, updated while it is open, and closed when its fate is decided.
URLs that differ in numbers only form a space. The number of a space's consecutive pages that brought nothing
is a function of the pages judged and refused, in their order; the rest of a spent space is not chosen.

The rows of a host have its politeness state and its robots.txt. They outlive the process: after a restart, or
on another worker, no host is fetched from before its time, and no robots.txt before it is due.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from scentline.models.facts import Early, Fetched, Missing, Moved, Page
from scentline.models.frontier.answers import cause_of, count_cause
from scentline.models.frontier.freshness import groups_of
from scentline.models.frontier.keys import (
    ALIKE_PREFIX,
    PAGE_PREFIX,
    TOTALS_KEY,
    Rows,
    host_key,
    host_of,
    known_pages,
    robots_key,
    totals_of,
)
from scentline.models.frontier.needs import Needs
from scentline.models.frontier.politeness import HostClocks, HostState
from scentline.models.frontier.rows import OPEN, HostRow, PageRow, State, TotalsRow
from scentline.models.page import Verdict
from scentline.models.records import RobotsTxt
from scentline.models.settings import FrontierSettings
from scentline.models.traps import Barren, Bounds, dated, pattern, traps
from scentline.models.url import host, identifier, origin, server


class Pages:
    """Creates and changes the rows of URLs; ``touched`` collects, by partition, those to be rescored.

    ``bounds`` limit the spelling of URLs; None allows any.
    """

    def __init__(self, bounds: Bounds | None = None) -> None:
        self._bounds = bounds
        self.touched: dict[int, set[bytes]] = defaultdict(set)

    def find(self, shard: Rows, url: str, depth: int | None = None) -> tuple[bytes, PageRow]:
        """Return a URL's key and its row, new for an unknown URL; ``depth`` is that of one way to it."""
        key = PAGE_PREFIX + identifier(url)
        return key, self.find_all(shard, {key: url}, depth)[key]

    def find_all(self, shard: Rows, urls: Mapping[bytes, str], depth: int | None) -> dict[bytes, PageRow]:
        """Return the rows of URLs by their keys, as `find` does."""
        known, totals = known_pages(shard, urls), totals_of(shard)
        for row in known.values():
            row.depth = row.depth if depth is None else min(row.depth, depth)
        new = [url for key, url in urls.items() if key not in known]
        trapped = {} if self._bounds is None else traps(new, self._bounds)
        rows = {
            key: known.get(key) or _new(url, depth or 0, totals, trapped.get(url, ""))
            for key, url in urls.items()
        }
        if len(known) < len(rows):
            shard.put(TOTALS_KEY, totals)
        return rows

    def keep(self, shard: Rows, rows: Mapping[bytes, PageRow]) -> None:
        """Stage changed rows by their keys; open ones are to be rescored."""
        shard.put_all(rows)
        self.touched[shard.partition].update(key for key, row in rows.items() if row.state in OPEN)

    def free(self, shard: Rows, row: PageRow) -> None:
        """Make a trapped URL a candidate, as it was requested by name."""
        if row.state == "trapped":
            totals = totals_of(shard)
            totals.count(row.state, -1)
            shard.put(TOTALS_KEY, totals)
            row.state, row.reason = "candidate", ""

    def touch(self, shard: Rows, pages: Iterable[bytes]) -> None:
        """Have the URLs with these identifiers rescored."""
        self.touched[shard.partition].update(PAGE_PREFIX + page for page in pages)

    def close(self, shard: Rows, key: bytes, row: PageRow, state: State) -> None:
        """Move a URL to a final state, and count it there."""
        totals = totals_of(shard)
        if row.state not in OPEN:  # given up, and judged after all
            totals.count(row.state, -1)
        totals.count(state, 1)
        shard.put(TOTALS_KEY, totals)
        row.state = state
        row.lease = 0.0
        shard.put(key, row)

    def count_verdict(self, shard: Rows, verdict: Verdict) -> None:
        """Count a page under the predicates that judged it."""
        totals = totals_of(shard)
        totals.count_verdict(verdict)
        shard.put(TOTALS_KEY, totals)

    def count_request(self, shard: Rows, row: PageRow) -> None:
        """Count an answered request for a page."""
        row.requests += 1
        totals = totals_of(shard)
        totals.requests += 1
        shard.put(TOTALS_KEY, totals)


def _new(url: str, depth: int, totals: TotalsRow, trap: str) -> PageRow:
    row = PageRow(url=url, depth=depth, discovered=totals.discovered)
    totals.discovered += 1
    if trap:
        row.state, row.reason = "trapped", trap
        totals.count(row.state, 1)
    return row


class Spaces:
    """Counts the pages of spaces. ``spent`` has those not worth another fetch, by identifier, and says why."""

    def __init__(self, settings: FrontierSettings) -> None:
        self._settings = settings
        self.spent: dict[bytes, str] = {}

    def open(self, shard: Rows) -> None:
        """Load the spent spaces of a shard."""
        for key, row in shard.scan(ALIKE_PREFIX):
            if isinstance(row, HostRow):
                self._note(key[len(ALIKE_PREFIX) :], row)

    def judged(self, shard: Rows, url: str, *, hit: bool, repeated: bool = False) -> None:
        """Count a judged page: whether it satisfied a predicate, and whether only numbers were new in it."""
        self._count(shard, url, lambda barren: barren.judged(hit, repeated))

    def barren(self, shard: Rows, url: str) -> None:
        """Count a near-duplicate or a soft 404."""
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
        self._note(space, row)

    def _note(self, space: bytes, row: HostRow) -> None:
        self.spent.pop(space, None)
        if why := why_spent(row, self._settings):
            self.spent[space] = why


def why_spent(row: HostRow, settings: FrontierSettings) -> str:
    """Return why a space is not worth another fetch; empty where it is."""
    barren = row.barren or Barren()
    misses = "barren_dates" if dated(row.alike) else "barren_misses"
    for number, name, what in (
        (barren.copies, "barren_copies", "were copies but for numbers, or soft 404s"),
        (barren.misses, misses, "satisfied no predicate"),
    ):
        if number >= getattr(settings, name):
            return f"the last {number} pages like {row.alike} {what} (frontier.{name})"
    return ""


#: The cause for an order of a new page that was not answered in time.
LOST = "no answer from a fetcher"
#: Longest validity of a robots.txt, in seconds: a fetcher that reports a longer one had a wrong clock.
ROBOTS_SECONDS = 86_400.0
#: Most sites whose robots.txt a fetcher has requested, and that had no order since.
MOST_ASKED = 100_000


def note_end(shard: Rows, end: Fetched, *, judged: bool) -> None:
    """Apply the end of a fetch to the row of its host; ``judged`` counts a page judged for the first time.

    An unanswered fetch is counted, but leaves the host's politeness state alone: our network may have failed.
    """
    name = host(end.url)
    row = host_of(shard, name)
    _count_end(row, end, judged=judged)
    if not end.host.unanswered:
        _take_end(row.state, end)
    shard.put(host_key(name), row)


def note_need(shard: Rows, end: Fetched, *, needed: bool, seen: bool) -> None:
    """Count in the rows of a page's groups how it came, and what it brought to render it.

    ``needed`` says whether it needs scripts as it came; one that was ``seen`` before did, and is counted once.
    """
    how = end.rendering
    for key, row in groups_of(shard, end.url):
        row.needs = row.needs or Needs()
        if not seen:
            row.needs.came(needed=needed if how is None else how.needed)
        if how is not None:
            row.needs.took(how.seconds, end.host.requests, needed=how.needed or seen, brought=how.brought)
        shard.put(key, row)


def note_lost(shard: Rows, url: str, now: float) -> None:
    """Count an order without a timely answer in the row of its host."""
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
    told, asked = end.host, end.asked
    if told.server:
        state.server = server(told.server)
    if told.crawl_delay or told.elapsed:
        state.crawl_delay(told.crawl_delay or 0.0)
    if asked and told.elapsed:
        rendering = 0.0 if end.rendering is None else end.rendering.seconds
        state.answered(end.time - told.elapsed - rendering, told.elapsed, told.requests)
    if isinstance(end.result, Missing) and end.result.kind == "retry":
        state.failed(end.time, told.retry_after, overloaded=told.overloaded)
    elif asked:  # robots.txt may refuse without a request
        state.succeeded(end.time)


def tell_clocks(clocks: HostClocks, end: Fetched) -> None:
    """Apply the end of a fetch to the clocks, once it is in the row of its host."""
    name = host(end.url)
    if end.host.server:
        clocks.serves(server(end.host.server), name, asked=not isinstance(end.result, Early))
    clocks.told(name, lambda state: _take_end(state, end))
    if end.host.elapsed:
        clocks.answered(name, end.time)


class KnownRobots:
    """The robots.txt field of orders: how long the frontier's copy is valid, as texts are too long for each.

    The next order has the text where a fetcher requested it.
    """

    def __init__(self) -> None:
        self._asked: set[str] = set()

    def landed(self, end: Fetched) -> None:
        """Note whether the fetcher requested the site's robots.txt."""
        if end.host.robots:
            if len(self._asked) >= MOST_ASKED:
                self._asked.clear()  # fetchers repeat their requests
            self._asked.add(origin(end.url))

    def told(self, shard: Rows, url: str, now: float) -> RobotsTxt | float:
        """Return `FetchOrder.robots` for a URL, 0 where its site's robots.txt is unknown."""
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
    """Store a robots.txt."""
    shard.put(robots_key(origin(told.url)), HostRow(robots=told))
