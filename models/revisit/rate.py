"""How often a page changes, from visits at unequal intervals that each show only whether it did.

Changes are a Poisson process of rate D: a visit t seconds after another finds the page unchanged with
probability e^(-Dt), and changed with 1 - e^(-Dt). Changes seen divided by time are too few, since one may hide
many. The likelihood of all visits has no such bias (Cho and Garcia-Molina, Estimating frequency of change,
TOIT 2003: for equal intervals, and for unequal ones an equation that is solved here). It has no maximum if
every visit found a change, and its maximum is at 0 if none did: a prior avoids both.

Signals announce some changes: a log, a sitemap, a feed, a header. A signal may be false, and a change may have
none. Let unannounced changes come at the rate a, signals at the rate g, false ones among them at the rate v.
Then the copy is still fresh, ``age`` seconds and n signals after the visit, with probability

    e^(-a age) (v / g)^n = e^(-a (age + n b)),   b = log(g / v) / a

so a signal ages the page by b seconds (Busa-Fekete, Zimmert, György, Qiu, Sung, Shen, Choi, Subramaniam and
Xiao, A Scalable Crawling Algorithm Utilizing Noisy Change-Indicating Signals, WWW 2025: GREEDY-NCIS). `gain`
is what a visit then gains. The paper takes v / g and the share of announced changes as known; here both are
learned.
"""

import math
from typing import Literal, TypeAlias

import msgspec

#: Units of summed intervals in a second, and the longest interval in seconds: a hundred years.
UNITS, _LONGEST = 1000, 100 * 365 * 86_400


def milliseconds(interval: float) -> int:
    """Return an interval of seconds in whole milliseconds, at least one; raises ValueError for NaN."""
    return max(1, round(min(max(interval, 0.0), _LONGEST) * UNITS))


class History(msgspec.Struct, array_like=True, gc=False):
    """Visits of a page that was seen before: each shows only whether it changed since the visit before.

    Most visits come without a signal. Of those that found no change (``still``) only the number and the sum of
    intervals matter. The others are kept by the length of their interval: ``found`` has, for each power of two
    of milliseconds, their number and the sum.

    ``signals`` counts all signals. Visits after signals count as ``told`` if they found a change, else as
    ``wrong``. Whether there was another change can't be seen.

    Intervals are summed in whole milliseconds: a sum is the same in any order.
    """

    still: int = 0
    still_time: int = 0
    found: dict[int, list[int]] = {}
    told: int = 0
    told_time: int = 0
    signals: int = 0
    wrong: int = 0
    wrong_time: int = 0

    def seen(self, interval: float, changed: bool, signals: int = 0) -> None:
        """Absorb a visit, ``interval`` seconds and ``signals`` signals after the one before.

        An interval of no length, as after a clock is set back, counts as a millisecond (`milliseconds`).
        """
        time = milliseconds(interval)
        self.signals += signals
        if signals and changed:
            self.told += 1
            self.told_time += time
        elif signals:
            self.wrong += 1
            self.wrong_time += time
        elif not changed:
            self.still += 1
            self.still_time += time
        else:
            bucket = self.found.setdefault(time.bit_length() - 1, [0, 0])
            bucket[0] += 1
            bucket[1] += time

    @property
    def changes(self) -> int:
        """The visits that found the page changed."""
        return self.told + sum(number for number, _ in self.found.values())

    @property
    def visits(self) -> int:
        """All visits but the first, which shows nothing."""
        return self.still + self.wrong + self.changes

    @property
    def still_seconds(self) -> float:
        """The seconds in intervals without a signal and without a change."""
        return self.still_time / UNITS

    @property
    def seconds(self) -> float:
        """The seconds between the first visit and the last."""
        found = sum(time for _, time in self.found.values())
        return (self.still_time + self.told_time + self.wrong_time + found) / UNITS

    @property
    def intervals(self) -> list[tuple[int, float]]:
        """Visits that found an unannounced change: number and mean interval in seconds, by powers of two."""
        return [(number, total / number / UNITS) for number, total in self.found.values()]


# Newton's method stops at a relative step this small, or after so many steps; it takes five or so.
_ENOUGH, _MOST = 1e-6, 100
# Below, x / (e^x - 1) is 1 - x / 2; above, it counts as 0, before e^x overflows.
_LEAST, _LARGE = 1e-6, 300.0


