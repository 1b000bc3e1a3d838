"""River's logistic regression in the place of the Bayesian one: the same inputs, one gradient step a label."""

from collections.abc import Mapping, Sequence

import numpy as np
from river.linear_model import LogisticRegression
from river.optim import SGD
from river.utils.vectordict import VectorDict

from scentline.models.learner.combiner import Vector

#: Step of the stochastic gradient descent.
RATE = 0.05


class RiverLogisticRegression:
    """``river.linear_model.LogisticRegression`` on named inputs, from given weights on.

    It knows no uncertainty: ``covariance`` is zero, so that the upper bound of a logit is the logit. Its
    weights are its whole state. The bias is an input like the others, so river's own intercept stays 0.

    >>> model = RiverLogisticRegression(np.zeros(2), ("word", "bias"))
    >>> for _ in range(200):
    ...     model.learn_one({"word": 1.0, "bias": 1.0}, True)
    ...     model.learn_one({"bias": 1.0}, False)
    >>> model.predict_proba_one({"word": 1.0, "bias": 1.0})[True] > 0.7
    True
    """

    def __init__(self, mean: Vector, names: Sequence[str], rate: float = RATE) -> None:
        self.names = tuple(names)
        self.covariance: Vector = np.zeros((len(self.names), len(self.names)))
        self._model = LogisticRegression(optimizer=SGD(rate), intercept_lr=0.0)
        # River has no public way to start from weights that differ from input to input.
        self._model._weights = VectorDict(dict(zip(self.names, mean.tolist(), strict=True)))

    @property
    def mean(self) -> Vector:
        """The weights, in the order of the names."""
        weights = self._model.weights
        return np.array([weights.get(name, 0.0) for name in self.names], dtype=np.float64)

    def learn(self, inputs: Vector, label: bool) -> None:
        """Update the weights at one label."""
        self.learn_one(dict(zip(self.names, inputs.tolist(), strict=True)), label)

    def learn_one(self, x: Mapping[str, float], y: bool) -> None:
        """Update the weights at one label; ``x`` maps names to inputs."""
        self._model.learn_one(dict(x), bool(y))

    def predict_proba_one(self, x: Mapping[str, float]) -> dict[bool, float]:
        """Return the probability of each label."""
        found = self._model.predict_proba_one(dict(x))
        return {False: float(found[False]), True: float(found[True])}
