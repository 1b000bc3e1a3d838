"""How far words name what a predicate asks for."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from scentline.models.ledger import longer
from scentline.models.policy.candidate import LinkWords, url_words
from scentline.models.policy.vocabulary import KINDS, LEAST, Numbers, Vocabulary, root

# How far links and URLs name what a predicate asks for is known before any page is judged: a page whose links
# say a keyword mostly has it. The combiner is not told: if it had known that such a page would be a hit, it
# would learn next to nothing of all else that led there.

Parts = npt.NDArray[np.float32]

#: What a whole phrase in a link or a URL, around a link and in the heading above it adds to the logit of a hit.
SAID, AROUND, ABOVE = 2.0, 0.7, 1.0
_WORTH = np.array([[SAID], [AROUND], [ABOVE]], np.float32)


class Named:
    """The part of a predicate's ``phrases`` that words hold, by the number of a word in a ``vocabulary``.

    Phrases are words that follow each other. A word holds one of them that it has the root of (`root`), or that
    it is, where that is shorter; and two, where it has the root of both written as one. Of several phrases that
    counts of which it holds most.

    >>> from scentline.models.ledger import Ledger
    >>> vocabulary = Vocabulary(Ledger())
    >>> named = Named(vocabulary, [("time", "zone"), ("password",)])
    >>> numbers = vocabulary.words(["time", "times", "timezones", "passwordhash"])
    >>> named.by_word[numbers].tolist()
    [0.5, 0.0, 1.0, 1.0]
    """

    def __init__(self, vocabulary: Vocabulary, phrases: Sequence[Sequence[str]] = ()) -> None:
        self._vocabulary = vocabulary
        vocabulary.words(chain.from_iterable(phrases))
        self._parts: Parts = np.zeros(0, np.float32)
        # The numbers of words that were met and not taken in yet, beside the part of a phrase that they hold.
        self._met: list[tuple[float, list[int]]] = []
        #: Whether any word holds anything.
        self.any = bool(phrases)
        for sought, part in _sought(phrases):
            met: list[int] = []
            if len(sought) < LEAST:
                met += vocabulary.words((sought,)).tolist()
            else:
                vocabulary.watch((sought,), met)
            self._met.append((part, met))

    @property
    def by_word(self) -> Parts:
        """The parts of all words that were met, by number."""
        self._take_in()
        self._parts = longer(self._parts, len(self._vocabulary))
        return self._parts

    def _take_in(self) -> None:
        for part, met in self._met:
            if met:
                self._parts = longer(self._parts, max(met) + 1)
                self._parts[met] = np.maximum(self._parts[met], part)
                met.clear()

    def in_links(self, words: npt.NDArray[np.integer[Any]], sizes: npt.NDArray[np.integer[Any]]) -> Parts:
        """Return what phrases add for each of some links: the most of what words in, around and above it do.

        ``words`` are those in all links, one after the other, then those around and those above; ``sizes`` says
        how many, a row each, a column a link.
        """
        groups = sizes.ravel()
        parts = np.append(self.by_word.take(words), np.float32(0))  # a last group without words starts there
        held = np.add.reduceat(parts, np.cumsum(groups) - groups) * (groups > 0)
        found: Parts = (np.minimum(1.0, held).reshape(sizes.shape) * _WORTH).max(axis=0)
        return found

    def renumber(self, before: Numbers) -> None:
        """Note that words have other places, as `models.policy.vocabulary.LogRatios.renumber` does.

        The words of phrases must be among those kept: shorter ones are not looked for again.
        """
        self._take_in()
        numbers = before[::KINDS] // KINDS
        self._parts = longer(self._parts, int(numbers.max(initial=-1)) + 1)[numbers]


def _sought(phrases: Sequence[Sequence[str]]) -> Iterator[tuple[str, float]]:
    """Yield what a word has, or is where that is short, and the part of a phrase that it then holds."""
    for phrase in phrases:
        for word in phrase:
            yield root(word), 1 / len(phrase)
        for first, second in pairwise(phrase):
            both = root(first + second)
            if len(both) >= LEAST:
                yield both, 2 / len(phrase)


def _holds(word: str, sought: str) -> bool:
    return sought in word if len(sought) >= LEAST else sought == word


class Naming:
    """How far a candidate's URL and links name a ``topic``: what candidates go by before there is any hit.

    That is the part of the topic's words that the URL, or the best of the links, holds, weighted as what
    `Named` adds; no word is numbered for it.

    >>> naming = Naming(("jazz", "guitar"))
    >>> naming.by_url("http://example.org/jazz/3"), naming.by_link(LinkWords(["next"], ["jazz", "guitars"]))
    (1.0, 0.7)
    """

    def __init__(self, topic: Sequence[str]) -> None:
        self._sought = tuple(_sought([topic]))

    def __bool__(self) -> bool:
        """Return whether the topic has words."""
        return bool(self._sought)

    def by_url(self, url: str) -> float:
        """Return how far a URL names the topic."""
        return SAID * self._held(url_words(url))

    def by_link(self, words: LinkWords) -> float:
        """Return how far a link names it, by the words in it, around it and above it."""
        return max(worth * self._held(found) for worth, found in zip((SAID, AROUND, ABOVE), words, strict=True))

    def _held(self, words: Iterable[str]) -> float:
        return min(1.0, sum(map(self._part, words)))

    def _part(self, word: str) -> float:
        return max((part for sought, part in self._sought if _holds(word, sought)), default=0.0)
