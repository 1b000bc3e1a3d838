"""The policy `link-classifier`: what links to hits have in common, learned while crawling. It is a linear
support vector machine on sets of words, with probabilities.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scentline.models.page import Page
from scentline.models.words import words
from scentline_lab.simulation.baselines.queries import Texts
from scentline_lab.simulation.baselines.queues import ByBoard, grown
from scentline_lab.simulation.crawler import Choice, Ready, Task, anywhere

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int32]

# Strength of the square penalty on weights, steps of the descent, and their length.
_PENALTY = 0.1
_STEPS = 20
_RATE = 0.3
# Newton steps for the two parameters of the sigmoid, and what keeps them apart from a division by 0.
_NEWTON = 20
_RIDGE = 1e-3


class LinearSvm(NamedTuple):
    """What decides on a row of k words: margin = sum of their ``weights`` / sqrt(k) + ``bias``. ``weights`` has
    shape (words,). P(hit) is the sigmoid of ``slope`` margin + ``offset``.
    """

    weights: _Floats
    bias: float
    slope: float
    offset: float

    def probability(self, margin: float) -> float:
        return float(_sigmoid(np.array(self.slope * margin + self.offset)))


def fit(rows: _Ints, columns: _Ints, labels: npt.NDArray[np.bool_], words: int) -> LinearSvm:
    """Return a machine trained on rows of words, columns below ``words``, each pair once.

    Each row is a vector of length 1. The loss is the squared hinge, summed with both classes of equal weight
    (hits are few), plus a penalty on the weights; the descent takes the steps of AdaGrad (Duchi 2011). The
    sigmoid is Platt's (1999), fitted to the same rows. Raises ValueError unless there are both classes.
    """
    hits = int(labels.sum())
    if not 0 < hits < len(labels):
        raise ValueError(f"link classifier: {hits} hits of {len(labels)} rows, expected hits and others")
    sides = np.where(labels, 1.0, -1.0)
    share = np.where(labels, len(labels) / (2 * hits), len(labels) / (2 * (len(labels) - hits)))
    lengths = np.sqrt(np.maximum(np.bincount(rows, minlength=len(labels)), 1))
    values = 1 / lengths[rows]
    weights, bias = np.zeros(words), 0.0
    squares, bias_square = np.full(words, np.finfo(np.float64).tiny), np.finfo(np.float64).tiny

    def margins() -> _Floats:
        sums = np.bincount(rows, values * weights[columns], minlength=len(labels))
        return np.asarray(sums + bias, np.float64)

    for _ in range(_STEPS):
        pull = -2 * sides * share * np.maximum(0, 1 - sides * margins())
        slope = np.bincount(columns, values * pull[rows], minlength=words) + _PENALTY * weights
        bias_slope = float(pull.sum())
        squares += slope * slope
        bias_square += bias_slope * bias_slope
        weights -= _RATE * slope / np.sqrt(squares)
        bias -= _RATE * bias_slope / bias_square**0.5
    return LinearSvm(weights, bias, *platt(margins(), labels))


def platt(margins: _Floats, labels: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Return slope and offset of the sigmoid that fits the labels best; the slope is never negative. The labels
    are drawn in by one made-up row of each class (Platt 1999), so that a margin that parts the classes fully
    still has a finite slope.
    """
    hits = int(labels.sum())
    aims = np.where(labels, (hits + 1) / (hits + 2), 1 / (len(labels) - hits + 2))
    slope, offset = 0.0, float(np.log((hits + 1) / (len(labels) - hits + 1)))
    for _ in range(_NEWTON):
        said = _sigmoid(slope * margins + offset)
        wrong, curve = said - aims, said * (1 - said)
        first = float((wrong * margins).sum()) + _RIDGE * slope, float(wrong.sum())
        a = float((curve * margins * margins).sum()) + _RIDGE
        b, c = float((curve * margins).sum()), float(curve.sum()) + _RIDGE
        determinant = a * c - b * b
        slope -= (c * first[0] - b * first[1]) / determinant
        offset -= (a * first[1] - b * first[0]) / determinant
    return max(slope, 0.0), offset


def _sigmoid(values: _Floats) -> _Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -500, 500))), np.float64)


#: Pages between two trainings, once there are as many.
EVERY = 100
_FIRST = 10


class LinkClassifier(ByBoard):
    """Orders candidates by a linear SVM on the words of URL, anchors and contexts, as the crawler ACHE does.

    A candidate's features are the distinct words of its URL and of all known links to it, by field. The machine
    learns from the fetched pages that links lead to, hits against others: after 10 pages, at each doubling,
    then every ``every`` pages, and after each page while there is none for want of a hit. Then all candidates
    are scored anew; between, those that new links lead to. Until there is a machine it goes breadth-first. URLs
    that only the log knows have no link to classify and come last.
    """

    def __init__(self, task: Task, every: int = EVERY) -> None:
        super().__init__(task.trace.accesses)
        self._texts = Texts()
        self._every = every
        self._machine: LinearSvm | None = None
        self._verdicts: dict[str, bool] = {}
        self._linked: set[str] = set()
        self._due = min(_FIRST, every)
        # For each row the sum of its words' weights and the number of its words.
        self._sums, self._sizes = np.zeros(0), np.zeros(0)

    def add_seed(self, url: str) -> None:
        self._row(url)

    def judged(self, page: Page, holds: bool) -> None:
        self._board.close(page.url)
        self._verdicts[page.url] = holds
        start = len(self._texts)
        for link in page.links:
            row = self._row(link.url)
            self._texts.add(row, link.anchor, "anchor")
            self._texts.add(row, link.context, "context")
            self._linked.add(link.url)
        if len(self._verdicts) >= self._due and self._train():
            self._sums[:] = self._sizes[:] = 0
            start = 0
        if self._machine is not None:
            self._score(start, self._machine)

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

    def _train(self) -> bool:
        """Train a machine anew, and return whether there is enough to learn from."""
        examples = [url for url in self._verdicts if url in self._linked]
        labels = np.array([self._verdicts[url] for url in examples], np.bool_)
        if labels.all() or not labels.any():
            return False
        numbers = np.full(len(self._board), -1, np.int32)
        numbers[[self._board.row(url) for url in examples]] = np.arange(len(examples))
        rows, columns, repeats = self._texts.occurrences()
        known = (repeats == 0) & (numbers[rows] >= 0)
        self._machine = fit(numbers[rows[known]], columns[known], labels, self._texts.words)
        fetched = len(self._verdicts)
        self._due = min(2 * fetched, (fetched // self._every + 1) * self._every)
        return True

    def _score(self, start: int, machine: LinearSvm) -> None:
        """Bring in the occurrences from ``start`` on; words newer than the machine have no weight."""
        rows, columns, repeats = self._texts.occurrences(start)
        first = repeats == 0
        rows, columns = rows[first], columns[first]
        size = len(self._board)
        weights = grown(machine.weights, self._texts.words)
        self._sums = grown(self._sums, size) + np.bincount(rows, weights[columns], minlength=size)
        self._sizes = grown(self._sizes, size) + np.bincount(rows, minlength=size)
        self._board.score(self._sums / np.sqrt(np.maximum(self._sizes, 1)) + machine.bias)
