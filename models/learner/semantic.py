"""What words mean as evidence: verdicts on pages of like meaning, and likeness to the predicate's words."""

import math
import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

import numpy as np

from scentline.models.learner.combiner import BayesianLogisticRegression, Vector
from scentline.models.learner.inputs import INPUTS, MOST, Input
from scentline.models.semantic.table import SemanticTable
from scentline.models.words import words

#: The inputs beside those of `models.learner.inputs.INPUTS`.
SEMANTIC_INPUTS = (
    Input("meaning", 0.15, 0.25),
    Input("near in meaning", 0.15, 0.25),
    Input("meaning of the predicate's words", 0.15, 0.25),
)

#: Words of a fetched page's subject at most.
MOST_WORDS = 20
#: Judged pages that the kernel average looks at: the first of a crawl.
MOST_JUDGED = 4_096
#: Mean of the regression's bias before the first page, and deviation of all its weights.
BIAS, DEVIATION = -2.0, 4.0
#: Of the kernel exp((cos - MIDDLE) / WIDTH), and its largest exponent.
MIDDLE, WIDTH, STEEPEST = 0.5, 0.08, 5.0
#: The cosine of words that have nothing in common, and what it varies by.
UNLIKE, SPREAD = 0.15, 0.15

_ENDING = re.compile(r"\.[A-Za-z]{1,5}$")


def subject(url: str, anchors: Iterable[str]) -> str:
    """Return the text that says what a page is about before it is fetched: its URL's last segment and anchors.

    Each of them counts once.

    >>> subject("http://example.org/wp/British_Rail.html?class=66", ["trains", "british rail", "trains"])
    'british rail trains'
    """
    segments = [segment for segment in url.split("/", 3)[3].partition("?")[0].split("/") if segment]
    last = " ".join(words(unquote(_ENDING.sub("", segments[-1])))) if segments else ""
    return " ".join(dict.fromkeys(text for text in (last, *anchors) if text))


def page_subject(url: str, title: str) -> str:
    """Return the text that says what a fetched page is about: its URL's last segment and its title, cut short.

    >>> page_subject("http://example.org/wp/British_Rail.html", "British Rail: a history")
    'british rail british rail history'
    >>> page_subject("http://example.org/wp/British_Rail.html", "British Rail")
    'british rail'
    """
    return " ".join(subject(url, (" ".join(words(title)),)).split()[:MOST_WORDS])


def inputs_with(meaning: bool) -> tuple[Input, ...]:
    """Return the learned policy's inputs, with those of ``meaning`` at their end."""
    return (*INPUTS, *SEMANTIC_INPUTS) if meaning else INPUTS


class Sense:
    """A candidate's vector, a unit vector or zeros, and what the kernel average has seen of the judged pages.

    The average is kept up: of the first ``pages`` judged pages, ``weight`` and ``hits`` are the sums.
    """

    __slots__ = ("blank", "hits", "pages", "vector", "weight")

    def __init__(self, vector: Vector) -> None:
        self.vector = vector
        self.blank = not vector.any()
        self.pages = 0
        self.weight = self.hits = 0.0


class Meaning:
    """What one predicate's verdicts say about meaning, from a table of vectors.

    Three inputs of a candidate with the vector e, each within +-4, and 0 where e is zeros: the logit of a
    Bayesian logistic regression on [e, 1] less that of the base rate p; ln((sum k y + p) / (sum k + 1) / p)
    over the verdicts y, k = exp((cos - .5) / .08), at most exp 5; (cos(e, the predicate's words) - .15) / .15,
    0 for a predicate without words.
    """

    def __init__(self, table: SemanticTable, topic: Iterable[str] = ()) -> None:
        self.table = table
        self._wanted = table.vector(" ".join(topic))
        self._asked = bool(self._wanted.any())
        prior = np.zeros(table.size + 1)
        prior[-1] = BIAS
        self._model = BayesianLogisticRegression(prior, np.eye(len(prior)) * DEVIATION**2, drift=0.0)
        self._vectors: Vector = np.zeros((64, table.size))
        self._verdicts: Vector = np.zeros(64)
        self._judged = 0

    def learn(self, vector: Vector, holds: bool) -> None:
        """Absorb the verdict on a page of this vector."""
        if not vector.any():
            return
        self._model.learn(np.append(vector, 1.0), holds)
        if self._judged == MOST_JUDGED:
            return
        if self._judged == len(self._verdicts):
            self._vectors = np.concatenate((self._vectors, np.zeros_like(self._vectors)))
            self._verdicts = np.concatenate((self._verdicts, np.zeros_like(self._verdicts)))
        self._vectors[self._judged] = vector
        self._verdicts[self._judged] = holds
        self._judged += 1

    def inputs(self, senses: Sequence[Sense], rate: float) -> Vector:
        """Return the inputs of distinct candidates at the base rate ``rate``, shape (candidates, 3)."""
        self._look(senses)
        vectors = np.array([sense.vector for sense in senses])
        weight = np.array([sense.weight for sense in senses])
        hits = np.array([sense.hits for sense in senses])
        mean = self._model.mean
        found = np.zeros((len(senses), len(SEMANTIC_INPUTS)))
        found[:, 0] = vectors.dot(mean[:-1]) + (mean[-1] - math.log(rate / (1 - rate)))
        found[:, 1] = np.log((hits + rate) / (weight + 1) / rate)
        if self._asked:
            found[:, 2] = (vectors.dot(self._wanted) - UNLIKE) / SPREAD
        found[~vectors.any(axis=1)] = 0.0
        clipped: Vector = np.minimum(MOST, np.maximum(-MOST, found))
        return clipped

    def _look(self, senses: Iterable[Sense]) -> None:
        """Absorb the pages that were judged since; candidates that have seen as many go together."""
        behind: dict[int, list[Sense]] = {}
        for sense in senses:
            if sense.pages < self._judged:
                behind.setdefault(sense.pages, []).append(sense)
        for pages, group in behind.items():
            cosines = np.array([sense.vector for sense in group]).dot(self._vectors[pages : self._judged].T)
            kernel = _kernel(cosines)
            sums = kernel.sum(axis=1).tolist(), kernel.dot(self._verdicts[pages : self._judged]).tolist()
            for sense, weight, hits in zip(group, *sums, strict=True):
                self._add(sense, weight, hits)

    def _add(self, sense: Sense, weight: float, hits: float) -> None:
        sense.weight += weight
        sense.hits += hits
        sense.pages = self._judged


def _kernel(cosines: Vector) -> Vector:
    found: Vector = np.exp(np.minimum((cosines - MIDDLE) / WIDTH, STEEPEST))
    return found
