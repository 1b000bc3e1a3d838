"""Hosts' rows: what came of the requests to each, how it wants to be asked, and its robots.txt.

That outlives the process: after a restart, or on another worker, no host is asked before its time, and no
robots.txt before it is due.
"""

from scentline.models.facts import Early, Fetched, Missing, Moved, Page
from scentline.models.frontier.causes import cause_of, count_cause
from scentline.models.frontier.keys import Rows, host_key, host_of, robots_key
from scentline.models.frontier.politeness import HostClocks, HostState
from scentline.models.frontier.rows import HostRow
from scentline.models.records import RobotsTxt
from scentline.models.url import host, identifier, origin, server

#: The cause where an order for a new page was not answered in time.
LOST = "no answer from a fetcher"
#: Seconds for which a robots.txt is known at most: who told that it is for longer had a wrong clock.
ROBOTS_SECONDS = 86_400.0
#: Sites whose robots.txt was asked for by fetchers, and that had no order since.
MOST_ASKED = 100_000


def state_of(shard: Rows, name: str) -> HostState | None:
    """Return what a host has said of how it wants to be asked, None where it has said nothing yet."""
    row = shard.get(host_key(name))
    return row.state if isinstance(row, HostRow) and row.state != HostState() else None


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
