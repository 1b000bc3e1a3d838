"""Fitting the random surfers to the page views of a site."""

import math
from collections.abc import Callable
from typing import NamedTuple

from models.depth.moves import Move
from models.depth.surfers import Surfer
from models.depth.visits import Visits

#: The 95 % point of chi-squared with one degree of freedom.
_CHI2 = 3.841
_STEPS = 60
#: The highest ratio looked at: at 1 a surfer would never come back.
_MOST = 1 - 1e-6


class Fit(NamedTuple):
    """A surfer's q, between ``low`` and ``high`` with 95 % confidence.

    ``error`` is the root mean square difference of the observed and the fitted share of views up to a level, on
    the mean of all views: long sessions add many levels, but few views.
    """

    surfer: Surfer
    q: float
    low: float
    high: float
    error: float


def fit(visits: Visits, surfer: Surfer) -> Fit:
    """Return the maximum likelihood fit of a surfer; raises ValueError without views.

    With N views whose levels sum to D, the likelihood of a negative binomial distribution of a trials is
    (1 - r)^(a N) r^D, so that r = D / (a N + D). The interval is that of the likelihood ratio, adjusted to
    views that come in sessions: -2 log of the ratio is multiplied by H / J, where H is the information that
    independent views would have and J the sum of the squared scores of the sessions (Chandler and Bate,
    Inference for clustered data using the independence loglikelihood, Biometrika 2007). H / J counts as 1
    at most, since views of one session can't tell more than views of many.

    >>> found = fit(Visits(views=[50, 25, 25], sessions=60, squares=(200, 160, 150)), Surfer.B)
    >>> [round(value, 3) for value in found[1:]]
    [0.429, 0.357, 0.503, 0.072]
    """
    views, levels = visits.total, visits.levels
    if views == 0:
        raise ValueError("a fit without views, expected at least one session")
    ratio = levels / (surfer.trials * views + levels)
    low, high = _interval(visits, surfer.trials, ratio)
    q, low, high = map(surfer.probability, (ratio, low, high))
    return Fit(surfer, q, low, high, _error(visits, surfer, q))


def best(visits: Visits) -> Fit:
    """Return the fit of least error.

    The levels can't tell A from B. What does is how users return from level 2 and below: more steps back than
    returns to the start page and exits speak for A.
    """
    anywhere = fit(visits, Surfer.C)
    stepped = visits.made(Move.BACK, 2) > visits.made(Move.START, 2) + visits.made(Move.JUMP, 2)
    other = fit(visits, Surfer.A if stepped else Surfer.B)
    return anywhere if anywhere.error < other.error else other


def _error(visits: Visits, surfer: Surfer, q: float) -> float:
    differences = (share - surfer.reached(q, level) for level, share in enumerate(visits.reached()))
    squares = sum(views * difference**2 for views, difference in zip(visits.views, differences, strict=True))
    return math.sqrt(squares / visits.total)


def _interval(visits: Visits, trials: int, ratio: float) -> tuple[float, float]:
    """Return the bounds of the ratio, by halving; everything where one session is all there is."""
    views, levels = visits.total, visits.levels
    if visits.sessions < 2:
        return 0.0, _MOST
    weight = _weight(visits, trials, ratio)

    def inside(other: float) -> bool:
        lost = trials * views * math.log((1 - ratio) / (1 - other))
        if levels:
            lost += levels * math.log(ratio / other)
        return 2 * weight * lost <= _CHI2

    return _bound(inside, ratio, 0.0) if levels else 0.0, _bound(inside, ratio, _MOST)


def _weight(visits: Visits, trials: int, ratio: float) -> float:
    """Return H / J, at most 1; without a view below the start page, each session counts as one view."""
    if not visits.levels:
        return visits.sessions / visits.total
    rest = 1 - ratio
    views, mixed, levels = visits.squares
    squared = levels / ratio**2 - 2 * trials * mixed / (ratio * rest) + trials**2 * views / rest**2
    information = visits.levels / ratio**2 + trials * visits.total / rest**2
    return min(1.0, information / squared) if squared > 0 else 1.0


def _bound(inside: Callable[[float], bool], within: float, beyond: float) -> float:
    """Return where an interval ends, between a point within and one beyond."""
    for _ in range(_STEPS):
        middle = (within + beyond) / 2
        if inside(middle):
            within = middle
        else:
            beyond = middle
    return within
