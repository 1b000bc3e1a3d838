"""Features: the events E whose interest ratios are learned, by name; and their ratios.

===================  ===================================================================================
``""``               the base: counted once for each judged page, so that it holds N and n(C)
``w:WORD``           the page is linked to by a judged page that holds the word
``t:TOKEN``          the page's URL holds the token
``l:PREDICATE:1``    a link whose source satisfies the predicate: counted once for each link whose two ends
                     are judged, under the verdict of the link's target
``l:PREDICATE:0``    the same of a link whose source does not satisfy the predicate
``u:USER``           the user visited the page, of the users kept of it
``s:WORD``           the word is in the page's signature: in judged pages that its users visited near by
``r:PREDICATE``      the page lies in the temporal locality region of the predicate
``p:WORD``           the page itself holds the word
``a:WORD``           a kept link to the page has the word in its anchor
``c:WORD``           a kept link to the page has the word around it
``h:WORD``           a kept link to the page has the word in the heading above it
``k:WORD``           the page's URL holds the word
``x:PREFIX``         the page's URL lies in the domain or directory
``y:SUBJECT``        the page's subject is this text (`models.semantic.page_subject`)
===================  ===================================================================================
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

BASE = ""
WORD = "w:"
TOKEN = "t:"  # noqa: S105  # a token of a URL, no secret
LINK = "l:"
USER = "u:"
SIGNATURE = "s:"
REGION = "r:"
#: Suffix of a region's name for the judged pages outside of it, for display. Not a feature.
OUTSIDE = " (outside)"
PAGE_WORD = "p:"
ANCHOR = "a:"
CONTEXT = "c:"
HEADING = "h:"
URL_WORD = "k:"
PREFIX = "x:"
SUBJECT = "y:"

Kind = Literal[
    "base", "word", "token", "link", "user", "signature", "region", "page word", "anchor", "context", "heading",
    "URL word", "prefix", "subject",
]  # fmt: skip

_NAMED: dict[str, Kind] = {
    **{WORD: "word", TOKEN: "token", USER: "user", SIGNATURE: "signature", REGION: "region"},
    **{PAGE_WORD: "page word", ANCHOR: "anchor", CONTEXT: "context", HEADING: "heading"},
    **{URL_WORD: "URL word", PREFIX: "prefix", SUBJECT: "subject"},
}


class Feature(NamedTuple):
    """A parsed feature name; ``holds`` distinguishes the two features of a predicate's links."""

    kind: Kind
    name: str = ""
    holds: bool | None = None


def word(name: str) -> str:
    """Return the feature of a word of an in-linking page."""
    return WORD + name


def token(name: str) -> str:
    """Return the feature of a URL token."""
    return TOKEN + name


def link(predicate: str, holds: bool) -> str:
    """Return the feature of a link whose source satisfies, or does not satisfy, ``predicate``."""
    return f"{LINK}{predicate}:{int(holds)}"


def user(name: str) -> str:
    """Return the feature of a user who visited the page."""
    return USER + name


def signature(name: str) -> str:
    """Return the feature of a word of the page's signature."""
    return SIGNATURE + name


def region(predicate: str) -> str:
    """Return the feature of the temporal locality region of ``predicate``."""
    return REGION + predicate


def split(feature: str) -> Feature:
    """Return the parts of a feature's name; raises `ValueError` for any other name.

    >>> split("l:science:1")
    Feature(kind='link', name='science', holds=True)
    """
    if feature == BASE:
        return Feature("base")
    kind, rest = feature[:2], feature[2:]
    if kind in _NAMED:
        return Feature(_NAMED[kind], rest)
    predicate, _, holds = rest.rpartition(":")
    if kind == LINK and holds in ("0", "1"):
        return Feature("link", predicate, holds == "1")
    raise ValueError(
        f"feature {feature!r}: expected '', 'l:PREDICATE:0|1', or a name after one of {', '.join(_NAMED)}"
    )


def always_kept(feature: str) -> bool:
    """Return whether a feature is never forgotten: the base, and each predicate's links and region."""
    return feature[:2] in (BASE, LINK, REGION)


# Ratios of events to a base rate, by two rules: significant ones, and shrunk ones.
#
# The paper's policies use significant interest ratios (Aggarwal 2004, equations 1 to 10). What the paper leaves
# open: no hit counts as half a hit (a ratio of 0 has no logarithm), but never as a ratio above 1; without a
# base rate to compare with (nothing judged, no hit, or only hits) every ratio is 1.
#
# The learned policy uses all ratios, shrunk: a ratio of few pages is drawn towards the prior.

