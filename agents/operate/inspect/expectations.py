"""How well a crawl's probabilities held, read of its outcomes, and what its weights did to the newest pages.

The newest outcomes are read first, then those before them, so that there is an answer long before all are read.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from heapq import merge
from operator import attrgetter
from typing import NamedTuple

import msgspec
import numpy as np

from scentline.agents.learn.rows import ModelRow
from scentline.models.learner.combiner import Vector, probability
from scentline.models.learner.inputs import Input, prior_covariance, prior_mean
from scentline.models.learner.plain import PLAIN
from scentline.models.reliability import Bin, Reliability, Running, windows
from scentline.models.verdict import Verdict
from scentline.streams.facts import Label
from scentline.streams.records import UNREADABLE, VERSION, Finite, Pack, Time
from scentline.streams.topics import EVIDENCE, OUTCOMES, partition_of
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry

#: Windows that the newest pages are cut into, and the pages of one at least.
WINDOWS, LEAST_PAGES = 20, 10
#: The newest hits, and misses, of which is told what spoke for them; messages that are looked through for them
#: at most, and at once.
LATEST, EVIDENCE_READ, EVIDENCE_AT_ONCE = 100, 200, 20
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


class Held(NamedTuple):
    """How well probabilities held: of all pages read so far and of the newest, selected and explored by chance.

    ``windows`` are the newest selected pages in their order, cut into parts.
    """

    selected: Reliability | None
    explored: Reliability | None
    newest_selected: Reliability | None
    newest_explored: Reliability | None
    windows: list[Bin]


def held(expectations: Expectations, predicate: str) -> Held:
    """Return how well probabilities held of the pages chosen for a predicate."""
    selected, explored = (
        [(each.expected, each.hit) for each in expectations.newest(predicate, explored=by_chance)]
        for by_chance in (False, True)
    )
    parts = min(WINDOWS, len(selected) // LEAST_PAGES)
    return Held(
        expectations.running(predicate).reliability(),
        expectations.running(predicate, explored=True).reliability(),
        Running(selected).reliability(),
        Running(explored).reliability(),
        windows(selected, parts) if parts else [],
    )


class Weight(msgspec.Struct, frozen=True):
    """The weight of an input, with its deviation, and both before the first page.

    ``hits`` and ``misses`` are what it added on the mean to the logits of the newest such pages, None where
    none is known.
    """

    name: str
    plain: str
    means: str
    source: str
    mean: float
    deviation: float
    first: float
    first_deviation: float
    hits: float | None = None
    misses: float | None = None


class Combined(msgspec.Struct, frozen=True):
    """A predicate's combiner: its ``labels`` so far, and its weights."""

    labels: int
    weights: list[Weight]


class Latest(NamedTuple):
    """The inputs of the newest pages, as they were when these were chosen: a row a page, a column an input."""

    hits: Vector
    misses: Vector


def combined(inputs: Sequence[Input], row: ModelRow | None, latest: Latest) -> Combined:
    """Return what a combiner's row says, or without one what it starts with."""
    first, spread = prior_mean(inputs), prior_covariance(inputs).diagonal() ** 0.5
    mean, deviations = first, spread
    if row is not None:
        mean = np.frombuffer(row.mean)
        covariance = np.frombuffer(row.covariance)
        if len(covariance) == len(mean) ** 2:
            deviations = covariance.reshape(len(mean), len(mean)).diagonal() ** 0.5
    hits, misses = (_means(rows, mean) for rows in latest)
    weights = [
        Weight(
            entry.name, *PLAIN[entry.name], float(mean[place]), float(deviations[place]), float(first[place]),
            float(spread[place]), hits[place], misses[place],
        )
        for place, entry in enumerate(inputs)
    ]  # fmt: skip
    return Combined(row.labels if row is not None else 0, weights)


def _means(rows: Vector, mean: Vector) -> list[float] | list[None]:
    if not rows.size or rows.shape[1] != len(mean):
        return [None] * len(mean)
    found: list[float] = (rows.mean(axis=0) * mean).tolist()
    return found


class _Tagged(msgspec.Struct, array_like=True):
    tag: str


_pack = msgspec.msgpack.Decoder(Pack[msgspec.Raw]).decode
_tag = msgspec.msgpack.Decoder(_Tagged).decode
_label = msgspec.msgpack.Decoder(Label).decode


def latest_inputs(journal: Journal, predicate: str) -> Latest:
    """Return the inputs of the newest pages, `LATEST` hits and as many misses, as the learners were told."""
    found: dict[bool, list[tuple[float, ...]]] = {True: [], False: []}
    if EVIDENCE.name in journal.topics():
        partition = partition_of(predicate, journal.partitions(EVIDENCE.name))
        for entry in _newest_first(journal, partition):
            for label in _labels(entry.value or b""):
                rows = found[label.holds]
                if label.predicate == predicate and len(rows) < LATEST:
                    rows.append(label.inputs)
            if all(len(rows) == LATEST for rows in found.values()):
                break
    return Latest(*(np.array(found[holds], float) for holds in (True, False)))


def _newest_first(journal: Journal, partition: int) -> Iterator[Entry]:
    end = journal.end(EVIDENCE.name, partition)
    least = max(journal.start(EVIDENCE.name, partition), end - EVIDENCE_READ)
    while end > least:
        start = max(least, end - EVIDENCE_AT_ONCE)
        yield from reversed(journal.read(EVIDENCE.name, partition, start, end - start))
        end = start


def _labels(value: bytes) -> Iterator[Label]:
    """Yield the labels in a message to the learners: counts, which are most of it, are passed over."""
    with suppress(*UNREADABLE):
        for _, _, fact in _pack(value).facts:
            if _tag(fact).tag == Label.__struct_config__.tag:
                yield _label(fact)


class Users(msgspec.Struct, frozen=True):
    """What users' visits added to the newest ``hits``.

    ``share`` is their inputs' part of all that inputs added or took there, ``helped`` how many of the hits
    would have looked less than half as probable had no user visited them, ``visited`` how many users visited.
    """

    hits: int
    visited: int
    helped: int
    share: float


def users_part(weights: Sequence[Weight], hits: Vector) -> Users:
    """Return what users' visits added to hits with these inputs."""
    mean = np.array([weight.mean for weight in weights])
    if not hits.size or hits.shape[1] != len(mean):
        return Users(0, 0, 0, 0.0)
    of_users = np.array([weight.source == "users" for weight in weights])
    unvisited = np.array([float(weight.name == "not in the log") for weight in weights])
    without = np.where(of_users, unvisited, hits)
    adds, all_logits, logits = np.abs(hits * mean), hits @ mean, without @ mean
    visited = hits[:, np.flatnonzero(unvisited)[0]] == 0 if unvisited.any() else np.zeros(len(hits), bool)
    helped = [
        probability(less, 0.0) < probability(all_of_it, 0.0) / 2
        for less, all_of_it in zip(logits.tolist(), all_logits.tolist(), strict=True)
    ]
    # What is not in the log has no input of users' but this one, which says as much of all of them.
    share = adds[visited][:, of_users].sum() / max(adds.sum(), 1e-12)
    return Users(len(hits), int(visited.sum()), sum(helped), float(share))