class Prior(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The prior of a rate, worth as much as ``shape`` changes seen in ``seconds``.

    A Gamma distribution has a thin tail: a page that changes a thousand times as often as others would need a
    thousand visits to be believed. So the scale of the distribution is itself unknown, and Gamma distributed
    with the same shape: a Beta prime distribution, with log D as likely above that of ``rate`` as below.
    """

    shape: float
    seconds: float

    @property
    def rate(self) -> float:
        """The median, in changes a second."""
        return self.shape / self.seconds


#: The prior of a page of which nothing is known: a change in 30 days, give or take a lot.
NOTHING = Prior(0.25, 0.25 * 30 * 86_400)
#: The shape of a group's prior for its pages: eight of ten rates are between a tenth and ten times the group's.
SHAPE = 1.0


def rate(history: History, prior: Prior, recall: float = 0.0, false: float = 1.0) -> float:
    """Return how often a page changes, in changes a second: where the posterior of log D is greatest.

    Signals announce the share ``recall`` of its changes; the share ``false`` of them is false. Without visits
    the rate is the prior's median.
    """
    hidden, median = 1 - recall, prior.rate
    # Announced changes are counted by their signals: the true ones, over the whole time.
    events = history.signals * (1 - false) if recall else 0.0
    time = hidden * history.still_seconds + recall * history.seconds
    found = [(count, hidden * each) for count, each in history.intervals]
    number = events + sum(count for count, _ in found)
    if not time and not number:
        return median
    # Solve shape (median - D) / (median + D) + events + sum of n x / (e^x - 1) = D time, with x = D times an
    # interval. Left less right falls and is convex: from too small a D, Newton's steps never pass the
    # solution. Such a D follows from x / (e^x - 1) > 1 - x / 2, and (1 - z) / (1 + z) > 1 - 2z or -1.
    longest = time + sum(count * each for count, each in found) / 2
    guess = max((prior.shape + number) / (2 * prior.seconds + longest), (number - prior.shape) / longest)
    for _ in range(_MOST):
        value = prior.shape * (median - guess) / (median + guess) + events - guess * time
        slope = -2 * prior.shape * median / (median + guess) ** 2 - time
        for count, each in found:
            x = guess * each
            if _LEAST < x < _LARGE:
                below = math.expm1(x)
                value += count * x / below
                slope += count * each * (below - x * (below + 1)) / (below * below)
            elif x <= _LEAST:
                value += count * (1 - x / 2)
                slope -= count * each / 2
        step = -value / slope
        guess += step
        if abs(step) <= _ENOUGH * guess:
            break
    return guess


class Group(History, array_like=True, gc=False):
    """The visits to all pages of a URL pattern, a URL prefix, a host or a crawl, summed."""

    def prior(self, outer: Prior, recall: float = 0.0, false: float = 1.0) -> Prior:
        """Return the prior of an unvisited page of the group; signals are as for `rate`.

        The median is the group's rate, drawn towards ``outer``, the prior of the larger group that contains
        it; the weight is always `SHAPE`.
        """
        return Prior(SHAPE, SHAPE / rate(self, outer, recall, false))


# signals

#: Where a signal comes from: a log (a size that differs, a 200 after a 304), a sitemap's lastmod, a feed, a
#: header (Last-Modified, Cache-Control).
Kind: TypeAlias = Literal["log", "sitemap", "feed", "header"]

# The prior of a kind of signals: as if so many had been false, and so many true (Beta).
_FALSE, _TRUE = 1.0, 1.0
# As if so many changes had been announced, and so many not.
_ANNOUNCED, _HIDDEN = 1.0, 2.0
# Bound of recall: above it pages would be visited at signals only, and no other change would ever be found.
_RECALL = 0.95
# The longest step, in seconds: a hundred years.
_LONGEST_STEP = 100 * 365 * 86_400.0
# More signals before a visit are counted as this many.
_COUNTED = 8
_HALVINGS = 20


class Trust(msgspec.Struct, array_like=True, gc=False):
    """What visits showed of one kind of signal, of a page or a group: sums that add up in any order.

    ``signals`` counts all signals, ``wrong`` those before visits that found no change; ``time`` is the sum of
    all intervals, in milliseconds. ``told`` has, for each number of signals, how many visits found a change
    after it, and the sum of their intervals. ``hidden`` counts unannounced changes, in thousandths.
    """

    signals: int = 0
    wrong: int = 0
    time: int = 0
    told: dict[int, list[int]] = {}
    hidden: int = 0

    def seen(self, interval: float, signals: int, changed: bool, history: History) -> None:
        """Absorb a visit of a page, ``interval`` seconds and ``signals`` signals after the one before.

        ``history`` has the earlier visits of that page. It alone decides how many hidden changes to expect
        beside a signal, and how many an unannounced change stands for: so the order of other pages' visits does
        not matter.
        """
        time = milliseconds(interval)
        self.time += time
        self.signals += signals
        if signals and changed:
            bucket = self.told.setdefault(min(signals, _COUNTED), [0, 0])
            bucket[0] += 1
            bucket[1] += time
        elif signals:
            self.wrong += signals
        x = rate(history, NOTHING) * time / UNITS
        if signals:
            self.hidden += round(UNITS * x)
        elif changed:
            self.hidden += round(UNITS * x / -math.expm1(-x))

    @property
    def false(self) -> float:
        """The share p = v / g of signals that are false, between 0 and 1.

        After n signals a visit finds the page unchanged with probability p^n q, where q is that of no
        unannounced change in the mean of such intervals. The likelihood of all visits after signals is greatest
        if ``wrong`` = sum of n p^n q / (1 - p^n q) over those that found a change; the right side grows with p.
        """
        hidden = self.hidden / max(1, self.time)
        told = [
            (number, signals, math.exp(-hidden * time / number / UNITS))
            for signals, (number, time) in self.told.items()
        ]
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            p = (low + high) / 2
            right = _TRUE * p / (1 - p) + sum(
                number * signals * p**signals * q / (1 - p**signals * q) for number, signals, q in told
            )
            low, high = (p, high) if right < self.wrong + _FALSE else (low, p)
        return high

    @property
    def recall(self) -> float:
        """The share of changes that signals announce."""
        announced = (1 - self.false) * self.signals + _ANNOUNCED
        return min(_RECALL, announced / (announced + self.hidden / UNITS + _HIDDEN))


def steps(trust: Trust, rate: float) -> float:
    """Return the seconds by which one signal ages a page with ``rate`` unannounced changes a second."""
    return min(_LONGEST_STEP, -math.log(trust.false) / rate) if rate > 0 else _LONGEST_STEP


# What a visit to a page gains: seconds in which the copy is fresh when it is requested.
#
# A page changes at random moments, ``rate`` times a second (a Poisson process of rate D), and ``importance`` is
# its share of all requests. With a visit every t seconds its copy is fresh for the part (1 - e^(-Dt)) / (Dt) of
# the time (Cho and Garcia-Molina, Effective page refresh policies for Web crawlers, TODS 2003). For a given
# number of visits the sum of importance times freshness is greatest where one more visit a second would add the
# same on any page, by Lagrange (same paper). That is
#
#     gain(t) = (importance / D) (1 - e^(-Dt) - Dt e^(-Dt))
#
# which grows with t and has a limit. So the page with the greatest gain at its age is the one to visit: the
# deterministic policy that follows the optimum (Azar, Horvitz, Lubetzky, Peres and Shahaf, Tractable
# near-optimal policies for crawling, PNAS 2018; in this form Busa-Fekete et al., WWW 2025, as GREEDY). A page
# that changes too often for its importance never reaches the level at which others are visited, and is rightly
# given up.
#
# Where signals announce the share r of the changes, it pays to wait with a page that has none: one may come.
# Ages then include the steps of signals (above), and with x = (1 - r) D t
#
#     gain(t) = (importance / D) (1 - e^(-x) - (1 - r) (1 - e^(-x / (1 - r)))) / r
#
# That is the expected time for which the copy is fresh in a cycle that ends at an age of t, less the freshness
# at its end times the cycle's expected length (Busa-Fekete et al., the crawl value of GREEDY-NCIS), where a
# cycle ends at an announced change.

# Below the first, a series replaces a difference of almost equal numbers; a recall below the second is none.
_SMALL, _NONE = 0.01, 1e-4
_STEPS, _TURNS = 3, 8


def stale(rate: float, age: float) -> float:
    """Return the probability that a page changed within ``age`` seconds.

    >>> round(stale(1 / 3600, 3600.0), 3)
    0.632
    """
    return -math.expm1(-rate * age) if rate > 0 else 0.0


def limit(importance: float, rate: float) -> float:
    """Return the limit of the gain: what a page never fetched is worth, at its expected rate."""
    if importance <= 0:
        return 0.0
    return importance / rate if rate > 0 else math.inf


def gain(importance: float, rate: float, age: float, recall: float = 0.0) -> float:
    """Return what a visit gains, ``age`` seconds after the last; ``recall`` is the announced share, below 1."""
    if importance <= 0 or rate <= 0 or age <= 0:
        return 0.0
    y = rate * age
    if y < _SMALL:
        return importance * (age * _series((1 - recall) * y, y))
    return importance / rate * (_share(y) if recall < _NONE else _announced((1 - recall) * y, recall))


def when(importance: float, rate: float, gain: float, recall: float = 0.0) -> float:
    """Return the age in seconds at which a visit gains ``gain``; infinity if it never does.

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
    """Return 1 - e^(-x) - x e^(-x): the share of its limit that a gain reaches after x expected changes."""
    fresh = math.exp(-x)
    return 1 - fresh - x * fresh if fresh else 1.0


def _announced(x: float, recall: float) -> float:
    """Return the same share where some changes are announced, after x expected others."""
    return 1 - (math.exp(-x) - (1 - recall) * math.exp(-x / (1 - recall))) / recall


def _series(x: float, y: float) -> float:
    """Return `_announced` divided by y = x / (1 - recall), for a small y; at y = x, `_share`."""
    cube = x * x * x + x * x * y + x * y * y + y * y * y
    return x * (1 / 2 - (x + y) / 6 + (x * x + x * y + y * y) / 24 - cube / 120)


def _inverse(share: float) -> float:
    """Return the x of a `_share` between 0 and 1.

    Newton's method solves x - log(1 + x) = s, where s = -log(1 - share). It starts from the series of x in the
    root of 2s (that of Stirling's formula), which is exact for a small one.
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
    """Return the x of an `_announced` share, by Newton's method on the logarithm, which is convex too."""
    s = -math.log1p(-share)
    x = math.sqrt(2 * (1 - recall) * s)
    for _ in range(_TURNS):
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
