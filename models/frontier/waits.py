"""How long a host took to answer: the mean, and how many answers took how long."""

from bisect import bisect_left

import msgspec

#: Seconds; answers are counted by the first that they did not take longer than, or else behind the last.
BOUNDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


class Waits(msgspec.Struct, array_like=True):
    """The ``seconds`` that answers took, added up, and how many of them each of `BOUNDS` has.

    >>> waits = Waits()
    >>> for elapsed in (0.08, 0.07, 0.09, 3.0):
    ...     waits.take(elapsed)
    >>> round(waits.mean, 2), waits.within(0.5), waits.within(0.95)
    (0.81, 0.1, 5.0)
    """

    seconds: float = 0.0
    counts: list[int] = []

    def take(self, elapsed: float) -> None:
        """Count an answer that took so many seconds."""
        self.seconds += elapsed
        if not self.counts:
            self.counts = [0] * (len(BOUNDS) + 1)
        self.counts[bisect_left(BOUNDS, elapsed)] += 1

    @property
    def mean(self) -> float | None:
        """The mean in seconds, None before the first answer."""
        return self.seconds / sum(self.counts) if self.counts else None

    def within(self, part: float) -> float | None:
        """Return the bound within which a part of the answers came, None without answers or behind the last."""
        wanted = part * sum(self.counts)
        for bound, count in zip(BOUNDS, self.counts, strict=False):
            wanted -= count
            if wanted <= 0:
                return bound
        return None
