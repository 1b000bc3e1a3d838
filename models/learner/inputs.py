"""The inputs of the learned policy: numbers a candidate has, each a log ratio or a log count.

Every input is clipped to +-4, and what is missing is 0. The weights before the first page are the mean of what
was learned in 200 pages by 24 crawls of Wikispeedia for twelve categories, and their deviations say how far
these differed (`docs/learning.md`). Links there stand under one heading, if any: so the weights of headings are
small and uncertain. How often a page is read speaks for it on one web and against it on another, so that this
says nothing before a crawl's own verdicts do. Users, and that no link is known, were weighed again where webs
disagree: where links say nothing, users are all the evidence.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

MOST = 4.0


class Input(NamedTuple):
    """One input: its name, its weight before the first page and the deviation of that."""

    name: str
    weight: float
    deviation: float


INPUTS = (
    # summed over the links from fetched pages and divided by the root of their number
    Input("parent verdict", -0.24, 0.28),
    Input("siblings", 0.17, 0.25),
    Input("near siblings", 0.44, 0.23),
    Input("anchor words as anchors", 0.42, 0.29),
    Input("anchor words as page words", 0.08, 0.17),
    Input("context words as context", 0.36, 0.28),
    Input("context words as page words", 0.20, 0.15),
    Input("heading words as headings", 0.15, 0.25),
    Input("heading words as page words", 0.15, 0.25),
    Input("parent page", -0.09, 0.28),
    # of the URL and the crowd
    Input("URL words as URL words", 0.49, 0.24),
    Input("URL words as page words", 0.34, 0.22),
    Input("users", 1.0, 0.5),
    Input("co-visits", 0.22, 0.18),
    Input("temporal locality", 0.09, 0.19),
    Input("positive in-links", 0.25, 0.24),
    Input("URL prefix", 0.17, 0.17),
    Input("in-links", 0.18, 0.19),
    Input("accesses", 0.0, 0.33),
    Input("no in-link", -1.0, 0.5),
    Input("not in the log", -0.04, 0.10),
    # of its place: they tell whether a page comes (`models.learner.requests`), and little of what is in it
    Input("depth", 0.0, 0.1),
    Input("no link from its host", 0.0, 0.1),
    Input("bias", -1.16, 1.96),
)

NAMES = tuple(entry.name for entry in INPUTS)


def prior_mean(inputs: Sequence[Input] = INPUTS) -> Vector:
    """Return the weights before the first page."""
    return np.array([entry.weight for entry in inputs])


def prior_covariance(inputs: Sequence[Input] = INPUTS) -> Vector:
    """Return the covariance of the weights before the first page: diagonal."""
    return np.diag([entry.deviation**2 for entry in inputs])
