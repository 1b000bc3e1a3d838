"""What all screens read, in one thread: a crawl's current directory, beside its writer."""

import fcntl
import os
import struct
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from scentline.agents.operate.control import Running
from scentline.agents.operate.explaining import Resting
from scentline.agents.operate.record import all_entries, definitions, entries, read_door, records
from scentline.agents.owners import Owner
from scentline.agents.window.copies import Answer, CopyRequest, TextSearch, found_texts, read
from scentline.agents.window.recent import Points, RecentChanges, RecentLetters, RecentPages
from scentline.agents.window.search import Search
from scentline.agents.worker.directory import of_crawl
from scentline.models.errors import ScentlineError, StorageError
from scentline.models.frontier.steered import Steered
from scentline.models.policy.explain import Explanation
from scentline.models.policy.speaking import Features
from scentline.models.published import (
    DOOR_KEY,
    SILENT_SECONDS,
    DoorStanding,
    HarvestPoint,
    PredicateDefinition,
    Standing,
)
from scentline.streams.settings import Settings
from scentline.streams.topics import CONTROL, SIGHTINGS, STANDING, TABLES
from scentline.streams.transport.database import JournalMissingError
from scentline.streams.transport.journal import Journal, TableMissingError, UnknownTopicError

#: Seconds for which what was read stays fresh.
FRESH_SECONDS = 0.5
#: Seconds of one wait for what is read beside the views.
WAIT_SECONDS = 0.02
#: Seconds for which an answer of the frontiers is cached, and most answers.
ASKED_SECONDS, MOST_ASKED = 0.9, 32
#: Seconds for which work goes on after a view of it, and how many works do so at most.
LOOKED_SECONDS, REMEMBERED = 20.0, 8
#: Most predicates that screens know: the first by name.
MOST_PREDICATES = 300
# The lock of RocksDB, and the fields of a lock for fcntl(2).
_LOCK = "LOCK"
_FLOCK = "hhqqi"


T = TypeVar("T")


class _Ahead(Generic[T]):
    """Work that continues in pieces, from one view to the next; ``value`` is its result so far."""

    def __init__(self, pieces: Iterator[tuple[T, bool]], now: float) -> None:
        self._pieces = pieces
        self.value, self._more = next(pieces)
        self.looked = now

    def step(self) -> bool:
        """Do a piece; return whether there is more to do now."""
        self.value, self._more = next(self._pieces, (self.value, False))
        return self._more


def _awaited(future: Future[T]) -> Iterator[tuple[T | None, bool]]:
    """Yield None until a future is done, then its result; what nobody looks at any more does not begin."""
    try:
        while not wait([future], WAIT_SECONDS).done:
            yield None, True
        yield future.result(), False
    finally:
        future.cancel()


class _Place(NamedTuple):
    """The file that each writer of a journal creates, when it did, and whether one writes now."""

    device: int
    file: int
    made: int
    written: bool


class Lists(NamedTuple):
    """A crawl's lists: the newest pages, changes and dead letters."""

    pages: RecentPages
    changes: RecentChanges
    letters: RecentLetters


class _Crawl:
    """A crawl's open journal, and all that is cached while it stays open."""

    def __init__(self, journal: Journal, place: _Place | None, settings: Settings) -> None:
        self.journal = journal
        self.place = place
        self.settings = settings
        self.lists = Lists(RecentPages(journal), RecentChanges(journal), RecentLetters(journal))
        self.resting = Resting(journal, settings)
        self.points = Points()
        self.control: tuple[int, dict[str, PredicateDefinition], Steered] = (0, {}, Steered())

    def open(self) -> str:
        """Read what was learned; return why it can't be read, above all for want of a table of word vectors."""
        try:
            self.resting.open()
        except (ScentlineError, ValueError) as error:
            return str(error)
        return ""


