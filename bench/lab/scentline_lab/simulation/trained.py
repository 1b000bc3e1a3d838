"""Policies that learn from labels: `link-classifier` and `tag-paths` while they crawl, `informed` from those of
other pages.

What lies between a policy and `informed` might be learned sooner, or better; what lies between this one and the
oracle no words of links tell.
"""

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit

from scentline.models.page import Page
from scentline.models.url import identifier
from scentline.models.words import words
from scentline_lab.simulation.queries import Texts
from scentline_lab.simulation.simple import ByBoard, Ranked, grown
from scentline_lab.simulation.virtual import Choice, Ready, Task, anywhere

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.bool_]
#: Returns the loss of each row, and its slope, of how far the row lies on its side.
Loss = Callable[[Floats], tuple[Floats, Floats]]

#: Parts that the URLs fall into, by their identifiers.
FOLDS = 5
# Strength of the square penalty on weights, and steps of the descent at most.
_PENALTY = 0.1
_STEPS = 150


class Informed(Ranked):
    """Takes the candidate of the most hits ``expected`` of a request; one that no link leads to comes last."""

    def __init__(self, expected: Mapping[str, float]) -> None:
        super().__init__(lambda url: expected.get(url, 0.0))


class Hindsight:
    """What all pages of an archive say of the URLs that they link to, and what labels teach of that.

    A URL has the words of its own and of the links to it (anchor, context, heading), by field, and the pages
    with these links. A word met t times in n of N texts weighs ln(1 + t) ln((1 + N) / (1 + n)); a text is a
    vector of length 1. P(page comes) P(hit | page) are two logistic regressions, the first learned from all
    URLs, the second from those that have a page. They are cross-fitted: each fold's probabilities come from the
    labels of the other four (Stone 1974), so that no label tells of itself.
    """

    def __init__(self, pages: Mapping[str, Page]) -> None:
        self._pages = pages
        # The labels that were learned last, and what that told.
        self._hits: Collection[str] | None = None
        self._expected: Mapping[str, float] = {}

    def expected(self, hits: Collection[str]) -> Mapping[str, float]:
        """Return the hits expected of a request for each URL with a link to it; ``hits`` are the labels."""
        if hits is not self._hits:
            urls, texts, folds, paged, comes = self._linked
            labels = np.array([url in hits for url in urls], np.bool_)
            chances = comes * cross_fitted(texts, labels, paged, folds)
            self._hits, self._expected = hits, dict(zip(urls, chances.tolist(), strict=True))
        return self._expected

    @cached_property
    def _linked(self) -> tuple[list[str], Any, npt.NDArray[np.int64], Labels, Floats]:
        """The URLs that links lead to: their texts as rows of length 1, their folds, whether a page came, and
        the probability that one comes.
        """
        texts, rows = Texts(), dict[str, int]()
        for page in self._pages.values():
            for link in page.links:
                row = rows.get(link.url)
                if row is None:
                    row = rows[link.url] = len(rows)
                    texts.add(row, words(link.url.partition("://")[2]), "url")
                for part in ("anchor", "context", "heading"):
                    texts.add(row, getattr(link, part), part)
                texts.add(row, (page.url,), "page")
        found, columns, _ = texts.occurrences()
        counts = csr_array((np.ones(len(found)), (found, columns)), (len(rows), texts.words))
        counts.sum_duplicates()
        held = np.bincount(counts.indices, minlength=texts.words)
        counts.data = np.log1p(counts.data) * np.log((1 + len(rows)) / (1 + held))[counts.indices]
        numbers = np.repeat(np.arange(len(rows)), np.diff(counts.indptr))
        squares = np.bincount(numbers, counts.data**2, minlength=len(rows))
        counts.data /= np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))[numbers]
        folds = np.array([identifier(url)[0] % FOLDS for url in rows], np.int64)
        paged = np.array([url in self._pages for url in rows], np.bool_)
        return [*rows], counts, folds, paged, cross_fitted(counts, paged, np.ones_like(paged), folds)


def cross_fitted(texts: Any, labels: Labels, taught: Labels, folds: npt.NDArray[np.int64]) -> Floats:
    """Return the probability of each row's label, learned from the rows ``taught`` in other folds."""
    chances = np.zeros(len(labels))
    for fold in range(FOLDS):
        here, others = folds == fold, (folds != fold) & taught
        if labels[others].all() or not labels[others].any():
            chances[here] = labels[others].any()
            continue
        weights = linear(texts[others], labels[others], logistic)
        chances[here] = 1 / (1 + np.exp(-(texts[here] @ weights[:-1] + weights[-1])))
    return chances


def logistic(far: Floats) -> tuple[Floats, Floats]:
    """Return the loss of a logistic regression."""
    return np.logaddexp(0, -far), -1 / (1 + np.exp(np.minimum(far, 500)))


