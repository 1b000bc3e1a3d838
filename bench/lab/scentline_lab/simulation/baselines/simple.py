"""Crawlers that learn nothing of pages: by given scores, by the oracle, as discovered, by chance, by links."""

from collections.abc import Callable, Collection

from scentline.models.ordering.estimate import Crawled
from scentline.models.ordering.rank import DAMPING, EVERY, Rank
from scentline.models.page import Page
from scentline.models.url import host
from scentline_lab.simulation.baselines.queues import Heap
from scentline_lab.simulation.crawler import Choice, Ready, Task, anywhere


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
        """Take a URL that brought no page out for good."""
        self._heap.close(url)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Return the best candidate."""
        url = self._heap.take(ready)
        return None if url is None else Choice(url)


class Oracle(Ranked):
    """Takes a page that satisfies the predicate where links have made one known, else goes breadth-first.

    It is greedy, so no upper bound: it does not go through a page that fails to reach many that satisfy.
    ``hits`` are the URLs of the pages that satisfy the predicate. It knows no log, which would tell it every
    URL at once.
    """

    def __init__(self, hits: Collection[str]) -> None:
        super().__init__(lambda url: float(url in hits))


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
        """Take a URL that brought no page out for good."""
        self._heap.close(url)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Return the candidate that was found first."""
        url = self._heap.take(ready)
        return None if url is None else Choice(url)


class Chance:
    """Draws uniformly among the URLs of the log and the link targets that were not fetched yet.

    It shows the base rate of what can be reached.
    """

    def __init__(self, task: Task) -> None:
        self._random = task.random
        self._open: list[str] = []
        self._places: dict[str, int] = {}
        self._closed: set[str] = set()
        for url in task.trace.accesses:
            self.add_seed(url)

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate."""
        if url not in self._places and url not in self._closed:
            self._places[url] = len(self._open)
            self._open.append(url)

    def judged(self, page: Page, holds: bool) -> None:
        """Make the link targets candidates; the verdict is of no account."""
        self._close(page.url)
        for link in page.links:
            self.add_seed(link.url)

    def failed(self, url: str) -> None:
        """Take a URL that brought no page out for good."""
        self._close(url)

    def _close(self, url: str) -> None:
        """Take a URL out for good: the last of the list takes its place, so it costs O(1)."""
        self._closed.add(url)
        place = self._places.pop(url, None)
        if place is None:
            return
        last = self._open.pop()
        if last != url:
            self._open[place] = last
            self._places[last] = place

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Return a candidate drawn by chance."""
        if not self._open:
            return None
        url = self._random.choice(self._open)
        if not ready(host(url)):
            may = [url for url in self._open if ready(host(url))]
            if not may:
                return None
            url = self._random.choice(may)
        self._close(url)
        return Choice(url, explored=True)


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
        """Take a URL that brought no page out for good."""
        self._heap.close(url)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Return the candidate with the most known in-links."""
        url = self._heap.take(ready)
        return None if url is None else Choice(url)


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
        """Take a URL that brought no page out for good."""
        self._heap.close(url)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Return the candidate of the highest rank."""
        url = self._heap.take(ready)
        return None if url is None else Choice(url)

    def _put(self, url: str) -> None:
        self._found[url] = None
        self._heap.put(url, self._rank.value(url))
