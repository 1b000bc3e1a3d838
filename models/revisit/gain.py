"""What a visit to a page gains: seconds in which the copy is fresh when it is asked for.

A page changes at random moments, ``rate`` times a second (a Poisson process of rate D), and ``importance`` is
its share of all requests. With a visit every t seconds its copy is fresh for the part (1 - e^(-Dt)) / (Dt) of
the time (Cho and Garcia-Molina, Effective page refresh policies for Web crawlers, TODS 2003). For a given
number of visits the sum of importance times freshness is greatest where one more visit a second would add as
much to it on any page, by Lagrange (the same). That is

    gain(t) = (importance / D) (1 - e^(-Dt) - Dt e^(-Dt))

which grows with t and has a limit. So the page of the greatest gain at its age is the one to visit: the
deterministic policy that follows the optimum (Azar, Horvitz, Lubetzky, Peres and Shahaf, Tractable near-optimal
policies for crawling, PNAS 2018; in this form Busa-Fekete et al., WWW 2025, as GREEDY). A page that changes too
often for its importance never reaches the level at which others are visited, and is rightly given up.
"""

import math

# Below it the difference of almost equal numbers is a series.
_SMALL = 0.01
_STEPS = 3


def stale(rate: float, age: float) -> float:
    """Return the probability that a page changed within ``age`` seconds.

    >>> round(stale(1 / 3600, 3600.0), 3)
    0.632
    """
    return -math.expm1(-rate * age) if rate > 0 else 0.0


def limit(importance: float, rate: float) -> float:
    """Return what the gain comes to at last: a page never fetched is worth that, by its expected rate."""
    if importance <= 0:
        return 0.0
    return importance / rate if rate > 0 else math.inf


def gain(importance: float, rate: float, age: float) -> float:
    """Return what a visit gains, ``age`` seconds after the last one.

    >>> round(gain(1.0, 0.5, 2.0), 4), gain(1.0, 0.0, 1e9), gain(3.0, 1.5, math.inf)
    (0.5285, 0.0, 2.0)
    """
    if importance <= 0 or rate <= 0 or age <= 0:
        return 0.0
    x = rate * age
    return importance * (age * _series(x)) if x < _SMALL else importance / rate * _share(x)


def when(importance: float, rate: float, gain: float) -> float:
    """Return the age in seconds at which a visit gains so much; infinity where it never does.

    >>> round(when(1.0, 0.5, 0.52848223531423), 9), when(1.0, 0.5, 2.0), when(1.0, 0.5, 0.0)
    (2.0, inf, 0.0)
    """
    if gain <= 0:
        return 0.0
    most = limit(importance, rate)
    if rate <= 0 or gain >= most:
        return math.inf
    return _inverse(gain / most) / rate


def _share(x: float) -> float:
    """Return 1 - e^(-x) - x e^(-x): the part of its limit that a gain comes to after x changes in the mean."""
    fresh = math.exp(-x)
    return 1 - fresh - x * fresh if fresh else 1.0


def _series(x: float) -> float:
    """Return `_share` divided by x, for a small x."""
    return x * (1 / 2 - x * (1 / 3 - x * (1 / 8 - x * (1 / 30 - x / 144))))


def _inverse(share: float) -> float:
    """Return the x of a `_share` between 0 and 1.

    x - log(1 + x) = s, where s = -log(1 - share), is solved by Newton's method. It begins with the series of x
    in the root of 2s (that of Stirling's formula), which is exact for small ones.
    """
    s = -math.log1p(-share)
    root = math.sqrt(2 * s)
    x = root * (1 + root * (1 / 3 + root * (1 / 36 - root / 270))) if root < 2 else s + math.log1p(s) + 0.5
    if root < _SMALL:
        return x
    for _ in range(_STEPS):
        x += (math.log1p(x) - x + s) * (1 + x) / x
    return x
