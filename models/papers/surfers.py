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
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

import msgspec


class Session(NamedTuple):
    """A finished session."""

    #: The level of each view.
    levels: tuple[int, ...]
    #: The page that it began with.
    start: str
    #: The views that the log lacks.
    put_back: int


class Move(StrEnum):
    """What a user does next, in the paper's words; "jump" leaves the site."""

    NEXT = "next"
    START = "start"
    JUMP = "jump"
    BACK = "back"
    STAY = "stay"
    PREVIOUS = "previous"
    FORWARD = "forward"


def move(before: int, after: int) -> Move:
    """Return the move from one level to another.

    From level 1 the start page is one level back: that move is "back", as "start" is from level 2 on.

    >>> [str(move(3, level)) for level in (4, 3, 2, 1, 0, 6)]
    ['next', 'stay', 'back', 'previous', 'start', 'forward']
    """
    if after == before + 1:
        return Move.NEXT
    if after == before:
        return Move.STAY
    if after > before:
        return Move.FORWARD
    if after == before - 1:
        return Move.BACK
    return Move.START if after == 0 else Move.PREVIOUS


def moves(levels: Sequence[int]) -> Iterator[tuple[int, Move]]:
    """Yield each view of a session as its level and the move made from there; the last view's is "jump".

    >>> [(level, str(made)) for level, made in moves([0, 1, 0])]
    [(0, 'next'), (1, 'back'), (0, 'jump')]
    """
    for before, after in pairwise(levels):
        yield before, move(before, after)
    yield levels[-1], Move.JUMP


class Visits(msgspec.Struct):
    """Counts of a site's sessions; they add up in any order."""

    #: By level.
    views: list[int] = []
    #: By the level from where they were made.
    moves: list[dict[Move, int]] = []
    sessions: int = 0
    #: Sessions that began with the home page, and those of one view.
    homes: int = 0
    singles: int = 0
    #: Views that the log lacks.
    put_back: int = 0
    #: For the interval of a fit (sum n^2, sum n d, sum d^2) over sessions of n views whose levels sum to d.
    squares: tuple[int, int, int] = (0, 0, 0)

    @property
    def total(self) -> int:
        """All page views."""
        return sum(self.views)

    @property
    def levels(self) -> int:
        """The sum of the levels of all views."""
        return sum(level * views for level, views in enumerate(self.views))

    def add(self, session: Session, home: bool) -> None:
        """Count a session."""
        levels = session.levels
        while len(self.views) <= max(levels):
            self.views.append(0)
            self.moves.append({})
        for level, made in moves(levels):
            self.views[level] += 1
            self.moves[level][made] = self.moves[level].get(made, 0) + 1
        views, depths = len(levels), sum(levels)
        first, mixed, second = self.squares
        self.squares = (first + views * views, mixed + views * depths, second + depths * depths)
        self.sessions += 1
        self.homes += home
        self.singles += views == 1
        self.put_back += session.put_back

    def made(self, move: Move, least: int) -> int:
        """Return how often a move was made, from all levels but the first ``least``."""
        return sum(counts.get(move, 0) for counts in self.moves[least:])

    def reached(self) -> list[float]:
        """Return the share of the views on the levels up to each."""
        shares, so_far = [], 0
        for views in self.views:
            so_far += views
            shares.append(so_far / self.total)
        return shares

    def depth(self, share: float) -> int:
        """Return the least level up to which there is the share of the views; raises ValueError without views.

        >>> Visits(views=[6, 3, 1]).depth(0.9)
        1
        """
        wanted, so_far = share * self.total, 0
        for level, views in enumerate(self.views):
            so_far += views
            if so_far >= wanted:
                return level
        raise ValueError("no views, expected at least one")


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
