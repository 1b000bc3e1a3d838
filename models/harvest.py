"""Harvest statistics of a predicate: overall, in recent windows, by policy, and against chance."""

import math
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice, pairwise
from typing import Final, NamedTuple

import msgspec

#: The policy name of explored pages, which are chosen at random.
RANDOM = "random"
#: Standard errors of a 95 % interval.
SURE: Final = 1.96

#: Parts of the time window.
_PARTS = 60
#: Shortest time window, in seconds.
_SHORTEST: Final = 0.001
#: Latest time of a page, in milliseconds: the year 9999.
_MOST: Final = 253_402_300_800_000


class Lift(NamedTuple):
    """The harvest rate of a crawl over that of chance, and the bounds of its 95 % interval."""

    least: float
    lift: float
    most: float

    def __str__(self) -> str:
        return f"{self.lift:.1f} ({self.least:.1f} to {self.most:.1f})"


class AgainstChance:
    """The pages and hits of a crawl, beside those of its explored pages."""

    __slots__ = ()
    pages: int
    hits: int
    policies: dict[str, tuple[int, int]]

    @property
    def by_chance(self) -> tuple[int, int]:
        """Pages and hits of the explored pages."""
        return self.policies.get(RANDOM, (0, 0))

    @property
    def lift_if_sure(self) -> Lift | None:
        """The lift with its bounds; None while chance might find as much."""
        return lift_if_sure(self.pages, self.hits, *self.by_chance)


class Harvest(AgainstChance, msgspec.Struct, array_like=True):
    """Running totals and two sliding windows, compact and serialisable.

    One window holds the last ``window_pages`` verdicts in a ring of bits; the other spans ``window_seconds``
    and has totals for each sixtieth of it. ``newest`` is the time of the last page in milliseconds, ``gaps``
    the time from one page of the ring to the next, where known: they serve only to merge the windows of
    shards (`merged`). ``requests`` is the number of the crawl's requests up to its newest page.
    """

    window_pages: int
    window_seconds: float
    pages: int = 0
    hits: int = 0
    policies: dict[str, tuple[int, int]] = {}
    ring: bytearray = msgspec.field(default_factory=bytearray)
    ring_hits: int = 0
    parts: dict[int, tuple[int, int]] = {}
    latest: int | None = None
    newest: int = 0
    gaps: list[int] = []
    requests: int = 0

    def __post_init__(self) -> None:
        """Raise `ValueError` for impossible figures: they may come from another process."""
        cells = ((self.pages, self.hits), *self.policies.values(), *self.parts.values())
        counts = all(0 <= hits <= pages for pages, hits in cells)
        windows = self.window_pages > 0 and _SHORTEST <= self.window_seconds < math.inf
        if not counts or not windows or self.requests < 0:
            raise ValueError("its windows or counts can't be those of any pages")

    def add(self, hit: bool, time: float, policy: str, explored: bool = False, requests: int = 0) -> None:
        """Count a judged page: whether it is a hit, when it was judged (seconds), and the policy that chose it.

        ``requests`` is the number of the crawl's requests up to this one, whatever their outcome. An
        ``explored`` page counts under the policy "random". Times may be out of order: a page too old for the
        time window counts everywhere else. In the page window no page is earlier than the one before it.
        """
        self._add_to_ring(hit)
        self._add_to_gaps(time)
        self.pages += 1
        self.hits += hit
        self.requests = max(self.requests, requests)
        name = RANDOM if explored else policy
        self.policies[name] = _sum(self.policies.get(name), 1, hit)
        self._add_to_parts(hit, math.floor(time / self._part_seconds))

    @property
    def rate(self) -> float:
        """Hits over pages, of all pages; 0 before the first."""
        return self.hits / self.pages if self.pages else 0.0

    @property
    def hits_per_request(self) -> float:
        """Hits over all requests of the crawl; 0 if their number is not known."""
        return self.hits / self.requests if self.requests else 0.0

    @property
    def rate_by_pages(self) -> float:
        """Hits over pages, of the last ``window_pages`` pages."""
        return self.ring_hits / min(self.pages, self.window_pages) if self.pages else 0.0

    def rate_by_time(self, now: float) -> float:
        """Hits over pages, of the ``window_seconds`` up to ``now`` or to the last page, whichever is later.

        The window is 60 whole parts, its end in the last of them; 0 if it holds no page.
        """
        last = math.floor(now / self._part_seconds)
        recent = self._window(last if self.latest is None else max(last, self.latest)).values()
        pages = sum(pages for pages, _ in recent)
        return sum(hits for _, hits in recent) / pages if pages else 0.0

    @property
    def lift(self) -> float | None:
        """The harvest rate over the `explored_rate`; None until a page was explored."""
        explored = explored_rate(*self.by_chance)
        return None if explored is None else self.rate / explored

    @property
    def _part_seconds(self) -> float:
        return self.window_seconds / _PARTS

    def _add_to_ring(self, hit: bool) -> None:
        # Grows with the pages, so that a young predicate's state is small.
        index, bit = divmod(self.pages % self.window_pages, 8)
        if index == len(self.ring):
            self.ring.append(0)
        old = self.ring[index] >> bit & 1
        self.ring[index] ^= (old ^ hit) << bit
        self.ring_hits += hit - old

    def _add_to_gaps(self, time: float) -> None:
        at = max(self.newest, int(min(max(time * 1000, 0), _MOST)))
        self.gaps.append(at - self.newest)
        self.newest = at
        del self.gaps[: -self.window_pages]

    @property
    def _kept(self) -> int:
        """How many pages the ring holds."""
        return min(self.pages, self.window_pages)

    def _last(self) -> Iterator[tuple[int, int]]:
        """Yield the time and the bit of each page of the ring, newest first."""
        at = self.newest
        for back in range(self._kept):
            index, bit = divmod((self.pages - 1 - back) % self.window_pages, 8)
            yield at, self.ring[index] >> bit & 1 if index < len(self.ring) else 0
            at -= self.gaps[-1 - back] if back < len(self.gaps) else 0

    def _add_to_parts(self, hit: bool, part: int) -> None:
        if self.latest is None or part > self.latest:
            self.latest = part
            self.parts = self._window(part)
        if part > self.latest - _PARTS:
            self.parts[part] = _sum(self.parts.get(part), 1, hit)

    def _window(self, last: int) -> dict[int, tuple[int, int]]:
        return {part: cell for part, cell in self.parts.items() if part > last - _PARTS}


