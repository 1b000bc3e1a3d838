"""What the sessions of a site come to: views a level, and moves between levels, in bounded memory.

Baeza-Yates and Castillo 2004, section 3.
"""

from collections.abc import Iterator, Sequence
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
    """Counts of a site's sessions; they add up in any order.

    >>> visits = Visits()
    >>> visits.add(Session((0, 1, 2, 1), "/", 1), home=True)
    >>> visits.views, visits.levels, visits.squares
    ([1, 2, 1], 4, (16, 16, 16))
    """

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