class Reading:
    """A crawl's directory; ``journal`` exists once a crawl has begun in it.

    Raises `JournalMissingError` for what no crawl has written yet.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self.data = settings.data
        self.now = clock()
        self._given = settings
        self._clock = clock
        self._read = float("-inf")
        self._opened: _Crawl | None = None
        self._running = Running(settings)
        self._asked: dict[tuple[object, ...], tuple[float, Any]] = {}
        self._ahead: dict[Hashable, _Ahead[Any]] = {}
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="beside")

    # opening

    def refresh(self) -> None:
        """Read what was written since; reopen the journal if a crawl began or ended.

        An open reader does not see what a writer moves out of its log as it ends.
        """
        self.now = self._clock()
        if self._opened is not None and self._read <= self.now < self._read + FRESH_SECONDS:
            return
        self._read = self.now
        if self._opened is not None and _place(self.data) != self._opened.place:
            self.close()
        try:
            if self._opened is not None:
                self._opened.journal.refresh()
        except StorageError:
            self.close()
        if self._opened is None:
            self._open()

    def _open(self) -> None:
        with suppress(JournalMissingError):
            place, settings = _place(self.data), of_crawl(self._given)
            journal = Journal.open(self.data / "journal", read_only=True)
            if _made(journal):
                self._opened = _Crawl(journal, place, settings)
            else:
                journal.close()

    def close(self) -> None:
        """Close the directory."""
        self._asked.clear()
        self._running.close()
        self._running = Running(self._given)
        self._ahead.clear()
        self._beside.shutdown(cancel_futures=True)
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="beside")
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.journal.close()

    @property
    def begun(self) -> bool:
        """Whether there is a crawl in the directory."""
        return self._opened is not None

    @property
    def _crawl(self) -> _Crawl:
        if self._opened is None:
            missing = "nothing there; expected the data directory of a crawl"
            raise JournalMissingError(f"reading the journal in {self.data / 'journal'}: {missing}")
        return self._opened

    @property
    def journal(self) -> Journal:
        """The crawl's journal, read-only."""
        return self._crawl.journal

    @property
    def lists(self) -> Lists:
        """The crawl's lists."""
        return self._crawl.lists

    @property
    def settings(self) -> Settings:
        """The settings of the crawl, as far as its directory has them; else the window's."""
        return self._given if self._opened is None else self._opened.settings

    def running(self) -> bool:
        """Return whether a crawl writes to the directory or, on Kafka, a worker reported lately."""
        if self.settings.on_kafka:
            return any(not each.final and each.time > self.now - SILENT_SECONDS for each in self.standings())
        return self.begun and _locked(self.data / "journal" / _LOCK)

    # work that goes on while it is viewed

    def copy(self, request: CopyRequest) -> Answer | None:
        """Return a kept copy as text, or why it can't be read; None while it is being read."""
        found = self.ahead(request, lambda: _awaited(self._beside.submit(read, [request])))
        return None if found is None else found[0]

    def texts(self, typed: str) -> TextSearch:
        """Continue a search in the newest kept copies, and return it."""

        def begin(requests: Sequence[CopyRequest]) -> Future[list[Answer]]:
            return self._beside.submit(read, requests)

        return self.ahead(("texts", typed), lambda: found_texts(self.data, Search(typed), begin))

    def ahead(self, name: Hashable, make: Callable[[], Iterator[tuple[T, bool]]]) -> T:
        """Continue a view's work, and return its result so far; work without views is dropped.

        ``make`` returns an iterator over its pieces: the result after each, and whether there is more to do.
        """
        known = self._ahead.items()
        used = {key: each for key, each in known if self.now < each.looked + LOOKED_SECONDS}
        found = used.pop(name, None)
        if found is None:
            found = _Ahead(make(), self.now)
        else:
            found.step()
        self._ahead = dict([*[*used.items()][1 - REMEMBERED :], (name, found)])
        found.looked = self.now
        value: T = found.value
        return value

    def work(self) -> float | None:
        """Do a piece of the work ahead of views; return its seconds, None if nothing is left to do."""
        begun = time.perf_counter()
        self.refresh()
        known = self._ahead.values()
        more = sum(each.step() for each in known if self.now < each.looked + LOOKED_SECONDS) > 0
        return time.perf_counter() - begun if more else None

    # what frontiers know

    def opened(self) -> str | None:
        """Return why what was learned can't be shown, empty if it can; None while it is being read."""
        if self._answered():
            return ""
        return self.ahead("opened", lambda: _awaited(self._beside.submit(self._crawl.open)))

    def _answered(self) -> bool:
        """Return whether the crawl's processes answer, not its directory."""
        return self.settings.on_kafka or self.running()

    @property
    def _owner(self) -> Owner:
        return self._running if self._answered() else self._crawl.resting

    def standings(self, predicate: str = "", hosts: Sequence[str] = ()) -> list[Standing]:
        """Return each frontier worker's standing, with a predicate's best candidates, and hosts.

        For a crawl at rest, and for a silent worker, it is the last one published.
        """
        return self._once(self._standings, predicate, tuple(hosts))

    def _standings(self, predicate: str, hosts: Sequence[str]) -> list[Standing]:
        published = self._crawl.resting.standings(predicate)
        if not self._answered():
            return published
        answered = self._running.standings(predicate, hosts)
        if sum(each.partitions for each in answered) >= max((each.of for each in answered), default=1):
            return answered
        known = {each.worker for each in answered}
        fresh = (each for each in published if not each.final and each.time > self.now - SILENT_SECONDS)
        return [*answered, *(each for each in fresh if each.worker not in known)]

    def doors(self) -> list[DoorStanding]:
        """Return the standing of each door that published it lately."""
        told = (
            each for each in all_entries(self.journal, STANDING.name) if (each.key or b"").startswith(DOOR_KEY)
        )
        return [each for each in records(told, read_door) if each.time > self.now - SILENT_SECONDS]

    def met(self, url: str) -> bool:
        """Return whether a crawl at rest has met a canonical URL; always True for a running one."""
        return self._answered() or self._crawl.resting.met(url)

    def explained(self, url: str) -> Explanation | None:
        """Return what is known about a canonical URL."""
        return self._once(self._owner.explain, url)

    def features(self, predicate: str, kind: str, side: str) -> Features | None:
        """Return what was learned about a predicate."""
        return self._once(self._owner.features, predicate, kind, side)

    def _once(self, ask: Callable[..., T], *about: Hashable) -> T:
        """Return an answer, requested once and cached for `ASKED_SECONDS`."""
        key = ask.__name__, *about
        time, found = self._asked.get(key, (float("-inf"), None))
        if not time <= self.now < time + ASKED_SECONDS:
            if len(self._asked) >= MOST_ASKED:
                self._asked.clear()
            found = ask(*about)
            self._asked[key] = self.now, found
        answer: T = found
        return answer

    # what several screens show

    def predicates(self) -> dict[str, PredicateDefinition]:
        """Return the predicates by name, without removed ones."""
        return self._control()[1]

    def steered(self) -> Steered:
        """Return the steering in force."""
        return self._control()[2]

    def _control(self) -> tuple[int, dict[str, PredicateDefinition], Steered]:
        crawl, journal, topic = self._crawl, self.journal, CONTROL.name
        end = journal.end(topic, 0) if topic in journal.topics() else 0
        if end != crawl.control[0]:
            known = dict(sorted(definitions(journal).items())[:MOST_PREDICATES])
            crawl.control = end, known, Steered(entries(journal, topic, 0))
        return crawl.control

    def points(self) -> dict[str, list[HarvestPoint]]:
        """Return each predicate's harvest curve, thinned, the newest point last."""
        points = self._crawl.points
        with suppress(UnknownTopicError):
            points.follow(self.journal)
        return points.curves


def _made(journal: Journal) -> bool:
    """Return whether a journal has all its tables, which its writer creates one by one.

    A reader never sees what the writer moves out of its log for a table that came later.
    """
    try:
        partitions = journal.partitions(SIGHTINGS.name)
        return all(len(journal.table(name)) == partitions for name in TABLES)
    except (UnknownTopicError, TableMissingError):
        return False


def _place(data: Path) -> _Place | None:
    """Return what changes with another journal there, or with another writer, which recreates the file."""
    try:
        found = (data / "journal" / "CURRENT").stat()
    except OSError:
        return None
    return _Place(found.st_dev, found.st_ino, found.st_mtime_ns, _locked(data / "journal" / _LOCK))


def _locked(path: Path) -> bool:
    try:
        number = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        wanted = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, *_ = struct.unpack(_FLOCK, fcntl.fcntl(number, fcntl.F_GETLK, wanted))
        return bool(kind != fcntl.F_UNLCK)
    except OSError:
        return False
    finally:
        os.close(number)