def merged(states: Sequence[Harvest]) -> Harvest:
    """Return the statistics over all pages that one or more ``states`` counted.

    The page window holds the newest pages of all states; at equal times those of an earlier state are newer.
    The shortest windows of all states are taken.
    """
    if len(states) == 1:
        return states[0]
    whole = Harvest(min(state.window_pages for state in states), min(state.window_seconds for state in states))
    for state in states:
        for name, (pages, hits) in state.policies.items():
            whole.policies[name] = _sum(whole.policies.get(name), pages, hits)
    _merge_pages(whole, states)
    _merge_parts(whole, states)
    return whole


def _merge_pages(whole: Harvest, states: Sequence[Harvest]) -> None:
    whole.pages = sum(state.pages for state in states)
    whole.hits = sum(state.hits for state in states)
    whole.requests = max(state.requests for state in states)
    newest_first = merge(*(state._last() for state in states), key=lambda page: -page[0])
    last = list(islice(newest_first, whole._kept))
    whole.ring = bytearray(math.ceil(len(last) / 8))
    for back, (_, hit) in enumerate(last):
        index, bit = divmod((whole.pages - 1 - back) % whole.window_pages, 8)
        whole.ring[index] |= hit << bit
    whole.ring_hits = sum(hit for _, hit in last)
    times = [at for at, _ in reversed(last)]
    whole.newest = times[-1] if times else 0
    whole.gaps = [later - earlier for earlier, later in pairwise(times)]


def _merge_parts(whole: Harvest, states: Sequence[Harvest]) -> None:
    for state in states:
        for part, (pages, hits) in state.parts.items():
            same = state.window_seconds == whole.window_seconds
            place = part if same else math.floor(part * state._part_seconds / whole._part_seconds)
            whole.parts[place] = _sum(whole.parts.get(place), pages, hits)
    whole.latest = max(whole.parts, default=None)
    if whole.latest is not None:
        whole.parts = whole._window(whole.latest)


def lift_if_sure(pages: int, hits: int, explored: int, explored_hits: int) -> Lift | None:
    """Return the lift of the hits on pages over those on explored pages; None if its bounds include 1.

    >>> print(lift_if_sure(1500, 450, 150, 10)), lift_if_sure(100, 30, 1, 0)
    4.3 (2.4 to 7.8)
    (None, None)
    """
    by_chance = explored_rate(explored, explored_hits)
    if by_chance is None or not pages:
        return None
    lift, factor = hits / pages / by_chance, ratio_factor(hits, pages, explored_hits, explored, SURE)
    return Lift(lift / factor, lift, lift * factor) if not lift / factor <= 1 <= lift * factor else None


def ratio_factor(hits: int, count: int, other_hits: int, other_count: int, deviations: float = 1.0) -> float:
    """Return the factor by which a ratio of rates may err, up or down, at ``deviations`` standard errors.

    The logarithm of the ratio is about normal (Katz et al. 1978), with half a hit added on each side.

    >>> round(ratio_factor(450, 1500, 10, 150), 2), round(ratio_factor(450, 1500, 1, 15), 2)
    (1.35, 2.18)
    """
    variance = 1 / (hits + 0.5) - 1 / (count + 1) + 1 / (other_hits + 0.5) - 1 / (other_count + 1)
    return math.exp(deviations * math.sqrt(max(0.0, variance)))


def wilson(rate: float, count: int, deviations: float = 1.0) -> tuple[float, float]:
    """Return a rate's interval of ``deviations`` standard errors (Wilson 1927), not empty even at 0 and 1.

    >>> low, high = wilson(0.0, 9)
    >>> round(low, 3), round(high, 3)
    (0.0, 0.1)
    >>> [round(edge, 3) for edge in wilson(0.5, 16, deviations=2.0)]
    [0.276, 0.724]
    """
    square = deviations**2
    middle = (rate + 0.5 * square / count) / (1 + square / count)
    half = deviations * math.sqrt(rate * (1 - rate) / count + 0.25 * square / count**2) / (1 + square / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def explored_rate(pages: int, hits: int) -> float | None:
    """Return (hits + .5) / (pages + 1) of the explored pages; None before the first.

    Smoothed so that a few explored pages without a hit don't make an infinite lift.
    """
    return (hits + 0.5) / (pages + 1) if pages else None


def _sum(cell: tuple[int, int] | None, more_pages: int, more_hits: int) -> tuple[int, int]:
    pages, hits = cell or (0, 0)
    return pages + more_pages, hits + more_hits
