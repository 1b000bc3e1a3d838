"""Harvest statistics of one predicate: its harvest rate in all, of late, by policy, and against chance."""

import math

import msgspec

#: The policy name of pages that chance alone chose.
RANDOM = "random"

#: Parts that the window of time is cut into.
_PARTS = 60


class Harvest(msgspec.Struct, array_like=True):
    """Running totals and two sliding windows, in a form that serialises and stays small.

    ``window_pages`` is the length of the one window in pages, ``window_seconds`` of the other in seconds. The
    last verdicts are a ring of bits; time is cut into parts of a sixtieth of the window, with totals a part.

    >>> harvest = Harvest(window_pages=2, window_seconds=60)
    >>> for time, hit in enumerate([True, False, False]):
    ...     harvest.add(hit, float(time), "linkage")
    >>> harvest.rate, harvest.rate_by_pages
    (0.3333333333333333, 0.0)
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

    def add(self, hit: bool, time: float, policy: str, explored: bool = False) -> None:
        """Count a judged page: whether it is a hit, when it was judged (seconds), and what chose it.

        A page that chance alone chose (``explored``) counts as of the policy "random". Times may come out of
        order: one too late for the window of time is left out of it and counts everywhere else.
        """
        self._add_to_ring(hit)
        self.pages += 1
        self.hits += hit
        name = RANDOM if explored else policy
        self.policies[name] = _plus(self.policies.get(name), hit)
        self._add_to_parts(hit, math.floor(time / self._part_seconds))

    @property
    def rate(self) -> float:
        """Hits over pages, of all pages; 0 before the first."""
        return self.hits / self.pages if self.pages else 0.0

    @property
    def rate_by_pages(self) -> float:
        """Hits over pages, of the last ``window_pages`` pages."""
        return self.ring_hits / min(self.pages, self.window_pages) if self.pages else 0.0

    def rate_by_time(self, now: float) -> float:
        """Hits over pages, of the ``window_seconds`` up to ``now`` or to the last page, whichever is later.

        The window is 60 whole parts, the last of them that of its end; 0 when it holds no page.
        """
        last = math.floor(now / self._part_seconds)
        recent = self._window(last if self.latest is None else max(last, self.latest)).values()
        pages = sum(pages for pages, _ in recent)
        return sum(hits for _, hits in recent) / pages if pages else 0.0

    @property
    def explored_rate(self) -> float | None:
        """(hits + .5) / (pages + 1) of the pages that chance alone chose; None before the first.

        Smoothed so that a few explored pages without a hit don't make an infinite lift.
        """
        pages, hits = self.policies.get(RANDOM, (0, 0))
        return explored_rate(pages, hits)

    @property
    def lift(self) -> float | None:
        """The harvest rate over the `explored_rate`; None until a page was explored."""
        explored = self.explored_rate
        return None if explored is None else self.rate / explored

    @property
    def _part_seconds(self) -> float:
        return self.window_seconds / _PARTS

    def _add_to_ring(self, hit: bool) -> None:
        # Grown as pages come, so that a young predicate's state is small.
        index, bit = divmod(self.pages % self.window_pages, 8)
        if index == len(self.ring):
            self.ring.append(0)
        old = self.ring[index] >> bit & 1
        self.ring[index] ^= (old ^ hit) << bit
        self.ring_hits += hit - old

    def _add_to_parts(self, hit: bool, part: int) -> None:
        if self.latest is None or part > self.latest:
            self.latest = part
            self.parts = self._window(part)
        if part > self.latest - _PARTS:
            self.parts[part] = _plus(self.parts.get(part), hit)

    def _window(self, last: int) -> dict[int, tuple[int, int]]:
        return {part: cell for part, cell in self.parts.items() if part > last - _PARTS}


def explored_rate(pages: int, hits: int) -> float | None:
    """Return the rate of pages that chance alone chose, smoothed as `Harvest.explored_rate` says."""
    return (hits + 0.5) / (pages + 1) if pages else None


def _plus(cell: tuple[int, int] | None, hit: bool) -> tuple[int, int]:
    pages, hits = cell or (0, 0)
    return pages + 1, hits + hit
