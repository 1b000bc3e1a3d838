"""The policy `random`: any candidate, each as likely."""

from models.evaluate.crawler import Choice, Task
from models.page import Page


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
        self.failed(page.url)
        for link in page.links:
            self.add_seed(link.url)

    def failed(self, url: str) -> None:
        """Take a URL out for good: the last of the list takes its place, so it costs O(1)."""
        self._closed.add(url)
        place = self._places.pop(url, None)
        if place is None:
            return
        last = self._open.pop()
        if last != url:
            self._open[place] = last
            self._places[last] = place

    def next(self) -> Choice | None:
        """Return a candidate drawn by chance."""
        return Choice(self._random.choice(self._open), explored=True) if self._open else None
