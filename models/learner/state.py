"""Everything that learns from one predicate's labels: combiner, calibration, drift."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from scentline.models.learner.calibration import SELECTED, Calibration, Shift
from scentline.models.learner.combiner import BayesianLogisticRegression, Vector, probability
from scentline.models.learner.drift import Drift
from scentline.models.learner.inputs import INPUTS, Input, prior_covariance, prior_mean
from scentline.models.reuse import Combining

CombinerKind: TypeAlias = Literal["bayesian", "river"]


class Combiner(Protocol):
    """A logistic regression on the inputs: ``mean`` of its weights, and their ``covariance``."""

    covariance: Vector

    @property
    def mean(self) -> Vector:
        """The weights."""

    def learn(self, inputs: Vector, label: bool) -> None:
        """Update the weights at one label."""


class State(NamedTuple):
    """A `Learner` written down; ``kind`` is that of the combiner which wrote it, numbers are float64 bytes."""

    kind: CombinerKind
    mean: bytes
    covariance: bytes
    labels: int
    calibration: bytes
    residuals: bytes


class Learner:
    """Learns from labels, one at a time: what it becomes depends on its state and the label alone.

    ``fade`` is the share by which old evidence fades at a detected drift: the covariance grows by
    1 / (1 - fade). A combiner of another kind than that of ``state`` takes over its weights. `ValueError` where
    it has others than those of ``inputs``.

    >>> learner = Learner("bayesian")
    >>> inputs = [0.0] * (len(INPUTS) - 1) + [1.0]
    >>> for _ in range(9):
    ...     drifted = learner.learn(inputs, False, "selected")
    >>> learner.labels, learner.probability(inputs) < 0.1
    (9, True)
    """

    def __init__(
        self,
        kind: CombinerKind,
        fade: float = 0.0,
        state: State | None = None,
        inputs: Sequence[Input] = INPUTS,
    ) -> None:
        self._kind: CombinerKind = kind
        self._fade = fade
        self._inputs = inputs
        self.combiner = combiner(kind, inputs, state)
        self.labels = state.labels if state else 0
        self._calibration = Calibration(state.calibration if state else b"")
        self._drift = Drift(state.residuals if state else b"")

    def learn(self, inputs: Sequence[float] | Vector, holds: bool, chosen: str) -> float | None:
        """Take in a label; return the mean of the recent residuals |y - p| where the pages have changed.

        ``chosen`` is that of `streams.records.Label`. Drift is looked for in selected pages alone: explored
        ones and those fetched for another predicate are of another kind, and their share is not constant.
        """
        before = self.probability(inputs)
        self._calibration.learn(before, holds, chosen)
        drifted = self._drift.update(abs(holds - before)) if chosen == SELECTED else None
        self.combiner.learn(np.array(inputs), holds)
        if drifted is not None and self._fade:
            self.combiner.covariance /= 1 - self._fade
        self.labels += 1
        return drifted

    def start(self, earlier: Combining) -> None:
        """Start where an earlier crawl's combiner stood; inputs that it did not have keep their weights."""
        names = tuple(entry.name for entry in self._inputs)
        mean, covariance = earlier.onto(names, self.combiner.mean, self.combiner.covariance)
        state = State("bayesian", mean.tobytes(), covariance.tobytes(), 0, earlier.calibration, b"")
        self.combiner = combiner(self._kind, self._inputs, state)
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
        return State(self._kind, mean, covariance, self.labels, self._calibration.state(), self._drift.state())


def combiner(kind: CombinerKind, inputs: Sequence[Input] = INPUTS, state: State | None = None) -> Combiner:
    """Return a combiner as it is before the first label, or as it was written down."""
    names = tuple(entry.name for entry in inputs)
    mean = np.frombuffer(state.mean) if state else prior_mean(inputs)
    if len(mean) != len(names):
        raise ValueError(f"combiner: its state has {len(mean)} weights, expected {len(names)}")
    if kind == "river":
        # Imported where it is asked for: river takes a second.
        from scentline.models.learner.river_model import RiverLogisticRegression

        return RiverLogisticRegression(mean, names)
    covariance = prior_covariance(inputs)
    if state and state.kind == "bayesian":
        covariance = np.frombuffer(state.covariance).reshape(len(mean), len(mean))
    return BayesianLogisticRegression(mean, covariance, names)
