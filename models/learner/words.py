"""What words weigh, in arrays: words of pages, of anchors and around links, many at a time."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from math import sqrt

import numpy as np
import numpy.typing as npt

from models.learner.lifts import MOST
from models.learner.shrinkage import PRIOR_PAGES

Numbers = npt.NDArray[np.intp]
Weights = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int32]

#: The kinds of words, in the order of their places in the arrays: a word's own number times three, plus kind.
KINDS = 3
PAGE, ANCHOR, CONTEXT = range(KINDS)
#: Relative move of the base rate, or of its complement, after which all weights are taken anew.
DRIFT = 0.02


class LinkingWords:
    """The words of a page and of its links, numbered: all their weights are summed in one go."""

    __slots__ = ("_numbers", "_scale", "_starts")

    def __init__(self, numbers: Numbers, starts: Numbers, scale: Weights) -> None:
        self._numbers = numbers
        self._starts = starts
        self._scale = scale

    def weigh(self, weights: Weights) -> tuple[float, Weights]:
        """Return the mean weight of the page's words, and for each link a row of four sums.

        Each sum is over the root of the number of words: anchor words as anchors, the same as page words,
        words around the link as such, the same as page words.
        """
        # An empty group takes in the number after it, and its scale of 0 drops it.
        sums = np.add.reduceat(weights.take(self._numbers), self._starts) * self._scale
        return sums[0], sums[1:-1].reshape(-1, 4)


class Vocabulary:
    """The numbers of words, shared by the tables of all predicates."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    @property
    def places(self) -> int:
        """Places that arrays over all words need."""
        return KINDS * len(self._known)

    def words(self) -> Iterable[str]:
        """Return the words in the order of their numbers."""
        return self._known

    def numbers(self, words: Iterable[str], kind: int = PAGE) -> list[int]:
        """Return the places of words of a kind, new ones for words not met before."""
        known = self._known
        found = []
        for word in words:
            number = known.get(word)
            if number is None:
                number = known[word] = len(known)
            found.append(number * KINDS + kind)
        return found

    def places_of(self, words: Iterable[str], kind: int) -> Numbers:
        """Return the places of words of a kind as an array."""
        return np.array(self.numbers(words, kind), np.intp)

    def linking(
        self, words: Sequence[str], links: Iterable[tuple[Sequence[str], Sequence[str]]]
    ) -> LinkingWords:
        """Number the distinct words of a page, and those in and around each of its links."""
        groups = [self.numbers(words)]
        scale = [1 / max(1, len(words))]
        for anchor, context in links:
            groups += [
                self.numbers(anchor, ANCHOR),
                self.numbers(anchor),
                self.numbers(context, CONTEXT),
                self.numbers(context),
            ]
            scale += [_root(anchor)] * 2 + [_root(context)] * 2
        # A closing group of one number, so that an empty last one has a number to start at.
        groups.append([0])
        starts = list(accumulate(map(len, groups[:-1]), initial=0))
        kept = [part if group else 0.0 for group, part in zip(groups, [*scale, 0.0], strict=True)]
        numbers = np.array(list(chain.from_iterable(groups)), np.intp)
        return LinkingWords(numbers, np.array(starts, np.intp), np.array(kept))


