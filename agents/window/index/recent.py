"""The newest records of a topic, in memory: changes, dead letters, and hits that are not indexed yet."""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

import msgspec

from scentline.agents.operate.inspect.record import read_change
from scentline.agents.window.index.pages import (
    PARTITIONS,
    TITLE,
    IndexedPage,
    PageIndex,
    Place,
    ShownOutcome,
    apply,
    outcomes_of,
)
from scentline.streams.logging import printable
from scentline.streams.published import Change
from scentline.streams.records import DeadLetter, Decoder, RecordError
from scentline.streams.topics import CHANGES, DEAD_LETTERS, OUTCOMES
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry

#: Changes, dead letters and outcomes that are held, of all partitions together.
MOST_CHANGES, MOST_LETTERS, MOST_OUTCOMES = 2_000, 1_000, 400
#: Bytes of a partition from which on no more are read for one view.
_BYTES = 2_000_000
#: Characters kept of a reason.
_REASON = 200
_NUMBERS = re.compile(r"[0-9]+")
_letter = Decoder[DeadLetter](DeadLetter)

T = TypeVar("T")


class Recent(Generic[T]):
    """The newest records of a topic, of ``most`` in all, each as ``read`` yields it of a partition's entry."""

    def __init__(
        self, journal: Journal, topic: str, most: int, read: Callable[[int, Entry], Iterable[T]]
    ) -> None:
        self._journal = journal
        self._topic = topic
        self._most = most
        self._read = read
        self._parts: defaultdict[int, deque[tuple[int, T]]] = defaultdict(deque)
        self._ranges: dict[int, tuple[int, int]] = {}

    def follow(self) -> bool:
        """Read some of what came since; return whether anything came or went."""
        before = dict(self._ranges)
        count = self._journal.partitions(self._topic) if self._topic in self._journal.topics() else 0
        for partition in range(count):
            end = self._journal.end(self._topic, partition)
            first = max(self._journal.start(self._topic, partition), end - max(1, self._most // count))
            _, at = self._ranges.get(partition, (first, first))
            at = max(at, first)
            part = self._parts[partition]
            while part and part[0][0] < first:
                part.popleft()
            if at < end:
                found = self._journal.read(self._topic, partition, at, end - at, _BYTES)
                part += ((entry.offset, each) for entry in found for each in self._read(partition, entry))
                at = found[-1].offset + 1 if found else end
            self._ranges[partition] = first, at
        return before != self._ranges

    def __iter__(self) -> Iterator[T]:
        return (each for part in self._parts.values() for _, each in part)

    def total(self) -> int:
        """Return how many records the topic keeps."""
        journal, topic = self._journal, self._topic
        parts = range(journal.partitions(topic) if topic in journal.topics() else 0)
        return sum(journal.end(topic, part) - journal.start(topic, part) for part in parts)


class RecentChanges:
    """The newest changes of a crawl that visits pages again; none of them comes twice."""

    def __init__(self, journal: Journal) -> None:
        self._recent = Recent(journal, CHANGES.name, MOST_CHANGES, _change)
        self._newest: list[tuple[Place, Change]] = []

    def _look(self) -> list[tuple[Place, Change]]:
        if self._recent.follow():
            once = {(each.origin, each.predicate, each.kind): (place, each) for place, each in self._recent}
            self._newest = sorted(once.values(), key=lambda found: found[0], reverse=True)
        return self._newest

    def newest(
        self, predicate: str = "", after: Place | None = None, most: int = 50
    ) -> list[tuple[Place, Change]]:
        """Return changes of a predicate's matches, or any, the newest first, behind a place in that list."""
        found = (each for each in self._look() if after is None or each[0] < after)
        return [each for each in found if predicate in ("", each[1].predicate)][:most]

    @property
    def older(self) -> bool:
        """Whether there are changes that are not among the newest."""
        return self._recent.total() > MOST_CHANGES

    def excerpt(self, url: str, predicates: Iterable[str]) -> str:
        """Return the words by which a page last satisfied one of the predicates, where they are known."""
        wanted = frozenset(predicates)
        found = (each for _, each in self._look() if each.url == url and each.excerpt)
        return next((each.excerpt for each in found if each.predicate in wanted), "")


def _change(partition: int, entry: Entry) -> Iterator[tuple[Place, Change]]:
    with suppress(RecordError):
        found = read_change(entry.value or b"")
        texts = {
            name: printable(getattr(found, name), TITLE) for name in ("kind", "title", "excerpt", "reason")
        }
        place = Place(found.time, entry.offset * PARTITIONS + partition)
        yield place, msgspec.structs.replace(found, **texts)


class Letters(NamedTuple):
    """Dead letters of a topic that are alike: so many, and time, place and reason of the last of them."""

    topic: str
    why: str
    letters: int
    time: float
    place: str
    reason: str


class RecentLetters:
    """The newest dead letters, by what they are of and why: nothing of what they hold."""

    def __init__(self, journal: Journal) -> None:
        self._recent = Recent(journal, DEAD_LETTERS.name, MOST_LETTERS, _dead_letter)
        self._alike: list[Letters] = []

    def alike(self) -> list[Letters]:
        """Return the letters, those that are alike together, where most are first.

        Of a letter that a restart repeated the last counts.
        """
        if self._recent.follow():
            once = {(each.topic, each.place, each.reason): each for each in self._recent}
            groups: dict[tuple[str, str, str], list[Letters]] = {}
            for each in once.values():
                groups.setdefault((each.topic, each.why, _NUMBERS.sub("0", each.reason)), []).append(each)
            found = [
                max(group, key=lambda each: each.time)._replace(letters=len(group)) for group in groups.values()
            ]
            self._alike = sorted(found, key=lambda each: (-each.letters, each))
        return self._alike

    def total(self) -> int:
        """Return how many letters are kept."""
        return self._recent.total()


def _dead_letter(partition: int, entry: Entry) -> Iterator[Letters]:
    try:
        letter = _letter(entry.value or b"")
    except RecordError as error:
        topic, why, reason, time = DEAD_LETTERS.name, "unreadable", str(error), entry.timestamp
        place = f"{topic}/{partition}@{entry.offset}"
    else:
        topic, why, reason, time = printable(letter.topic, _REASON), letter.why, letter.reason, letter.time
        place = f"{topic}/{letter.partition}@{letter.offset}"
    yield Letters(topic, why, 1, time, place, printable(reason, _REASON))


class RecentPages:
    """Lists of hits and how many there are, as if the newest outcomes had been indexed.

    The index reads outcomes from the oldest on, in little of a core: on a large crawl it is behind for long. A
    page that was judged for the first time in between, and visited again since, counts as found by the visit.
    """

    def __init__(self, pages: PageIndex, journal: Journal) -> None:
        self._pages = pages
        self._recent = Recent[tuple[int, ShownOutcome]](
            journal, OUTCOMES.name, MOST_OUTCOMES, lambda partition, entry: outcomes_of(partition, [entry])
        )
        self._left = 0
        #: Pages that the newest outcomes changed, as they are by these, and as the index has them.
        self._now: dict[str, IndexedPage] = {}
        self._before: list[IndexedPage] = []

    def pages(self, predicate: str = "", after: Place | None = None, most: int = 50) -> list[IndexedPage]:
        """Return pages that satisfy a predicate, or any, the newest first, behind a place in that list."""
        self._look()
        over = (page for page in self._now.values() if after is None or page.place < after)
        found = [page for page in over if predicate in page.listed]
        found += self._indexed(predicate, after, most)
        return sorted(found, key=lambda page: page.place, reverse=True)[:most]

    def count(self, predicate: str = "") -> int:
        """Return how many pages satisfy a predicate, or any, as far as is known."""
        self._look()
        now, before = (
            sum(predicate in page.listed for page in pages) for pages in (self._now.values(), self._before)
        )
        return self._pages.count(predicate) + now - before

    def _indexed(self, predicate: str, after: Place | None, most: int) -> list[IndexedPage]:
        found: list[IndexedPage] = []
        while len(found) < most:
            more = self._pages.newest(predicate, after, most)
            found += (page for page in more if page.url not in self._now)
            if len(more) < most:
                break
            after = more[-1].place
        return found

    def _look(self) -> None:
        """Put the newest outcomes over the index, as long as it has not caught up."""
        left = self._pages.left()
        came = bool(left) and self._recent.follow()
        if left == self._left and not came:
            return
        self._left = left
        found = [each for each in self._recent if not self._pages.has_read(each[0])] if left else []
        before = self._pages.of({outcome.url for _, outcome in found})
        now = dict(before)
        for row, outcome in found:
            apply(now, row, outcome)
        self._now = {url: page for url, page in now.items() if page is not before.get(url)}
        self._before = [before[url] for url in self._now if url in before]
