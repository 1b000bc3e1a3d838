"""The moves of a user between the levels of a site (Baeza-Yates and Castillo 2004, section 3)."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import pairwise


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
