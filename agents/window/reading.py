"""What all screens read: a crawl's directory, as it is now, beside the crawl that writes there.

All of it belongs to one thread: every method is called in that one.
"""

import fcntl
import os
import struct
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from scentline.agents.crawl.fixed import of_crawl
from scentline.agents.frontier.steered import Steered
from scentline.agents.operate.control.command import submit
from scentline.agents.operate.control.requests import RefusedError
from scentline.agents.operate.control.spool import WATCHING, Spool
from scentline.agents.operate.inspect.learning import Learning
from scentline.agents.operate.inspect.record import definitions, entries, read_point, read_standing
from scentline.agents.window.index.index import Index
from scentline.agents.window.kept.process import CopyReader
from scentline.agents.window.trials import PageTrial, Trials
from scentline.agents.window.watching import Watching
from scentline.streams.published import HarvestPoint, PredicateDefinition, Standing, Watch
from scentline.streams.records import RecordError
from scentline.streams.settings import Settings
from scentline.streams.topics import HARVEST, PREDICATES, SIGHTINGS, STANDING, STEERING, TABLES
from scentline.streams.transport.database import JournalMissingError, StorageError, TableMissingError
from scentline.streams.transport.journal import Journal, UnknownTopicError

#: Seconds for which what was read is new enough.
FRESH_SECONDS = 0.5
#: Seconds after which a frontier that has said nothing more is not there any more.
SILENT_SECONDS = 20.0
#: Points of a harvest curve that are kept for each predicate.
MOST_POINTS = 500
#: Of a long curve so many records in a row are read at so many places: some of each of as many predicates.
PLACES, RUN = 100, 20
#: Predicates that screens know; of more the first by name.
MOST_PREDICATES = 300
# The lock of RocksDB, and what fcntl(2) takes and gives to ask who holds one.
_LOCK = "LOCK"
_FLOCK = "hhqqi"


class _Place(NamedTuple):
    """A file that each writer of a journal makes, when that was, and whether one writes now."""

    device: int
    file: int
    made: int
    written: bool


