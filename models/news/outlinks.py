"""Which pages lead to which, and the hubs among them (Wang 2007, sections 4.2 and 5.1)."""

from collections.abc import Container
from heapq import nsmallest
from typing import Literal, NamedTuple

from scentline.models.domain import owner
from scentline.models.url import host

#: Pages that a page's clicks come from, at most.
REFERRERS = 16


def remember(referrers: dict[str, int], referrer: str, url: str) -> None:
    """Count a click on ``url`` from a page, among the `REFERRERS` that are kept.

    Without room it replaces one that is less likely a hub: pages of the same owner come before others, and URLs
    without a query before those with one, as answers of a search have. Of equals the first stay.

    >>> referrers = {f"http://search.test/?q={number}": 1 for number in range(REFERRERS)}
    >>> for page in ("http://a.org/new", "http://search.test/?q=a"):
    ...     remember(referrers, page, "http://a.org/1")
    >>> len(referrers), "http://a.org/new" in referrers, "http://search.test/?q=a" in referrers
    (16, True, False)
    """

    def likely(page: str) -> tuple[bool, bool]:
        return owner(host(page)) == owner(host(url)), "?" not in page

    if referrer not in referrers and len(referrers) >= REFERRERS:
        least = min(reversed(referrers), key=likely)
        if likely(referrer) <= likely(least):
            return
        del referrers[least]
    referrers[referrer] = referrers.get(referrer, 0) + 1


class Hub(NamedTuple):
    """A page that leads to news: to so many news pages, by so many clicks, and to so many pages in all."""

    url: str
    news: int
    clicks: int
    pages: int


class Outlinks:
    """The pages that each page leads to: by a click, as a referrer shows, or by a link that was read.

    Of a page the last ``targets`` are kept, of all pages ``pairs`` of source and target: beyond these the
    sources with the fewest targets are forgotten, until a tenth is free. 100 MB at most beside the URLs.

    >>> outlinks = Outlinks()
    >>> outlinks.add("http://a.org/", "http://a.org/1", clicks=1)
    >>> outlinks.add("http://a.org/", "http://a.org/2")
    >>> outlinks.hubs({"http://a.org/1", "http://a.org/2"}, 10)
    [Hub(url='http://a.org/', news=2, clicks=1, pages=2)]
    """

    def __init__(self, *, targets: int = 2_000, pairs: int = 500_000) -> None:
        if not 1 <= targets <= pairs:
            raise ValueError(
                f"outlinks: {targets} targets of {pairs} pairs, expected 1 at least, within the pairs"
            )
        self._targets: dict[str, dict[str, int]] = {}
        self._bound, self._limit = targets, pairs
        self._pairs = 0

    def __len__(self) -> int:
        return self._pairs

    def add(self, source: str, target: str, clicks: int = 0) -> None:
        """Note that ``source`` leads to ``target``, another page, and how many clicks went there."""
        if source == target:
            return
        targets = self._targets.setdefault(source, {})
        before = targets.pop(target, None)  # so that it becomes the one seen last
        targets[target] = (before or 0) + clicks
        if before is not None:
            return
        if len(targets) > self._bound:
            del targets[next(iter(targets))]
            return
        self._pairs += 1
        if self._pairs > self._limit:
            self._forget()

    def hubs(self, news: Container[str], count: int, by: Literal["links", "clicks"] = "links") -> list[Hub]:
        """Return the ``count`` pages that lead to the most news pages, or by the most clicks, first of all.

        A page that leads to a single one is no hub. It may be the answer to one user's search.
        """
        found = (self._hub(source, targets, news) for source, targets in self._targets.items())
        first, second = ("news", "clicks") if by == "links" else ("clicks", "news")
        return nsmallest(
            count,
            (hub for hub in found if hub.news > 1),
            key=lambda hub: (-getattr(hub, first), -getattr(hub, second), hub.url),
        )

    def reached(self, sources: Container[str], news: Container[str]) -> int:
        """Return how many distinct news pages the ``sources`` lead to."""
        return len(
            {
                target
                for source, targets in self._targets.items()
                if source in sources
                for target in targets
                if target in news
            }
        )

    @staticmethod
    def _hub(source: str, targets: dict[str, int], news: Container[str]) -> Hub:
        clicks = [times for target, times in targets.items() if target in news]
        return Hub(source, len(clicks), sum(clicks), len(targets))

    def _forget(self) -> None:
        wanted = self._limit - self._limit // 10
        for source in sorted(self._targets, key=lambda source: (len(self._targets[source]), source)):
            if self._pairs <= wanted:
                return
            self._pairs -= len(self._targets.pop(source))
