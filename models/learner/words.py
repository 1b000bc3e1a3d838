"""What words weigh, in arrays: words of pages, of anchors, around links and of URLs, many at a time.

Before any is counted, words with a root in common with a predicate's own words have a weight.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from scentline.models.interest.features import ANCHOR as ANCHOR_WORD
from scentline.models.interest.features import CONTEXT as CONTEXT_WORD
from scentline.models.interest.features import HEADING as HEADING_WORD
from scentline.models.interest.features import PAGE_WORD, URL_WORD
from scentline.models.interest.ratio import MOST, PRIOR_PAGES
from scentline.models.ledger import Ledger, distinct, longer

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
Weights = npt.NDArray[np.float64]

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
#: Relative move of the base rate, or of its complement, after which all weights are taken anew.
DRIFT = 0.02
#: Pages, all hits, that a word with a root of the predicate's own words starts with.
AKIN_PAGES = 2

#: A word that has no slot, and a slot without a word; a slot that was not looked at.
_NONE, _UNSEEN = -1, -2
#: Words that there is room for at first.
_LEAST = 1024


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
        self._slots: Numbers = np.full(KINDS * _LEAST, _NONE)
        self._places: Numbers = np.full(_LEAST, _UNSEEN)

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
        """Return the numbers of words, whatever their kind: places in `WordLifts.by_word`."""
        return np.fromiter(map(self._known.__getitem__, words), np.int32)


def joined(starts: npt.NDArray[np.integer[Any]], sizes: npt.NDArray[np.integer[Any]]) -> Numbers:
    """Return the numbers from each of ``starts`` on, as many as ``sizes`` says, one range after the other.

    >>> joined(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(sizes)
    found: Numbers = np.repeat(starts - ends + sizes, sizes) + np.arange(ends[-1])
    return found


class WordLifts:
    """The shrunk log ratios of a predicate's words of all kinds, each within +-3, in an array by place.

    A word's weight is L(c, n; 2) of its counts in the vocabulary's ledger, at the base rate. It is taken when
    the counts change, as `take` is told, and those that the base rate moves are taken anew when it has moved by
    more than 2 % since: at most so much do weights lag behind.

    >>> vocabulary = Vocabulary(Ledger())
    >>> lifts = WordLifts(vocabulary, "sports")
    >>> slots = vocabulary.ledger.slots_of(["p:ski"])
    >>> vocabulary.ledger.add(slots, {"sports": True}, 8)
    >>> lifts.take(vocabulary.places_in(slots))
    >>> lifts.rebase(0.1)
    >>> round(lifts.sum(vocabulary.numbers(["ski", "snow"])), 3)
    2.104
    """

    def __init__(self, vocabulary: Vocabulary, predicate: str) -> None:
        self.vocabulary = vocabulary
        self._ledger = vocabulary.ledger
        self._ledger.add_predicates([predicate])
        self._predicate = predicate
        self._rate = 0.1
        self._earlier = 0.0
        self._weights: Weights = np.zeros(KINDS * _LEAST)
        # Beside what is counted: pages that are all hits, and an earlier crawl's pages and hits; mostly none.
        self._started: Weights = np.zeros(0)
        self._earlier_pages: Weights = np.zeros(0)
        self._earlier_hits: Weights = np.zeros(0)
        self._beside: Numbers = np.zeros(0, np.intp)
        # The words with a root of the predicate's that no pages were given yet.
        self._akin: list[int] = []

    @property
    def weights(self) -> Weights:
        """The weights of all words, by place."""
        if self._akin:
            self._start_akin()
        self._weights = self._for_all(self._weights)
        return self._weights

    @property
    def by_word(self) -> Weights:
        """The weights of all words, a row a word, a column a kind."""
        return self.weights[: self.vocabulary.places].reshape(-1, KINDS)

    def start(self, word: str, hits: float) -> None:
        """Take a word to have ``hits`` pages of every kind behind it, all hits, beside what is counted."""
        places = np.array(self.vocabulary.numbers((word,)), np.intp) + np.arange(KINDS)
        self._begin(places, hits)
        self._beside = distinct(np.concatenate((self._beside, places)))

    def watch(self, roots: Iterable[str]) -> None:
        """Take all words that contain one of ``roots``, when met, to have `AKIN_PAGES` behind them."""
        self.vocabulary.watch(roots, self._akin)

    def _start_akin(self) -> None:
        numbers = distinct(np.array(self._akin, np.intp))
        self._akin.clear()
        self._begin((numbers[:, None] * KINDS + np.arange(KINDS)).ravel(), AKIN_PAGES)

    def _begin(self, places: Numbers, hits: float) -> None:
        """Have at least ``hits`` pages, all hits, behind the words in distinct places."""
        self._started = self._for_all(self._started)
        self._started[places] = np.maximum(self._started[places], hits)
        self.take(places)

    def inherit(self, kind: int, words: Iterable[str], pages: Weights, hits: Weights) -> None:
        """Set what an earlier crawl counted of distinct words; it counts beside what is counted now."""
        places = self.vocabulary.places_of(words, kind)
        self._make_room_for_earlier()
        self._earlier_pages[places], self._earlier_hits[places] = pages, hits
        self._beside = distinct(np.concatenate((self._beside, places)))
        self.take(places)

    def rebase(self, rate: float, earlier: float = 0.0) -> None:
        """Take the weights against another base rate, once it has moved far enough.

        ``earlier`` is the base rate of what was inherited: its hits count by the ratio of the two rates, so
        that lifts carry over, and not rates. At 0 nothing inherited counts.
        """
        if earlier != self._earlier or abs(rate - self._rate) > DRIFT * min(self._rate, 1 - self._rate):
            self._rate, self._earlier = rate, earlier
            self.take(np.concatenate((self._hit(), self._beside, np.flatnonzero(self._started))))

    def _hit(self) -> Numbers:
        """Return the places of words that have hits: that of all others, ln(2 / (n + 2)), is so at any rate."""
        hits = self._ledger.counts_of(self._predicate)[1]
        return self.vocabulary.places_in(np.flatnonzero(hits > 0))

    def sum(self, numbers: Iterable[int]) -> float:
        """Return the sum of a few weights, by place."""
        weight = self.weights.item
        return sum([weight(number) for number in numbers])

    def take(self, places: Numbers) -> None:
        """Take the weights in distinct places: counts have changed there."""
        slots, rate = self.vocabulary.slots(places), self._rate
        counts = self._ledger.counts_of(self._predicate)
        # What was forgotten may be taken back: no count below zero is a logarithm's.
        pages, hits = (np.where(slots < 0, 0.0, np.maximum(each[slots], 0)) for each in counts)
        if len(self._started):
            self._started = self._for_all(self._started)
            pages, hits = pages + self._started[places], hits + self._started[places]
        if self._earlier and len(self._earlier_pages):
            self._make_room_for_earlier()
            more = self._earlier_pages[places]
            pages = pages + more
            hits = hits + np.minimum(more, self._earlier_hits[places] * (rate / self._earlier))
        lifts = np.log((hits + PRIOR_PAGES * rate) / (pages + PRIOR_PAGES) / rate)
        self.weights[places] = np.minimum(MOST, np.maximum(-MOST, lifts))

    @property
    def beside(self) -> Numbers:
        """The places of words that are kept though nothing is counted of them: started, or inherited.

        Words with a root of the predicate's are not: there is no end of them, and meeting them tells again.
        """
        if self._akin:
            self._start_akin()
        return self._beside

    def renumber(self, before: Numbers) -> None:
        """Note that words have other places: what lay in these now lies in the first, in their order."""
        self._weights, self._started, self._earlier_pages, self._earlier_hits = (
            longer(each, int(before.max(initial=-1)) + 1)[before] if len(each) else each
            for each in (self._weights, self._started, self._earlier_pages, self._earlier_hits)
        )
        self._beside = np.searchsorted(before, self._beside)

    def _make_room_for_earlier(self) -> None:
        self._earlier_pages = self._for_all(self._earlier_pages)
        self._earlier_hits = self._for_all(self._earlier_hits)

    def _for_all(self, array: Weights) -> Weights:
        return longer(array, self.vocabulary.places)