class Reading:
    """A crawl's directory; ``journal`` is there as soon as a crawl has begun in it.

    Raises `JournalMissingError` where a screen asks for what no crawl has written yet.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self.data = settings.data
        self.now = clock()
        self._given = settings
        self._clock = clock
        self._read = float("-inf")
        self._journal: Journal | None = None
        self._place: _Place | None = None
        self._settings = settings
        self._index: Index | None = None
        self._learning: Learning | None = None
        self.copies = CopyReader()
        self._trials: Trials | None = None
        self._points = Points()
        self._predicates: dict[str, PredicateDefinition] = {}
        self._predicates_read = -1
        self._told: list[Standing] = []
        self._standings_read = -1
        self._steered, self._steered_read = Steered(), 0
        self.watching = Watching(self._ask)

    # opening

    def refresh(self) -> None:
        """See what was written since; a crawl that began in the directory, or ended, is opened anew.

        What a writer moves out of its log as it ends is hidden from who goes on by what was in the log.
        """
        self.now = self._clock()
        if self._journal is not None and self._read <= self.now < self._read + FRESH_SECONDS:
            return
        self._read = self.now
        if self._journal is not None and _place(self.data) != self._place:
            self.close()
        if self._journal is None:
            self._open()
            return
        try:
            self._journal.refresh()
        except StorageError:
            self.close()
            self._open()

    def _open(self) -> None:
        with suppress(JournalMissingError):
            place = _place(self.data)
            journal = Journal.open(self.data / "journal", read_only=True)
            if not _made(journal):
                journal.close()
                return
            self._journal, self._place = journal, place
            self._settings = of_crawl(self._given)
            self._points, self._predicates_read, self._standings_read = Points(), -1, -1
            self._steered, self._steered_read = Steered(), 0

    def close(self) -> None:
        """Let go of the directory."""
        self._learning = self._trials = None
        self.copies.close()
        index, self._index = self._index, None
        if index is not None:
            index.close()
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.close()

    @property
    def begun(self) -> bool:
        """Whether there is a crawl in the directory."""
        return self._journal is not None

    @property
    def journal(self) -> Journal:
        """The crawl's journal, to be read only."""
        if self._journal is None:
            raise JournalMissingError(f"no crawl has begun in {self.data} yet")
        return self._journal

    @property
    def index(self) -> Index:
        """What is looked up by other keys than the crawl's."""
        if self._index is None:
            self._index = Index(self.data, self.journal)
        return self._index

    @property
    def learning(self) -> Learning:
        """What the crawl has learned, as far as it is worked out."""
        if self._learning is None:
            self._learning = Learning(self.journal, self.settings)
        return self._learning

    @property
    def trials(self) -> Trials:
        """What steering would come to that was not asked for yet."""
        if self._trials is None:
            self._trials = Trials(self.journal, self._settings)
        return self._trials

    def next_pages(self) -> tuple[PageTrial, list[bytes]] | None:
        """Return the next kept pages to be judged by a predicate on trial, None where nobody waits for any."""
        if self._trials is None:
            return None
        self.refresh()
        return None if self._trials is None else self._trials.next_pages()

    def work(self) -> float | None:
        """Do a piece of the work that is done ahead of views; return its seconds, None where none is left."""
        begun = time.perf_counter()
        self.refresh()
        more = self.begun and any([self.trials.step(), self.index.step(), self.learning.step(self.now)])
        return time.perf_counter() - begun if more else None

    @property
    def settings(self) -> Settings:
        """The settings of the crawl, as far as its directory tells; else those that the window was given."""
        return self._settings

    def running(self) -> bool:
        """Tell whether a crawl writes to the directory at this moment, or on Kafka, if a frontier tells."""
        if self.settings.on_kafka:
            return any(not each.final and each.time > self.now - SILENT_SECONDS for each in self.standings())
        return self.begun and _locked(self.data / "journal" / _LOCK)

    # what frontiers tell while somebody looks

    def standings(self) -> list[Standing]:
        """Return how each frontier worker stands; of a crawl at rest, how it stood when it ended.

        A worker whose partitions another one has now, or that says no more, is not among them.
        """
        newest: dict[str, Standing] = {}
        for standing in self._standings():
            known = newest.get(standing.worker)
            if known is None or known.time < standing.time:
                newest[standing.worker] = standing
        last = max((standing.time for standing in newest.values()), default=0.0)
        return [each for each in newest.values() if each.time > last - SILENT_SECONDS]

    def best(self, predicate: str) -> list[Standing]:
        """Return what frontiers told last of a predicate's best candidates, of each worker one."""
        last = {standing.worker: standing.time for standing in self.standings()}
        told = (each for each in self._standings() if each.best_of == predicate and each.worker in last)
        return [each for each in told if each.time > last[each.worker] - SILENT_SECONDS]

    def _standings(self) -> list[Standing]:
        end = self._end(STANDING.name, 0)
        if end != self._standings_read:
            self._told, self._standings_read = [], end
            for entry in entries(self.journal, STANDING.name, 0) if end else ():
                with suppress(RecordError):
                    self._told.append(read_standing(entry.value or b""))
        return self._told

    def _ask(self, watch: Watch) -> None:
        if self.settings.on_kafka:
            submit(self.settings, watch)
        elif self.running():
            with suppress(RefusedError):  # another window, or top, asks in the same moment: it is renewed soon
                Spool(self.data).put(watch, WATCHING)

    # what several screens show

    def predicates(self) -> dict[str, PredicateDefinition]:
        """Return the predicates by name, those that were removed left out."""
        end = self._end(PREDICATES.name, 0)
        if end != self._predicates_read:
            found = sorted(definitions(self.journal), key=lambda each: each.name) if end else []
            self._predicates = {each.name: each for each in found[:MOST_PREDICATES]}
            self._predicates_read = end
        return self._predicates

    def steered(self) -> Steered:
        """Return how people steer the crawl."""
        end = self._end(STEERING.name, 0)
        if end > self._steered_read:
            start = max(self._steered_read, self.journal.start(STEERING.name, 0))
            for entry in entries(self.journal, STEERING.name, 0, start):
                self._steered.hear(entry.value)
            self._steered_read = end
        return self._steered

    def points(self) -> dict[str, list[HarvestPoint]]:
        """Return each predicate's harvest curve, thinned, the newest point last."""
        with suppress(UnknownTopicError):
            self._points.follow(self.journal)
        return self._points.curves

    def _end(self, topic: str, partition: int) -> int:
        try:
            return self.journal.end(topic, partition)
        except UnknownTopicError:
            return 0


