"""The harvest agent: the harvest rate of each predicate, as a stream.

Reads `outcomes`; keeps the table `harvest` (a row a predicate, a row a judged URL); writes `harvest-parts`,
which every worker of the role reads whole, and `harvest` (`agents.harvest.stream`).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from scentline.agents.harvest.stream import HarvestStream, whole
from scentline.models.harvest import RANDOM, Harvest, lift_if_sure
from scentline.models.page import Verdict
from scentline.models.published import HarvestPart, Outcome
from scentline.models.records import (
    UNREADABLE,
    VERSION,
    Natural,
    Pack,
    RecordError,
    Time,
    UnknownVersionError,
    reason_of,
)
from scentline.models.url import Url, identifier
from scentline.streams.inbox import Shard
from scentline.streams.metrics import OTHER, ByPredicate, Reading
from scentline.streams.metrics.catalogue import (
    CHANCE_HITS,
    CHANCE_PAGES,
    HARVEST_HITS,
    HARVEST_LIFT,
    HARVEST_PAGES,
    HARVEST_RATE,
    HITS,
    JUDGED,
    WINDOW_HITS,
    WINDOW_PAGES,
)
from scentline.streams.runtime import Runtime
from scentline.streams.stateful import WRITTEN_ONCE, Handler, Stateful
from scentline.streams.topics import OUTCOMES

#: What is told of each predicate, and added up over those that share a label, in the order of `_numbers`.
_SUMS: Final = (HARVEST_PAGES, HARVEST_HITS, WINDOW_PAGES, WINDOW_HITS, CHANCE_PAGES, CHANCE_HITS)


class HarvestMetrics:
    """Counts the outcomes that one harvest agent counts.

    ``states`` yields the statistics of predicates, each of the whole crawl and told by one worker alone: so a
    sum over workers counts nothing twice. It is asked at a scrape.
    """

    def __init__(self, runtime: Runtime, states: Callable[[], Iterable[tuple[str, Harvest]]]) -> None:
        metrics = runtime.metrics
        self._label = metrics.predicate
        self._states = states
        self._pages = ByPredicate(metrics, JUDGED)
        self._hits = ByPredicate(metrics, HITS)
        runtime.watch(self.measure)

    def counted(self, predicate: str, hit: bool) -> None:
        """Count a judged page."""
        self._pages.count(predicate)
        self._hits.count(predicate, hit)

    def measure(self, reading: Reading) -> None:
        """Tell each predicate's figures."""
        found: dict[str, list[int]] = {}
        for predicate, state in self._states():
            sums = found.setdefault(self._label(predicate), [0] * len(_SUMS))
            for place, number in enumerate(_numbers(state)):
                sums[place] += number
        for label, sums in found.items():
            for metric, number in zip(_SUMS, sums, strict=True):
                reading.add(metric, number, label)
            if label != OTHER:
                self._measure_rates(reading, label, *sums)

    def _measure_rates(
        self, reading: Reading, label: str, pages: int, hits: int, _: int, __: int, chosen: int, found: int
    ) -> None:
        rate = hits / pages if pages else 0.0
        reading.add(HARVEST_RATE, rate, label)
        lift = lift_if_sure(pages, hits, chosen, found)
        if lift is not None:
            reading.add(HARVEST_LIFT, lift.lift, label)


def _numbers(state: Harvest) -> tuple[int, ...]:
    recent = min(state.pages, state.window_pages)
    return (state.pages, state.hits, recent, state.ring_hits, *state.policies.get(RANDOM, (0, 0)))


PREDICATE_PREFIX = b"p"
SEEN_PREFIX = b"s"

#: Seconds in which outcomes gather into a group: what they come to is told once a second at most.
GROUP_SECONDS = 0.1
#: Of an offset, fewer.
MOST_DIGITS = 19


class Counted(msgspec.Struct, kw_only=True):
    """What is counted of an `Outcome`: to read its words and links too would take four times as long."""

    version: int = VERSION
    url: Url
    time: Time
    title: str
    verdict: Verdict
    policy: str
    explored: bool
    origin: str
    later: bool = False
    requests: Natural = 0
    again: bool | msgspec.UnsetType = msgspec.UNSET


Told = TypeVar("Told", bound=Counted | Outcome)

_outcome = msgspec.json.Decoder(Outcome)
_counted = msgspec.json.Decoder(Counted)


class HarvestRow(msgspec.Struct, array_like=True, tag="harvest"):
    """A predicate's statistics, and the time of its last judged page."""

    state: Harvest
    time: float = 0.0


class SeenRow(msgspec.Struct, array_like=True, tag="seen"):
    """A URL whose outcome was counted: its time, and the predicates. A page fetched twice counts once."""

    time: float = 0.0
    predicates: list[str] = []


HarvestTableRow: TypeAlias = HarvestRow | SeenRow

