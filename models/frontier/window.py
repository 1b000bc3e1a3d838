"""How many pages may be in flight: what is scarce decides.

A page in flight is chosen without the verdicts of the others. Where pages are scarce that costs hits, so only a
share of the pages judged may be. Where time is scarce every second of a host that goes by unused costs hits, so
all hosts may be asked at once, as long as this machine keeps up.
"""

#: Pages that may wait here for their verdicts before fewer are ordered: enough to keep every core at work.
BACKLOG = 16
#: Most pages in flight while pages are scarce, where nobody says otherwise.
FEW = 16
#: Weight of a new answer in the means of `Pace`.
_NEW = 1 / 16


def window(judged: int, share: float, at_most: int) -> int:
    """Return how many pages may be in flight after ``judged`` pages: that share of them, 1 to ``at_most``.

    For crawls in which pages are scarce. ``at_most`` 0 stands for `FEW`.

    >>> [window(judged, share=0.05, at_most=16) for judged in (0, 39, 40, 200, 5000)]
    [1, 1, 2, 10, 16]
    """
    return max(1, min(at_most or FEW, int(share * judged)))


class Pace:
    """How many pages may be in flight while time is scarce, ``most`` at most: as many as are judged in time.

    Congestion control by delay, as TCP Vegas does it (Brakmo, O'Malley and Peterson 1994). The pages that wait
    here are the rate of verdicts times the time from answer to verdict (Little 1961). While they are fewer than
    `BACKLOG` the window grows by one with each verdict, which doubles it in the time of a fetch; else it
    shrinks by one.

    >>> pace = Pace(most=64)
    >>> for tenth in range(100):
    ...     pace.judged(tenth / 10, lag=0.05)
    >>> pace.window
    64
    >>> for hundredth in range(100):
    ...     pace.judged(10 + hundredth / 100, lag=2.0)
    >>> pace.window
    16
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.window = min(BACKLOG, most)
        self._last: float | None = None
        self._apart = 0.0
        self._lag = 0.0

    def judged(self, now: float, lag: float) -> None:
        """Absorb a verdict, ``lag`` seconds after the answer came."""
        self._lag += _NEW * (max(0.0, lag) - self._lag)
        if self._last is not None:
            self._apart += _NEW * (max(0.0, now - self._last) - self._apart)
        self._last = now
        wanted = max(BACKLOG, self.window - 1) if self.congested else self.window + 1
        self.window = min(self._most, wanted)

    @property
    def congested(self) -> bool:
        """Whether more pages wait for their verdicts than keep the machine at work."""
        return self._lag > BACKLOG * self._apart > 0
