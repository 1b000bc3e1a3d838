"""Signals that a page may have changed, and how far each kind of them is to be trusted.

Some changes show outside of the page: in the log, in a sitemap, in a feed, in a header. A signal may be false,
and changes may show in none. Let changes that show in no signal come at the rate a, signals at the rate g,
false ones among them at the rate v. Then the copy is still right, ``age`` seconds and n signals after the
visit, with probability

    e^(-a age) (v / g)^n = e^(-a (age + n b)),   b = log(g / v) / a

so that a signal is as b seconds: it ages the page by that step (Busa-Fekete, Zimmert, György, Qiu, Sung, Shen,
Choi, Subramaniam and Xiao, A Scalable Crawling Algorithm Utilizing Noisy Change-Indicating Signals, WWW 2025:
GREEDY-NCIS). What a visit gains then is in `models.revisit.gain`. The paper takes v / g and the part of the
changes that show as known; here both are learned.
"""

import math
from typing import Literal, TypeAlias

import msgspec

from scentline.models.revisit.rate import NOTHING, UNITS, History, milliseconds, rate

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
_LONGEST = 100 * 365 * 86_400.0
# More signals before a visit are counted as this many.
_COUNTED = 8
_HALVINGS = 20


class Trust(msgspec.Struct, array_like=True, gc=False):
    """What visits showed of one kind of signal, of a page or a group: facts that add up in any order.

    ``signals`` is the number of all signals, ``wrong`` of those before visits that found nothing new, and
    ``time`` the sum of all intervals, in milliseconds. ``told`` has for each number of signals how many visits
    found a change after it, and the sum of their intervals. ``hidden`` are the changes, in thousandths, that
    came unannounced.

    >>> trust, history = Trust(), History()
    >>> for changed in [True, False] * 98:
    ...     trust.seen(3600.0, 1 if changed else 0, changed, history)
    >>> round(trust.false, 2), round(trust.recall, 2)
    (0.01, 0.95)
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
    return min(_LONGEST, -math.log(trust.false) / rate) if rate > 0 else _LONGEST
