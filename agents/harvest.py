"""The harvest agent: publishes what a crawl has found of each predicate, as points of one stream.

Reads `outcomes`; keeps the table `harvest` (a row per predicate and per judged URL); writes `harvest`, and
`standing`, which every worker of the role reads whole. Points cover the whole crawl: the owner of each
partition of `outcomes` publishes its counts, a part per predicate, to `standing`; the owner of the partition of
a predicate's name merges the newest parts and publishes the predicate's points.

Points never go backwards. A part covers only committed outcomes, which the partition's next owner has too, and
a point is made of parts that were published before. So a new owner that has read all parts knows what each
earlier point covered. What an earlier owner appends after the new one's first point is refused
(`streams.runtime.Bus.take_over`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from scentline.models.errors import EventLog
from scentline.models.harvest import Harvest, lift_if_sure, merged
from scentline.models.published import (
    Counted,
    FreshnessPart,
    HarvestPart,
    HarvestPoint,
    read_counted,
    told_part,
)
from scentline.models.records import (
    Decoder,
    RecordError,
    partition_of,
)
from scentline.models.url import identifier
from scentline.streams.inbox import MARK, Mark, Shard
from scentline.streams.metrics import OTHER, ByPredicate, Reading, catalogue
from scentline.streams.runtime import Broadcast, FencedError, Runtime, every
from scentline.streams.stateful import WRITTEN_ONCE, Handler, Stateful
from scentline.streams.topics import HARVEST, OUTCOMES, STANDING
from scentline.streams.transport.database import Record

log = EventLog("harvest")

PREDICATE_PREFIX = b"p"
SEEN_PREFIX = b"s"

#: Seconds over which a commit group of outcomes gathers: points appear once a second at most.
GROUP_SECONDS = 0.1


Part = TypeVar("Part", bound=HarvestPart | FreshnessPart)


class HarvestRow(msgspec.Struct, array_like=True, tag="harvest"):
    """A predicate's statistics, and the time of its last judged page."""

    state: Harvest
    time: float = 0.0


class SeenRow(msgspec.Struct, array_like=True, tag="seen"):
    """A counted URL: its outcome's time and predicates. A page fetched twice counts once."""

    time: float = 0.0
    predicates: list[str] = []


HarvestTableRow: TypeAlias = HarvestRow | SeenRow

_row: msgspec.msgpack.Decoder[HarvestTableRow] = msgspec.msgpack.Decoder(HarvestRow | SeenRow)


class HarvestAgent(Handler[HarvestTableRow]):
    """Counts outcomes and publishes each predicate's rates at intervals."""

    def __init__(self, runtime: Runtime) -> None:
        self._settings = runtime.settings.harvest
        self._metrics = HarvestMetrics(runtime, self._owned)
        self.matches: list[tuple[str, str, str]] = []
        self.inbox: Stateful[HarvestTableRow] = Stateful(
            runtime, OUTCOMES, "harvest", HarvestTableRow, read_counted, self, GROUP_SECONDS, WRITTEN_ONCE
        )
        self.stream = HarvestStream(runtime, self.inbox)

    def closed(self, shard: Shard[HarvestTableRow]) -> None:
        """Publish no more of a partition."""
        self.stream.lost(shard.partition)

    def absorb(self, shard: Shard[HarvestTableRow], fact: Any) -> None:
        """Count the first outcome of a page, and the new predicates of a later verdict on it."""
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
        return row if isinstance(row, HarvestRow) else HarvestRow(self._none())

    def _none(self) -> Harvest:
        return Harvest(self._settings.window_pages, self._settings.window_seconds)

    def whole(self, predicate: str) -> Harvest:
        """Return a predicate's statistics: current for owned partitions, as published for others."""
        parts = {partition: part.state for partition, part in self.stream.parts.of(predicate).items()}
        held = {partition: self._row(shard, predicate).state for partition, shard in self.inbox.shards.items()}
        found = parts | held
        return merged([found[each] for each in sorted(found)] or [self._none()])

    def _owned(self) -> Iterator[tuple[str, Harvest]]:
        held = self.inbox.shards
        names = {key[1:].decode() for shard in held.values() for key, _ in shard.scan(PREDICATE_PREFIX)}
        for name in names.union(self.stream.parts):
            if self.stream.owner(name) in held:
                yield name, self.whole(name)


def committed_parts(shard: Shard[HarvestTableRow], offset: int) -> Iterator[HarvestPart]:
    """Yield each predicate's part from a shard's table on disk, which was committed at ``offset``."""
    for key, value in shard.store.scan(PREDICATE_PREFIX):
        row = _row.decode(value)
        if isinstance(row, HarvestRow):
            yield HarvestPart(
                predicate=key[1:].decode(), partition=shard.partition, offset=offset, time=row.time,
                state=row.state,
            )  # fmt: skip


