"""Probabilities taken at their word: Platt's scaling, learned online, for chosen and explored pages apart.

The combiner's probabilities come out too high for both, and differently: a choice of the best prefers those
that came out high, and pages that chance explores are nothing like those that it was trained on.
"""

import math

import numpy as np

from scentline.models.learner.combiner import BayesianLogisticRegression, Vector

#: Intercept a and slope b of p' = sigmoid(a + b logit p).
Shift = tuple[float, float]

SELECTED, EXPLORED = "selected", "explored"
#: The shifts before the first label, and the deviations of a and b.
PRIORS: dict[str, tuple[Shift, Shift]] = {
    SELECTED: ((0.0, 1.0), (0.5, 0.2)),
    EXPLORED: ((-2.0, 1.0), (1.5, 0.2)),
}
#: Bound of a logit, either way: nothing is surer than that.
MOST_LOGIT = 6.0
_NUMBERS = 6  # of one shift: its mean and its covariance


class Calibration:
    """The two shifts, each a Bayesian logistic regression of the verdicts on 1 and logit p (Platt 1999).

    ``state`` is what `state` returned earlier; an empty one starts from the priors.

    >>> calibration = Calibration()
    >>> for _ in range(50):
    ...     calibration.learn(0.5, False, "selected")
    >>> [round(calibrated(0.5, shift), 2) for shift in calibration.shifts]
    [0.15, 0.12]
    """

    def __init__(self, state: bytes = b"") -> None:
        numbers = np.frombuffer(state) if state else np.concatenate([_prior(name) for name in PRIORS])
        if numbers.size != len(PRIORS) * _NUMBERS:
            raise ValueError(
                f"calibration: its state has {len(state)} bytes, expected {8 * len(PRIORS) * _NUMBERS}"
            )
        parts = numbers.reshape(len(PRIORS), _NUMBERS)
        self._models = {
            name: BayesianLogisticRegression(part[:2], part[2:].reshape(2, 2))
            for name, part in zip(PRIORS, parts, strict=True)
        }

    def learn(self, probability: float, label: bool, chosen: str) -> None:
        """Absorb a verdict and the probability before it; pages ``chosen`` otherwise are passed over."""
        model = self._models.get(chosen)
        if model is not None:
            model.learn(np.array([1.0, _logit(probability)]), label)

    @property
    def shifts(self) -> tuple[Shift, Shift]:
        """The shifts for pages that were selected, and that chance explored."""
        return self._shift(SELECTED), self._shift(EXPLORED)

    def _shift(self, chosen: str) -> Shift:
        intercept, slope = self._models[chosen].mean.tolist()
        return intercept, slope

    def state(self) -> bytes:
        """Return the state: twelve float64 numbers."""
        parts = [part for model in self._models.values() for part in (model.mean, model.covariance.ravel())]
        return np.concatenate(parts).tobytes()


def calibrated(probability: float, shift: Shift) -> float:
    """Return p' = sigmoid(a + b logit p) for the shift (a, b); p may be 0 or 1.

    >>> calibrated(0.25, (0.0, 1.0))
    0.25
    """
    return 1 / (1 + math.exp(-shift[0] - shift[1] * _logit(probability)))


def _logit(probability: float) -> float:
    if probability <= 0 or probability >= 1:
        return math.copysign(MOST_LOGIT, probability - 0.5)
    return max(-MOST_LOGIT, min(MOST_LOGIT, math.log(probability / (1 - probability))))


def _prior(chosen: str) -> Vector:
    mean, deviations = PRIORS[chosen]
    return np.concatenate((np.array(mean), np.diag(np.square(deviations)).ravel()))
