"""Crawlers that go by words: by likeness to a query, which the predicate or the hits so far give, or by what
labels teach, of the pages that came (`link-classifier`) or of others (`informed`).
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
from scentline_lab.simulation.simple import Board, Ranked, grown
from scentline_lab.simulation.virtual import Choice, Ready, Task, anywhere

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.bool_]
#: Returns each row's loss and its slope, given how far the row lies on its side.
Loss = Callable[[Floats], tuple[Floats, Floats]]
FOLDS = 5
# Strength of the square penalty on weights, and the most steps of the descent.
_PENALTY, _STEPS = 0.1, 150
# Words are weighed anew when the fetched pages are more by this share.
_GROWTH = 0.1


class Texts:
    """Texts by row, the words of each field numbered by column in order of first occurrence."""

    def __init__(self) -> None:
        self._columns: dict[tuple[str, str], int] = {}
        self._counts = defaultdict[int, Counter[int]](Counter)
        self._found = (array("i"), array("i"), array("i"))

    @property
    def words(self) -> int:
        return len(self._columns)

    def column(self, word: str, field: str = "") -> int:
        return self._columns.setdefault((field, word), len(self._columns))

    def add(self, row: int, words: Iterable[str], field: str = "") -> None:
        counts, (rows, columns, repeats) = self._counts[row], self._found
        for word in words:
            column = self.column(word, field)
            rows.append(row)
            columns.append(column)
            repeats.append(counts[column])
            counts[column] += 1

    def occurrences(self) -> list[npt.NDArray[np.int32]]:
        """Return the row and column of each occurrence as added, and how often the text had the word before: 0
        marks the distinct ones, and the sum of 2 r + 1 over r < t is the square t^2 of a word count.
        """
        # Copies: an array with a view on it can't grow.
        return [np.array(part, np.int32) for part in self._found]


def by_length(dots: npt.NDArray[Any], squares: npt.NDArray[Any]) -> Floats:
    """Return products of texts with a query, each divided by the text's length, given its square."""
    return np.asarray(dots / np.sqrt(np.maximum(squares, 1e-12)), np.float64)


class WordQuery:
    """The words of the predicate or, without any, the centroid of the fetched hits, by distinct words. A word
    weighs its number times ln((1 + N) / (1 + n)), n of N fetched pages having it.
    """

    def __init__(self, keywords: Iterable[str], texts: Texts) -> None:
        self._texts = texts
        self._keywords = [texts.column(word) for word in dict.fromkeys(keywords)]
        self._fetched, self._due, self._length = 0, 0.0, 0.0
        # By word: the fetched pages and the hits that have it, its weight, and its part in a product with the
        # query; the latter two stay between two weighings.
        self._pages, self._hits, self._idf, self._part = (np.zeros(0) for _ in range(4))

    def count(self, words: Iterable[str], holds: bool) -> None:
        """Count the distinct words of a fetched page."""
        columns = np.array([self._texts.column(word) for word in words], np.int64)
        self._fetched += 1
        self._pages, self._hits = (grown(each, self._texts.words) for each in (self._pages, self._hits))
        self._pages[columns] += 1
        self._hits[columns] += holds
        if self._fetched >= self._due:
            self._due = self._fetched * (1 + _GROWTH)
            self._weigh()

    def weights(self) -> tuple[Floats, Floats]:
        """Return the weight of each word, and its part in a product with the query."""
        words = self._texts.words
        return grown(self._idf, words, np.log1p(self._fetched)), grown(self._part, words)

    def cosines(self, texts: Sequence[Sequence[str]]) -> Floats:
        """Return the cosine of each text with the query, from 0 to 1."""
        if not self._length:
            return np.zeros(len(texts))
        rows = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        columns = np.array([self._texts.column(word) for text in texts for word in text], np.int64)
        pairs, times = np.unique(rows * self._texts.words + columns, return_counts=True)
        rows, columns = np.divmod(pairs, self._texts.words)
        weights, parts = self.weights()
        dots = np.bincount(rows, times * parts[columns], minlength=len(texts))
        squares = np.bincount(rows, (times * weights[columns]) ** 2, minlength=len(texts))
        return by_length(dots, squares) / self._length

    def _weigh(self) -> None:
        self._idf = np.log1p(self._fetched) - np.log1p(self._pages)
        if self._keywords:
            query = np.zeros(len(self._idf))
            query[self._keywords] = self._idf[self._keywords]
        else:
            query = self._hits * self._idf
        self._part = query * self._idf
        self._length = float(np.sqrt((query**2).sum()))


