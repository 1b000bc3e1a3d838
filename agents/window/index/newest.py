"""The newest hits, also those that the index of pages has not come to yet.

It takes in outcomes from the oldest on, in little of a core: on a large crawl it is behind for long. Until it
has caught up, the last outcomes of each partition lie over what it says.
"""

from collections.abc import Iterator

from scentline.agents.window.index.pages import (
    PARTITIONS,
    IndexedPage,
    PageIndex,
    Place,
    ShownOutcome,
    outcomes_of,
    take,
)
from scentline.streams.topics import OUTCOMES
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry

#: Outcomes that lie over the index, and how many earlier ones are read at a time: of all partitions together.
MOST, AT_ONCE = 400, 100


class _End:
    """The last outcomes of a partition, as far as they were read: those from ``start`` to ``end``."""

    def __init__(self, end: int) -> None:
        self.start = self.end = end
        self.outcomes: list[tuple[int, ShownOutcome]] = []


class NewestPages:
    """Lists of hits and how many there are, as if the newest outcomes had been taken in.

    What is between them and those that were is not known: a page that was judged there for the first time, and
    visited again since, is one that the visit found.
    """

    def __init__(self, pages: PageIndex, journal: Journal) -> None:
        self._pages = pages
        self._journal = journal
        self._ends: dict[int, _End] = {}
        self._known_as: list[tuple[int, int, int]] = []
        #: Pages that the newest outcomes changed, as they are by these, and as the index has them.
        self._now: dict[str, IndexedPage] = {}
        self._before: list[IndexedPage] = []

    def pages(self, predicate: str = "", after: Place | None = None, most: int = 50) -> list[IndexedPage]:
        """Return pages that satisfy a predicate, or any, the newest first, behind a place in that list."""
        self._look()
        over = (page for page in self._now.values() if after is None or page.place < after)
        found = [page for page in over if _satisfies(page, predicate)]
        found += self._indexed(predicate, after, most)
        return sorted(found, key=lambda page: page.place, reverse=True)[:most]

    def count(self, predicate: str = "") -> int:
        """Return how many pages satisfy a predicate, or any, as far as is known."""
        self._look()
        now = sum(_satisfies(page, predicate) for page in self._now.values())
        return self._pages.count(predicate) + now - sum(_satisfies(page, predicate) for page in self._before)

    def _indexed(self, predicate: str, after: Place | None, most: int) -> list[IndexedPage]:
        """Return what the index has of a list: pages that no outcome changed since."""
        found: list[IndexedPage] = []
        while len(found) < most:
            more = self._pages.newest(predicate, after, most)
            found += (page for page in more if page.url not in self._now)
            if len(more) < most:
                break
            after = more[-1].place
        return found

    # reading the ends

    def _look(self) -> None:
        """Read what came, and some of what was before; nothing stays once the index has caught up."""
        if not self._pages.left():
            self._ends.clear()
            self._known_as, self._now, self._before = [], {}, []
            return
        partitions = self._journal.partitions(OUTCOMES.name)
        for partition in range(partitions):
            self._read(partition, max(1, MOST // partitions), max(1, AT_ONCE // partitions))
        known_as = [(self._pages.position(each), end.start, end.end) for each, end in self._ends.items()]
        if known_as != self._known_as:
            self._known_as = known_as
            self._take_in()

    def _read(self, partition: int, most: int, at_once: int) -> None:
        last = self._journal.end(OUTCOMES.name, partition)
        first = max(self._pages.position(partition), last - most)
        end = self._ends.get(partition)
        if end is None or not first <= end.end <= last:
            end = self._ends[partition] = _End(last)
        earlier = max(first, end.start - at_once)
        end.outcomes = [
            *outcomes_of(partition, self._records(partition, earlier, end.start)),
            *(each for each in end.outcomes if each[0] >= first * PARTITIONS),
            *outcomes_of(partition, self._records(partition, end.end, last)),
        ]
        end.start, end.end = earlier, last

    def _records(self, partition: int, start: int, end: int) -> Iterator[Entry]:
        while start < end:
            found = self._journal.read(OUTCOMES.name, partition, start, end - start)
            yield from (entry for entry in found if entry.offset < end)
            start = found[-1].offset + 1 if found else end

    def _take_in(self) -> None:
        told = [each for end in self._ends.values() for each in end.outcomes]
        before = self._pages.of({outcome.url for _, outcome in told})
        now = dict(before)
        for row, outcome in told:
            take(now, row, outcome)
        self._now = {url: page for url, page in now.items() if page is not before.get(url)}
        self._before = [before[url] for url in self._now if url in before]


def _satisfies(page: IndexedPage, predicate: str) -> bool:
    return predicate in page.holds if predicate else bool(page.holds)
