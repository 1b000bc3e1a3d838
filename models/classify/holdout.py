"""How good a classifier is: every example is told by one that was trained without it."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import msgspec

from models.classify.classifier import Classifier

FOLDS = 5


class Example(NamedTuple):
    """The words of a text, and its category."""

    words: Sequence[str]
    category: str


class Figures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of one category: its examples, how many were ``told`` to be of it, and how many of these rightly."""

    examples: int
    told: int
    right: int

    @property
    def precision(self) -> float | None:
        """The part that is of the category, of what was told to be; None where nothing was."""
        return self.right / self.told if self.told else None

    @property
    def recall(self) -> float:
        """The part that was told, of what is of the category."""
        return self.right / self.examples if self.examples else 0.0


class Holdout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Figures by category, over all ``folds`` parts of the examples."""

    folds: int
    categories: dict[str, Figures]

    @property
    def accuracy(self) -> float:
        """The part of all examples whose category was told rightly."""
        examples = sum(found.examples for found in self.categories.values())
        return sum(found.right for found in self.categories.values()) / examples if examples else 0.0


def held_out(examples: Sequence[Example], chance: Random, folds: int = FOLDS) -> Holdout:
    """Return the figures of a cross-validation in ``folds`` parts, each with its share of every category.

    A category with a single example is never told rightly: without it nothing is known of the category.
    """
    parts = _spread(examples, chance, folds)
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


def _spread(examples: Sequence[Example], chance: Random, folds: int) -> list[list[Example]]:
    shuffled = chance.sample(examples, len(examples))
    shuffled.sort(key=lambda example: example.category)
    return [part for part in (shuffled[start::folds] for start in range(folds)) if part]


def _figures(name: str, told: Sequence[tuple[str, str | None]]) -> Figures:
    return Figures(
        examples=sum(category == name for category, _ in told),
        told=sum(found == name for _, found in told),
        right=sum(category == found == name for category, found in told),
    )
