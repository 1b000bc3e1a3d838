"""What a visit to a page gains: seconds in which the copy is fresh when it is asked for.

A page changes at random moments, ``rate`` times a second (a Poisson process of rate D), and ``importance`` is
its share of all requests. With a visit every t seconds its copy is fresh for the part (1 - e^(-Dt)) / (Dt) of
the time (Cho and Garcia-Molina, Effective page refresh policies for Web crawlers, TODS 2003). For a given
number of visits the sum of importance times freshness is greatest where one more visit a second would add as
much to it on any page, by Lagrange (the same). That is

    gain(t) = (importance / D) (1 - e^(-Dt) - Dt e^(-Dt))

which grows with t and has a limit. So the page of the greatest gain at its age is the one to visit: the
deterministic policy that follows the optimum (Azar, Horvitz, Lubetzky, Peres and Shahaf, Tractable
near-optimal policies for crawling, PNAS 2018; in this form Busa-Fekete et al., WWW 2025, as GREEDY). A page
that changes too often for its importance never reaches the level at which others are visited, and is rightly
given up.

Where signals announce the part r of the changes, a page that none has come for is worth waiting for: one may
come. Ages are then those that signals make (`models.revisit.rate`), and with x = (1 - r) D t

    gain(t) = (importance / D) (1 - e^(-x) - (1 - r) (1 - e^(-x / (1 - r)))) / r

That is the expected time for which the copy is fresh in a cycle that ends at an age of t, less the freshness
at its end times the cycle's expected length (Busa-Fekete et al., the crawl value of GREEDY-NCIS), where a cycle
ends at an announced change.
"""

import math

# Below it the difference of almost equal numbers is a series. Signals that announce less announce nothing.
_SMALL, _NONE = 0.01, 1e-4
_STEPS, _MOST = 3, 8


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


def gain(importance: float, rate: float, age: float, recall: float = 0.0) -> float:
    """Return what a visit gains, ``age`` seconds after the last one; ``recall`` is the part announced, below 1."""
    if importance <= 0 or rate <= 0 or age <= 0:
        return 0.0
    y = rate * age
    if y < _SMALL:
        return importance * (age * _series((1 - recall) * y, y))
    return importance / rate * (_share(y) if recall < _NONE else _announced((1 - recall) * y, recall))


def when(importance: float, rate: float, gain: float, recall: float = 0.0) -> float:
    """Return the age in seconds at which a visit gains so much; infinity where it never does.

    >>> round(when(1.0, 0.5, 0.52848223531423), 9), when(1.0, 0.5, 2.0), when(1.0, 0.5, 0.0)
    (2.0, inf, 0.0)
    """
    if gain <= 0:
        return 0.0
    most = limit(importance, rate)
    if rate <= 0 or gain >= most:
        return math.inf
    if recall < _NONE:
        return _inverse(gain / most) / rate
    return _inverse_announced(gain / most, recall) / ((1 - recall) * rate)


def _share(x: float) -> float:
    """Return 1 - e^(-x) - x e^(-x): the part of its limit that a gain comes to after x changes in the mean."""
    fresh = math.exp(-x)
    return 1 - fresh - x * fresh if fresh else 1.0


def _announced(x: float, recall: float) -> float:
    """Return that part where some changes are announced, after x others."""
    return 1 - (math.exp(-x) - (1 - recall) * math.exp(-x / (1 - recall))) / recall


def _series(x: float, y: float) -> float:
    """Return that part divided by y = x / (1 - recall), for a small y."""
    cube = x * x * x + x * x * y + x * y * y + y * y * y
    return x * (1 / 2 - (x + y) / 6 + (x * x + x * y + y * y) / 24 - cube / 120)


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


def _inverse_announced(share: float, recall: float) -> float:
    """Return the x of a share by `_announced`: the same for its logarithm, which is convex, too."""
    s = -math.log1p(-share)
    x = math.sqrt(2 * (1 - recall) * s)
    for _ in range(_MOST):
        y = x / (1 - recall)
        reached = y * _series(x, y) if y < _SMALL else _announced(x, recall)
        slope = (math.exp(-x) - math.exp(-y)) / recall if y >= _SMALL else y * (1 - (x + y) / 2)
        if not 0 < reached < 1 or slope <= 0:
            break
        step = (s + math.log1p(-reached)) * (1 - reached) / slope
        x += step
        if abs(step) <= 1e-12 * x:
            break
    return x