#: What the variance in the significance test is divided by: n(E), or what the paper divides by.
Denominator = Literal["binomial", "paper"]

#: What the paper divides by: n(C), the hits, for words (equation 6); N, the pages judged, for users and for
#: words of signatures (10).
Sample = Literal["hits", "pages"]

#: Pages and hits of a feature: counted, and weighted as those of an earlier crawl.
Cell = tuple[int, int]
Weighed = tuple[float, float]
Counts = npt.NDArray[np.float64]

#: Hits assumed where none was seen.
HALF_A_HIT = 0.5


class Base(msgspec.Struct, frozen=True, array_like=True):
    """The pages judged so far, N, and the hits among them, n(C)."""

    pages: int = 0
    hits: int = 0

    @property
    def rate(self) -> float:
        """P(C), estimated by n(C) / N; 0 while nothing was judged."""
        return self.hits / self.pages if self.pages else 0.0

    @property
    def informative(self) -> bool:
        """Whether there is a rate to compare with: 0 < P(C) < 1."""
        return 0 < self.hits < self.pages


def interest(hits: float, expected: float) -> float:
    """Return hits over those expected of an uninformative event; half a hit, at most ratio 1, for none.

    >>> interest(9, 15 * 0.1)
    6.0
    >>> interest(0, 4), interest(0, 0.1)
    (0.125, 1.0)
    """
    if hits > 0:
        return hits / expected
    return min(1.0, HALF_A_HIT / expected) if expected > 0 else 1.0


def ratio(pages: int, hits: int, base: Base) -> float:
    """Return the interest ratio I(C, E) = P(C|E) / P(C) of an event seen on ``pages``, ``hits`` of them hits.

    Equation (3), by way of (1), (2) and (5): n(C and E) / (n(E) P(C)). An event never seen has ratio 1.

    >>> ratio(20, 14, Base(10_000, 1_000))
    7.0
    """
    if pages <= 0 or not base.informative:
        return 1.0
    return interest(hits, pages * base.rate)


def samples(pages: int, base: Base, denominator: Denominator, sample: Sample) -> int:
    """Return the n of the significance test of an event seen on ``pages``."""
    if denominator == "binomial":
        return pages
    return base.hits if sample == "hits" else base.pages


def significance(
    pages: int, hits: int, base: Base, denominator: Denominator = "binomial", sample: Sample = "hits"
) -> float:
    """Return S(C, E) in standard deviations, equation (6): |P(C|E) - P(C)| / sqrt(P(C) (1 - P(C)) / n).

    The paper divides by n = n(C), the hits so far, and for users, equation (10), by n = N, as ``sample`` says.
    The binomial test has n = n(E), the pages on which the event was seen: that is the deviation that P(C|E) has
    by chance, so a rare event must be more extreme.
    """
    if pages <= 0 or not base.informative:
        return 0.0
    rate = base.rate
    return abs(hits / pages - rate) / math.sqrt(rate * (1 - rate) / samples(pages, base, denominator, sample))


#: Pages at the base rate added to the counts of a feature.
PRIOR_PAGES = 2.0
_MOST_RATE = 0.9
_PRIOR_HITS = 0.5
_PRIOR_SEEN = 5.0


def base_rate(pages: float, hits: float) -> float:
    """Return p = min(.9, (hits + .5) / (pages + 5)): never 0 or 1, however little was judged.

    >>> base_rate(0, 0), base_rate(95, 9.5)
    (0.1, 0.1)
    """
    return min(_MOST_RATE, (hits + _PRIOR_HITS) / (pages + _PRIOR_SEEN))


def log_lift(pages: float, hits: float, rate: float, prior: float = PRIOR_PAGES) -> float:
    """Return L(c, n; a) = ln(((c + a p) / (n + a)) / p) of c hits on n pages at the base rate p.

    ``prior`` is a, the pages at the base rate that are added.
    """
    return math.log((hits + prior * rate) / (pages + prior) / rate)


def log_lifts(pages: Counts, hits: Counts, rates: Counts | float, prior: Counts | float) -> Counts:
    """Return `log_lift` of many counts."""
    found: Counts = np.log((hits + prior * rates) / (pages + prior) / rates)
    return found


#: Bound of one feature's weight, either way.
MOST = 3.0


#: Relative move of the base rate, or of its complement, after which ratios are recomputed.
DRIFT = 0.02
#: The kinds of features that enter the paper's policies where they are significant, the latter two by users.
PAPER = {WORD: 0, TOKEN: 1, SIGNATURE: 2, USER: 3}


