"""The policy `breadth-first`: candidates in the order in which they were discovered."""

from models.evaluate.baselines.heap import Heap
from models.evaluate.crawler import Choice, Task
from models.page import Page


class BreadthFirst:
    """First found, first fetched (Cho 1998, Figure 2, 1): the seeds, then their links, then those of these.

    What only the log knows comes last, in the log's order.
    """

    def __init__(self, task: Task) -> None:
        self._heap = Heap(task.trace.accesses)

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate."""
        self._heap.put(url, 0.0)

    def judged(self, page: Page, holds: bool) -> None:
        """Make the link targets candidates; the verdict is of no account."""
        self._heap.close(page.url)
        for link in page.links:
            self._heap.put(link.url, 0.0)

    def failed(self, url: str) -> None:
        """Take a URL out for good."""
        self._heap.close(url)

    def next(self) -> Choice | None:
        """Return the candidate that was found first."""
        url = self._heap.best()
        return None if url is None else Choice(url)
