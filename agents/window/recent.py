"""The newest judged pages, changes and dead letters, in memory, and harvest curves, thinned."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

import msgspec

from scentline.agents.operate.record import read_change, read_letter, read_point, records
from scentline.agents.operate.versions import Listed, after, read_listed
from scentline.agents.window.search import Search, runs
from scentline.models.published import Change, HarvestPoint
from scentline.models.records import RecordError
from scentline.streams.logging import printable
from scentline.streams.topics import CHANGES, DEAD_LETTERS, HARVEST, OUTCOMES
from scentline.streams.transport.database import Entry
from scentline.streams.transport.journal import Journal

#: Most judged pages, changes and dead letters held, of all partitions together.
MOST_PAGES, MOST_CHANGES, MOST_LETTERS = 2_000, 2_000, 1_000
#: Most points of each predicate's harvest curve.
MOST_POINTS = 500
#: Places where a long curve is sampled, and records in a row at each: enough for as many predicates.
PLACES, RUN = 100, 20
#: Bytes of a partition after which a view reads no more.
_BYTES = 2_000_000
#: Characters kept of a title, searched of a URL, and kept of a reason.
TITLE, URL, _REASON = 300, 500, 200
_NUMBERS = re.compile(r"[0-9]+")

#: Most partitions of a topic: records are numbered by offset and partition.
_PARTITIONS = 1 << 12

T = TypeVar("T")


class Place(NamedTuple):
    """A place in a list, newest first: behind the record with this time and number."""

    time: float
    id: int


class Recent(ABC, Generic[T]):
    """The newest records of a topic, with places, at most ``most``, one per key."""

    def __init__(self, journal: Journal, topic: str, most: int) -> None:
        self._journal = journal
        self._topic = topic
        self._most = most
        self._offsets: dict[int, int] = {}
        self._sorted: list[tuple[Place, T]] | None = None
        self.held: dict[Hashable, tuple[Place, T]] = {}

    @abstractmethod
    def _take(self, number: int, entry: Entry) -> None:
        """Apply an entry with its number; raises `RecordError` if it can't be read."""

    def put(self, key: Hashable, place: Place, record: T) -> None:
        """Hold a record, which replaces the one of its key; beyond the bound, drop the one held longest."""
        self._sorted = None
        self.held.pop(key, None)
        self.held[key] = place, record
        if len(self.held) > self._most:
            del self.held[next(iter(self.held))]

    def newest(self, after: Place | None, most: int, wanted: Callable[[T], object]) -> list[tuple[Place, T]]:
        """Return wanted records, newest first, from behind a place."""
        self.follow()
        if self._sorted is None:
            self._sorted = sorted(self.held.values(), key=lambda found: found[0], reverse=True)
        found = (each for each in self._sorted if (after is None or each[0] < after) and wanted(each[1]))
        return list(islice(found, most))

    def follow(self) -> None:
        """Read new records; of more than ``most``, and at first, the newest."""
        journal, places = self._journal, self._places()
        for topic, partition in places:
            end = journal.end(topic, partition)
            first = max(journal.start(topic, partition), end - max(1, self._most // len(places)))
            at = max(first, self._offsets.get(partition, 0))
            found = journal.read(topic, partition, at, end - at, _BYTES) if at < end else []
            self._offsets[partition] = found[-1].offset + 1 if found else end
            for entry in found:
                with suppress(RecordError):
                    self._take(entry.offset * _PARTITIONS + partition, entry)

    @property
    def older(self) -> bool:
        """Whether the topic has more records than are held."""
        return self.total() > self._most

    def total(self) -> int:
        """Return how many records the topic keeps."""
        ends = ((self._journal.start(*place), self._journal.end(*place)) for place in self._places())
        return sum(end - start for start, end in ends)

    def _places(self) -> list[tuple[str, int]]:
        journal, topic = self._journal, self._topic
        return [(topic, part) for part in range(journal.partitions(topic) if topic in journal.topics() else 0)]


# judged pages


class RecentPage(NamedTuple):
    """A judged page's current state: its newest outcome, with the verdicts of later predicates."""

    outcome: Listed
    title: str
    #: Why it left, None if it did not.
    left: str | None
    #: The words of its title and of its URL.
    words: tuple[list[str], list[str]]

    @property
    def holds(self) -> tuple[str, ...]:
        """The predicates that it satisfies now."""
        return () if self.left is not None else tuple(n for n, hit in self.outcome.verdict.items() if hit)


class RecentPages(Recent[RecentPage]):
    """The pages judged last, as `agents.operate.versions.after` has them."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal, OUTCOMES.name, MOST_PAGES)

    def pages(
        self,
        predicate: str | None = "",
        search: Search | None = None,
        after: Place | None = None,
        most: int = 50,
    ) -> list[tuple[Place, RecentPage]]:
        """Return pages that satisfy a predicate, or any, and match the search in title or URL.

        With None they need not satisfy any. They come newest first, from behind a place.
        """

        def wanted(page: RecentPage) -> bool:
            among = predicate is None or (predicate in page.holds if predicate else bool(page.holds))
            return among and (not search or search.is_in(page.words))

        return self.newest(after, most, wanted)

    def page(self, url: str) -> RecentPage | None:
        """Return the page of a canonical URL, None if it is not among the newest."""
        self.follow()
        return self.held[url][1] if url in self.held else None

    def _take(self, number: int, entry: Entry) -> None:
        for _, _, outcome in read_listed(entry.value or b"").facts:
            place, known = self.held.get(outcome.url, (Place(outcome.time, number), None))
            now = after(known and known.outcome, outcome)
            if now is None or (known is not None and now is known.outcome):
                continue
            left = None if now.left is msgspec.UNSET else printable(now.left, TITLE)
            words = runs(now.title), runs(now.url[:URL])
            place = place if outcome.later else Place(now.time, number)
            self.put(now.url, place, RecentPage(now, printable(now.title, TITLE), left, words))


# changes


class RecentChanges(Recent[Change]):
    """The newest changes of a crawl that visits pages again, each once."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal, CHANGES.name, MOST_CHANGES)

    def changes(
        self, predicate: str = "", after: Place | None = None, most: int = 50
    ) -> list[tuple[Place, Change]]:
        """Return changes of a predicate's matches, or any, newest first, from behind a place."""
        return self.newest(after, most, lambda each: predicate in ("", each.predicate))

    def excerpt(self, url: str, predicates: Iterable[str]) -> str:
        """Return the words by which a page last satisfied one of the predicates, if known."""
        wanted = frozenset(predicates)
        found = self.newest(None, 1, lambda each: each.url == url and each.excerpt and each.predicate in wanted)
        return found[0][1].excerpt if found else ""

    def _take(self, number: int, entry: Entry) -> None:
        found = read_change(entry.value or b"")
        self.put((found.origin, found.predicate, found.kind), Place(found.time, number), found)


# dead letters


class Letters(NamedTuple):
    """Similar dead letters of a topic: their number, and time, place and reason of the last."""

    topic: str
    why: str
    letters: int
    time: float
    place: str
    reason: str


class RecentLetters(Recent[Letters]):
    """The newest dead letters, by topic, place and reason, without their contents."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal, DEAD_LETTERS.name, MOST_LETTERS)

    def alike(self) -> list[Letters]:
        """Return the letters in groups of similar ones, the largest first.

        A letter that a restart repeated counts once, as the last.
        """
        self.follow()
        groups: dict[tuple[str, str, str], list[Letters]] = {}
        for _, each in self.held.values():
            groups.setdefault((each.topic, each.why, _NUMBERS.sub("0", each.reason)), []).append(each)
        newest = (max(group, key=lambda each: each.time) for group in groups.values())
        found = (each._replace(letters=len(group)) for each, group in zip(newest, groups.values(), strict=True))
        return sorted(found, key=lambda each: (-each.letters, each))

    def _take(self, number: int, entry: Entry) -> None:
        letter = read_letter(entry)
        topic, reason = printable(letter.topic, _REASON), printable(letter.reason, _REASON)
        place = f"{topic}/{letter.partition}@{letter.offset}"
        each = Letters(topic, letter.why, 1, letter.time, place, reason)
        self.put((topic, place, reason), Place(letter.time, number), each)


# harvest curves


class Points:
    """The harvest curves of a crawl, thinned: one that becomes too long loses every second point.

    The newest point always stays.
    """

    def __init__(self, most: int = MOST_POINTS) -> None:
        self.curves: dict[str, list[HarvestPoint]] = {}
        self._most = most
        self._offsets: dict[int, int] = {}
        self._apart: dict[str, int] = {}

    def follow(self, journal: Journal) -> None:
        """Read new points; where they are many, samples from start to end."""
        for partition in range(journal.partitions(HARVEST.name)):
            start, end = journal.start(HARVEST.name, partition), journal.end(HARVEST.name, partition)
            at = self._offsets.get(partition)
            if at is None or at < start or end - at > PLACES * RUN:
                places = range(start, end, max(RUN, (end - start) // PLACES))
                self._sample(journal, partition, [*places[:-1], max(start, end - RUN)], RUN)
            elif at < end:
                self._sample(journal, partition, [at], PLACES * RUN)

    def _sample(self, journal: Journal, partition: int, places: Iterable[int], most: int) -> None:
        for place in places:
            found = journal.read(HARVEST.name, partition, place, most)
            self.add(records(found, read_point))
            self._offsets[partition] = found[-1].offset + 1 if found else place

    def add(self, points: Iterable[HarvestPoint]) -> None:
        """Add points in the order of their topic."""
        for point in points:
            self._add(point)

    def _add(self, point: HarvestPoint) -> None:
        curve = self.curves.setdefault(point.predicate, [])
        apart = self._apart.setdefault(point.predicate, 1)
        if curve and point.pages < curve[-1].pages:
            return
        if len(curve) >= 2 and curve[-1].pages < curve[-2].pages + apart:
            curve.pop()  # it stayed only as the newest
        curve.append(point)
        if len(curve) > self._most:
            curve[:-1] = curve[:-1][::2]
            self._apart[point.predicate] = max(1, curve[-1].pages // (self._most // 2))
