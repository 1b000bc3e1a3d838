"""Naive Bayes over the distinct words of a text: from few examples the simplest that works.

Multinomial (McCallum and Nigam 1998), with each word counted once a text (Schneider 2004).
"""

from collections import Counter
from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from models.words import words

#: Distinct words of a text that count, from its beginning: as many as are used of a page by default.
MOST_WORDS = 200
#: Words whose probabilities are kept.
CACHED_WORDS = 20_000

Vector: TypeAlias = NDArray[np.float64]


class Classifier:
    """Learns categories by example: river's `MultinomialNB` counts, and says how probable a word is in each.

    >>> classifier = Classifier()
    >>> classifier.learn(["ski", "snow", "alps"], "Sports")
    >>> classifier.learn(["tea", "milk", "cup"], "Food")
    >>> classifier.category(["snow", "and", "ice"]), classifier.category(["unheard", "of"])
    ('Sports', None)
    """

    def __init__(self) -> None:
        # It imports scipy, which takes a second and 70 MB: only where there is a classifier.
        from river.naive_bayes import MultinomialNB

        self._model = MultinomialNB(alpha=0.1)
        self._logs: dict[str, Vector] = {}

    def learn(self, found: Iterable[str], category: str) -> None:
        """Take in an example: its words and its category."""
        self._logs.clear()
        self._model.learn_one(dict.fromkeys(islice(dict.fromkeys(found), MOST_WORDS), 1), category)

    def category(self, found: Iterable[str]) -> str | None:
        """Return the most probable category of a text, None where none of its words stood in an example."""
        counts = self._model.feature_counts
        known = [word for word in islice(dict.fromkeys(found), MOST_WORDS) if word in counts]
        if not known:
            return None
        if len(self._logs) > CACHED_WORDS:
            self._logs.clear()
        total = np.sum([self._log(word) for word in known], axis=0) + self._log("")
        return str(list(self._model.class_counts)[int(total.argmax())])

    def _log(self, word: str) -> Vector:
        """Return log P(word | category) for each category, and log P(category) for the empty word.

        They are kept, since most words of a page are in every page: river itself would take a millisecond more.
        """
        found = self._logs.get(word)
        if found is None:
            model = self._model
            asked = partial(model.p_feature_given_class, word) if word else model.p_class
            found = self._logs[word] = np.log([asked(name) for name in model.class_counts])
        return found

    @property
    def categories(self) -> dict[str, int]:
        """The examples of each category."""
        return dict(sorted(self._model.class_counts.items()))

    def counts(self) -> dict[str, dict[str, int]]:
        """Return, for each word, how many examples of each category hold it."""
        return {word: dict(cells) for word, cells in sorted(self._model.feature_counts.items())}

    @classmethod
    def from_counts(cls, categories: dict[str, int], counts: dict[str, dict[str, int]]) -> "Classifier":
        """Return the classifier that `categories` and `counts` tell of."""
        made = cls()
        model = made._model
        model.class_counts.update(categories)
        for word, cells in counts.items():
            model.feature_counts[word] = Counter(cells)
            model.class_totals.update(cells)
        return made


def distinct_words(text: str) -> tuple[str, ...]:
    """Return the distinct words of a text in the order of their first occurrence, as many as count."""
    return tuple(islice(dict.fromkeys(words(text)), MOST_WORDS))