def linear(texts: Any, labels: Labels, loss: Loss) -> Floats:
    """Return the weights of the least loss over all rows, with a square penalty; the bias, last, is free."""
    sides = np.where(labels, 1.0, -1.0)

    def total(weights: Floats) -> tuple[float, Floats]:
        lost, slopes = loss(sides * (texts @ weights[:-1] + weights[-1]))
        pull = sides * slopes
        slope = np.append(texts.T @ pull + _PENALTY * weights[:-1], pull.sum())
        return float(lost.sum() + _PENALTY / 2 * (weights[:-1] ** 2).sum()), slope

    start = np.zeros(texts.shape[1] + 1)
    found = minimize(total, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return np.asarray(found.x, np.float64)


#: Pages between two trainings, once there are as many.
EVERY = 100
_FIRST = 10


class LinearSvm(NamedTuple):
    """What decides on a row of k words: margin = sum of their ``weights`` / sqrt(k) + ``bias``. P(hit) is the
    sigmoid of ``slope`` margin + ``offset``.
    """

    weights: Floats
    bias: float
    slope: float
    offset: float

    def probability(self, margin: float) -> float:
        return float(expit(self.slope * margin + self.offset))


def fit(rows: npt.NDArray[Any], columns: npt.NDArray[Any], labels: Labels, words: int) -> LinearSvm:
    """Return a machine trained on rows of words, columns below ``words``, each pair once.

    Each row is a vector of length 1. The loss is the squared hinge, summed with both classes of equal weight,
    plus a penalty on the weights. The sigmoid is Platt's (1999), fitted to the same rows. There must be both.
    """
    hits = int(labels.sum())
    share = len(labels) / 2 / np.where(labels, hits, len(labels) - hits)
    lengths = np.sqrt(np.maximum(np.bincount(rows, minlength=len(labels)), 1))
    texts = csr_array((1 / lengths[rows], (rows, columns)), (len(labels), words))

    def loss(far: Floats) -> tuple[Floats, Floats]:
        lost = np.maximum(0, 1 - far)
        return share * lost**2, -2 * share * lost

    weights = linear(texts, labels, loss)
    return LinearSvm(weights[:-1], float(weights[-1]), *platt(texts @ weights[:-1] + weights[-1], labels))


def platt(margins: Floats, labels: Labels) -> tuple[float, float]:
    """Return slope and offset of the sigmoid that fits the labels best; the slope is never negative. The labels
    are drawn in by one made-up row of each class (Platt 1999), so that a margin that parts the classes fully
    still has a finite slope.
    """
    hits = int(labels.sum())
    aims = np.where(labels, (hits + 1) / (hits + 2), 1 / (len(labels) - hits + 2))

    def loss(line: Floats) -> tuple[float, Floats]:
        said = line[0] * margins + line[1]
        wrong = expit(said) - aims
        lost = (np.logaddexp(0, said) - aims * said).sum()
        return float(lost), np.array([(wrong * margins).sum(), wrong.sum()])

    found = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(0, None), (None, None)])
    return float(found.x[0]), float(found.x[1])


class LinkClassifier(ByBoard):
    """Orders candidates by a linear SVM on the words of URL, anchors and contexts, as the crawler ACHE does.

    A candidate's features are the distinct words of its URL and of all known links to it, by field. The machine
    learns from the fetched pages that links lead to: after 10 pages, at each doubling, then every ``every``
    pages, and after each page while there is none for want of a hit. All candidates are scored anew after each
    page. Until there is a machine it goes breadth-first. URLs that only the log knows come last.
    """

    def __init__(self, task: Task, every: int = EVERY) -> None:
        super().__init__(task.trace.accesses)
        self._texts = Texts()
        self._every = every
        self._machine: LinearSvm | None = None
        self._verdicts: dict[str, bool] = {}
        self._linked: set[str] = set()
        self._due = min(_FIRST, every)

    def add_seed(self, url: str) -> None:
        self._row(url)

    def judged(self, page: Page, holds: bool) -> None:
        self._board.close(page.url)
        self._verdicts[page.url] = holds
        for link in page.links:
            for part in ("anchor", "context"):
                self._texts.add(self._row(link.url), getattr(link, part), part)
            self._linked.add(link.url)
        rows, columns, repeats = self._texts.occurrences()
        rows, columns = rows[repeats == 0], columns[repeats == 0]
        if len(self._verdicts) >= self._due:
            self._train(rows, columns)
        if self._machine is not None:
            size = len(self._board)
            weights = grown(self._machine.weights, self._texts.words)  # newer words have no weight
            sums, sizes = np.bincount(rows, weights[columns], size), np.bincount(rows, minlength=size)
            self._board.score(sums / np.sqrt(np.maximum(sizes, 1)) + self._machine.bias)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Return the candidate most likely to be a hit, with that probability once the machine is there."""
        choice = super().next(ready)
        if choice is None or self._machine is None or choice.url not in self._linked:
            return choice
        return Choice(choice.url, self._machine.probability(self._board.scored(choice.url)))

    def _row(self, url: str) -> int:
        size = len(self._board)
        row = self._board.row(url)
        if row == size:
            self._texts.add(row, words(url.partition("://")[2]), "url")
        return row

    def _train(self, rows: npt.NDArray[Any], columns: npt.NDArray[Any]) -> None:
        """Train a machine anew, where there is enough to learn from."""
        examples = [url for url in self._verdicts if url in self._linked]
        labels = np.array([self._verdicts[url] for url in examples], np.bool_)
        if labels.all() or not labels.any():
            return
        numbers = np.full(len(self._board), -1, np.int32)
        numbers[[self._board.row(url) for url in examples]] = np.arange(len(examples))
        known = numbers[rows] >= 0
        self._machine = fit(numbers[rows[known]], columns[known], labels, self._texts.words)
        fetched = len(self._verdicts)
        self._due = min(2 * fetched, (fetched // self._every + 1) * self._every)