class BestFirst(Board):
    """Orders candidates by the cosine of the anchors and contexts of all known links to them with a query (Cho
    1998, section 2, IS(P); Menczer 2004); breadth-first without keywords and hits. The log's URLs come last.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task.trace.accesses)
        self._texts = Texts()
        self._query = WordQuery(task.keywords, self._texts)

    def judged(self, page: Page, holds: bool) -> None:
        self.close(page.url)
        self._query.count(page.words, holds)
        for link in page.links:
            row = self.row(link.url)
            if not self.closed(link.url):
                self._texts.add(row, (*link.anchor, *link.context))
        rows, columns, repeats = self._texts.occurrences()
        size, (weights, parts) = len(self), self._query.weights()
        dots = np.bincount(rows, parts[columns], minlength=size)
        squares = np.bincount(rows, weights[columns] ** 2 * (2 * repeats + 1), minlength=size)
        self.score(by_length(dots, squares))


#: The paper's delta, beta and gamma.
DECAY, ANCHOR, INHERITED = 0.5, 0.8, 0.5


class SharkSearch(Board):
    """Orders candidates by Shark-Search's potential score (Hersovici and others, WWW7 1998, section 3).

    A child inherits `DECAY` times the similarity of a relevant page, else times what that page inherited. Its
    neighborhood score is `ANCHOR` times the anchor's similarity, and the rest times the context's, 1 where the
    anchor has some. The potential score is `INHERITED` times the first and the rest times the second; the best
    link to a page counts. Similarity is the cosine with a `WordQuery`, 1 of a hit. Depth is not bounded.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task.trace.accesses)
        self._query = WordQuery(task.keywords, Texts())
        self._best: dict[str, tuple[float, float]] = {}  # the potential and the inherited score by URL

    def judged(self, page: Page, holds: bool) -> None:
        self.close(page.url)
        self._query.count(page.words, holds)
        passed = DECAY * (1.0 if holds else self._best.get(page.url, (0.0, 0.0))[1])
        anchors = self._query.cosines([link.anchor for link in page.links]).tolist()
        contexts = self._query.cosines([link.context for link in page.links]).tolist()
        for link, anchor, context in zip(page.links, anchors, contexts, strict=True):
            near = ANCHOR * anchor + (1 - ANCHOR) * (1.0 if anchor else context)
            score = INHERITED * passed + (1 - INHERITED) * near
            if link.url not in self._best or score > self._best[link.url][0]:
                self._best[link.url] = score, passed
                self.put(link.url, score)


class Informed(Ranked):
    """Takes the candidate of the most hits ``expected`` of a request."""

    def __init__(self, expected: Mapping[str, float]) -> None:
        super().__init__(lambda url: expected.get(url, 0.0))


class Hindsight:
    """What all pages of an archive say of the URLs that they link to, and what labels teach of that.

    A URL's text has its own words, those of the links to it (anchor, context, heading) and the pages with these
    links, by field. A word met t times in n of N texts weighs ln(1 + t) ln((1 + N) / (1 + n)); a text is a
    vector of length 1. P(page comes) P(hit | page) are two logistic regressions, the second of the URLs with a
    page. Each fold's probabilities come from the labels of the other four (cross-fitting, Stone 1974).
    """

    def __init__(self, pages: Mapping[str, Page]) -> None:
        self._pages = pages
        self._latest: tuple[Collection[str] | None, Mapping[str, float]] = None, {}

    def expected(self, hits: Collection[str]) -> Mapping[str, float]:
        """Return the hits expected of a request for each URL with a link to it; ``hits`` are the labels."""
        if hits is not self._latest[0]:
            urls, texts, folds, paged, comes = self._linked
            labels = np.array([url in hits for url in urls], np.bool_)
            chances = comes * cross_fitted(texts, labels, paged, folds)
            self._latest = hits, dict(zip(urls, chances.tolist(), strict=True))
        return self._latest[1]

    @cached_property
    def _linked(self) -> tuple[list[str], Any, npt.NDArray[np.int64], Labels, Floats]:
        """The URLs that links lead to, their texts, folds, whether a page came, and how probable that was."""
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


