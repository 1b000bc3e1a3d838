"""What is expected of a request: that a page comes, and that it is a hit.

That no page comes is a predicate like any other, `models.verdict.FAILED`: its sample are the requests, its hits
those that failed. So its counts, inputs and weights are those of `models.learner.knowledge`, `.batch` and
`.combiner`; what differs are the weights before the first request. Failing is what is learned, and not coming,
since a ratio tells the rare from the usual: most requests bring a page. Where next to all do, each is taken to
be as good as any.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scentline.models.interest.ratio import base_rate
from scentline.models.learner.combiner import MOST_LOGIT, Shift, Vector, calibrated, probabilities
from scentline.models.learner.inputs import Input

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
#: Deviation of an input that is thought to say nothing.
UNKNOWN_DEVIATION = 0.1
#: Part of the requests that fail below which it is not foretold any more which will, one more counted in: to
#: foresee all of so few would save no more than that part of the requests.
SELDOM = 0.005
#: Part of the requests that fail from which on it is foretold again.
OFTEN = 0.01


class Chances(NamedTuple):
    """How probable it is that a page of a request is a hit, and that one comes at all; None where not known."""

    expected: float | None = None
    comes: float | None = None


class Forecast(NamedTuple):
    """How probable it is that a request for a candidate is a hit, and that a page comes; None where not known.

    ``adds`` are names of inputs, or features, with what each adds to the priority.
    """

    hit: float | None = None
    comes: float | None = None
    adds: Sequence[tuple[str, float]] = ()


def failing(inputs: Sequence[Input]) -> tuple[Input, ...]:
    """Return inputs with the weights by which it is foretold that a request fails.

    >>> [entry.weight for entry in failing([Input("URL prefix", 0.17, 0.17), Input("users", 0.52, 0.24)])]
    [0.35, 0.0]
    """
    known = ((entry.name, *WEIGHTS.get(entry.name, (0.0, UNKNOWN_DEVIATION))) for entry in inputs)
    return tuple(Input(*entry) for entry in known)


def foretold(requests: int, failures: int, so_far: bool) -> bool:
    """Return whether it is worth foretelling which requests fail, where it was or was not foretold ``so_far``.

    >>> foretold(200, 0, True), foretold(201, 0, True), foretold(201, 1, False), foretold(100, 1, False)
    (True, False, False, True)
    """
    return failures + 1 >= SELDOM * requests if so_far else failures >= OFTEN * requests


def usual_chance_of_page(requests: int, failures: int) -> float:
    """Return the probability that a page comes of a request of which nothing is foretold."""
    return 1.0 - base_rate(requests, failures)


def chance_of_page(failure: float, shift: Shift) -> float:
    """Return the probability that a page comes, by that of a failure before its calibration."""
    return 1.0 - calibrated(failure, shift)


def chances_of_pages(means: Vector, deviations: Vector, shift: Shift) -> Vector:
    """Return `chance_of_page` of many requests, by the logits that they fail."""
    failures = probabilities(means, deviations)
    logits = np.log(failures) - np.log1p(-failures)
    found: Vector = 1.0 / (1.0 + np.exp(shift[0] + shift[1] * np.clip(logits, -MOST_LOGIT, MOST_LOGIT)))
    return found


def a_request(logits: Vector, pages: Vector) -> Vector:
    """Return the logits of a hit for each request, by those of a page that comes and the chance of one.

    ``logits`` may have a dimension more in front than ``pages``.

    >>> a_request(np.array([[0.0]]), np.array([0.5])).round(3).tolist()
    [[-1.099]]
    """
    logs = np.log(pages) - np.logaddexp(0.0, -logits)
    found: Vector = logs - np.log1p(-np.exp(logs))
    return found
