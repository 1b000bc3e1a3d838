"""Training a classifier and writing it to a file, whole or not at all."""

from importlib.metadata import version
from pathlib import Path
from random import Random

from agents.judges.examples import Examples
from agents.stored import write_stored
from models.classify.classifier import Classifier
from models.classify.holdout import Holdout, held_out
from models.classify.stored import ClassifierError, pack

#: Seed of how the examples are spread over the parts that are held out.
SEED = 1


def train(examples: Examples, out: Path) -> Holdout:
    """Train on all examples, write the file, and return the hold-out figures.

    Raises `ClassifierError` where there are fewer than two categories, or the file can't be written.
    """
    categories = {example.category for example in examples.found}
    if len(categories) < 2:
        raise ClassifierError(
            f"{len(examples.found)} examples of {len(categories)} categories: "
            "expected at least two, one of them for other pages"
        )
    holdout = held_out(examples.found, Random(SEED))
    classifier = Classifier()
    for example in examples.found:
        classifier.learn(example.words, example.category)
    data = pack(classifier, holdout, f"scentline {version('scentline')}")
    try:
        write_stored(out, data)
    except OSError as error:
        raise ClassifierError(f"classifier {out}: can't be written: {error.strerror}") from error
    return holdout
