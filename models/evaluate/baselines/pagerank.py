"""The policy `pagerank`: the page with the highest PageRank in the graph known so far comes first."""

from models.evaluate.baselines.heap import Heap
from models.evaluate.crawler import Choice, Task
from models.ordering.estimate import Crawled
from models.ordering.pagerank import DAMPING
from models.ordering.rank import EVERY, Rank
from models.page import Page


class PageRank:
    """Orders candidates by IR'(P), PageRank over fetched pages and their targets (Cho 1998, Figure 2, 3).

    It is worked out anew every ``every`` pages and kept up between (`models.ordering.rank.Rank`).
    """

    def __init__(self, task: Task, every: int = EVERY, damping: float = DAMPING) -> None:
        self._heap = Heap(task.trace.accesses)
        self._rank = Rank[str](damping, every)
        self._found: dict[str, None] = {}

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate."""
        self._put(url)

    def judged(self, page: Page, holds: bool) -> None:
        """Add the page's links to the graph; the verdict is of no account."""
        self._heap.close(page.url)
        distinct = dict.fromkeys(link.url for link in page.links if link.url != page.url)
        for url in self._rank.crawled(Crawled(page.url, tuple(distinct))):
            self._put(url)
        if self._rank.sweep():
            for url in self._found:
                self._heap.put(url, self._rank.value(url))

    def failed(self, url: str) -> None:
        """Take a URL out for good."""
        self._heap.close(url)

    def next(self) -> Choice | None:
        """Return the candidate of the highest rank."""
        url = self._heap.best()
        return None if url is None else Choice(url)

    def _put(self, url: str) -> None:
        self._found[url] = None
        self._heap.put(url, self._rank.value(url))
