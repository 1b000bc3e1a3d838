"""The policy `backlink`: the page that most fetched pages link to comes first."""

from models.evaluate.baselines.heap import Heap
from models.evaluate.crawler import Choice, Task
from models.page import Page


class Backlink:
    """Orders candidates by the number of known in-links, IB'(P) (Cho 1998, Figure 2, 2).

    A page that links twice counts once; equal numbers go by order of discovery.
    """

    def __init__(self, task: Task) -> None:
        self._heap = Heap(task.trace.accesses)
        self._counts: dict[str, int] = {}

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate."""
        self._heap.put(url, self._counts.get(url, 0))

    def judged(self, page: Page, holds: bool) -> None:
        """Count the page's links; the verdict is of no account."""
        self._heap.close(page.url)
        counts = self._counts
        for target in dict.fromkeys(link.url for link in page.links):
            counts[target] = number = counts.get(target, 0) + 1
            self._heap.put(target, number)

    def failed(self, url: str) -> None:
        """Take a URL out for good."""
        self._heap.close(url)

    def next(self) -> Choice | None:
        """Return the candidate with the most known in-links."""
        url = self._heap.best()
        return None if url is None else Choice(url)
