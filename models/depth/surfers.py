"""The three random surfers of Baeza-Yates and Castillo 2004, section 3, and where each of them stays.

A surfer goes one level deeper with probability q. With 1 - q he goes back: one level (A), to the start page or
out of the site, which is the same to the levels (B), or to any level down to the present one, each as likely as
the others (C). The share of time x_i on level i, in the long run, is

    A:  x_i = (1 - r) r^i with r = q / (1 - q), for q < 1/2 (else the surfer never comes back)
    B:  x_i = (1 - q) q^i
    C:  x_i = (1 - q)^2 (i + 1) q^i

All three are negative binomial distributions, of the ratio r (A) or q (B, C), and of one trial (A, B) or two
(C). So A and B are one and the same distribution of levels, of which A's q is r / (1 + r). Each is fitted to
the page views of a site.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from scentline.models.depth.visits import Move, Visits


class Surfer(StrEnum):
    """One of the three models."""

    A = "A"
    B = "B"
    C = "C"

    @property
    def trials(self) -> int:
        """How many trials the negative binomial distribution of the levels has."""
        return 2 if self is Surfer.C else 1

    def ratio(self, q: float) -> float:
        """Return the ratio of the distribution; raises ValueError where there is none.

        >>> Surfer.A.ratio(0.25)
        0.3333333333333333
        """
        bound = 0.5 if self is Surfer.A else 1.0
        if not 0 <= q < bound:
            raise ValueError(f"model {self}: q is {q}, expected 0 <= q < {bound}")
        return q / (1 - q) if self is Surfer.A else q

    def probability(self, ratio: float) -> float:
        """Return q for a ratio of the distribution: the other way round.

        >>> Surfer.A.probability(1 / 3)
        0.25
        """
        return ratio / (1 + ratio) if self is Surfer.A else ratio

    def share(self, q: float, level: int) -> float:
        """Return x_i, the share of time on a level.

        >>> [round(Surfer.C.share(0.5, level), 4) for level in range(3)]
        [0.25, 0.25, 0.1875]
        """
        ratio = self.ratio(q)
        return float((1 - ratio) ** self.trials * (level + 1) ** (self.trials - 1) * ratio**level)

    def reached(self, q: float, level: int) -> float:
        """Return the share of time on all levels up to one.

        A, B: 1 - r^(k+1). C: 1 - (2 + k - (k + 1) q) q^(k+1).

        >>> round(Surfer.C.reached(0.5, 2), 4)
        0.6875
        """
        ratio = self.ratio(q)
        beyond = ratio ** (level + 1)
        if self is Surfer.C:
            beyond *= 2 + level - (level + 1) * ratio
        return 1 - beyond

    def depth(self, q: float, share: float) -> int:
        """Return the least level up to which the surfer spends the share of time, from 0 up to below 1.

        >>> Surfer.B.depth(0.6, 0.9)
        4
        """
        beyond = 1
        while self.reached(q, beyond - 1) < share:
            beyond *= 2
        return bisect_left(range(beyond), share, key=lambda level: self.reached(q, level))

    def moves(self, q: float, level: int) -> dict[int, float]:
        """Return where the surfer goes from a level, as level and probability."""
        if self is Surfer.C:
            down = dict.fromkeys(range(level + 1), (1 - q) / (level + 1))
        else:
            down = {max(level - 1, 0) if self is Surfer.A else 0: 1 - q}
        return {**down, level + 1: q}


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
