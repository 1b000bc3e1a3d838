"""The numbers of words, their roots, and how far words name what a predicate asks for."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from scentline.models.ledger import Ledger, distinct, longer
from scentline.models.policy.candidate import LinkWords, url_words
from scentline.models.policy.features import ANCHOR as ANCHOR_WORD
from scentline.models.policy.features import CONTEXT as CONTEXT_WORD
from scentline.models.policy.features import HEADING as HEADING_WORD
from scentline.models.policy.features import PAGE_WORD, URL_WORD

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


Numbers = npt.NDArray[np.intp]

#: The kinds of words, in the order of their places in the arrays: a word's own number times four, plus kind.
KINDS = 5
PAGE, ANCHOR, CONTEXT, HEADING, URL = range(KINDS)
#: Features of words, and their kinds.
WORDS = {
    PAGE_WORD: PAGE,
    ANCHOR_WORD: ANCHOR,
    CONTEXT_WORD: CONTEXT,
    HEADING_WORD: HEADING,
    URL_WORD: URL,
}

#: A word that has no slot, and a slot without a word; a slot that was not looked at.
_NONE, _UNSEEN = -1, -2
#: Words that there is room for at first.
ROOM = 1024


class _Known(dict[str, int]):
    """The numbers of words: one not met before has the next, and is looked at for ``roots``."""

    def __init__(self, roots: Roots, words: Iterable[tuple[str, int]] = ()) -> None:
        super().__init__(words)
        self.roots = roots

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        self.roots.meet(word, number)
        return number


class Vocabulary:
    """The numbers of words, shared by the tables of all predicates, and where a ``ledger`` counts them.

    A *place* is that of a word of one kind in arrays over all words, a *slot* that of its counts. Words have
    places from when they are first met, and slots as long as the ledger counts them.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._known = _Known(Roots())
        self._slots: Numbers = np.full(KINDS * ROOM, _NONE)
        self._places: Numbers = np.full(ROOM, _UNSEEN)

    @property
    def places(self) -> int:
        """Places that arrays over all words need."""
        return KINDS * len(self._known)

    def __len__(self) -> int:
        """Return the words that were met."""
        return len(self._known)

    def numbers(self, words: Iterable[str], kind: int = PAGE) -> list[int]:
        """Return the places of words of a kind, new ones for words not met before."""
        return [number * KINDS + kind for number in map(self._known.__getitem__, words)]

    def places_of(self, words: Iterable[str], kind: int) -> Numbers:
        """Return the places of words of a kind as an array."""
        return np.array(self.numbers(words, kind), np.intp)

    def places_in(self, slots: Numbers) -> Numbers:
        """Return the places of the words that are counted in some slots."""
        self._places = longer(self._places, self.ledger.size, _UNSEEN)
        unseen = slots[self._places[slots] == _UNSEEN]
        if len(unseen):
            self._look_at(unseen)
        places = self._places[slots]
        return places[places >= 0]

    def counted(self) -> Numbers:
        """Return the places of all words that are counted."""
        places = self._places[: self.ledger.size]
        return places[places >= 0]

    def slots(self, places: Numbers) -> Numbers:
        """Return the slots that words are counted in, below zero where they are not counted."""
        self._slots = longer(self._slots, self.places, _NONE)
        return self._slots[places]

    def forget(self, slots: Numbers) -> Numbers:
        """Note that what some slots counted is forgotten; return the places of the words among it."""
        places = self.places_in(slots)
        self._slots[places] = _NONE
        self._places[slots] = _UNSEEN
        return places

    def compact(self, kept: Numbers) -> Numbers:
        """Forget the words that are neither counted nor in ``kept`` places: the others are numbered anew.

        Returns the earlier places of all that is left, in the order of their places now.
        """
        left = distinct(np.concatenate((self.counted(), kept)) // KINDS)
        words = list(self._known)
        numbered = ((words[number], place) for place, number in enumerate(left.tolist()))
        self._known = _Known(self._known.roots, numbered)
        before = (left[:, None] * KINDS + np.arange(KINDS)).ravel()
        self._slots = longer(self._slots, KINDS * len(words), _NONE)[before]
        counted = np.flatnonzero(self._slots >= 0)
        self._places[self._slots[counted]] = counted
        return before

    def watch(self, roots: Iterable[str], met: list[int]) -> None:
        """Have the numbers of words that contain one of ``roots`` added to ``met``, now and as they are met."""
        found = tuple(roots)
        met += [number for word, number in self._known.items() if any(root in word for root in found)]
        self._known.roots.add(found, met)

    def _look_at(self, slots: Numbers) -> None:
        places = np.array([self._place_of(name) for name in self.ledger.names(slots)], np.intp)
        self._slots = longer(self._slots, self.places, _NONE)
        self._places[slots] = places
        self._slots[places[places >= 0]] = slots[places >= 0]

    def _place_of(self, feature: str | None) -> int:
        if feature is None:
            return _UNSEEN  # a free slot
        kind = WORDS.get(feature[:2])
        return _NONE if kind is None else self._known[feature[2:]] * KINDS + kind

    def words(self, words: Iterable[str]) -> Numbers:
        """Return the numbers of words, whatever their kind: rows of `by_word`, of lifts as of `Named`."""
        return np.fromiter(map(self._known.__getitem__, words), np.int32)


def joined(starts: npt.NDArray[np.integer[Any]], sizes: npt.NDArray[np.integer[Any]]) -> Numbers:
    """Return the numbers from each of ``starts`` on, as many as ``sizes`` says, one range after the other.

    >>> joined(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(sizes)
    found: Numbers = np.repeat(starts - ends + sizes, sizes) + np.arange(ends[-1])
    return found


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
        """Note that words have other places, as `models.policy.knowledge.WordLifts.renumber` does.

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
