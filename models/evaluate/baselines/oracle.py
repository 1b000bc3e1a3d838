"""The policy `oracle`: knows the verdicts, not the way."""

from collections.abc import Collection

from models.evaluate.baselines.heap import Heap
from models.evaluate.crawler import Choice, Task
from models.page import Page


class Oracle:
    """Takes a page that satisfies the predicate where links have made one known, else goes breadth-first.

    It is greedy, so no upper bound: it does not go through a page that fails to reach many that satisfy.
    ``hits`` are the URLs of the pages that satisfy the predicate; of the task it makes no use, as the log
    would tell it every URL at once.
    """

    def __init__(self, task: Task, hits: Collection[str]) -> None:
        self._heap = Heap()
        self._hits = hits

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate."""
        self._heap.put(url, float(url in self._hits))

    def judged(self, page: Page, holds: bool) -> None:
        """Make the link targets candidates."""
        self._heap.close(page.url)
        for link in page.links:
            self.add_seed(link.url)

    def failed(self, url: str) -> None:
        """Take a URL out for good."""
        self._heap.close(url)

    def next(self) -> Choice | None:
        """Return the hit that was found first, else the candidate that was."""
        url = self._heap.best()
        return None if url is None else Choice(url)