# the points

_PARTS: dict[bytes, Decoder[Any]] = {kind.KIND: Decoder(kind) for kind in (HarvestPart, FreshnessPart)}

#: What a point covers: the parts' offsets, and the time of the newest estimate.
Covered: TypeAlias = tuple[dict[int, int], float]


class HarvestStream:
    """Publishes the parts of the partitions owned by ``inbox``, and the points of their predicates."""

    def __init__(self, runtime: Runtime, inbox: Stateful[HarvestTableRow]) -> None:
        self._runtime = runtime
        self._bus = runtime.bus
        self._inbox = inbox
        self._partitions = self._bus.partitions(inbox.topic.name)
        self.parts = Parts[HarvestPart](self._partitions, lambda part: part.offset)
        self._fresh = Parts[FreshnessPart](self._partitions, lambda part: part.time)
        self._others = Broadcast(self._bus, STANDING.name, self._hear, runtime.fail)
        self._following = False
        self._told: dict[int, int] = {}
        self._taken_over: dict[int, Mapping[int, int]] = {}
        self._covered: dict[str, Covered] = {}

    async def run(self) -> None:
        """Follow other owners' parts, and publish what is new at intervals; never returns."""
        await self._others.start()
        self._following = True
        self._runtime.metrics.watch(self._others.measure)
        try:
            await every(self._runtime.settings.harvest.interval_seconds, self.tell)
        finally:
            await self._others.stop()

    def _hear(self, key: bytes | None, value: bytes | None) -> None:
        """Apply a published part; skip the other messages of `standing`."""
        decode = _PARTS.get((key or b"").partition(b" ")[0])
        if decode is None:
            return
        try:
            part = decode(value or b"")
        except RecordError as error:
            log.warning("skipped a part that can't be read", reason=str(error))
        else:
            (self.parts if isinstance(part, HarvestPart) else self._fresh).take(part)

    def owner(self, predicate: str) -> int:
        """Return the partition of `outcomes` whose owner publishes a predicate's points."""
        return partition_of(predicate, self._partitions)

    def lost(self, partition: int) -> None:
        """Publish no more of a partition that is no longer owned."""
        self._told.pop(partition, None)
        self._hush(partition)
        self._bus.release(HARVEST.name, partition)

    def _hush(self, partition: int) -> None:
        self._taken_over.pop(partition, None)
        self._covered = {name: told for name, told in self._covered.items() if self.owner(name) != partition}

    async def tell(self) -> None:
        """Publish the parts of what was committed since the last call, then the points that changed."""
        await self._tell_parts()
        for partition, shard in list(self._inbox.shards.items()):
            if partition not in self._taken_over:
                await self._take_over(shard)
            if self._knows_all(partition):
                await self._tell_points(shard)

    async def _tell_parts(self) -> None:
        new: list[HarvestPart] = []
        read: list[tuple[Shard[HarvestTableRow], int]] = []
        for partition, shard in self._inbox.shards.items():
            mark = shard.store.get(MARK)
            offset = msgspec.msgpack.decode(mark, type=Mark).offset if mark is not None else -1
            if self._told.get(partition) != offset:
                read.append((shard, offset))
                # At first every newer part: others may have published parts that are not read yet.
                says_more = self._adds if partition in self._told else self.parts.newer
                new += filter(says_more, committed_parts(shard, offset))
        if new:
            await self._bus.send_all([(STANDING.name, 0, *told_part(part)) for part in new])
        for part in new:
            self.parts.take(part)
        for shard, offset in read:
            if self._holds(shard):
                self._told[shard.partition] = offset

    def _adds(self, part: HarvestPart) -> bool:
        """Return whether a part counts more pages than the known one of its partition."""
        known = self.parts.of(part.predicate).get(part.partition)
        return known is None or known.state.pages < part.state.pages

    async def _take_over(self, shard: Shard[HarvestTableRow]) -> None:
        """Become the one writer of a partition's points, and note how far to read before the first."""
        await self._bus.take_over(HARVEST.name, shard.partition)
        ends = await self._bus.ends(STANDING.name)
        if self._holds(shard):
            self._taken_over[shard.partition] = ends
        else:
            self._bus.release(HARVEST.name, shard.partition)

    def _knows_all(self, partition: int) -> bool:
        """Return whether all parts published before the partition's take-over are known."""
        ends = self._taken_over.get(partition)
        if ends is None:
            return False
        return len(self._told) == self._partitions or (self._following and self._others.reached(ends))

    def _holds(self, shard: Shard[HarvestTableRow]) -> bool:
        return self._inbox.shards.get(shard.partition) is shard

    async def _tell_points(self, shard: Shard[HarvestTableRow]) -> None:
        covered: dict[str, Covered] = {}
        records: list[Record] = []
        for predicate in self.parts:
            parts = self.parts.of(predicate)
            covers = {partition: part.offset for partition, part in parts.items()}
            told = covers, max((part.time for part in self._fresh.of(predicate).values()), default=0.0)
            if self.owner(predicate) == shard.partition and self._covered.get(predicate) != told:
                covered[predicate] = told
                records.append((predicate.encode(), msgspec.json.encode(self._point(predicate, parts))))
        # Built before this check, the records cover no more than a next owner already knows.
        if not records or not self._inbox.owns(shard):
            return
        try:
            await self._bus.append_batch(HARVEST.name, shard.partition, records)
        except FencedError:
            self._hush(shard.partition)
        else:
            self._covered |= covered

    def _point(self, predicate: str, parts: dict[int, HarvestPart]) -> HarvestPoint:
        state = merged([part.state for part in parts.values()])
        point = HarvestPoint(
            predicate=predicate,
            time=max(part.time for part in parts.values()),
            pages=state.pages,
            hits=state.hits,
            harvest_rate=state.rate,
            rate_by_pages=state.rate_by_pages,
            rate_by_time=state.rate_by_time(self._runtime.clock()),
            lift=state.lift,
            policies=state.policies,
            requests=state.requests,
            hits_per_request=state.hits_per_request,
            covers={partition: part.offset for partition, part in parts.items()},
        )
        return point.with_freshness(self._fresh.of(predicate).values())


