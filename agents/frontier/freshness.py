"""How current the matches of each predicate are, estimated from how often their pages change."""

from collections.abc import Callable
from typing import NamedTuple
from zlib import crc32

from agents.frontier.metrics import Kept
from models.revisit.gain import stale

#: Matches that are looked at: each scrape goes through all of them.
MOST = 10_000


class _Match(NamedTuple):
    """A page that satisfies ``predicates``, and how it stands: seconds by which signs aged it since a visit."""

    predicates: tuple[str, ...]
    visited: float
    rate: float
    aged: float


class Freshness:
    """Knows the matches, or of more than ``most`` a sample: one in ``_part``, by their URLs' hashes."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._part = 1
        self._matches: dict[str, _Match] = {}

    def put(self, url: str, predicates: tuple[str, ...], visited: float, rate: float, aged: float) -> None:
        """Take in how a page stands; without predicates it is no match."""
        self._matches.pop(url, None)
        if predicates and self._sampled(url):
            self._matches[url] = _Match(predicates, visited, rate, aged)
            if len(self._matches) > self._most:
                self._part *= 2
                self.keep(self._sampled)

    def keep(self, meets: Callable[[str], bool]) -> None:
        """Forget all pages but those that meet a condition."""
        self._matches = {url: match for url, match in self._matches.items() if meets(url)}

    def _sampled(self, url: str) -> bool:
        return crc32(url.encode()) % self._part == 0

    def figures(self, now: float) -> dict[str, Kept]:
        """Return how current the matches of each predicate are expected to be."""
        found: dict[str, Kept] = {}
        for match in self._matches.values():
            age = max(0.0, now - match.visited)
            current = 1 - stale(match.rate, age + match.aged)
            for predicate in match.predicates:
                kept, part = found.get(predicate, Kept(0, 0.0, 0.0)), self._part
                found[predicate] = Kept(
                    kept.matches + part, kept.current + part * current, kept.age + part * age
                )
        return found
