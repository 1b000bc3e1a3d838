"""How often pages change, by their own visits and by those of pages of a like URL.

A page of few visits is drawn towards the pages of its URL pattern, these towards those of its URL prefix, these
towards those of its host, and these towards what is expected of a page of which nothing is known. How far signs
of a change are to be trusted is told by the visits to the pages of a host.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from scentline.models.frontier.keys import Rows, alike_key, host_key
from scentline.models.frontier.rows import HostRow, VisitRow
from scentline.models.revisit.rate import NOTHING, Group, Prior, Trust, rate, steps
from scentline.models.settings import RevisitSettings
from scentline.models.traps import pattern
from scentline.models.url import host, identifier

DAY = 86_400.0
#: Probability of a change from which on a page is due.
LEAST_STALE = 0.1


class Estimate(NamedTuple):
    """How often a page changes, in changes a second: by all that is known, and by its own visits ``alone``.

    Signs announce the part ``recall`` of its changes; those that came make it older by ``aged`` seconds.
    """

    rate: float
    alone: float
    aged: float
    recall: float

    @property
    def hidden(self) -> float:
        """How often it changes without a sign."""
        return (1 - self.recall) * self.rate


class Groups:
    """Keeps the rows of groups, and tells from them when pages are due."""

    def __init__(self, settings: RevisitSettings) -> None:
        self._settings = settings
        self._expected = Prior(NOTHING.shape, NOTHING.shape * settings.change_days * DAY)

    @property
    def expected(self) -> float:
        """How often a page changes of which nothing is known, in changes a second."""
        return self._expected.rate

    def seen(self, shard: Rows, visit: VisitRow, time: float, *, changed: bool) -> None:
        """Absorb a visit to a page, whose row has the signs since the one before."""
        interval = time - visit.visited
        signs = sum(visit.signs.values())
        for key, row in _groups(shard, visit.url):
            row.visits = row.visits or Group()
            row.visits.seen(interval, changed, signs)
            if not row.alike:
                for kind in row.signs.keys() | visit.signs.keys():
                    trust = row.signs.setdefault(kind, Trust())
                    trust.seen(interval, visit.signs.get(kind, 0), changed, visit.history)
            shard.put(key, row)
        visit.history.seen(interval, changed, signs)

    def estimate(self, shard: Rows, visit: VisitRow) -> Estimate:
        """Return how often a page changes, and by how many seconds signs have aged it."""
        groups = [row for _, row in _groups(shard, visit.url)]
        signs = groups[0].signs
        # What announces most speaks for all kinds: two signs are often of one change.
        recall, false = max(((trust.recall, trust.false) for trust in signs.values()), default=(0.0, 1.0))
        prior = self._expected
        for group in groups:
            prior = (group.visits or Group()).prior(prior, recall, false)
        found = rate(visit.history, prior, recall, false)
        alone = rate(visit.history, self._expected, recall, false)
        hidden = (1 - recall) * found
        aged = [number * steps(signs.get(kind, Trust()), hidden) for kind, number in visit.signs.items()]
        return Estimate(found, alone, sum(aged), recall)

    def due(self, visit: VisitRow, known: Estimate) -> float:
        """Return the time from which on a page is visited again.

        What pages of a like URL showed may bring that forward, but not put it off: of a site whose first pages
        are as they were, the others would never be looked at. In which order they are is another matter.
        """
        if visit.missing or visit.lease or visit.not_before:
            return max(visit.not_before, visit.lease)
        rate = max(known.rate, known.alone) * (1 - known.recall)
        stale = -math.log1p(-LEAST_STALE) / rate - known.aged
        shortest, longest = self._settings.shortest_seconds, self._settings.longest_seconds
        return visit.visited + max(shortest, min(longest, stale))


def _groups(shard: Rows, url: str) -> Iterator[tuple[bytes, HostRow]]:
    """Yield the groups of a page, the largest first: its host, its prefix, and its pattern, if it has one."""
    start = url.index("/", url.index("://") + 3)
    end = url.find("/", start + 1)
    prefix = f"{host(url)}{url[start : end + 1]}" if end > 0 else None
    for alike in ("", prefix, pattern(url)):
        if alike is not None:
            key = alike_key(identifier(alike)) if alike else host_key(host(url))
            row = shard.get(key)
            yield key, row if isinstance(row, HostRow) else HostRow(alike=alike)
