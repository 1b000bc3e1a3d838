"""What a crawl has learned: a scorer that is taught it all, and the weights of its combiners.

The scorer learns in steps of a few milliseconds: others have their turn between.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import numpy as np

from scentline.agents.frontier.behaviour import SitePatterns
from scentline.agents.frontier.estimates import ordering
from scentline.agents.frontier.learned import LearnedScorer
from scentline.agents.frontier.priorities import LinkPromises, Priorities
from scentline.agents.frontier.rows import FrontierRow, FrontierShard
from scentline.agents.frontier.scorer import OrderedScorer, learned_scorer
from scentline.agents.frontier.scoring import PaperScorer
from scentline.agents.learn.rows import (
    BLOCK_PREFIX,
    MODEL_PREFIX,
    PRIOR_PREFIX,
    SEGMENT_PREFIX,
    LearnRow,
    ModelRow,
    PriorRow,
    name_of,
)
from scentline.agents.learn.store import put_back
from scentline.agents.operate.inspect.record import definitions
from scentline.models.interest.features import BASE
from scentline.models.learner.combiner import Calibration, Vector
from scentline.models.learner.inputs import PLAIN, Input, prior_covariance, prior_mean
from scentline.models.ledger import Ledger, Slots
from scentline.models.lessons import lessons
from scentline.models.predicate import Predicate, parse
from scentline.models.reuse import Cell
from scentline.streams.facts import Label
from scentline.streams.inbox import Codec, Shard
from scentline.streams.records import UNREADABLE, Pack, Weighting
from scentline.streams.settings import Settings
from scentline.streams.topics import EVIDENCE, partition_of
from scentline.streams.transport.database import TablePartition
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry

#: Features that are taken in at a step.
STEP = 250
#: Bytes of decoded rows that are kept of a partition of the frontier's table.
CACHED_BYTES = 1_000_000

_frontier: Codec[FrontierRow] = Codec(FrontierRow)
_decode: Any = msgspec.msgpack.Decoder(LearnRow).decode


class Taught:
    """Scores a crawl's candidates as the crawl does, from what it has learned so far.

    Where pages are ordered by an ``importance``, nothing is learned. ``promises`` are how far those who link to
    a page are believed. Of ``features``, ``taken`` were read so far; ``done`` once all were.
    """

    def __init__(self, journal: Journal, settings: Settings) -> None:
        self.predicates: dict[str, Predicate] = {
            name: parse(each.expression) for name, each in definitions(journal).items()
        }
        self.patterns = SitePatterns() if settings.behaviour else None
        self.importance = ordering(settings.frontier, self.patterns)
        self.scorer = self._scorer(settings)
        self.priorities = Priorities(settings.frontier, self.scorer)
        self.promises = self.priorities.promises = LinkPromises()
        for name, predicate in self.predicates.items():
            self.scorer.add_predicate(name, predicate.sought)
        self.taken = self.features = 0
        self.done = False
        self._journal = journal

    def _scorer(self, settings: Settings) -> LearnedScorer | PaperScorer:
        if self.importance is not None:
            return OrderedScorer(settings.learn, self.importance)
        if settings.frontier.rule == "learned":
            return learned_scorer(settings.learn)
        printed = settings.frontier.candidates == "paper"
        return PaperScorer(settings.learn, lessons(settings.frontier.rule), drift=0, printed=printed)

    def steps(self) -> Iterator[None]:
        """Learn, and yield between two steps; raises `TableMissingError` where no crawl has begun."""
        if self.importance is None:
            yield from self._learn()
            for partition in self._journal.table("frontier"):
                yield from self.promises.steps(frontier_shard(self._journal, partition))
        self.done = True

    def _learn(self) -> Iterator[None]:
        counts: list[Ledger] = []
        rows = _Rows()
        for part in self._journal.table("interests").values():
            counts.append(Ledger())
            for _ in rows.read(part, counts[-1]):
                yield
        self.features = sum(ledger.size for ledger in counts) + len(rows.priors)
        groups = [(ledger, slots) for ledger in counts for slots in _groups(ledger.size)]
        # First what every ratio is taken against, so that none is worked out twice.
        groups.sort(key=lambda group: BASE not in group[0].names(group[1]))
        self._inherit(rows.priors, [BASE])
        for ledger, slots in groups:
            self._count(ledger, slots)
            yield
        names = list(rows.priors)
        for slots in _groups(len(names)):
            self._inherit(rows.priors, [names[place] for place in slots])
            yield
        for predicate, weighting in rows.weightings.items():
            self.scorer.take(predicate, weighting)

    def finish(self) -> None:
        """Learn all at once."""
        for _ in self.steps() if not self.done else ():
            pass

    def _count(self, ledger: Ledger, slots: Slots) -> None:
        used = [
            slot for slot, name in zip(slots.tolist(), ledger.names(slots), strict=True) if name is not None
        ]
        cells = ledger.take(np.array(used, np.intp))
        names = [name for name in cells.names if name is not None]
        own = self.scorer.ledger.slots_of(names)
        self.scorer.ledger.put(own, cells)
        self.scorer.learn(own)
        if isinstance(self.scorer, PaperScorer) and BASE in names:
            for predicate in self.predicates:
                self.scorer.weights(predicate).bring_up()
        self.taken += len(slots)

    def _inherit(self, priors: Mapping[str, Mapping[str, Cell]], names: Sequence[str]) -> None:
        found = {name: priors[name] for name in names if name in priors}
        self.scorer.inherit(found)
        self.scorer.ledger.add_predicates(chain.from_iterable(found.values()))
        self.scorer.learn(self.scorer.ledger.slots_of(found))
        self.taken += len(found)


def frontier_shard(journal: Journal, partition: int) -> FrontierShard:
    """Return a partition of the frontier's table, as it stands now, to be read only."""
    return Shard(partition, "inspect", journal.table("frontier")[partition], _frontier, CACHED_BYTES)


class _Rows:
    """What rows of the learner's table hold beside counts: what earlier crawls counted, and the combiners."""

    def __init__(self) -> None:
        self.priors: dict[str, dict[str, Cell]] = {}
        self.weightings: dict[str, Weighting] = {}

    def read(self, part: TablePartition, ledger: Ledger) -> Iterator[None]:
        """Read a partition, its counts into ``ledger``, yielding now and then; all rows are of one moment."""
        for number, (key, raw) in enumerate(part.scan(b"")):
            kind = key[:1]
            if kind in (BLOCK_PREFIX, SEGMENT_PREFIX):
                put_back(ledger, key, _decode(raw))
                yield
            elif kind in (PRIOR_PREFIX, MODEL_PREFIX):
                self._take(name_of(key), _decode(raw))
                if number % STEP == 0:
                    yield

    def _take(self, name: str, row: PriorRow | ModelRow) -> None:
        if isinstance(row, PriorRow):
            self.priors[name] = row.counts
        else:
            self.weightings[name] = Weighting(row.mean, row.covariance, Calibration(row.calibration).shifts)


def _groups(size: int) -> list[Slots]:
    return [np.arange(start, min(start + STEP, size)) for start in range(0, size, STEP)]


#: The newest hits, and misses, of which is told what spoke for them; messages that are looked through for them
#: at most, and at once.
LATEST, EVIDENCE_READ, EVIDENCE_AT_ONCE = 100, 200, 20


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
