"""How often pages change, by visits to them and to pages with similar URLs, and how current matches are.

The estimate of a page with few visits is shrunk towards that of its URL pattern, this towards that of its URL
prefix, this towards that of its host, and this towards a prior. The visits to the pages of a host decide how
far signs of a change are trusted.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from zlib import crc32

from scentline.models.frontier.keys import ALIKE_PREFIX, Rows, host_key, totals_of
from scentline.models.frontier.rows import HostRow, VisitRow
from scentline.models.published import FreshnessPart
from scentline.models.revisit.rate import NOTHING, Group, Prior, Trust, rate, stale, steps
from scentline.models.settings import RevisitSettings
from scentline.models.traps import pattern
from scentline.models.url import host, identifier

DAY = 86_400.0
#: Probability of a change from which a page is due.
LEAST_STALE = 0.1


class Estimate(NamedTuple):
    """How often a page changes, in changes a second: by all that is known, and by its own visits ``alone``.

    Signs announce the share ``recall`` of its changes; those that came aged it by ``aged`` seconds.
    """

    rate: float
    alone: float
    aged: float
    recall: float

    @property
    def hidden(self) -> float:
        """How often it changes without a sign, in changes a second."""
        return (1 - self.recall) * self.rate


class Groups:
    """Keeps the rows of groups of pages, and computes from them when pages are due."""

    def __init__(self, settings: RevisitSettings) -> None:
        self._settings = settings
        self._expected = Prior(NOTHING.shape, NOTHING.shape * settings.change_days * DAY)

    @property
    def expected(self) -> float:
        """The prior of how often a page changes, in changes a second."""
        return self._expected.rate

    def seen(self, shard: Rows, visit: VisitRow, time: float, *, changed: bool) -> None:
        """Absorb a visit to a page; its row has the signs since the visit before."""
        interval = time - visit.visited
        signs = sum(visit.signs.values())
        for key, row in groups_of(shard, visit.url):
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
        groups = [row for _, row in groups_of(shard, visit.url)]
        signs = groups[0].signs
        # The kind with the highest recall stands for all: two signs often announce one change.
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
        """Return the time from which a page is due.

        Pages with similar URLs may bring it forward, but not put it off: otherwise, where the first pages of a
        site do not change, the others would never be visited again. The order of visits is decided elsewhere.
        """
        if visit.missing or visit.lease or visit.not_before:
            return max(visit.not_before, visit.lease)
        rate = max(known.rate, known.alone) * (1 - known.recall)
        stale = -math.log1p(-LEAST_STALE) / rate - known.aged
        shortest, longest = self._settings.shortest_seconds, self._settings.longest_seconds
        return visit.visited + max(shortest, min(longest, stale))


def groups_of(shard: Rows, url: str) -> Iterator[tuple[bytes, HostRow]]:
    """Yield the groups of a page, the largest first: its host, its prefix, and its pattern, if it has one."""
    start = url.index("/", url.index("://") + 3)
    end = url.find("/", start + 1)
    prefix = f"{host(url)}{url[start : end + 1]}" if end > 0 else None
    for alike in ("", prefix, pattern(url)):
        if alike is not None:
            key = ALIKE_PREFIX + identifier(alike) if alike else host_key(host(url))
            row = shard.get(key)
            yield key, row if isinstance(row, HostRow) else HostRow(alike=alike)


#: Most matches in the sample: each scrape goes through all of them.
MOST = 10_000


class Match(NamedTuple):
    """A page of a partition that satisfies ``predicates``, and how fresh it is.

    ``aged`` are the seconds by which signs aged it since it was ``visited``, ``orders`` its ordered revisits.
    """

    predicates: tuple[str, ...]
    partition: int
    visited: float
    rate: float
    aged: float
    orders: int


class Kept(NamedTuple):
    """How current the matches of a predicate are: how many there are, and how many are expected to be current.

    A match is current until its page changes after its last visit. ``age`` is the sum of the seconds since
    these visits, ``revisits`` the sum of their ordered revisits.
    """

    matches: int = 0
    current: float = 0.0
    age: float = 0.0
    revisits: int = 0


class Freshness:
    """Holds the matches or, of more than ``most``, a sample: one in ``_part``, by the hashes of their URLs."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._part = 1
        self._matches: dict[str, Match] = {}
        self._told: set[tuple[int, str]] = set()

    def put(self, url: str, match: Match) -> None:
        """Note how fresh a page is; without predicates it is not a match."""
        self.discard(url)
        if match.predicates and self.sampled(url):
            self._matches[url] = match
            if len(self._matches) > self._most:
                self._part *= 2
                self.keep(self.sampled)

    def discard(self, url: str) -> None:
        """Forget a page, if it is known."""
        self._matches.pop(url, None)

    def keep(self, meets: Callable[[str], bool]) -> None:
        """Forget all pages but those that meet a condition."""
        self._matches = {url: match for url, match in self._matches.items() if meets(url)}

    def sampled(self, url: str) -> bool:
        """Return whether a page is in the sample, if it is a match."""
        return crc32(url.encode()) % self._part == 0

    def figures(self, now: float) -> dict[str, Kept]:
        """Return how current the matches of each predicate are expected to be."""
        found: dict[str, Kept] = {}
        for (_, predicate), kept in self._parts(now).items():
            found[predicate] = _sum(found.get(predicate, Kept()), kept)
        return found

    def _parts(self, now: float) -> dict[tuple[int, str], Kept]:
        found: dict[tuple[int, str], Kept] = {}
        for match in self._matches.values():
            age, part = max(0.0, now - match.visited), self._part
            current = 1 - stale(match.rate, age + match.aged)
            kept = Kept(part, part * current, part * age, part * match.orders)
            for predicate in match.predicates:
                place = match.partition, predicate
                found[place] = _sum(found.get(place, Kept()), kept)
        return found

    def parts(self, shards: Iterable[Rows], now: float) -> list[FreshnessPart]:
        """Return what to publish of the partitions held, with zeros, once, for what has no matches any more."""
        held = {shard.partition: totals_of(shard) for shard in shards}
        parts = {place: kept for place, kept in self._parts(now).items() if place[0] in held}
        gone = {place: Kept() for place in self._told - parts.keys() if place[0] in held}
        self._told = set(parts)
        return [
            _part(predicate, partition, now, kept, held[partition].requests + held[partition].revisits)
            for (partition, predicate), kept in (parts | gone).items()
        ]


def _sum(one: Kept, other: Kept) -> Kept:
    return Kept(
        one.matches + other.matches,
        one.current + other.current,
        one.age + other.age,
        one.revisits + other.revisits,
    )


def _part(predicate: str, partition: int, time: float, kept: Kept, requests: int) -> FreshnessPart:
    return FreshnessPart(
        predicate=predicate, partition=partition, time=time, matches=kept.matches, current=kept.current,
        age=kept.age, revisits=kept.revisits, requests=requests,
    )  # fmt: skip
