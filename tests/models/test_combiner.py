"""The combiners: what a label does to them, and that each can stand in the other's place."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.learner.combiner import (
    DRIFT,
    LEAST_VARIANCE,
    BayesianLogisticRegression,
    Vector,
    logits,
    probabilities,
    probability,
)
from scentline.models.learner.inputs import NAMES, prior_covariance, prior_mean
from scentline.models.learner.semantic import SEMANTIC_INPUTS, inputs_with
from scentline.models.learner.state import Learner

INPUTS = st.lists(st.floats(-4, 4), min_size=3, max_size=3)
LABELS = st.lists(st.tuples(INPUTS, st.booleans()), max_size=30)


def plain_update(
    mean: list[float], covariance: list[list[float]], x: list[float], y: bool
) -> tuple[list[float], list[list[float]]]:
    """Return the weights after one label, number by number."""
    places = range(len(x))
    gain = [sum(covariance[i][j] * x[j] for j in places) for i in places]
    spread = sum(x[i] * gain[i] for i in places)
    logit = sum(mean[i] * x[i] for i in places)
    p = 1 / (1 + math.exp(-logit / math.sqrt(1 + math.pi * spread / 8)))
    v = max(p * (1 - p), LEAST_VARIANCE)
    d = 1 / v + spread
    after = [mean[i] + gain[i] * (y - p) / (v * d) for i in places]
    return after, [
        [covariance[i][j] - gain[i] * gain[j] / d + DRIFT * (i == j) for j in places] for i in places
    ]


@given(LABELS, INPUTS)
def test_a_label_updates_as_the_formula_says_and_makes_no_logit_less_certain_but_by_drift(
    labels: list[tuple[list[float], bool]], asked: list[float]
) -> None:
    mean, covariance = [0.1, -0.2, -1.0], [[0.25, 0, 0], [0, 0.25, 0], [0, 0, 4.0]]
    model = BayesianLogisticRegression(np.array(mean), np.array(covariance))
    row = np.array([asked])
    for x, y in labels:
        _, (before,) = logits(row, model.mean, model.covariance)
        model.learn(np.array(x), y)
        _, (after,) = logits(row, model.mean, model.covariance)
        assert after**2 <= before**2 + DRIFT * float(row[0].dot(row[0])) + 1e-9
        mean, covariance = plain_update(mean, covariance, x, y)
    assert model.mean == pytest.approx(mean, rel=1e-6, abs=1e-8)
    assert model.covariance == pytest.approx(np.array(covariance), rel=1e-6, abs=1e-8)
    assert model.covariance == pytest.approx(model.covariance.T)
    assert np.linalg.eigvalsh(model.covariance).min() > 0


def test_labels_and_doubt_worked_by_hand() -> None:
    model = BayesianLogisticRegression(np.array([0.0]), np.array([[4.0]]), drift=0.0)
    model.learn(np.array([1.0]), True)
    # s = 4, p = 1/2, v = 1/4, d = 8: m = 4 * .5 / (.25 * 8), P = 4 - 16 / 8
    assert (model.mean.tolist(), model.covariance.tolist()) == ([1.0], [[2.0]])
    # Doubt draws a probability towards one half.
    assert probability(2.0, 0.0) == pytest.approx(1 / (1 + math.exp(-2)))
    assert probability(2.0, 0.0) > probability(2.0, 1.0) > probability(2.0, 5.0) > 0.5
    both = probabilities(np.array([2.0, -1.0]), np.array([1.0, 3.0]))
    assert both.tolist() == pytest.approx([probability(2.0, 1.0), probability(-1.0, 3.0)])
    # A sure prediction can still be corrected.
    sure = BayesianLogisticRegression(np.array([30.0]), np.array([[1.0]]))
    for _ in range(400):
        sure.learn(np.array([1.0]), False)
    assert probability(float(sure.mean[0]), 0.0) < 0.5


# by setting


def rule(count: int) -> list[tuple[Vector, bool]]:
    """Labels that two of the inputs decide."""
    random = np.random.default_rng(7)
    rows = random.normal(size=(count, len(NAMES)))
    rows[:, -1] = 1.0
    return [(row, bool(2 * row[8] - 2 * row[10] - 0.5 > random.logistic())) for row in rows]


def test_the_combiner_learns_what_decides() -> None:
    learner = Learner()
    for row, label in rule(600):
        learner.learn(row.tolist(), label, "selected")
    unseen = rule(800)[600:]
    right = sum((learner.probability(row.tolist()) > 0.5) == label for row, label in unseen)
    assert right / len(unseen) > 0.75
    weights = learner.combiner.mean
    assert weights[8] > 0.7
    assert weights[10] < -0.7


def test_a_learner_goes_on_where_its_state_was_written_down() -> None:
    labels = rule(300)
    one = other = Learner()
    for number, (row, label) in enumerate(labels):
        if number % 70 == 0:
            other = Learner(other.state())
        one.learn(row.tolist(), label, "explored" if number % 9 == 0 else "selected")
        other.learn(row.tolist(), label, "explored" if number % 9 == 0 else "selected")
    assert one.state() == other.state()
    assert one.labels == 300


def test_a_learner_of_more_inputs_learns_what_these_decide_and_takes_no_state_of_fewer() -> None:
    inputs = inputs_with(meaning=True)
    assert inputs_with(meaning=False) == inputs[: len(NAMES)]
    assert inputs[len(NAMES) :] == SEMANTIC_INPUTS
    learner = Learner(inputs=inputs)
    assert learner.combiner.mean.tolist() == prior_mean(inputs).tolist()
    assert learner.combiner.covariance.tolist() == prior_covariance(inputs).tolist()
    random = np.random.default_rng(2)
    for _ in range(300):
        row = random.normal(size=len(inputs))
        learner.learn(row.tolist(), bool(row[-2] > 0), "selected")
    assert learner.combiner.mean.argmax() == len(inputs) - 2
    assert Learner(state=learner.state(), inputs=inputs).state() == learner.state()
    with pytest.raises(ValueError, match=f"{len(inputs)} weights, expected {len(NAMES)}"):
        Learner(state=learner.state())
    with pytest.raises(ValueError, match=f"{len(NAMES)} weights, expected {len(inputs)}"):
        Learner(state=Learner().state(), inputs=inputs)
