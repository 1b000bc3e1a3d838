"""The policy `informed`: what the labels of other pages would teach, as the practical limit of learning.

No crawl has what it has: before its first page it knows four fifths of all labels, and every link of the
archive. What lies between a policy and this one might be learned sooner, or better; what lies between this one
and the oracle no words of links tell.
"""

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.sparse import csr_array

from scentline.models.page import Page
from scentline.models.url import identifier
from scentline.models.words import words
from scentline_lab.simulation.baselines.queries import Texts
from scentline_lab.simulation.baselines.simple import Ranked

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
            linked, labels = self._linked, np.array([url in hits for url in self._linked.urls], np.bool_)
            chances = self._comes * cross_fitted(linked.texts, labels, self._paged, linked.folds)
            self._hits, self._expected = hits, dict(zip(linked.urls, chances.tolist(), strict=True))
        return self._expected

    @cached_property
    def _linked(self) -> "_Linked":
        return _read(self._pages)

    @cached_property
    def _paged(self) -> Labels:
        return np.array([url in self._pages for url in self._linked.urls], np.bool_)

    @cached_property
    def _comes(self) -> Floats:
        """The probability that a page comes, for each URL."""
        return cross_fitted(self._linked.texts, self._paged, np.ones_like(self._paged), self._linked.folds)


class _Linked(NamedTuple):
    """The URLs that links lead to: their texts as rows of length 1, and their folds."""

    urls: list[str]
    texts: Any
    folds: npt.NDArray[np.int64]


def _read(pages: Mapping[str, Page]) -> _Linked:
    texts, rows = Texts(), dict[str, int]()
    for page in pages.values():
        for link in page.links:
            row = rows.get(link.url)
            if row is None:
                row = rows[link.url] = len(rows)
                texts.add(row, words(link.url.partition("://")[2]), "url")
            for field in ("anchor", "context", "heading"):
                texts.add(row, getattr(link, field), field)
            texts.add(row, (page.url,), "page")
    found, columns, _ = texts.occurrences()
    counts = csr_array((np.ones(len(found)), (found, columns)), (len(rows), texts.words))
    counts.sum_duplicates()
    held = np.bincount(counts.indices, minlength=texts.words)
    counts.data = np.log1p(counts.data) * np.log((1 + len(rows)) / (1 + held))[counts.indices]
    numbers = np.repeat(np.arange(len(rows)), np.diff(counts.indptr))
    squares = np.bincount(numbers, counts.data**2, minlength=len(rows))
    counts.data /= np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny))[numbers]
    return _Linked(list(rows), counts, np.array([identifier(url)[0] % FOLDS for url in rows], np.int64))


def cross_fitted(texts: Any, labels: Labels, taught: Labels, folds: npt.NDArray[np.int64]) -> Floats:
    """Return the probability of each row's label, learned from the rows ``taught`` in other folds."""
    chances = np.zeros(len(labels))
    for fold in range(FOLDS):
        here, others = folds == fold, (folds != fold) & taught
        if labels[others].all() or not labels[others].any():
            chances[here] = labels[others].any()
            continue
        weights = logistic(texts[others], labels[others])
        chances[here] = 1 / (1 + np.exp(-(texts[here] @ weights[:-1] + weights[-1])))
    return chances


def logistic(texts: Any, labels: Labels) -> Floats:
    """Return the weights of a logistic regression with a square penalty, that of the bias last and free."""
    return linear(texts, labels, lambda far: (np.logaddexp(0, -far), -1 / (1 + np.exp(np.minimum(far, 500)))))


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