_row: msgspec.msgpack.Decoder[HarvestTableRow] = msgspec.msgpack.Decoder(HarvestRow | SeenRow)


def read_outcome(value: bytes) -> Pack[Outcome]:
    """Return an outcome as a pack of one fact, with its page's place as origin; raises `RecordError`."""
    return read_as(_outcome, value)


def read_counted(value: bytes) -> Pack[Counted]:
    """Return what is counted of an outcome, as `read_outcome` does."""
    return read_as(_counted, value)


def read_as(decoder: msgspec.json.Decoder[Told], value: bytes) -> Pack[Told]:
    """Return of an outcome what a decoder reads of it, as `read_outcome` does."""
    try:
        outcome = decoder.decode(value)
        if outcome.version != VERSION:
            raise UnknownVersionError(f"not an Outcome: unknown version {outcome.version}, expected {VERSION}")
        source, _, offset = outcome.origin.rpartition("@")
        # What came later has the place of a page that was counted before; it is known by its predicates.
        if not (offset.isascii() and offset.isdigit() and len(offset) < MOST_DIGITS):
            raise RecordError("not an Outcome: its origin is no place, expected topic/partition@offset")
        return Pack(source="" if outcome.later else source, facts=[(int(offset), 0, outcome)])
    except UNREADABLE as error:
        raise RecordError(f"not an Outcome: {reason_of(error)}") from error


class HarvestAgent(Handler[HarvestTableRow]):
    """Counts outcomes and tells each predicate's rates now and then."""

    def __init__(self, runtime: Runtime) -> None:
        self._settings = runtime.settings.harvest
        self._metrics = HarvestMetrics(runtime, self._owned)
        self.matches: list[tuple[str, str, str]] = []
        self.inbox: Stateful[HarvestTableRow] = Stateful(
            runtime, OUTCOMES, "harvest", HarvestTableRow, read_counted, self, GROUP_SECONDS, WRITTEN_ONCE
        )
        self.stream = HarvestStream(runtime, self.inbox, committed_parts)

    def closed(self, shard: Shard[HarvestTableRow]) -> None:
        """Say no more of a partition."""
        self.stream.lost(shard.partition)

    def absorb(self, shard: Shard[HarvestTableRow], fact: Any) -> None:
        """Count one outcome, if its page was not judged before; of a later one, its new predicates."""
        outcome: Counted = fact
        key = SEEN_PREFIX + identifier(outcome.url)
        seen = shard.get(key)
        if not isinstance(seen, SeenRow):
            if outcome.later or outcome.again:
                return
            seen = SeenRow(outcome.time)
        elif not outcome.later or seen.time != outcome.time:
            return
        new = {name: hit for name, hit in outcome.verdict.items() if name not in seen.predicates}
        seen.predicates = [*seen.predicates, *new]
        shard.put(key, seen)
        for predicate, hit in new.items():
            row = self._row(shard, predicate)
            row.state.add(hit, outcome.time, outcome.policy, outcome.explored, outcome.requests)
            self._metrics.counted(predicate, hit)
            row.time = max(row.time, outcome.time)
            shard.put(PREDICATE_PREFIX + predicate.encode(), row)
            if hit:
                self.matches = [*self.matches[-19:], (predicate, outcome.url, outcome.title)]

    def _row(self, shard: Shard[HarvestTableRow], predicate: str) -> HarvestRow:
        row = shard.get(PREDICATE_PREFIX + predicate.encode())
        if isinstance(row, HarvestRow):
            return row
        return HarvestRow(Harvest(self._settings.window_pages, self._settings.window_seconds))

    def whole(self, predicate: str) -> Harvest:
        """Return a predicate's statistics: those of the partitions held as they stand, of others as told."""
        parts = {partition: part.state for partition, part in self.stream.parts.of(predicate).items()}
        held = {partition: self._row(shard, predicate).state for partition, shard in self.inbox.shards.items()}
        return whole(parts | held or {0: Harvest(self._settings.window_pages, self._settings.window_seconds)})

    def _owned(self) -> Iterator[tuple[str, Harvest]]:
        held = self.inbox.shards
        names = {key[1:].decode() for shard in held.values() for key, _ in shard.scan(PREDICATE_PREFIX)}
        for name in names.union(self.stream.parts):
            if self.stream.owner(name) in held:
                yield name, self.whole(name)


def committed_parts(shard: Shard[HarvestTableRow], offset: int) -> Iterator[HarvestPart]:
    """Yield what a shard's table on disk has of each predicate, which is all that was counted at ``offset``."""
    for key, value in shard.store.scan(PREDICATE_PREFIX):
        row = _row.decode(value)
        if isinstance(row, HarvestRow):
            yield HarvestPart(
                predicate=key[1:].decode(),
                partition=shard.partition,
                offset=offset,
                time=row.time,
                state=row.state,
            )
