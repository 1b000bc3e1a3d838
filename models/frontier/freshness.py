"""How current the matches of each predicate are, estimated from how often their pages change, and told."""

from collections.abc import Callable, Iterable
from typing import NamedTuple
from zlib import crc32

from scentline.models.frontier.keys import Rows, totals_of
from scentline.models.published import FreshnessPart
from scentline.models.revisit.gain import stale

#: Matches that are looked at: each scrape goes through all of them.
MOST = 10_000


class Match(NamedTuple):
    """A page of a partition that satisfies ``predicates``, and how it stands.

    ``aged`` are the seconds by which signs aged it since it was ``visited``, ``orders`` how often it was to be
    visited again.
    """

    predicates: tuple[str, ...]
    partition: int
    visited: float
    rate: float
    aged: float
    orders: int


class Kept(NamedTuple):
    """How current the matches of a predicate are: how many there are, and how many are expected to be current.

    A match is current while its page is as it was at its last visit; ``age`` is the seconds since these visits,
    ``revisits`` are how often they were visited again, both added up.
    """

    matches: int = 0
    current: float = 0.0
    age: float = 0.0
    revisits: int = 0


class Freshness:
    """Knows the matches, or of more than ``most`` a sample: one in ``_part``, by their URLs' hashes."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._part = 1
        self._matches: dict[str, Match] = {}
        self._told: set[tuple[int, str]] = set()

    def put(self, url: str, match: Match) -> None:
        """Note how a page stands; without predicates it is no match."""
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
        """Return what the harvest is to be told of the partitions held, and what no longer is so, once."""
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
