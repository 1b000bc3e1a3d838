"""Online Bayesian logistic regression with a full covariance: one update a label, no learning rate."""

import math

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

#: Least variance of a label, so that a sure prediction can still be corrected.
LEAST_VARIANCE = 1e-3
#: What each update adds to the variance of every weight: old labels fade slowly.
DRIFT = 1e-4
_STEEPEST = 30.0


class BayesianLogisticRegression:
    """Weights of a logistic regression as a normal distribution: ``mean`` m and ``covariance`` P.

    At a label y with inputs x: s = x'Px, p = sigmoid(m'x / sqrt(1 + pi s / 8)), v = max(p (1 - p), .001),
    d = 1/v + s; then m += Px (y - p) / (v d), P -= Px x'P / d, P += ``drift`` I. That is one step of the
    extended Kalman filter, with MacKay's approximation of the predictive probability (MacKay 1992, The
    evidence framework applied to classification networks; Spiegelhalter and Lauritzen 1990).

    >>> model = BayesianLogisticRegression(np.zeros(2), np.eye(2))
    >>> for _ in range(20):
    ...     model.learn(np.array([1.0, 1.0]), True)
    ...     model.learn(np.array([0.0, 1.0]), False)
    >>> means, deviations = logits(np.array([[1.0, 1.0]]), model.mean, model.covariance)
    >>> probability(means[0], deviations[0]) > 0.8
    True
    """

    def __init__(self, mean: Vector, covariance: Vector, drift: float = DRIFT) -> None:
        self.mean = np.array(mean, dtype=np.float64)
        self.covariance = np.array(covariance, dtype=np.float64)
        self.drift = drift

    def learn(self, inputs: Vector, label: bool) -> None:
        """Update the weights at one label."""
        gain = self.covariance.dot(inputs)
        spread = float(inputs.dot(gain))
        chance = _sigmoid(float(self.mean.dot(inputs)), spread)
        variance = max(chance * (1 - chance), LEAST_VARIANCE)
        total = 1 / variance + spread
        self.mean += gain * ((label - chance) / (variance * total))
        self.covariance -= np.outer(gain, gain / total)
        self.covariance.flat[:: len(inputs) + 1] += self.drift


def logits(inputs: Vector, mean: Vector, covariance: Vector) -> tuple[Vector, Vector]:
    """Return m'x and sqrt(x'Px) for each row x of ``inputs``, shape (candidates, inputs).

    All three may have one dimension more in front: of predicates, each with its own weights.
    """
    spread = (np.matmul(inputs, covariance) * inputs).sum(axis=-1)
    means: Vector = np.matmul(inputs, mean[..., np.newaxis])[..., 0]
    return means, np.sqrt(np.maximum(spread, 0.0))


def probabilities(means: Vector, deviations: Vector) -> Vector:
    """Return the predictive probabilities of logits with these means and deviations."""
    steep = np.clip(means / np.sqrt(1 + math.pi / 8 * deviations**2), -_STEEPEST, _STEEPEST)
    return 1 / (1 + np.exp(-steep))


def probability(mean: float, deviation: float) -> float:
    """Return the predictive probability of one logit.

    >>> probability(0.0, 1.0)
    0.5
    """
    return _sigmoid(mean, deviation**2)


def _sigmoid(mean: float, variance: float) -> float:
    steep = max(-_STEEPEST, min(_STEEPEST, mean / math.sqrt(1 + math.pi / 8 * variance)))
    return 1 / (1 + math.exp(-steep))
