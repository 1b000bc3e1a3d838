"""The policy `link-classifier`: what links to hits have in common, learned while crawling. It is a linear
support vector machine on sets of words, with probabilities.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit

from scentline.models.page import Page
from scentline.models.words import words
from scentline_lab.simulation.baselines.informed import Floats, Labels, linear
from scentline_lab.simulation.baselines.queries import Texts
from scentline_lab.simulation.baselines.queues import ByBoard, grown
from scentline_lab.simulation.crawler import Choice, Ready, Task, anywhere

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

    Each row is a vector of length 1. The loss is the squared hinge, summed with both classes of equal weight
    (hits are few), plus a penalty on the weights. The sigmoid is Platt's (1999), fitted to the same rows.
    Raises ValueError unless there are both classes.
    """
    hits = int(labels.sum())
    if not 0 < hits < len(labels):
        raise ValueError(f"link classifier: {hits} hits of {len(labels)} rows, expected hits and others")
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
    learns from the fetched pages that links lead to, hits against others: after 10 pages, at each doubling,
    then every ``every`` pages, and after each page while there is none for want of a hit. All candidates are
    scored anew after each page. Until there is a machine it goes breadth-first. URLs that only the log knows
    have no link to classify and come last.
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
            row = self._row(link.url)
            self._texts.add(row, link.anchor, "anchor")
            self._texts.add(row, link.context, "context")
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