class WordTable:
    """Counts (pages, hits) of words of three kinds, and their shrunk log ratios, each within +-3.

    A word's weight is L(c, n; 2) at the base rate. It is taken when the counts change, and all are taken anew
    when the base rate has moved by more than 2 % since: at most so much do weights lag behind.

    >>> vocabulary = Vocabulary()
    >>> table = WordTable(vocabulary)
    >>> table.put(vocabulary.places_of(["ski"], PAGE), np.array([8]), np.array([8]))
    >>> table.rebase(0.1)
    >>> round(table.sum(vocabulary.numbers(["ski", "snow"])), 3)
    2.104
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._started: Weights = np.zeros(0)
        self._rate = 0.1
        self._pages: Weights = np.zeros(0)
        self._hits: Weights = np.zeros(0)
        self._earlier = 0.0
        self._earlier_pages: Weights = np.zeros(0)
        self._earlier_hits: Weights = np.zeros(0)
        self._weights: Weights = np.zeros(0)
        self._grow()

    @property
    def weights(self) -> Weights:
        """The weights of all words, by place."""
        self._make_room()
        return self._weights

    def put(self, places: Numbers, pages: Counts | Weights, hits: Counts | Weights) -> None:
        """Set the counts in distinct places."""
        self._make_room()
        self._pages[places] = pages + self._started[places]
        self._hits[places] = hits + self._started[places]
        self._take(places)

    def start(self, word: str, hits: float) -> None:
        """Take a word to have ``hits`` pages of every kind behind it, all hits, beside what is counted."""
        for kind in range(KINDS):
            places = self._places((word,), kind)
            self._started[places] = hits
            self._pages[places] += hits
            self._hits[places] += hits
            self._take(places)

    def inherit(self, kind: int, words: Iterable[str], pages: Weights, hits: Weights) -> None:
        """Set what an earlier crawl counted of distinct words; it counts beside what is counted now."""
        places = self._places(words, kind)
        self._earlier_pages[places], self._earlier_hits[places] = pages, hits
        self._take(places)

    def add(self, kind: int, words: Iterable[str], pages: float, hits: float) -> None:
        """Add to the counts of distinct words, or take from them."""
        places = self._places(words, kind)
        self._pages[places] += pages
        self._hits[places] += hits
        self._take(places)

    def rebase(self, rate: float, earlier: float = 0.0) -> None:
        """Take the weights against another base rate, once it has moved far enough.

        ``earlier`` is the base rate of what was inherited: its hits count by the ratio of the two rates, so
        that lifts carry over, and not rates. At 0 nothing inherited counts.
        """
        if earlier != self._earlier or abs(rate - self._rate) > DRIFT * min(self._rate, 1 - self._rate):
            self._rate, self._earlier = rate, earlier
            self._take(slice(0, len(self._weights)))

    def sum(self, numbers: Iterable[int]) -> float:
        """Return the sum of a few weights, by place."""
        weight = self.weights.item
        return sum([weight(number) for number in numbers])

    def items(self) -> Iterator[tuple[int, str, float, float]]:
        """Yield (kind, word, pages, hits) as they were counted, without what a word was started with."""
        for number, word in enumerate(self.vocabulary.words()):
            for place in range(number * KINDS, min(number * KINDS + KINDS, len(self._pages))):
                started = float(self._started[place])
                pages = float(self._pages[place]) - started
                if pages > 0:
                    yield place % KINDS, word, pages, float(self._hits[place]) - started

    def _places(self, words: Iterable[str], kind: int) -> Numbers:
        places = self.vocabulary.places_of(words, kind)
        self._make_room()
        return places

    def _make_room(self) -> None:
        if self.vocabulary.places > len(self._weights):
            self._grow()

    def _take(self, places: "slice | Numbers") -> None:
        pages, hits, rate = self._pages[places], self._hits[places], self._rate
        if self._earlier:
            more = self._earlier_pages[places]
            pages = pages + more
            hits = hits + np.minimum(more, self._earlier_hits[places] * (rate / self._earlier))
        lifts = np.log((hits + PRIOR_PAGES * rate) / (pages + PRIOR_PAGES) / rate)
        self._weights[places] = np.minimum(MOST, np.maximum(-MOST, lifts))

    def _grow(self) -> None:
        size = max(KINDS * 1024, 2 * self.vocabulary.places)
        arrays = (
            self._started,
            self._pages,
            self._hits,
            self._earlier_pages,
            self._earlier_hits,
            self._weights,
        )
        (
            self._started, self._pages, self._hits, self._earlier_pages, self._earlier_hits, self._weights,
        ) = (np.concatenate((array, np.zeros(size - len(array)))) for array in arrays)  # fmt: skip


def _root(words: Sequence[str]) -> float:
    return 1 / sqrt(len(words)) if words else 0.0
