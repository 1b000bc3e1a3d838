"""Words with a root in common: what a predicate's own words say of other words, before any is counted."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

#: Letters that a root has at least: shorter ones, as of "sea" and "war", are parts of too much.
LEAST = 5
#: Endings that are taken off a word, the first that leaves so many letters.
_ENDINGS = (
    "ization", "ations", "ation", "ional", "ities", "ings", "ions", "ing", "ion", "ity", "ors", "ers", "or",
    "er", "ed", "es", "al", "ly", "s", "e", "y", "x",
)  # fmt: skip


def root(word: str) -> str:
    """Return what is left of a word without its ending, at least five letters, or the word.

    >>> [root(word) for word in ("encryption", "passwords", "matrix", "macro", "timer")]
    ['encrypt', 'password', 'matri', 'macro', 'timer']
    """
    for ending in _ENDINGS:
        if len(word) - len(ending) >= LEAST and word.endswith(ending):
            return word[: -len(ending)]
    return word


def roots(topic: Sequence[str]) -> frozenset[str]:
    """Return the roots of a topic's words, and of each two that follow each other, written as one.

    >>> sorted(roots(("time", "zone", "password")))
    ['password', 'timezon', 'zonepassword']
    """
    joined = (first + second for first, second in pairwise(topic))
    return frozenset(found for word in (*topic, *joined) if len(found := root(word)) >= LEAST)


class Roots:
    """Roots that are looked for in words, whatever stands on either side of them.

    >>> sought, met = Roots(), []
    >>> sought.add({"password"}, met)
    >>> sought.meet("passwordhash", 7)
    >>> met
    [7]
    """

    def __init__(self) -> None:
        self._told: dict[str, list[list[int]]] = {}
        self._sizes: tuple[int, ...] = ()

    def add(self, sought: Iterable[str], met: list[int]) -> None:
        """Have the numbers of words with one of some roots added to ``met``; a word may be there twice."""
        for each in sought:
            self._told.setdefault(each, []).append(met)
        self._sizes = tuple({len(each) for each in self._told})

    def meet(self, word: str, number: int) -> None:
        """Tell of a word.

        Its parts are looked up, so that the time it takes depends on the word, not on how many roots there are.
        """
        for size in self._sizes:
            for start in range(len(word) - size + 1):
                for met in self._told.get(word[start : start + size], ()):
                    met.append(number)
