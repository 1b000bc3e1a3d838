"""A trained classifier as the bytes of a file (`models.sealed`): words and numbers only."""

import msgspec

from models.categories import expand
from models.classify.classifier import Classifier
from models.classify.holdout import Holdout
from models.errors import ScentlineError
from models.sealed import Kind, SealedError, seal, unseal
from models.words import MAX_LENGTH

#: What a file says it is, and the version of its format.
KIND = Kind("scentline classifier", 1, "scentline classifier train")
#: Bounds of categories, words and counts.
MOST_CATEGORIES = 1_000
MOST_WORDS = 2_000_000
MOST_EXAMPLES = 1_000_000_000


class ClassifierError(ScentlineError, ValueError):
    """Bytes that are no classifier; the text says what is wrong with them."""


class Trained(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The counts of a classifier, as `Classifier.from_counts` takes them, and its hold-out figures."""

    categories: dict[str, int]
    counts: dict[str, dict[str, int]]
    holdout: Holdout


def pack(classifier: Classifier, holdout: Holdout, made_by: str) -> bytes:
    """Return the bytes of a classifier."""
    return seal(KIND, Trained(classifier.categories, classifier.counts(), holdout), made_by)


def unpack(data: bytes) -> tuple[Classifier, Holdout]:
    """Return what `pack` was given; raises `ClassifierError` for other bytes, before much memory is taken."""
    try:
        trained, _ = unseal(KIND, data, Trained)
    except SealedError as error:
        raise ClassifierError(str(error)) from error
    _check(trained)
    return Classifier.from_counts(trained.categories, trained.counts), trained.holdout


def _check(trained: Trained) -> None:
    if not 0 < len(trained.categories) <= MOST_CATEGORIES:
        raise ClassifierError(f"{len(trained.categories)} categories, expected 1 to {MOST_CATEGORIES}")
    if len(trained.counts) > MOST_WORDS:
        raise ClassifierError(f"{len(trained.counts)} words, expected at most {MOST_WORDS}")
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
