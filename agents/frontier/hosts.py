"""Hosts' rows: what came of the requests to each, how it wants to be asked, and its robots.txt.

That outlives the process: after a restart, or on another worker, no host is asked before its time, and no
robots.txt before it is due.
"""

from typing import TypeAlias

from scentline.agents.frontier.keys import host_key, robots_key
from scentline.agents.frontier.rows import FrontierShard, HostRow, RobotsRow
from scentline.models.domain import server
from scentline.models.frontier.causes import cause_of, count_cause
from scentline.models.frontier.politeness import HostClocks, HostState
from scentline.models.url import host, identifier, origin
from scentline.streams.facts import Failed, Judged, Postponed, Redirected, Revisited
from scentline.streams.records import RobotsTxt

#: A sighting that says how a fetch ended.
Ended: TypeAlias = Judged | Failed | Redirected | Postponed | Revisited

#: The cause where an order for a new page was not answered in time.
LOST = "no answer from a fetcher"
#: Outcomes of revisits that brought no page, where there may be one.
NO_PAGE = frozenset({"retry", "failed", "gone", "refused"})
#: Seconds for which a robots.txt is known at most: who told that it is for longer had a wrong clock.
ROBOTS_SECONDS = 86_400.0
#: Sites whose robots.txt was asked for by fetchers, and that had no order since.
MOST_ASKED = 100_000


def host_of(shard: FrontierShard, name: str) -> HostRow:
    """Return a host's row, a new one where it has none."""
    row = shard.get(host_key(name))
    return row if isinstance(row, HostRow) else HostRow()


def state_of(shard: FrontierShard, name: str) -> HostState | None:
    """Return what a host has said of how it wants to be asked, None where it has said nothing yet."""
    row = shard.get(host_key(name))
    return row.state if isinstance(row, HostRow) and row.state != HostState() else None


def note_end(shard: FrontierShard, sighting: Ended, *, judged: bool) -> None:
    """Take the end of a fetch into the row of its host; ``judged`` counts a page judged for the first time.

    That nobody answered says nothing of how the host wants to be asked, and only counts: the network may have
    been ours.
    """
    name = host(sighting.url)
    row = host_of(shard, name)
    _count_end(row, sighting, judged=judged)
    if not _unanswered(sighting):
        _take_end(row.state, sighting)
    shard.put(host_key(name), row)


def note_lost(shard: FrontierShard, url: str, now: float) -> None:
    """Count an order that was not answered in time in the row of its host."""
    name = host(url)
    row = host_of(shard, name)
    count_cause(row.causes, LOST, now, identifier(url))
    shard.put(host_key(name), row)


def _count_end(row: HostRow, sighting: Ended, *, judged: bool) -> None:
    if not _asked(sighting):
        return
    elapsed = _elapsed(sighting)
    known = isinstance(sighting, Revisited) or (isinstance(sighting, Judged) and not judged)
    if elapsed or isinstance(sighting, Judged | Redirected):
        row.again += known
        row.requests += not known
        if not _unanswered(sighting):
            row.waits.take(elapsed)
    row.judged += judged
    if isinstance(sighting, Redirected) or (isinstance(sighting, Revisited) and sighting.outcome == "moved"):
        row.moved += 1
    elif isinstance(sighting, Failed) or (isinstance(sighting, Revisited) and sighting.outcome in NO_PAGE):
        count_cause(row.causes, cause_of(sighting.reason), sighting.time, identifier(sighting.url))


def _unanswered(sighting: Ended) -> bool:
    return isinstance(sighting, Failed | Revisited) and sighting.unanswered


def _take_end(state: HostState, sighting: Ended) -> None:
    elapsed = _elapsed(sighting)
    if sighting.server:
        state.server = server(sighting.server)
    if sighting.crawl_delay or elapsed:
        state.crawl_delay(sighting.crawl_delay or 0.0)
    if not _asked(sighting):
        return
    if elapsed:
        state.answered(sighting.time - elapsed, elapsed)
    if isinstance(sighting, Failed) and sighting.kind == "retry":
        state.failed(sighting.time, sighting.retry_after, overloaded=sighting.overloaded)
    elif isinstance(sighting, Revisited) and sighting.outcome == "retry":
        state.failed(sighting.time, sighting.wait, overloaded=sighting.overloaded)
    elif isinstance(sighting, Judged) or elapsed:  # robots.txt may refuse without asking the host
        state.succeeded(sighting.time)


def tell_clocks(clocks: HostClocks, sighting: Ended) -> None:
    """Tell the clocks how a fetch ended, once that is in the row of its host."""
    name = host(sighting.url)
    if sighting.server:
        clocks.serves(server(sighting.server), name, asked=_asked(sighting))
    clocks.told(name, lambda state: _take_end(state, sighting))
    if _elapsed(sighting):
        clocks.answered(name)


class KnownRobots:
    """What orders say of robots.txt: until when it is known here. All that is known would be too long for each.

    An order has that where a fetcher asked for it.
    """

    def __init__(self) -> None:
        self._asked: set[str] = set()

    def landed(self, sighting: Ended) -> None:
        """Note how a fetch ended: its fetcher may have asked for what is known."""
        if isinstance(sighting, Postponed | Revisited) and sighting.robots:
            if len(self._asked) >= MOST_ASKED:
                self._asked.clear()  # they ask again
            self._asked.add(origin(sighting.url))

    def told(self, shard: FrontierShard, url: str, now: float) -> RobotsTxt | float:
        """Return what the order of a URL says of its site's robots.txt, 0 where nothing is known."""
        site = origin(url)
        row = shard.get(robots_key(site))
        if not isinstance(row, RobotsRow) or row.told.until > now + ROBOTS_SECONDS:
            return 0.0
        if site in self._asked:
            self._asked.discard(site)
            return row.told
        return row.told.until


def note_robots(shard: FrontierShard, told: RobotsTxt) -> None:
    """Keep what was told of a robots.txt."""
    shard.put(robots_key(origin(told.url)), RobotsRow(told))


def _asked(sighting: Ended) -> bool:
    """Return whether the order came to more than that it came too early."""
    return not isinstance(sighting, Postponed) and not (
        isinstance(sighting, Revisited) and sighting.outcome == "early"
    )


def _elapsed(sighting: Ended) -> float:
    """Return how long the host took to answer, 0 where it was not asked for the page."""
    return 0.0 if isinstance(sighting, Postponed) else sighting.elapsed
