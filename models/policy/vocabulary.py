"""Words by number, and their log ratios by two rules: the paper's significant ones, and shrunk ones."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from scentline.models.ledger import Ledger, distinct, longer
from scentline.models.policy import features
from scentline.models.policy.features import Shrunk, Significant

Numbers = npt.NDArray[np.intp]
Vector = npt.NDArray[np.float64]

#: The kinds of words of the learned policy, and the prefixes of their features.
KINDS = 5
PAGE, ANCHOR, CONTEXT, HEADING, URL = range(KINDS)
WORDS = {
    features.PAGE_WORD: PAGE,
    features.ANCHOR: ANCHOR,
    features.CONTEXT: CONTEXT,
    features.HEADING: HEADING,
    features.URL_WORD: URL,
}


#: Letters that a root has at least: shorter ones, as of "sea" and "war", are parts of too many words.
LEAST = 5
#: Endings that are stripped from a word: the first that leaves `LEAST` letters.
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
    """Return the roots of a topic's words, and of each two successive ones written as one.

    >>> sorted(roots(("time", "zone", "password")))
    ['password', 'timezon', 'zonepassword']
    """
    joined = (first + second for first, second in pairwise(topic))
    return frozenset(found for word in (*topic, *joined) if len(found := root(word)) >= LEAST)


class Roots:
    """Roots to find anywhere in words."""

    def __init__(self) -> None:
        self._told: dict[str, list[list[int]]] = {}
        self._sizes: tuple[int, ...] = ()

    def add(self, sought: Iterable[str], met: list[int]) -> None:
        """Have the numbers of words with any of these roots added to ``met``; one may occur there twice."""
        for each in sought:
            self._told.setdefault(each, []).append(met)
        self._sizes = tuple({len(each) for each in self._told})

    def meet(self, word: str, number: int) -> None:
        """Match a new word with the roots.

        Its parts are looked up, so the time depends on the word, not on the number of roots.
        """
        for size in self._sizes:
            for start in range(len(word) - size + 1):
                for met in self._told.get(word[start : start + size], ()):
                    met.append(number)


#: A word without a slot, and a slot without a word; a slot not examined yet.
_NONE, _UNSEEN = -1, -2
#: Initial room for words.
ROOM = 1024


class _Known(dict[str, int]):
    """The numbers of words: a new word gets the next one, and is matched with ``roots``."""

    def __init__(self, roots: Roots, words: Iterable[tuple[str, int]] = ()) -> None:
        super().__init__(words)
        self.roots = roots

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        self.roots.meet(word, number)
        return number


class Vocabulary:
    """The numbers of words, shared by the tables of all predicates, and where a ``ledger`` counts them.

    A *place* is the index of a word of one of ``kinds`` in arrays over all words: its number times the number
    of kinds, plus the kind. A *slot* is the index of its counts. A word has places from its first occurrence,
    and slots as long as the ledger counts it.
    """

    def __init__(self, ledger: Ledger, kinds: Mapping[str, int] = WORDS) -> None:
        self.ledger = ledger
        self.kinds = kinds
        self._known = _Known(Roots())
        self._slots: Numbers = np.full(len(kinds) * ROOM, _NONE)
        self._places: Numbers = np.full(ROOM, _UNSEEN)

    @property
    def places(self) -> int:
        """The number of places in arrays over all words."""
        return len(self.kinds) * len(self._known)

    def __len__(self) -> int:
        """Return the number of known words."""
        return len(self._known)

    def words(self, words: Iterable[str]) -> Numbers:
        """Return the numbers of words, whatever their kind: rows of `LogRatios.by_word`."""
        return np.fromiter(map(self._known.__getitem__, words), np.int32)

    def numbers(self, words: Iterable[str], kind: int = PAGE) -> list[int]:
        """Return the places of words of a kind; unknown words get new ones."""
        kinds = len(self.kinds)
        return [number * kinds + kind for number in map(self._known.__getitem__, words)]

    def known(self, words: Iterable[str], kind: int) -> Numbers:
        """Return the places of those of some words that are known."""
        found = [number for word in words if (number := self._known.get(word)) is not None]
        return np.array(found, np.intp) * len(self.kinds) + kind

    def places_in(self, slots: Numbers) -> Numbers:
        """Return the places of the words counted in some slots."""
        self._places = longer(self._places, self.ledger.size, _UNSEEN)
        unseen = slots[self._places[slots] == _UNSEEN]
        if len(unseen):
            self._look_at(unseen)
        places = self._places[slots]
        return places[places >= 0]

    def no_words(self, slots: Numbers) -> Numbers:
        """Return those of some slots, examined before, that count something other than a word."""
        found: Numbers = slots[self._places[slots] == _NONE]
        return found

    def counted(self) -> Numbers:
        """Return the places of all counted words."""
        places = self._places[: self.ledger.size]
        return places[places >= 0]

    def slots(self, places: Numbers) -> Numbers:
        """Return the slots of words, below zero where they are not counted."""
        self._slots = longer(self._slots, self.places, _NONE)
        return self._slots[places]

    def forget(self, slots: Numbers) -> Numbers:
        """Forget what some slots counted; return the places of the words among it."""
        places = self.places_in(slots)
        self._slots[places] = _NONE
        self._places[slots] = _UNSEEN
        return places

    def compact(self, kept: Numbers) -> Numbers:
        """Forget the words that are neither counted nor in ``kept`` places, and renumber the others.

        Returns the old places of all that is left, in the order of their new ones.
        """
        kinds = len(self.kinds)
        left = distinct(np.concatenate((self.counted(), kept)) // kinds)
        words = list(self._known)
        numbered = ((words[number], place) for place, number in enumerate(left.tolist()))
        self._known = _Known(self._known.roots, numbered)
        before = (left[:, None] * kinds + np.arange(kinds)).ravel()
        self._slots = longer(self._slots, kinds * len(words), _NONE)[before]
        counted = np.flatnonzero(self._slots >= 0)
        self._places[self._slots[counted]] = counted
        return before

    def watch(self, roots: Iterable[str], met: list[int]) -> None:
        """Have the numbers of words that contain any of ``roots`` added to ``met``, known now or later."""
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
        kind = self.kinds.get(feature[:2])
        return _NONE if kind is None else self._known[feature[2:]] * len(self.kinds) + kind


#: Pages, all hits, that a word with a root of the predicate's own words starts with.
AKIN_PAGES = 2


RuleT = TypeVar("RuleT", Shrunk, Significant)


class LogRatios(Generic[RuleT]):
    """The log ratios of a predicate's words of all kinds, by one ``rule``, in an array by place.

    `take` recomputes ratios whose counts have changed. Each move of the base rate changes others: `rebase`
    recomputes all of them, once it has moved far enough since the last time.

    >>> vocabulary = Vocabulary(Ledger())
    >>> lifts = LogRatios(vocabulary, "sports", Shrunk())
    >>> slots = vocabulary.ledger.slots_of(["p:ski"])
    >>> vocabulary.ledger.add(slots, {"sports": True}, 8)
    >>> lifts.take(vocabulary.places_in(slots))
    >>> lifts.weights[vocabulary.numbers(["ski", "snow"])].round(3).tolist()
    [2.104, 0.0]
    """

    def __init__(self, vocabulary: Vocabulary, predicate: str, rule: RuleT) -> None:
        self.vocabulary = vocabulary
        self.rule: RuleT = rule
        self._ledger = vocabulary.ledger
        self._ledger.add_predicates([predicate])
        self._predicate = predicate
        self._weights: Vector = np.zeros(len(vocabulary.kinds) * ROOM)
        # Beside what is counted: pages that are all hits, and an earlier crawl's pages and hits; mostly none.
        self._started: Vector = np.zeros(0)
        self._earlier: Vector = np.zeros((2, 0))
        self._beside: Numbers = np.zeros(0, np.intp)
        # The words with a root of the predicate that have not been given pages yet.
        self._akin: list[int] = []

    @property
    def weights(self) -> Vector:
        """The ratios of all words, by place."""
        if self._akin:
            self._start_akin()
        self._weights = self._for_all(self._weights)
        return self._weights

    @property
    def by_word(self) -> Vector:
        """The ratios of all words, a row a word, a column a kind."""
        return self.weights[: self.vocabulary.places].reshape(-1, len(self.vocabulary.kinds))

    def of_any(self, groups: Sequence[Numbers]) -> float:
        """Return the sum of the ratios of all words in any of the groups, each once."""
        weights = self.weights
        places = np.concatenate(groups) if groups else np.zeros(0, np.intp)
        # Most of the paper's are 0. Not a product of vectors: BLAS threads would wait for each other.
        return float(weights.take(distinct(places[weights.take(places) != 0])).sum())

    def counts(self, places: Numbers) -> tuple[Vector, Vector]:
        """Return the pages and hits of words in some places, with started and inherited ones."""
        slots = self.vocabulary.slots(places)
        # A forgotten word that is subtracted later leaves negative counts, without a logarithm.
        counts = self._ledger.counts_of(self._predicate)
        pages, hits = (np.where(slots < 0, 0.0, np.maximum(each[slots], 0)) for each in counts)
        if len(self._started):
            self._started = self._for_all(self._started)
            pages, hits = pages + self._started[places], hits + self._started[places]
        if self._earlier.size and self.rule.carried:
            self._earlier = self._for_all(self._earlier)
            more, more_hits = self._earlier[:, places]
            pages, hits = pages + more, hits + np.minimum(more, more_hits * self.rule.carried)
        return pages, hits

    def take(self, places: Numbers) -> None:
        """Recompute the ratios in distinct places, where counts have changed."""
        if len(places):
            kinds = places % len(self.vocabulary.kinds)
            self.weights[places] = self.rule.logs(*self.counts(places), kinds)

    def rebase(self, rule: RuleT) -> None:
        """Recompute all ratios that a new base rate moves, once it has moved far enough."""
        if rule.moved(self.rule):
            self.rule = rule
            counted = self.vocabulary.counted() if rule.moves_all else self._hit()
            self.take(np.concatenate((counted, self._beside, np.flatnonzero(self._started))))

    def _hit(self) -> Numbers:
        hits = self._ledger.counts_of(self._predicate)[1]
        return self.vocabulary.places_in(np.flatnonzero(hits > 0))

    # beside what is counted

    def start(self, word: str, hits: float) -> None:
        """Give a word ``hits`` pages of every kind, all hits, beside its counts."""
        places = np.array(self.vocabulary.numbers((word,)), np.intp) + np.arange(len(self.vocabulary.kinds))
        self._begin(places, hits)
        self._beside = distinct(np.concatenate((self._beside, places)))

    def watch(self, roots: Iterable[str]) -> None:
        """Give words that contain any of ``roots``, known now or later, `AKIN_PAGES` beside their counts."""
        self.vocabulary.watch(roots, self._akin)

    def _start_akin(self) -> None:
        numbers = distinct(np.array(self._akin, np.intp))
        self._akin.clear()
        kinds = len(self.vocabulary.kinds)
        self._begin((numbers[:, None] * kinds + np.arange(kinds)).ravel(), AKIN_PAGES)

    def _begin(self, places: Numbers, hits: float) -> None:
        """Give the words in distinct places at least ``hits`` pages, all hits, beside their counts."""
        self._started = self._for_all(self._started)
        self._started[places] = np.maximum(self._started[places], hits)
        self.take(places)

    def inherit(self, counted: Iterable[tuple[str, float, float]]) -> None:
        """Set (feature, pages, hits) of an earlier crawl, which are added to the counts."""
        found = [
            (self.vocabulary.numbers((name[2:],), self.vocabulary.kinds[name[:2]])[0], *cell)
            for name, *cell in counted
        ]
        if not found:
            return
        columns = np.array(found).T
        places = columns[0].astype(np.intp)
        self._earlier = self._for_all(self._earlier)
        self._earlier[:, places] = columns[1:]
        self._beside = distinct(np.concatenate((self._beside, places)))
        self.take(places)

    @property
    def beside(self) -> Numbers:
        """The places of words that are kept without counts: started, or inherited.

        Words with a root of the predicate are not: they are unbounded, and are matched again when they recur.
        """
        if self._akin:
            self._start_akin()
        return self._beside

    def renumber(self, before: Numbers) -> None:
        """Apply new places of words: what lay in the places ``before`` now lies in the first, in order."""
        most = int(before.max(initial=-1)) + 1
        self._weights, self._started, self._earlier = (
            longer(each, most)[..., before] if each.size else each
            for each in (self._weights, self._started, self._earlier)
        )
        self._beside = np.searchsorted(before, self._beside)

    def _for_all(self, array: Vector) -> Vector:
        return array if (least := self.vocabulary.places) <= array.shape[-1] else longer(array, least)