class Parts(Generic[Part]):
    """The newest part of each predicate in each of ``partitions`` partitions.

    A part is all that a partition has of a predicate, so parts may arrive twice, late and in any order: the
    greatest ``age`` wins. A freshness estimate that an earlier owner publishes late holds until the next one.
    """

    def __init__(self, partitions: int, age: Callable[[Part], float]) -> None:
        self._partitions = partitions
        self._age = age
        self._parts: dict[str, dict[int, Part]] = {}

    def take(self, part: Part) -> None:
        """Apply a part, unless a newer one of its partition is known or the partition does not exist."""
        if part.partition < self._partitions and self.newer(part):
            self._parts.setdefault(part.predicate, {})[part.partition] = part

    def newer(self, part: Part) -> bool:
        """Return whether a part is newer than the known one of its partition."""
        known = self._parts.get(part.predicate, {}).get(part.partition)
        return known is None or self._age(known) < self._age(part)

    def __iter__(self) -> Iterator[str]:
        """Yield the predicates that have parts."""
        return iter(self._parts)

    def of(self, predicate: str) -> dict[int, Part]:
        """Return the newest parts of a predicate, by partition."""
        return dict(sorted(self._parts.get(predicate, {}).items()))


# metrics

#: Reported for each predicate, and summed over those that share a label.
_SUMS: Final = (
    catalogue.HARVEST_PAGES, catalogue.HARVEST_HITS, catalogue.WINDOW_PAGES, catalogue.WINDOW_HITS,
    catalogue.CHANCE_PAGES, catalogue.CHANCE_HITS,
)  # fmt: skip


class HarvestMetrics:
    """The metrics of one harvest agent.

    ``states``, called at a scrape, yields predicates' statistics over the whole crawl. One worker alone reports
    each predicate, so a sum over workers counts nothing twice.
    """

    def __init__(self, runtime: Runtime, states: Callable[[], Iterable[tuple[str, Harvest]]]) -> None:
        self._label = runtime.metrics.predicate
        self._states = states
        self._pages = ByPredicate(runtime.metrics, catalogue.JUDGED)
        self._hits = ByPredicate(runtime.metrics, catalogue.HITS)
        runtime.watch(self.measure)

    def counted(self, predicate: str, hit: bool) -> None:
        """Count a judged page."""
        self._pages.count(predicate)
        self._hits.count(predicate, hit)

    def measure(self, reading: Reading) -> None:
        """Report each predicate's figures; those that share a label have no rate."""
        found: dict[str, tuple[int, ...]] = {}
        for predicate, state in self._states():
            window = min(state.pages, state.window_pages), state.ring_hits
            numbers = state.pages, state.hits, *window, *state.by_chance
            label = self._label(predicate)
            found[label] = tuple(map(sum, zip(numbers, found.get(label, (0,) * len(_SUMS)), strict=True)))
        for label, sums in found.items():
            for metric, number in zip(_SUMS, sums, strict=True):
                reading.add(metric, number, label)
            if label == OTHER:
                continue
            pages, hits, _, _, *by_chance = sums
            reading.add(catalogue.HARVEST_RATE, hits / pages if pages else 0.0, label)
            if lift := lift_if_sure(pages, hits, *by_chance):
                reading.add(catalogue.HARVEST_LIFT, lift.lift, label)
