"""Finished sessions of a site, counted, and how sure a surfer's fit is (Baeza-Yates and Castillo 2004, 3)."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

import msgspec

from scentline.models.papers import depth
from scentline.models.papers.depth import Surfer, Visits


class Session(NamedTuple):
    """The level of each view of a finished session, its first page, and how many views the log lacks."""

    levels: tuple[int, ...]
    start: str
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
    """Return the move from one level to another; from level 1 to the start page it is "back"."""
    near = {1: Move.NEXT, 0: Move.STAY, -1: Move.BACK}.get(after - before)
    return near or (Move.FORWARD if after > before else Move.START if after == 0 else Move.PREVIOUS)


def moves(levels: Sequence[int]) -> Iterator[tuple[int, Move]]:
    """Yield the level of each view of a session and the move made from there; the last one is "jump"."""
    for before, after in pairwise(levels):
        yield before, move(before, after)
    yield levels[-1], Move.JUMP


class Counted(Visits):
    """Counts of a site's sessions; they add up in any order."""

    moves: list[dict[Move, int]] = msgspec.field(default_factory=list)  #: By level.
    homes: int = 0  #: Sessions that began with the home page.
    singles: int = 0  #: Sessions of one view.
    put_back: int = 0  #: Views that the log lacks.
    #: (sum n^2, sum n d, sum d^2) over sessions of n views whose levels sum to d.
    squares: tuple[int, int, int] = (0, 0, 0)

    def add(self, session: Session, home: bool) -> None:
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


#: The 95 % point of chi-squared with one degree of freedom.
_CHI2 = 3.841
_STEPS = 60
#: The highest ratio: at 1 a surfer would never come back.
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

    The interval is that of the likelihood ratio, adjusted to sessions (Chandler and Bate, Inference for
    clustered data using the independence loglikelihood, Biometrika 2007): -2 log of the ratio times H / J, the
    information of independent views by the sum of the sessions' squared scores, at most 1.
    """
    found = depth.fit(visits, surfer)
    low, high = map(surfer.probability, _interval(visits, surfer.trials, surfer.ratio(found.q)))
    return Fit(surfer, found.q, low, high, found.error)


def best(visits: Counted) -> Fit:
    """Return the fit of least error; A where from level 2 on more moves are "back" than "start" and "jump"."""
    made = Counter[Move]()
    for counts in visits.moves[2:]:
        made.update(counts)
    stepped = made[Move.BACK] > made[Move.START] + made[Move.JUMP]
    return fit(visits, depth.best(visits, Surfer.A if stepped else Surfer.B).surfer)


def _interval(visits: Counted, trials: int, ratio: float) -> tuple[float, float]:
    """Return the bounds of the ratio; everything for a single session."""
    views, levels = visits.total, visits.levels
    if visits.sessions < 2:
        return 0.0, _MOST
    weight = _weight(visits, trials, ratio)

    def inside(other: float) -> bool:
        lost = trials * views * math.log((1 - ratio) / (1 - other))
        if levels:
            lost += levels * math.log(ratio / other)
        return 2 * weight * lost <= _CHI2

    def bound(beyond: float) -> float:
        """Return the end of the interval by halving."""
        within = ratio
        for _ in range(_STEPS):
            middle = (within + beyond) / 2
            within, beyond = (middle, beyond) if inside(middle) else (within, middle)
        return within

    return bound(0.0) if levels else 0.0, bound(_MOST)


def _weight(visits: Counted, trials: int, ratio: float) -> float:
    """Return H / J, at most 1; without a view below the start page, each session counts as one view."""
    if not visits.levels:
        return visits.sessions / visits.total
    rest = 1 - ratio
    views, mixed, levels = visits.squares
    squared = levels / ratio**2 - 2 * trials * mixed / (ratio * rest) + trials**2 * views / rest**2
    information = visits.levels / ratio**2 + trials * visits.total / rest**2
    return min(1.0, information / squared) if squared > 0 else 1.0
