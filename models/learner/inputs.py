"""The inputs of the learned policy: twenty numbers a candidate, each a log ratio or a log count.

Every input is clipped to +-4, and what is missing is 0. The weights before the first page are
the mean of what was learned in 200 pages by 24 crawls of Wikispeedia for twelve categories, and their
deviations say how far they differed from one crawl to the next (`docs/learning.md`).
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
    Input("parent verdict", -0.16, 0.27),
    Input("siblings", 0.14, 0.21),
    Input("near siblings", 0.35, 0.19),
    Input("anchor words as anchors", 0.41, 0.25),
    Input("anchor words as page words", 0.05, 0.19),
    Input("context words as context", 0.33, 0.24),
    Input("context words as page words", 0.25, 0.22),
    Input("parent page", -0.05, 0.26),
    # of the URL and the crowd
    Input("URL words as URL words", 0.51, 0.22),
    Input("URL words as page words", 0.37, 0.18),
    Input("users", 0.41, 0.24),
    Input("co-visits", 0.29, 0.17),
    Input("temporal locality", 0.09, 0.15),
    Input("positive in-links", 0.26, 0.20),
    Input("URL prefix", 0.22, 0.21),
    Input("in-links", 0.14, 0.30),
    Input("accesses", -0.56, 0.24),
    Input("no in-link", -0.63, 0.16),
    Input("not in the log", -0.05, 0.10),
    Input("bias", -1.18, 1.55),
)

NAMES = tuple(entry.name for entry in INPUTS)


def prior_mean(inputs: Sequence[Input] = INPUTS) -> Vector:
    """Return the weights before the first page."""
    return np.array([entry.weight for entry in inputs])


def prior_covariance(inputs: Sequence[Input] = INPUTS) -> Vector:
    """Return the covariance of the weights before the first page: diagonal."""
    return np.diag([entry.deviation**2 for entry in inputs])
