"""Calibration of a whole sample: Brier score, and reliability diagrams of equal width and equal mass.

Chosen pages and pages explored by chance are looked at apart: a choice of the best is biased towards
probabilities that came out too high.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scentline.models.reliability import BINS, Bin, Outcome, expected_error
from scentline_lab.simulation.virtual import Request


class Calibration(NamedTuple):
    """Calibration over ``size`` outcomes.

    ``brier`` and ``base_brier`` are the mean squared errors of the probabilities and of the outcomes' own
    rate, known only afterwards. ``error`` is the expected calibration error over ``bins``, of equal width
    with the empty ones left out; ``mass_error`` the same over bins that hold equally many.
    """

    size: int
    brier: float
    base_brier: float
    error: float
    mass_error: float
    bins: tuple[Bin, ...]


def outcomes(requests: Iterable[Request], *, explored: bool) -> list[Outcome]:
    """Return the outcomes of the pages that chance alone chose, or of all others, that had a probability.

    It is that of a page's being a hit: of a request that failed it says nothing.
    """
    return [
        (request.probability, request.hit)
        for request in requests
        if request.page and request.probability is not None and request.explored == explored
    ]


def calibration(sample: Sequence[Outcome]) -> Calibration | None:
    """Return the calibration of a sample of outcomes; None of an empty one.

    Raises ValueError for a probability outside 0 to 1.

    >>> found = calibration([(0.25, False), (0.25, True), (0.25, False), (0.25, False), (0.9, True)])
    >>> round(found.brier, 4), round(found.base_brier, 4), round(found.error, 4)
    (0.152, 0.24, 0.02)
    """
    if not sample:
        return None
    said, came = _columns(sample)
    rate = float(came.mean())
    bins = equal_width(sample)
    return Calibration(
        size=len(sample),
        brier=float(((said - came) ** 2).mean()),
        base_brier=rate * (1 - rate),
        error=expected_error(bins),
        mass_error=expected_error(equal_mass(sample)),
        bins=bins,
    )


def equal_width(sample: Sequence[Outcome], bins: int = BINS) -> tuple[Bin, ...]:
    """Return the reliability diagram in bins of equal width, the upper edge outside but for 1; none empty."""
    said, came = _columns(sample)
    places = np.minimum((said * bins).astype(np.int64), bins - 1)
    return tuple(
        _bin(said[inside], came[inside], place / bins, (place + 1) / bins)
        for place in range(bins)
        if (inside := places == place).any()
    )


def equal_mass(sample: Sequence[Outcome], bins: int = BINS) -> tuple[Bin, ...]:
    """Return the reliability diagram in bins of equally many outcomes, or one more, by rising probability.

    It serves small samples, most of which lie in one or two bins of equal width. Equal probabilities stay
    together where they would be cut apart, so that the order of the sample is of no account.
    """
    said, came = _columns(sample)
    order = np.argsort(said, kind="stable")
    said, came = said[order], came[order]
    cuts = np.searchsorted(said, said[[len(said) * place // bins for place in range(1, bins)]])
    edges = sorted({0, *cuts.tolist(), len(said)})
    return tuple(
        _bin(said[start:end], came[start:end], float(said[start]), float(said[end - 1]))
        for start, end in pairwise(edges)
    )


def _bin(said: npt.NDArray[np.float64], came: npt.NDArray[np.float64], low: float, high: float) -> Bin:
    return Bin(low, high, len(said), float(said.mean()), float(came.mean()))


def _columns(sample: Sequence[Outcome]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    if not sample:
        raise ValueError("calibration: no outcomes, expected at least one")
    said = np.array([probability for probability, _ in sample], np.float64)
    wrong = said[~((said >= 0) & (said <= 1))]
    if len(wrong):
        raise ValueError(f"calibration: a probability is {wrong[0]}, expected one from 0 to 1")
    return said, np.array([hit for _, hit in sample], np.float64)