@dataclass(frozen=True)
class Shrunk:
    """L(c, n; 2) at the base ``rate``, within +-3: for the learned policy.

    Hits of an earlier crawl, with the base rate ``earlier``, are scaled by the ratio of the two rates, so that
    lifts carry over, not rates. At 0 nothing of it counts.
    """

    rate: float = 0.1
    earlier: float = 0.0
    moves_all: ClassVar = False  # without a hit it is ln(2 / (n + 2)) at any rate

    @property
    def carried(self) -> float:
        """The factor of the earlier crawl's hits."""
        return self.rate / self.earlier if self.earlier else 0.0

    def moved(self, before: "Shrunk") -> bool:
        """Return whether the rate has moved by more than 2 %, or the earlier crawl's rate has changed."""
        far = abs(self.rate - before.rate) > DRIFT * min(before.rate, 1 - before.rate)
        return far or self.earlier != before.earlier

    def logs(self, pages: Counts, hits: Counts, kinds: npt.NDArray[np.intp]) -> Counts:
        """Return the log lifts of these counts."""
        lifts = log_lifts(pages, hits, self.rate, PRIOR_PAGES)
        return np.minimum(MOST, np.maximum(-MOST, lifts, out=lifts), out=lifts)


@dataclass(frozen=True)
class Significant:
    """log I(C, E) where S(C, E) >= t (Aggarwal 2004, equations 3 and 6), else 0: for the paper's policies.

    The paper's ``denominator`` is n(C), but N for users (10), and for signatures, which are "quite analogous".
    With ``drift=0`` ratios are always exact.
    """

    base: Base
    t: float = 2.0
    denominator: Denominator = "binomial"
    drift: float = DRIFT
    moves_all: ClassVar = True
    carried: ClassVar = 1.0

    def moved(self, before: "Significant") -> bool:
        """Return whether P(C) or 1 - P(C), or with the paper's denominator n(C), has moved by ``drift``."""
        old, new = before.base, self.base
        if not (old.informative and new.informative):
            return old.informative != new.informative
        more_hits = self.denominator == "paper" and abs(new.hits - old.hits) > self.drift * old.hits
        return more_hits or abs(new.rate - old.rate) > self.drift * min(old.rate, 1 - old.rate)

    def logs(self, pages: Counts, hits: Counts, kinds: npt.NDArray[np.intp]) -> Counts:
        """Return the logs of the ratios of these counts that are significant."""
        base, seen = self.base, np.maximum(pages, 1)
        if not base.informative:
            return np.zeros(len(pages))
        rate, expected = base.rate, seen * base.rate
        ratios = np.where(hits > 0, hits / expected, np.minimum(1.0, HALF_A_HIT / expected))
        sample = seen
        if self.denominator == "paper":
            sample = np.where(kinds < PAPER[SIGNATURE], base.hits, base.pages)
        deviations = np.abs(hits / seen - rate) / np.sqrt(rate * (1 - rate) / sample)
        return np.where((pages > 0) & (deviations >= self.t), np.log(ratios), 0.0)


def with_earlier(counted: Weighed, pages: float, hits: float, ratio: float) -> Weighed:
    """Return counts plus those of an earlier crawl, with hits scaled by ``ratio``, p now over p then.

    >>> with_earlier((2, 1), 8, 4, 0.5)
    (10, 3.0)
    """
    return counted[0] + pages, counted[1] + min(pages, hits * ratio)


def strongest(
    weights: Counts, pages: npt.NDArray[np.integer], most: int, *, against: bool = False
) -> npt.NDArray[np.intp]:
    """Return the places of the ``most`` largest weights above 0, or of the lowest below it, in their order.

    Features seen on no ``pages`` are left out. Of equal weights, as at the bound, the one seen on more pages
    comes first.

    >>> weights, pages = np.array([3.0, 0.5, -1.0, 3.0]), np.array([4, 90, 7, 9])
    >>> strongest(weights, pages, 3).tolist(), strongest(weights, pages, 3, against=True).tolist()
    ([3, 0, 1], [2])
    """
    signed = -weights if against else weights
    found = np.flatnonzero((signed > 0) & (pages > 0))
    if len(found) > most:
        # All that equal the last one are kept: pages decide between them.
        least = np.partition(signed[found], len(found) - most)[len(found) - most]
        found = found[signed[found] >= least]
    return found[np.lexsort((-pages[found], -signed[found]))][:most]
