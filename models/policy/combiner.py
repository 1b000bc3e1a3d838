"""What learns from one predicate's labels: a combiner of inputs, and the calibration of its probabilities.

The combiner is an online Bayesian logistic regression with a full covariance: one update a label, no learning
rate.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from scentline.models.policy.features import base_rate
from scentline.models.policy.inputs import INPUTS, Input, prior_covariance, prior_mean

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

    All three may have a leading dimension of predicates, each with its own weights.
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


# Calibration: the combiner's probabilities are too high for selected and for explored pages, by different
# amounts. Selection prefers overestimates, and pages that chance explores are unlike those it was trained on.

#: Intercept a and slope b of p' = sigmoid(a + b logit p).
Shift = tuple[float, float]

SELECTED, EXPLORED = "selected", "explored"
#: The shifts before the first label, and the deviations of a and b.
PRIORS: dict[str, tuple[Shift, Shift]] = {
    SELECTED: ((0.0, 1.0), (0.5, 0.2)),
    EXPLORED: ((-2.0, 1.0), (1.5, 0.2)),
}
#: Bound of a logit, either way.
MOST_LOGIT = 6.0
_NUMBERS = 6  # of one shift: its mean and its covariance


class Calibration:
    """The two shifts, each a Bayesian logistic regression of the verdicts on 1 and logit p (Platt 1999).

    ``state`` is what `state` returned earlier; an empty one starts from the priors.
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
        """Absorb a verdict and the probability before it; ignore pages ``chosen`` otherwise."""
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


