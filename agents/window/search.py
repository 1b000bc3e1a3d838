"""Searches: words as pages and predicates have them, in any case and script.

Titles, URLs and texts are matched by their runs of letters and digits; a typed search becomes runs, too.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from scentline.models.words import MAX_LENGTH, WORD, folded, spaced

#: Most characters of a search, and most words.
MOST_SIGNS, MOST_WORDS = 300, 20
#: Least letters of a word's beginning.
LEAST_BEGINNING = 3

_TYPED = re.compile(r'"([^"]*)"?|(\S+)')
# A run before folding: letters, digits, and all that may combine with them.
_RUN = re.compile("(?:[^\\W_]|[\u00ad\u200c\u200d]|[^\\x00-\\x7f\\w\\s])+")


class Phrase(NamedTuple):
    """Words in a row; if ``begun``, the last one is the beginning of a word."""

    words: tuple[str, ...]
    begun: bool

    def is_at(self, found: Sequence[str], at: int) -> bool:
        """Return whether runs contain it at the place ``at``."""
        here = tuple(found[at : at + len(self.words)])
        if self.begun:
            return here[:-1] == self.words[:-1] and here[-1].startswith(self.words[-1])
        return here == self.words


class Search:
    """A search for all of its words, ``"words in a row"``, and beginnings, ``begin*``.

    >>> Search('hockey "ice rink" puck*').phrases[1:]
    [Phrase(words=('ice', 'rink'), begun=False), Phrase(words=('puck',), begun=True)]
    >>> bool(Search("--- **"))
    False
    """

    def __init__(self, text: str = "", phrases: Iterable[Phrase] = ()) -> None:
        self.phrases = [*_phrases(text[:MOST_SIGNS]), *phrases]

    def __bool__(self) -> bool:
        return bool(self.phrases)

    def found_in(self, texts: Iterable[str]) -> bool:
        """Return whether each phrase is in one of the texts."""
        return self.is_in([runs(text) for text in texts])

    def is_in(self, found: Sequence[Sequence[str]]) -> bool:
        """Return whether each phrase is in the runs of one of some texts."""
        return all(
            any(phrase.is_at(each, at) for each in found for at in range(len(each))) for phrase in self.phrases
        )

    def parts(self, text: str) -> tuple[str, ...]:
        """Return a text in parts; every second one is a match.

        >>> Search("hockey").parts("Ice Hockey News")
        ('Ice ', 'Hockey', ' News')
        """
        parts, done = [], 0
        for start, end in self._spans(text):
            parts += [text[done:start], text[start:end]]
            done = end
        return (*parts, text[done:])

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        found = runs_in(text) if self.phrases else []
        words = [run for run, _, _ in found]
        at = 0
        while at < len(found):
            size = max((len(phrase.words) for phrase in self.phrases if phrase.is_at(words, at)), default=0)
            if size:
                yield found[at][1], found[at + size - 1][2]
            at += size or 1


def _phrases(text: str) -> Iterator[Phrase]:
    rest = MOST_WORDS
    for found in _TYPED.finditer(text):
        quoted, bare = found[1], found[2]
        words = runs(bare if quoted is None else quoted)[:rest]
        begun = bool(bare) and bare.endswith("*") and words[-1:] != [] and len(words[-1]) >= LEAST_BEGINNING
        if words:
            yield Phrase(tuple(words), begun)
        rest -= len(words)


def runs(text: str) -> list[str]:
    """Return the folded runs of letters and digits in a text, long ones cut.

    >>> runs("https://a.example/News_2026/123456.html")
    ['https', 'a', 'example', 'news', '2026', '123456', 'html']
    """
    return [run[:MAX_LENGTH] for run in spaced(text)[0].split()]


def runs_in(text: str) -> list[tuple[str, int, int]]:
    """Return the folded runs of a text, each with its start and end."""
    return [
        (run[:MAX_LENGTH], found.start(), found.end())
        for found in _RUN.finditer(text)
        for run in WORD.findall(folded(found[0]))
    ]
