"""Finished sessions of a site, counted: levels, moves between them, and how sure a surfer's fit to them is.

Baeza-Yates and Castillo 2004, section 3.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

import msgspec

from scentline.models.papers import depth
from scentline.models.papers.depth import Surfer, Visits


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


class Counted(Visits):
    """Counts of a site's sessions; they add up in any order."""

    #: By the level from where they were made.
    moves: list[dict[Move, int]] = msgspec.field(default_factory=list)
    #: Sessions that began with the home page, and those of one view.
    homes: int = 0
    singles: int = 0
    #: Views that the log lacks.
    put_back: int = 0
    #: For the interval of a fit (sum n^2, sum n d, sum d^2) over sessions of n views whose levels sum to d.
    squares: tuple[int, int, int] = (0, 0, 0)

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


#: The 95 % point of chi-squared with one degree of freedom.
_CHI2 = 3.841
_STEPS = 60
#: The highest ratio looked at: at 1 a surfer would never come back.
_MOST = 1 - 1e-6


class Fit(NamedTuple):
    """A surfer's q, between ``low`` and ``high`` with 95 % confidence, and the error of `depth.Fit`."""

    surfer: Surfer
    q: float
    low: float
    high: float
    error: float


def fit(visits: Counted, surfer: Surfer) -> Fit:
    """Return the fit of a surfer with its interval; raises ValueError without views.

    That is the interval of the likelihood ratio, adjusted to views that come in sessions: -2 log of the ratio
    is multiplied by H / J, where H is the information that independent views would have and J the sum of the
    squared scores of the sessions (Chandler and Bate, Inference for clustered data using the independence
    loglikelihood, Biometrika 2007). H / J counts as 1 at most, since views of one session can't tell more than
    views of many.
    """
    found = depth.fit(visits, surfer)
    low, high = map(surfer.probability, _interval(visits, surfer.trials, surfer.ratio(found.q)))
    return Fit(surfer, found.q, low, high, found.error)


def best(visits: Counted) -> Fit:
    """Return the fit of least error.

    The levels can't tell A from B. What does is how users return from level 2 and below: more steps back than
    returns to the start page and exits speak for A.
    """
    stepped = visits.made(Move.BACK, 2) > visits.made(Move.START, 2) + visits.made(Move.JUMP, 2)
    return fit(visits, depth.best(visits, Surfer.A if stepped else Surfer.B).surfer)


def _interval(visits: Counted, trials: int, ratio: float) -> tuple[float, float]:
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


def _weight(visits: Counted, trials: int, ratio: float) -> float:
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
