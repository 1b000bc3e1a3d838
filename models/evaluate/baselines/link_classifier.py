"""The policy `link-classifier`: what links to hits have in common, learned while crawling."""

import numpy as np

from models.evaluate.baselines.board import Board, grown
from models.evaluate.baselines.svm import LinearSvm, fit
from models.evaluate.baselines.texts import Texts
from models.evaluate.crawler import Choice, Task
from models.page import Page
from models.words import words

#: Pages between two trainings, once there are as many.
EVERY = 100
_FIRST = 10


class LinkClassifier:
    """Orders candidates by a linear SVM on the words of URL, anchors and contexts, as the crawler ACHE does.

    A candidate's features are the distinct words of its URL and of all known links to it, by field. The
    machine learns from the fetched pages that links lead to, hits against others: after 10 pages, at each
    doubling, then every ``every`` pages, and after each page while there is none for want of a hit. Then
    all candidates are scored anew; between, those that new links lead to. Until there is a machine it goes
    breadth-first. URLs that only the log knows have no link to classify and come last.
    """

    def __init__(self, task: Task, every: int = EVERY) -> None:
        self._board = Board(task.trace.accesses)
        self._texts = Texts()
        self._every = every
        self._machine: LinearSvm | None = None
        self._verdicts: dict[str, bool] = {}
        self._linked: set[str] = set()
        self._due = min(_FIRST, every)
        # For each row the sum of its words' weights and the number of its words.
        self._sums, self._sizes = np.zeros(0), np.zeros(0)

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate."""
        self._row(url)

    def judged(self, page: Page, holds: bool) -> None:
        """Take in the words of the page's links, and train when it is time."""
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

    def failed(self, url: str) -> None:
        """Take a URL that brought no page out for good."""
        self._board.close(url)

    def next(self) -> Choice | None:
        """Return the candidate most likely to be a hit, with that probability once the machine is there."""
        url = self._board.take()
        if url is None:
            return None
        if self._machine is None or url not in self._linked:
            return Choice(url)
        return Choice(url, self._machine.probability(self._board.scored(url)))

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
