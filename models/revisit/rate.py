"""How often a page changes, from visits at unequal intervals that each show only whether it did.

Changes are a Poisson process of rate D: a visit t seconds after another finds the page unchanged with
probability e^(-Dt), and changed with 1 - e^(-Dt). To divide the changes seen by the time is wrong, since many
may hide behind one; the likelihood of all visits is not (Cho and Garcia-Molina, Estimating frequency of change,
TOIT 2003: for equal intervals, and for unequal ones an equation that is solved here). It has no maximum where
every visit found a change, nor is it above 0 where none did: a prior sees to both.

Some changes show outside of the page: in the log, in a sitemap, in a feed, in a header. A signal may be false,
and changes may show in none. Let changes that show in no signal come at the rate a, signals at the rate g,
false ones among them at the rate v. Then the copy is still right, ``age`` seconds and n signals after the
visit, with probability

    e^(-a age) (v / g)^n = e^(-a (age + n b)),   b = log(g / v) / a

so that a signal is as b seconds: it ages the page by that step (Busa-Fekete, Zimmert, György, Qiu, Sung, Shen,
Choi, Subramaniam and Xiao, A Scalable Crawling Algorithm Utilizing Noisy Change-Indicating Signals, WWW 2025:
GREEDY-NCIS). What a visit gains then is in `models.revisit.rate`. The paper takes v / g and the part of the
changes that show as known; here both are learned.
"""

import math
from typing import Literal, TypeAlias

import msgspec

#: What a second is in the units that intervals are summed in, and the longest interval: a hundred years.
UNITS, _LONGEST = 1000, 100 * 365 * 86_400


def milliseconds(interval: float) -> int:
    """Return an interval in whole milliseconds, at least one; raises ValueError for what is no number."""
    return max(1, round(min(max(interval, 0.0), _LONGEST) * UNITS))


class History(msgspec.Struct, array_like=True, gc=False):
    """Visits of a page that was seen before: each tells whether it changed since the visit before it, no more.

    Before most visits nothing said that the page might have changed. Of those that found nothing new
    (``still``) the number and the sum of their intervals are all that matters. The others are kept by the
    length of their interval: ``found`` has for each power of two of milliseconds their number and the sum.

    Before others ``signals`` came: those that found a change were ``told`` of it,
    those that did not were called for by ``wrong`` ones. Whether there was another change can't be seen.

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
        """Take in a visit, ``interval`` seconds and so many signals after the one before.

        An interval of no length, as a clock set back would have it, counts as a millisecond (`milliseconds`).
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
        """All visits but the first, which tells nothing."""
        return self.still + self.wrong + self.changes

    @property
    def still_seconds(self) -> float:
        """The sum of the intervals without a signal, and without a change."""
        return self.still_time / UNITS

    @property
    def seconds(self) -> float:
        """The seconds between the first visit and the last."""
        found = sum(time for _, time in self.found.values())
        return (self.still_time + self.told_time + self.wrong_time + found) / UNITS

    @property
    def intervals(self) -> list[tuple[int, float]]:
        """The visits that found a change unannounced: number and mean interval in seconds, by powers of two."""
        return [(number, total / number / UNITS) for number, total in self.found.values()]


# Newton's method stops at a step this small, in parts; it takes five or so.
_ENOUGH, _MOST = 1e-6, 100
# Below, x / (e^x - 1) is 1 - x / 2; beyond, e^x is no float, and what is divided by it nothing.
_LEAST, _LARGE = 1e-6, 300.0


