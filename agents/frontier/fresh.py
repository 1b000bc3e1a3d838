"""New links to news: candidates that are fetched before all others, the one found last first."""

from collections.abc import Callable, Iterator

from agents.frontier.news import Prefixes
from agents.frontier.rows import PageRow
from models.frontier.queue import CandidateQueue
from models.url import host


class Fresh:
    """The candidates that a revisit brought and that are under a news prefix, ``limit`` at most.

    They are in the queues of the predicates too.
    """

    def __init__(self, prefixes: Prefixes, limit: int) -> None:
        self._prefixes = prefixes
        self._queue = CandidateQueue(limit)

    def __len__(self) -> int:
        return len(self._queue)

    def __iter__(self) -> Iterator[str]:
        return iter(self._queue)

    def wants(self, row: PageRow) -> bool:
        """Tell whether a page is one of these."""
        return row.found is not None and self._prefixes.match(row.url) is not None

    def offer(self, row: PageRow) -> None:
        """Take in a candidate, if it is one of these."""
        if row.found is not None and self.wants(row):
            self._queue.put(row.url, host(row.url), row.found.time, row.discovered)

    def discard(self, url: str) -> None:
        """Take out a candidate, if it is here."""
        self._queue.discard(url)

    def best(self, ready: Callable[[str], bool]) -> str | None:
        """Return the newest of those whose hosts are ready."""
        best = self._queue.best(1, ready)
        return best[0] if best else None
