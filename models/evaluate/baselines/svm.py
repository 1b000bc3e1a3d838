"""A linear support vector machine on sets of words, with probabilities."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int32]

# Strength of the square penalty on weights, steps of the descent, and their length.
_PENALTY = 0.1
_STEPS = 20
_RATE = 0.3
# Newton steps for the two parameters of the sigmoid, and what keeps them apart from a division by 0.
_NEWTON = 20
_RIDGE = 1e-3


class LinearSvm(NamedTuple):
    """What decides on a row of k words: margin = sum of their ``weights`` / sqrt(k) + ``bias``.

    ``weights`` has shape (words,). P(hit) is the sigmoid of ``slope`` margin + ``offset``.
    """

    weights: _Floats
    bias: float
    slope: float
    offset: float

    def probability(self, margin: float) -> float:
        """Return the probability of a hit."""
        return float(_sigmoid(np.array(self.slope * margin + self.offset)))


def fit(rows: _Ints, columns: _Ints, labels: npt.NDArray[np.bool_], words: int) -> LinearSvm:
    """Return a machine trained on rows of words, columns below ``words``, each pair once.

    Each row is a vector of length 1. The loss is the squared hinge, summed with both classes of equal
    weight (hits are few), plus a penalty on the weights; the descent takes the steps of AdaGrad (Duchi 2011).
    The sigmoid is Platt's (1999), fitted to the same rows. Raises ValueError unless there are both classes.

    >>> machine = fit(np.array([0, 1], np.int32), np.array([0, 1], np.int32), np.array([True, False]), 2)
    >>> machine.probability(machine.weights[0] + machine.bias) > 0.5
    True
    """
    hits = int(labels.sum())
    if not 0 < hits < len(labels):
        raise ValueError(f"link classifier: {hits} hits of {len(labels)} rows, expected hits and others")
    sides = np.where(labels, 1.0, -1.0)
    share = np.where(labels, len(labels) / (2 * hits), len(labels) / (2 * (len(labels) - hits)))
    lengths = np.sqrt(np.maximum(np.bincount(rows, minlength=len(labels)), 1))
    values = 1 / lengths[rows]
    weights, bias = np.zeros(words), 0.0
    squares, bias_square = np.full(words, np.finfo(np.float64).tiny), np.finfo(np.float64).tiny

    def margins() -> _Floats:
        sums = np.bincount(rows, values * weights[columns], minlength=len(labels))
        return np.asarray(sums + bias, np.float64)

    for _ in range(_STEPS):
        pull = -2 * sides * share * np.maximum(0, 1 - sides * margins())
        slope = np.bincount(columns, values * pull[rows], minlength=words) + _PENALTY * weights
        bias_slope = float(pull.sum())
        squares += slope * slope
        bias_square += bias_slope * bias_slope
        weights -= _RATE * slope / np.sqrt(squares)
        bias -= _RATE * bias_slope / bias_square**0.5
    return LinearSvm(weights, bias, *platt(margins(), labels))


def platt(margins: _Floats, labels: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Return slope and offset of the sigmoid that fits the labels best; the slope is never negative.

    The labels are drawn in by one made-up row of each class (Platt 1999), so that a margin that parts the
    classes fully still has a finite slope.
    """
    hits = int(labels.sum())
    aims = np.where(labels, (hits + 1) / (hits + 2), 1 / (len(labels) - hits + 2))
    slope, offset = 0.0, float(np.log((hits + 1) / (len(labels) - hits + 1)))
    for _ in range(_NEWTON):
        said = _sigmoid(slope * margins + offset)
        wrong, curve = said - aims, said * (1 - said)
        first = float((wrong * margins).sum()) + _RIDGE * slope, float(wrong.sum())
        a = float((curve * margins * margins).sum()) + _RIDGE
        b, c = float((curve * margins).sum()), float(curve.sum()) + _RIDGE
        determinant = a * c - b * b
        slope -= (c * first[0] - b * first[1]) / determinant
        offset -= (a * first[1] - b * first[0]) / determinant
    return max(slope, 0.0), offset


def _sigmoid(values: _Floats) -> _Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -500, 500))), np.float64)
