"""When a predicate's pages have changed: ADWIN on the residuals of its combiner (Bifet and Gavalda 2007)."""

from array import array

# river.drift.ADWIN runs on it. It is taken from where it is since river.drift imports scipy.stats, for other
# detectors, which takes a second of CPU.
from river._river_rust.drift import AdaptiveWindowing

#: Residuals kept; once there are twice as many, the older half is let go.
KEPT = 1_000
#: How sure ADWIN must be: the rate of false alarms it allows for.
DELTA = 0.002


class Drift:
    """Tells when |y - p|, label against probability, has risen: what was learned fits no longer.

    A fall is none: it comes in every crawl, when the pages that are easily found run out.

    ADWIN's own state can't be written down, but the residuals since its last start can, and it is taken to be
    a function of these. It starts again at a change, and with the last ``KEPT`` once there are twice as many.

    >>> drift = Drift()
    >>> any(drift.update(residual) is not None for residual in [0.4] * 300 + [0.1] * 300)
    False
    >>> any(drift.update(0.8) is not None for _ in range(100))
    True
    """

    def __init__(self, state: bytes = b"") -> None:
        self._residuals = array("f", state)
        self._start()

    def _start(self) -> None:
        self._detector = adwin()
        for residual in self._residuals:
            self._detector.update(residual)

    def update(self, residual: float) -> float | None:
        """Take in a residual; return the mean of the recent ones where it has risen."""
        before = self._mean()
        self._residuals.append(residual)
        # As it is written down, so that a later start sees the same number.
        risen_or_fallen = self._detector.update(self._residuals[-1])
        after = self._mean() if risen_or_fallen else None
        if after is not None:
            self._residuals = array("f")
            self._start()
        elif len(self._residuals) == 2 * KEPT:
            self._residuals = self._residuals[KEPT:]
            self._start()
        return after if after is not None and after > before else None

    def _mean(self) -> float:
        width = self._detector.get_width()
        return float(self._detector.get_total() / width) if width else 0.0

    def state(self) -> bytes:
        """Return the state: the residuals as float32."""
        return self._residuals.tobytes()


def adwin() -> AdaptiveWindowing:
    """Return an empty window, with river's own values of what the paper leaves open."""
    return AdaptiveWindowing(delta=DELTA, clock=32, max_buckets=5, min_window_length=5, grace_period=10)