class Combining(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A combiner: ``names`` of its inputs, ``mean`` and ``covariance`` of their weights, as float64 bytes.

    ``calibration`` is that of `State`.
    """

    names: tuple[str, ...]
    mean: bytes
    covariance: bytes
    calibration: bytes = b""

    def onto(self, names: tuple[str, ...], mean: Vector, covariance: Vector) -> tuple[Vector, Vector]:
        """Return mean and covariance of the inputs ``names``; inputs unknown here keep the given ones.

        >>> combining = Combining(("a", "b"), np.array([1.0, 2.0]).tobytes(), np.eye(2).tobytes())
        >>> combining.onto(("b", "c"), np.zeros(2), np.eye(2) / 4)[0]
        array([2., 0.])
        """
        known = {name: place for place, name in enumerate(self.names)}
        pairs = [(here, known[name]) for here, name in enumerate(names) if name in known]
        here, there = (list(places) for places in zip(*pairs, strict=True)) if pairs else ([], [])
        new_mean, new_covariance = mean.copy(), covariance.copy()
        new_mean[here] = np.frombuffer(self.mean)[there]
        old = np.frombuffer(self.covariance).reshape(len(self.names), -1)
        new_covariance[np.ix_(here, here)] = old[np.ix_(there, there)]
        return new_mean, new_covariance


class State(NamedTuple):
    """The state of a `Learner`; numbers are float64 bytes."""

    mean: bytes
    covariance: bytes
    labels: int
    calibration: bytes


class Learner:
    """Learns from labels, one at a time: the new state depends on the old one and the label alone.

    Raises `ValueError` if ``state`` has other weights than those of ``inputs``.
    """

    def __init__(self, state: State | None = None, inputs: Sequence[Input] = INPUTS) -> None:
        self._inputs = inputs
        self.combiner = combiner(inputs, state)
        self.labels = state.labels if state else 0
        self._calibration = Calibration(state.calibration if state else b"")

    def learn(self, inputs: Sequence[float] | Vector, holds: bool, chosen: str) -> None:
        """Apply a label; ``chosen`` is that of `models.facts.Label`."""
        self._calibration.learn(self.probability(inputs), holds, chosen)
        self.combiner.learn(np.array(inputs), holds)
        self.labels += 1

    def start(self, earlier: Combining) -> None:
        """Start from an earlier crawl's combiner; inputs that it lacks keep their weights."""
        names = tuple(entry.name for entry in self._inputs)
        mean, covariance = earlier.onto(names, self.combiner.mean, self.combiner.covariance)
        state = State(mean.tobytes(), covariance.tobytes(), 0, earlier.calibration)
        self.combiner = combiner(self._inputs, state)
        self._calibration = Calibration(earlier.calibration)

    def probability(self, inputs: Sequence[float] | Vector) -> float:
        """Return the probability of a hit, before calibration."""
        found = np.array(inputs)
        variance = max(0.0, float(found.dot(self.combiner.covariance.dot(found))))
        return probability(float(found.dot(self.combiner.mean)), variance**0.5)

    @property
    def shifts(self) -> tuple[Shift, Shift]:
        """What calibrates the probabilities of selected, and of explored pages."""
        return self._calibration.shifts

    def state(self) -> State:
        """Return the state of the learner."""
        mean, covariance = self.combiner.mean.tobytes(), self.combiner.covariance.tobytes()
        return State(mean, covariance, self.labels, self._calibration.state())


def combiner(inputs: Sequence[Input] = INPUTS, state: State | None = None) -> BayesianLogisticRegression:
    """Return a combiner before its first label, or as restored from ``state``."""
    mean = np.frombuffer(state.mean) if state else prior_mean(inputs)
    if len(mean) != len(inputs):
        raise ValueError(f"combiner: its state has {len(mean)} weights, expected {len(inputs)}")
    covariance = prior_covariance(inputs)
    if state:
        covariance = np.frombuffer(state.covariance).reshape(covariance.shape)
    return BayesianLogisticRegression(mean, covariance)


#: Weights before the first request, with their deviations (`docs/learning.md`). Inputs of other names weigh 0.
WEIGHTS = {
    "siblings": (0.9, 0.5),
    "near siblings": (0.2, 0.3),
    "anchor words as anchors": (0.35, 0.3),
    "anchor words as page words": (-0.25, 0.2),
    "context words as context": (0.2, 0.2),
    "heading words as headings": (0.1, 0.2),
    "parent page": (-0.3, 0.3),
    "URL words as URL words": (1.0, 0.4),
    "positive in-links": (0.6, 0.4),
    "URL prefix": (0.35, 0.2),
    "in-links": (-0.3, 0.2),
    "accesses": (-0.4, 0.3),
    "depth": (2.0, 1.0),
    "no link from its host": (2.0, 1.0),
    "bias": (-2.5, 1.0),
}
#: Deviation of the weight of an input that is expected to carry no information.
UNKNOWN_DEVIATION = 0.1
#: Share of failed requests, one more counted in, below which failures are no longer predicted: to predict them
#: all would save no more than that share of the requests.
SELDOM = 0.005
#: Share of failed requests from which on failures are predicted again.
OFTEN = 0.01


class Chances(NamedTuple):
    """The probability that a request's page is a hit, and that a page comes at all; None if unknown."""

    expected: float | None = None
    comes: float | None = None


class Forecast(NamedTuple):
    """The probability that a request for a candidate is a hit, and that a page comes; None if unknown.

    ``adds`` are names of inputs, or features, with what each adds to the priority.
    """

    hit: float | None = None
    comes: float | None = None
    adds: Sequence[tuple[str, float]] = ()


def failing(inputs: Sequence[Input]) -> tuple[Input, ...]:
    """Return inputs with the weights that predict a failed request.

    >>> [entry.weight for entry in failing([Input("URL prefix", 0.17, 0.17), Input("users", 0.52, 0.24)])]
    [0.35, 0.0]
    """
    known = ((entry.name, *WEIGHTS.get(entry.name, (0.0, UNKNOWN_DEVIATION))) for entry in inputs)
    return tuple(Input(*entry) for entry in known)


def foretold(requests: int, failures: int, so_far: bool) -> bool:
    """Return whether predicting failed requests pays; ``so_far`` says whether they were predicted.

    >>> foretold(200, 0, True), foretold(201, 0, True), foretold(201, 1, False), foretold(100, 1, False)
    (True, False, False, True)
    """
    return failures + 1 >= SELDOM * requests if so_far else failures >= OFTEN * requests


def usual_chance_of_page(requests: int, failures: int) -> float:
    """Return the probability that a request brings a page, without a prediction of failures."""
    return 1.0 - base_rate(requests, failures)


def chance_of_page(failure: float, shift: Shift) -> float:
    """Return the probability that a page comes, from that of a failure before its calibration."""
    return 1.0 - calibrated(failure, shift)


def chances_of_pages(means: Vector, deviations: Vector, shift: Shift) -> Vector:
    """Return `chance_of_page` of many requests, from the logits of a failure."""
    failures = probabilities(means, deviations)
    logits = np.log(failures) - np.log1p(-failures)
    found: Vector = 1.0 / (1.0 + np.exp(shift[0] + shift[1] * np.clip(logits, -MOST_LOGIT, MOST_LOGIT)))
    return found


def a_request(logits: Vector, pages: Vector) -> Vector:
    """Return the logits of a hit for each request, from those of a page that comes and the chance of one.

    ``logits`` may have one more leading dimension than ``pages``.

    >>> a_request(np.array([[0.0]]), np.array([0.5])).round(3).tolist()
    [[-1.099]]
    """
    logs = np.log(pages) - np.logaddexp(0.0, -logits)
    found: Vector = logs - np.log1p(-np.exp(logs))
    return found