class Prior(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What is expected of a rate: as much as ``shape`` changes in so many ``seconds`` would tell.

    A Gamma distribution has a thin tail: a page that changes a thousand times as often as others would need a
    thousand visits to be believed. So the scale of the distribution is unknown itself, and Gamma distributed
    with the same shape: a Beta prime distribution, by which log D is as likely above that of ``rate`` as below.
    """

    shape: float
    seconds: float

    @property
    def rate(self) -> float:
        """The median, in changes a second."""
        return self.shape / self.seconds


#: What is expected of a page of which nothing is known: a change in 30 days, give or take a lot.
NOTHING = Prior(0.25, 0.25 * 30 * 86_400)
#: The shape of what a group tells of a page of it: of ten rates, eight are within a tenth and ten times of the
#: group's.
SHAPE = 1.0


def rate(history: History, prior: Prior, recall: float = 0.0, false: float = 1.0) -> float:
    """Return how often a page changes, in changes a second: where the posterior of log D is greatest.

    Signals announce the part ``recall`` of its changes, and the part ``false`` of them is false: both tell.
    Without visits the rate is the prior's median.
    """
    hidden, median = 1 - recall, prior.rate
    # Of changes that a signal announced it is the signals that tell: so many true ones, in all the time.
    events = history.signals * (1 - false) if recall else 0.0
    time = hidden * history.still_seconds + recall * history.seconds
    found = [(count, hidden * each) for count, each in history.intervals]
    number = events + sum(count for count, _ in found)
    if not time and not number:
        return median
    # Solved is shape (median - D) / (median + D) + events + sum of n x / (e^x - 1) = D time, with x = D times
    # an interval. Left less right falls and is convex: so from a D that is too small Newton's steps never pass
    # the solution. Such a D follows from x / (e^x - 1) > 1 - x / 2, and (1 - z) / (1 + z) > 1 - 2z or -1.
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
        """Return what is known of a page of the group before it is visited; signals are as for `rate`.

        The median is the group's rate, drawn towards ``outer``, what is known of the larger group that it is
        in; the weight is always `SHAPE`.
        """
        return Prior(SHAPE, SHAPE / rate(self, outer, recall, false))


# signals

#: Where a signal comes from: a log (a size that differs, a 200 after a 304), a sitemap's lastmod, a feed, a
#: header (Last-Modified, Cache-Control).
Kind: TypeAlias = Literal["log", "sitemap", "feed", "header"]

# Signals of a kind of which nothing is known: as if so many had been false, and so many true (a Beta prior).
_FALSE, _TRUE = 1.0, 1.0
# As if so many changes had been announced, and so many not.
_ANNOUNCED, _HIDDEN = 1.0, 2.0
# No kind announces all changes: where it seems so, pages would be visited at signals only, and no other change
# ever be found.
_RECALL = 0.95
# The longest step, in seconds: a hundred years.
_LONGEST_STEP = 100 * 365 * 86_400.0
# More signals before a visit are counted as this many.
_COUNTED = 8
_HALVINGS = 20


class Trust(msgspec.Struct, array_like=True, gc=False):
    """What visits showed of one kind of signal, of a page or a group: facts that add up in any order.

    ``signals`` is the number of all signals, ``wrong`` of those before visits that found nothing new, and
    ``time`` the sum of all intervals, in milliseconds. ``told`` has for each number of signals how many visits
    found a change after it, and the sum of their intervals. ``hidden`` are the changes, in thousandths, that
    came unannounced.
    """

    signals: int = 0
    wrong: int = 0
    time: int = 0
    told: dict[int, list[int]] = {}
    hidden: int = 0

    def seen(self, interval: float, signals: int, changed: bool, history: History) -> None:
        """Take in a visit of a page, ``interval`` seconds and so many signals after the one before.

        ``history`` are the earlier visits of that page. From them alone follows how many hidden changes are
        expected where a signal came, and for how many one stands that was found without: so the order of other
        pages' visits does not matter.
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
        """The part p = v / g of signals that are false, between 0 and 1.

        After n signals a visit finds the page unchanged with probability p^n q, where q is that of no
        unannounced change in the mean of such intervals. The likelihood of all visits after signals is greatest
        where ``wrong`` = sum of n p^n q / (1 - p^n q) over those that found a change; the right side grows.
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
        """The part of changes that a signal announces."""
        announced = (1 - self.false) * self.signals + _ANNOUNCED
        return min(_RECALL, announced / (announced + self.hidden / UNITS + _HIDDEN))


def steps(trust: Trust, rate: float) -> float:
    """Return the seconds by which one signal ages a page that changes so often unannounced."""
    return min(_LONGEST_STEP, -math.log(trust.false) / rate) if rate > 0 else _LONGEST_STEP


# What a visit to a page gains: seconds in which the copy is fresh when it is asked for.
#
# A page changes at random moments, ``rate`` times a second (a Poisson process of rate D), and ``importance`` is
# its share of all requests. With a visit every t seconds its copy is fresh for the part (1 - e^(-Dt)) / (Dt) of
# the time (Cho and Garcia-Molina, Effective page refresh policies for Web crawlers, TODS 2003). For a given
# number of visits the sum of importance times freshness is greatest where one more visit a second would add as
# much to it on any page, by Lagrange (the same). That is
#
#     gain(t) = (importance / D) (1 - e^(-Dt) - Dt e^(-Dt))
#
# which grows with t and has a limit. So the page of the greatest gain at its age is the one to visit: the
# deterministic policy that follows the optimum (Azar, Horvitz, Lubetzky, Peres and Shahaf, Tractable
# near-optimal policies for crawling, PNAS 2018; in this form Busa-Fekete et al., WWW 2025, as GREEDY). A page
# that changes too often for its importance never reaches the level at which others are visited, and is rightly
# given up.
#
# Where signals announce the part r of the changes, a page that none has come for is worth waiting for: one may
# come. Ages are then those that signals make (above), and with x = (1 - r) D t
#
#     gain(t) = (importance / D) (1 - e^(-x) - (1 - r) (1 - e^(-x / (1 - r)))) / r
#
# That is the expected time for which the copy is fresh in a cycle that ends at an age of t, less the freshness
# at its end times the cycle's expected length (Busa-Fekete et al., the crawl value of GREEDY-NCIS), where a
# cycle ends at an announced change.

# Below it the difference of almost equal numbers is a series. Signals that announce less announce nothing.
_SMALL, _NONE = 0.01, 1e-4
_STEPS, _TURNS = 3, 8


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
    """Return what a visit gains, ``age`` seconds after the last; ``recall`` is the part announced, below 1."""
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
