"""What was expected of the pages that a crawl chose, and what came of it, read of their outcomes step by step.

The newest are read first, then those before them, so that there is an answer long before all are read.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from heapq import merge
from operator import attrgetter
from typing import NamedTuple

import msgspec

from scentline.models.reliability import Running
from scentline.models.verdict import Verdict
from scentline.streams.records import UNREADABLE, VERSION, Finite, Time
from scentline.streams.topics import OUTCOMES
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry

#: Outcomes that are read at a step: each has the words and links of its page.
STEP = 25
#: Chosen pages that are kept, the newest, over all partitions.
NEWEST = 5_000
#: Predicates that are told apart: so many a crawl never has.
MOST_PREDICATES = 1_000


class Chosen(NamedTuple):
    """A page that was chosen for a predicate: the probability of a hit as it was told, and whether it is one.

    ``explored`` tells that chance alone chose it.
    """

    time: float
    url: str
    predicate: str
    expected: float
    explored: bool
    hit: bool


class _Told(msgspec.Struct):
    """What is read of an `Outcome`."""

    version: int
    url: str
    time: Time
    verdict: Verdict
    predicate: str
    explored: bool
    expected: Finite | None
    later: bool = False
    again: bool | msgspec.UnsetType = msgspec.UNSET


_decode = msgspec.json.Decoder(_Told).decode


class _Part:
    """What is read of a partition: offsets from ``low`` up to ``high``, and the newest chosen pages there."""

    def __init__(self, end: int, most: int) -> None:
        self.low = self.high = end
        self.newest: deque[Chosen] = deque(maxlen=most)

    @property
    def full(self) -> bool:
        """Whether there is no room for a page that was chosen before those."""
        return len(self.newest) == self.newest.maxlen


class Expectations:
    """Counts, for each predicate and for selected and explored pages apart, how well probabilities held.

    Visits of pages again and verdicts of later predicates were not chosen by a probability, and are left out.
    Of ``pages`` that were told, ``read`` were read so far.
    """

    def __init__(self, newest: int = NEWEST) -> None:
        self._most = newest
        self._parts: dict[int, _Part] = {}
        self._running: dict[tuple[str, bool], Running] = {}
        self.pages = self.read = 0

    def step(self, journal: Journal) -> bool:
        """Read a few outcomes, if there are some to be read; return whether there are more."""
        if OUTCOMES.name not in journal.topics():
            return False
        number = journal.partitions(OUTCOMES.name)
        for partition in range(number):
            if partition not in self._parts:
                end = journal.end(OUTCOMES.name, partition)
                self._parts[partition] = _Part(end, max(1, self._most // number))
        done = self._read_new(journal) or self._read_old(journal)
        self._count(journal)
        return done

    def newest(self, predicate: str, *, explored: bool = False) -> list[Chosen]:
        """Return the newest pages chosen for a predicate, in the order of their times."""
        found = merge(*(part.newest for part in self._parts.values()), key=attrgetter("time"))
        return [each for each in found if each.predicate == predicate and each.explored == explored]

    def running(self, predicate: str, *, explored: bool = False) -> Running:
        """Return how well the probabilities of all pages held that were read so far."""
        return self._running.get((predicate, explored)) or Running()

    def _count(self, journal: Journal) -> None:
        topic = OUTCOMES.name
        self.read = sum(part.high - part.low for part in self._parts.values())
        ends = sum(journal.end(topic, partition) for partition in self._parts)
        firsts = (min(part.low, journal.start(topic, number)) for number, part in self._parts.items())
        self.pages = ends - sum(firsts)

    def _read_new(self, journal: Journal) -> bool:
        for number, part in self._parts.items():
            if part.high < journal.end(OUTCOMES.name, number):
                found = journal.read(OUTCOMES.name, number, part.high, STEP)
                for chosen in self._chosen(found):
                    part.newest.append(chosen)
                part.high = found[-1].offset + 1 if found else journal.end(OUTCOMES.name, number)
                return True
        return False

    def _read_old(self, journal: Journal) -> bool:
        """Read what was told before, of the partition first of which least is read."""
        for number, part in sorted(self._parts.items(), key=lambda each: each[1].high - each[1].low):
            first = journal.start(OUTCOMES.name, number)
            if part.low > first:
                begin = max(first, part.low - STEP)
                found = _between(journal, number, begin, part.low)
                for chosen in reversed(list(self._chosen(found))):
                    if not part.full:
                        part.newest.appendleft(chosen)
                part.low = begin
                return True
        return False

    def _chosen(self, entries: Iterable[Entry]) -> Iterator[Chosen]:
        """Yield the pages that were chosen by a probability, each of which is counted."""
        for entry in entries:
            with suppress(*UNREADABLE):
                told = _decode(entry.value or b"")
                chosen = _as_chosen(told)
                if chosen is not None and self._counted(chosen):
                    yield chosen

    def _counted(self, chosen: Chosen) -> bool:
        key = (chosen.predicate, chosen.explored)
        if key not in self._running and len(self._running) >= 2 * MOST_PREDICATES:
            return False
        self._running.setdefault(key, Running()).add(chosen.expected, chosen.hit)
        return True


def _between(journal: Journal, partition: int, begin: int, end: int) -> Iterator[Entry]:
    """Yield the records of a partition from one offset up to another."""
    while begin < end:
        found = journal.read(OUTCOMES.name, partition, begin, end - begin)
        yield from (each for each in found if each.offset < end)
        begin = found[-1].offset + 1 if found else end


def _as_chosen(told: _Told) -> Chosen | None:
    if told.version != VERSION or told.later or told.again is True:
        return None
    if told.expected is None or not 0 <= told.expected <= 1 or told.predicate not in told.verdict:
        return None
    hit = told.verdict[told.predicate]
    return Chosen(told.time, told.url, told.predicate, told.expected, told.explored, hit)
