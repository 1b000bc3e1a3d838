"""Everything that learns from one predicate's labels: combiner and calibration."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scentline.models.learner.calibration import Calibration, Shift
from scentline.models.learner.combiner import BayesianLogisticRegression, Vector, probability
from scentline.models.learner.inputs import INPUTS, Input, prior_covariance, prior_mean
from scentline.models.reuse import Combining


class State(NamedTuple):
    """A `Learner` written down; numbers are float64 bytes."""

    mean: bytes
    covariance: bytes
    labels: int
    calibration: bytes


class Learner:
    """Learns from labels, one at a time: what it becomes depends on its state and the label alone.

    `ValueError` where ``state`` has other weights than those of ``inputs``.

    >>> learner = Learner()
    >>> inputs = [0.0] * (len(INPUTS) - 1) + [1.0]
    >>> for _ in range(9):
    ...     learner.learn(inputs, False, "selected")
    >>> learner.labels, learner.probability(inputs) < 0.1
    (9, True)
    """

    def __init__(self, state: State | None = None, inputs: Sequence[Input] = INPUTS) -> None:
        self._inputs = inputs
        self.combiner = combiner(inputs, state)
        self.labels = state.labels if state else 0
        self._calibration = Calibration(state.calibration if state else b"")

    def learn(self, inputs: Sequence[float] | Vector, holds: bool, chosen: str) -> None:
        """Apply a label; ``chosen`` is that of `streams.facts.Label`."""
        self._calibration.learn(self.probability(inputs), holds, chosen)
        self.combiner.learn(np.array(inputs), holds)
        self.labels += 1

    def start(self, earlier: Combining) -> None:
        """Start where an earlier crawl's combiner stood; inputs that it did not have keep their weights."""
        names = tuple(entry.name for entry in self._inputs)
        mean, covariance = earlier.onto(names, self.combiner.mean, self.combiner.covariance)
        state = State(mean.tobytes(), covariance.tobytes(), 0, earlier.calibration)
        self.combiner = combiner(self._inputs, state)
        self._calibration = Calibration(earlier.calibration)

    def probability(self, inputs: Sequence[float] | Vector) -> float:
        """Return how probable a hit is, before calibration."""
        found = np.array(inputs)
        variance = max(0.0, float(found.dot(self.combiner.covariance.dot(found))))
        return probability(float(found.dot(self.combiner.mean)), variance**0.5)

    @property
    def shifts(self) -> tuple[Shift, Shift]:
        """What calibrates the probabilities of selected, and of explored pages."""
        return self._calibration.shifts

    def state(self) -> State:
        """Write the learner down."""
        mean, covariance = self.combiner.mean.tobytes(), self.combiner.covariance.tobytes()
        return State(mean, covariance, self.labels, self._calibration.state())


def combiner(inputs: Sequence[Input] = INPUTS, state: State | None = None) -> BayesianLogisticRegression:
    """Return a combiner as it is before the first label, or as it was written down."""
    mean = np.frombuffer(state.mean) if state else prior_mean(inputs)
    if len(mean) != len(inputs):
        raise ValueError(f"combiner: its state has {len(mean)} weights, expected {len(inputs)}")
    covariance = prior_covariance(inputs)
    if state:
        covariance = np.frombuffer(state.covariance).reshape(covariance.shape)
    return BayesianLogisticRegression(mean, covariance)
