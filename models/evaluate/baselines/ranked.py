"""Crawling in the order of given scores."""

from collections.abc import Callable

from models.evaluate.baselines.heap import Heap
from models.evaluate.crawler import Choice
from models.page import Page


class Ranked:
    """Fetches the URL of the highest score among those that links have made known; equal ones as discovered."""

    def __init__(self, score: Callable[[str], float]) -> None:
        self._score = score
        self._heap = Heap()
        self._known: set[str] = set()

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate."""
        if url not in self._known:
            self._known.add(url)
            self._heap.put(url, self._score(url))

    def judged(self, page: Page, holds: bool) -> None:
        """Make the link targets candidates; the verdict is of no account."""
        self._heap.close(page.url)
        for link in page.links:
            self.add_seed(link.url)

    def failed(self, url: str) -> None:
        """Take a URL out for good."""
        self._heap.close(url)

    def next(self) -> Choice | None:
        """Return the best candidate."""
        url = self._heap.best()
        return None if url is None else Choice(url)
