"""The judge ``text``: a classifier that was trained on examples (`scentline classifier train`)."""

from pathlib import Path

from scentline.agents.stored import read_stored
from scentline.models.categories import expand
from scentline.models.classifier import Classifier, ClassifierError, unpack
from scentline.models.page import Page
from scentline.models.sealed import MOST_BYTES


class TextJudge:
    """Gives a page the category that its words make most probable, and those above it."""

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        self._expanded = {name: expand(name) for name in classifier.categories}

    def __call__(self, page: Page) -> frozenset[str]:
        """Return the page's categories: none where no word of it stood in an example."""
        category = self._classifier.category(page.words)
        return frozenset() if category is None else self._expanded[category]


def load(path: Path) -> TextJudge:
    """Return the judge that a file holds; raises `ClassifierError`, which names it."""
    classifier, _ = read_stored(path, MOST_BYTES, unpack, ClassifierError, f"classifier {path}")
    return TextJudge(classifier)
