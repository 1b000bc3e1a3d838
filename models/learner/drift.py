"""When a predicate's pages have changed: ADWIN on the residuals of its combiner (Bifet and Gavalda 2007)."""

from array import array

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
        # It imports scipy, which takes a second: only where a combiner learns.
        from river.drift import ADWIN

        self._detector = ADWIN(delta=DELTA)
        for residual in self._residuals:
            self._detector.update(residual)

    def update(self, residual: float) -> float | None:
        """Take in a residual; return the mean of the recent ones where it has risen."""
        before = self._detector.estimation
        self._residuals.append(residual)
        # As it is written down, so that a later start sees the same number.
        self._detector.update(self._residuals[-1])
        after = float(self._detector.estimation) if self._detector.drift_detected else None
        if after is not None:
            self._residuals = array("f")
            self._start()
        elif len(self._residuals) == 2 * KEPT:
            self._residuals = self._residuals[KEPT:]
            self._start()
        return after if after is not None and after > before else None

    def state(self) -> bytes:
        """Return the state: the residuals as float32."""
        return self._residuals.tobytes()
