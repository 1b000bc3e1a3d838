"""Naive Bayes over the distinct words of a text, which needs few examples.

Multinomial (McCallum and Nigam 1998), with each word counted once a text (Schneider 2004). It is evaluated by
cross-validation, and stored as a file of words and numbers (`models.sealed`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from random import Random
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from scentline.models.errors import ScentlineError
from scentline.models.predicate.categories import expand
from scentline.models.sealed import Kind, SealedError, seal, unseal
from scentline.models.words import MAX_LENGTH, words

#: Distinct words of a text that count, from its beginning; also the default number of words of a page.
MOST_WORDS = 200
#: Words whose probabilities are kept.
CACHED_WORDS = 20_000

Vector: TypeAlias = NDArray[np.float64]


class Classifier:
    """Learns categories by example: river's `MultinomialNB` counts words and gives their probabilities."""

    def __init__(self) -> None:
        # Imported here because it loads scipy: a second and 70 MB.
        from river.naive_bayes import MultinomialNB

        self._model = MultinomialNB(alpha=0.1)
        self._logs: dict[str, Vector] = {}

    def learn(self, found: Iterable[str], category: str) -> None:
        """Learn from an example: its words and its category."""
        self._logs.clear()
        self._model.learn_one(dict.fromkeys(islice(dict.fromkeys(found), MOST_WORDS), 1), category)

    def category(self, found: Iterable[str]) -> str | None:
        """Return the most probable category of a text; None if no example has any of its words."""
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

        Cached: most words of a page are in every page, and river alone takes a millisecond more.
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
        """Return the classifier with these `categories` and `counts`."""
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


FOLDS = 5


class Example(NamedTuple):
    """The words of a text, and its category."""

    words: Sequence[str]
    category: str


class Figures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The results for one category."""

    examples: int
    #: Texts classified as this category.
    told: int
    #: Those of them that belong to it.
    right: int

    @property
    def precision(self) -> float | None:
        """The share of texts classified as this category that belong to it; None if there are none."""
        return self.right / self.told if self.told else None

    @property
    def recall(self) -> float:
        """The share of the category's examples classified correctly."""
        return self.right / self.examples if self.examples else 0.0


class Holdout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Figures by category, over all ``folds`` parts of the examples."""

    folds: int
    categories: dict[str, Figures]

    @property
    def accuracy(self) -> float:
        """The share of all examples classified correctly."""
        examples = sum(found.examples for found in self.categories.values())
        return sum(found.right for found in self.categories.values()) / examples if examples else 0.0


def held_out(examples: Sequence[Example], chance: Random) -> Holdout:
    """Cross-validate in `FOLDS` parts, each with its share of every category.

    A category with a single example is never right: no other part has an example of it.
    """
    parts = _spread(examples, chance)
    told: list[tuple[str, str | None]] = []
    for part in parts:
        classifier = Classifier()
        for other in parts:
            if other is not part:
                for example in other:
                    classifier.learn(example.words, example.category)
        told += [(example.category, classifier.category(example.words)) for example in part]
    names = sorted({example.category for example in examples})
    return Holdout(len(parts), {name: _figures(name, told) for name in names})


def _spread(examples: Sequence[Example], chance: Random) -> list[list[Example]]:
    shuffled = chance.sample(examples, len(examples))
    shuffled.sort(key=lambda example: example.category)
    return [part for part in (shuffled[start::FOLDS] for start in range(FOLDS)) if part]


def _figures(name: str, told: Sequence[tuple[str, str | None]]) -> Figures:
    return Figures(
        examples=sum(category == name for category, _ in told),
        told=sum(found == name for _, found in told),
        right=sum(category == found == name for category, found in told),
    )


KIND = Kind("scentline classifier", 1, "scentline classifier train")
#: Bounds of categories, words and counts.
MOST_CATEGORIES = 1_000
MOST_COUNTED = 2_000_000
MOST_EXAMPLES = 1_000_000_000


class ClassifierError(ScentlineError, ValueError):
    """Bytes that do not hold a classifier; the message says why."""


class Trained(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The counts of a classifier, as `Classifier.from_counts` takes them, and its hold-out figures."""

    categories: dict[str, int]
    counts: dict[str, dict[str, int]]
    holdout: Holdout


def pack(classifier: Classifier, holdout: Holdout, made_by: str) -> bytes:
    """Return the bytes of a classifier."""
    return seal(KIND, Trained(classifier.categories, classifier.counts(), holdout), made_by)


def unpack(data: bytes) -> tuple[Classifier, Holdout]:
    """Return what `pack` was given. Other bytes raise `ClassifierError` before they take much memory."""
    try:
        trained, _ = unseal(KIND, data, Trained)
    except SealedError as error:
        raise ClassifierError(str(error)) from error
    _check(trained)
    return Classifier.from_counts(trained.categories, trained.counts), trained.holdout


def _check(trained: Trained) -> None:
    if not 0 < len(trained.categories) <= MOST_CATEGORIES:
        raise ClassifierError(f"{len(trained.categories)} categories, expected 1 to {MOST_CATEGORIES}")
    if len(trained.counts) > MOST_COUNTED:
        raise ClassifierError(f"{len(trained.counts)} words, expected at most {MOST_COUNTED}")
    for category, examples in trained.categories.items():
        try:
            expand(category)
        except ValueError as error:
            raise ClassifierError(str(error)) from error
        _check_count(f"category {category!r}", examples, MOST_EXAMPLES)
    for word, cells in trained.counts.items():
        if not 0 < len(word) <= MAX_LENGTH:
            raise ClassifierError(f"a word of {len(word)} characters, expected 1 to {MAX_LENGTH}")
        for category, count in cells.items():
            if category not in trained.categories:
                raise ClassifierError(f"word {word!r}: there is no category {category[:80]!r}")
            _check_count(f"word {word!r}", count, trained.categories[category])


def _check_count(what: str, count: int, most: int) -> None:
    if not 0 < count <= most:
        raise ClassifierError(f"{what}: {count} examples, expected 1 to {most}")