#: Pages before the first training, and between two of the later ones.
_FIRST, EVERY = 10, 100


class LinearSvm(NamedTuple):
    """P(hit) is sigmoid(slope margin + offset), the margin of k words their weights' sum / sqrt(k) + bias."""

    weights: Floats
    bias: float
    slope: float
    offset: float


def fit(rows: npt.NDArray[Any], columns: npt.NDArray[Any], labels: Labels, words: int) -> LinearSvm:
    """Return a machine by the squared hinge, both classes weighing alike; there must be both. Columns are below
    ``words``, each once in a row, which is a vector of length 1.
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
    """Return slope (0 or more) and offset of the sigmoid of labels, with a made-up row a class (Platt 1999)."""
    hits = int(labels.sum())
    aims = np.where(labels, (hits + 1) / (hits + 2), 1 / (len(labels) - hits + 2))

    def loss(line: Floats) -> tuple[float, Floats]:
        said = line[0] * margins + line[1]
        wrong = expit(said) - aims
        lost = (np.logaddexp(0, said) - aims * said).sum()
        return float(lost), np.array([(wrong * margins).sum(), wrong.sum()])

    found = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(0, None), (None, None)])
    return float(found.x[0]), float(found.x[1])


class LinkClassifier(Board):
    """Orders candidates by a linear SVM on the words of URL, anchors and contexts, as the crawler ACHE does.

    A candidate's features are the distinct words of its URL and of all known links to it, by field. The machine
    learns from the fetched pages with links to them, once some are hits and some are not: after 10 pages, at
    each doubling, then every 100. All candidates are scored after each page; without a machine, breadth-first.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task.trace.accesses)
        self._texts, self._due = Texts(), _FIRST
        self._machine: LinearSvm | None = None
        self._verdicts: dict[str, bool] = {}
        self._linked: set[str] = set()

    def judged(self, page: Page, holds: bool) -> None:
        self.close(page.url)
        self._verdicts[page.url] = holds
        for link in page.links:
            for part in ("anchor", "context"):
                self._texts.add(self.row(link.url), getattr(link, part), part)
            self._linked.add(link.url)
        rows, columns, repeats = self._texts.occurrences()
        rows, columns = rows[repeats == 0], columns[repeats == 0]
        if len(self._verdicts) >= self._due:
            self._train(rows, columns)
        if self._machine is not None:
            size = len(self)
            weights = grown(self._machine.weights, self._texts.words)  # newer words have no weight
            sums, sizes = np.bincount(rows, weights[columns], size), np.bincount(rows, minlength=size)
            self.score(sums / np.sqrt(np.maximum(sizes, 1)) + self._machine.bias)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        choice, machine = super().next(ready), self._machine
        if choice is None or machine is None or choice.url not in self._linked:
            return choice
        margin = self.scored(choice.url)
        return Choice(choice.url, float(expit(machine.slope * margin + machine.offset)))

    def row(self, url: str) -> int:
        size, row = len(self), super().row(url)
        if row == size:
            self._texts.add(row, words(url.partition("://")[2]), "url")
        return row

    def _train(self, rows: npt.NDArray[Any], columns: npt.NDArray[Any]) -> None:
        examples = [url for url in self._verdicts if url in self._linked]
        labels = np.array([self._verdicts[url] for url in examples], np.bool_)
        if labels.all() or not labels.any():
            return
        numbers = np.full(len(self), -1, np.int32)
        numbers[[self.row(url) for url in examples]] = np.arange(len(examples))
        known = numbers[rows] >= 0
        self._machine = fit(numbers[rows[known]], columns[known], labels, self._texts.words)
        fetched = len(self._verdicts)
        self._due = min(2 * fetched, (fetched // EVERY + 1) * EVERY)