class Points:
    """The harvest curves of a crawl, read as they come: the newest point is always there, of the others some.

    Where a curve has become too long, every second point leaves; those that come later are as far apart.
    """

    def __init__(self, most: int = MOST_POINTS) -> None:
        self.curves: dict[str, list[HarvestPoint]] = {}
        self._most = most
        self._offsets: dict[int, int] = {}
        self._apart: dict[str, int] = {}

    def follow(self, journal: Journal) -> None:
        """Take in what came since; of a long curve that was never read, a part from every place."""
        for partition in range(journal.partitions(HARVEST.name)):
            start, end = journal.start(HARVEST.name, partition), journal.end(HARVEST.name, partition)
            at = self._offsets.get(partition)
            if at is None or at < start or end - at > PLACES * RUN:
                places = range(start, end, max(RUN, (end - start) // PLACES))
                self._take_in(journal, partition, [*places[:-1], max(start, end - RUN)], RUN)
            elif at < end:
                self._take_in(journal, partition, [at], PLACES * RUN)

    def _take_in(self, journal: Journal, partition: int, places: Iterable[int], records: int) -> None:
        for place in places:
            found = journal.read(HARVEST.name, partition, place, records)
            self.add(entry.value for entry in found)
            self._offsets[partition] = found[-1].offset + 1 if found else place

    def add(self, values: Iterable[bytes | None]) -> None:
        """Take in points in the order of their topic; what can't be read is passed over."""
        for value in values:
            with suppress(RecordError):
                self._add(read_point(value or b""))

    def _add(self, point: HarvestPoint) -> None:
        curve = self.curves.setdefault(point.predicate, [])
        apart = self._apart.setdefault(point.predicate, 1)
        if curve and point.pages < curve[-1].pages:
            return
        if len(curve) >= 2 and curve[-1].pages < curve[-2].pages + apart:
            curve.pop()  # the newest stood for those to come
        curve.append(point)
        if len(curve) > self._most:
            curve[:-1] = curve[:-1][::2]
            self._apart[point.predicate] = max(1, curve[-1].pages // (self._most // 2))


def _made(journal: Journal) -> bool:
    """Tell whether a journal that was opened has all its tables: the writer makes one after the other.

    One that came later would keep this process from ever seeing what the writer moves out of its log.
    """
    try:
        partitions = journal.partitions(SIGHTINGS.name)
        return all(len(journal.table(name)) == partitions for name in TABLES)
    except (UnknownTopicError, TableMissingError):
        return False


def _place(data: Path) -> _Place | None:
    """Return what tells a crawl's journal from another in its place later, and from itself with another writer.

    A writer makes the file anew as it begins.
    """
    try:
        found = (data / "journal" / "CURRENT").stat()
    except OSError:
        return None
    return _Place(found.st_dev, found.st_ino, found.st_mtime_ns, _locked(data / "journal" / _LOCK))


def _locked(path: Path) -> bool:
    """Tell whether another process holds a file's lock; it only asks, so that no crawl's start fails by it."""
    try:
        number = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, *_ = struct.unpack(_FLOCK, fcntl.fcntl(number, fcntl.F_GETLK, asked))
        return bool(kind != fcntl.F_UNLCK)
    except OSError:
        return False
    finally:
        os.close(number)
