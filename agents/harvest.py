"""The harvest agent: what a crawl has found of each predicate, as points of one stream.

Reads `outcomes`; keeps the table `harvest` (a row a predicate, a row a judged URL); writes `standing`, which
every worker of the role reads whole, and `harvest`. Its points are of the whole crawl, whoever holds which
partitions: the holder of a partition of `outcomes` writes its counts to `standing`; the holder of the partition
of a predicate's name merges the newest of them and writes the predicate's points.

No point goes back behind an earlier one. A part covers only what is committed, which the partition's next owner
has too, and a point is made of parts that were written before. So a new owner that has read all parts knows
what each earlier point covered. What an earlier owner appends after the new one's first point is refused
(`streams.runtime.Bus.take_over`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from scentline.models.errors import EventLog
from scentline.models.harvest import RANDOM, Harvest, lift_if_sure, merged
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

#: Seconds in which outcomes gather into a group: what they come to is told once a second at most.
GROUP_SECONDS = 0.1


Part = TypeVar("Part", bound=HarvestPart | FreshnessPart)


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


class HarvestAgent(Handler[HarvestTableRow]):
    """Counts outcomes and tells each predicate's rates now and then."""

    def __init__(self, runtime: Runtime) -> None:
        self._settings = runtime.settings.harvest
        self._metrics = HarvestMetrics(runtime, self._owned)
        self.matches: list[tuple[str, str, str]] = []
        self.inbox: Stateful[HarvestTableRow] = Stateful(
            runtime, OUTCOMES, "harvest", HarvestTableRow, read_counted, self, GROUP_SECONDS, WRITTEN_ONCE
        )
        self.stream = HarvestStream(runtime, self.inbox)

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
        return row if isinstance(row, HarvestRow) else HarvestRow(self._none())

    def _none(self) -> Harvest:
        return Harvest(self._settings.window_pages, self._settings.window_seconds)

    def whole(self, predicate: str) -> Harvest:
        """Return a predicate's statistics: those of the partitions held as they stand, of others as told."""
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
    """Yield what a shard's table on disk has of each predicate, which is all that was counted at ``offset``."""
    for key, value in shard.store.scan(PREDICATE_PREFIX):
        row = _row.decode(value)
        if isinstance(row, HarvestRow):
            yield HarvestPart(
                predicate=key[1:].decode(), partition=shard.partition, offset=offset, time=row.time,
                state=row.state,
            )  # fmt: skip


# the points

_PARTS: dict[bytes, Decoder[Any]] = {kind.KIND: Decoder(kind) for kind in (HarvestPart, FreshnessPart)}

#: What a point told: the offsets that it covers, and the time of the newest estimate.
Covered: TypeAlias = tuple[dict[int, int], float]


class HarvestStream:
    """Tells the parts of the partitions held in ``inbox``, and the points of the predicates that are theirs."""

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
        """Hear what others tell, and tell what is new now and then; never returns."""
        await self._others.start()
        self._following = True
        self._runtime.metrics.watch(self._others.measure)
        try:
            await every(self._runtime.settings.harvest.interval_seconds, self.tell)
        finally:
            await self._others.stop()

    def _hear(self, key: bytes | None, value: bytes | None) -> None:
        """Take in a part that was told; what is none is passed over, and what frontiers tell people."""
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
        """Return the partition of `outcomes` whose holder writes a predicate's points."""
        return partition_of(predicate, self._partitions)

    def lost(self, partition: int) -> None:
        """Write no more of a partition that is no longer held."""
        self._told.pop(partition, None)
        self._hush(partition)
        self._bus.release(HARVEST.name, partition)

    def _hush(self, partition: int) -> None:
        self._taken_over.pop(partition, None)
        self._covered = {name: told for name, told in self._covered.items() if self.owner(name) != partition}

    async def tell(self) -> None:
        """Tell the parts of what was committed since the last time, and the points of what is new."""
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
                # At first whatever is newer: others may have told what is not heard yet.
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
        """Return whether a part says of more pages than what is known of its partition."""
        known = self.parts.of(part.predicate).get(part.partition)
        return known is None or known.state.pages < part.state.pages

    async def _take_over(self, shard: Shard[HarvestTableRow]) -> None:
        """Become the one who writes a partition's points, and note what has to be heard before the first."""
        await self._bus.take_over(HARVEST.name, shard.partition)
        ends = await self._bus.ends(STANDING.name)
        if self._holds(shard):
            self._taken_over[shard.partition] = ends
        else:
            self._bus.release(HARVEST.name, shard.partition)

    def _knows_all(self, partition: int) -> bool:
        """Return whether all that was told before the partition was taken over is known."""
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
        # What was put together before this look is no more than the next owner knows, if there is one by now.
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
    """The newest parts of each predicate, by partition; there are ``partitions`` of them at most.

    A part is all that a partition has of a predicate, so parts may come twice, late and in any order: the one
    of the greatest ``age`` holds. An estimate of how current matches are that an earlier owner tells late holds
    until the next one.
    """

    def __init__(self, partitions: int, age: Callable[[Part], float]) -> None:
        self._partitions = partitions
        self._age = age
        self._parts: dict[str, dict[int, Part]] = {}

    def take(self, part: Part) -> None:
        """Take in a part, unless a newer one of its partition is known, or there is no such partition."""
        if part.partition < self._partitions and self.newer(part):
            self._parts.setdefault(part.predicate, {})[part.partition] = part

    def newer(self, part: Part) -> bool:
        """Return whether a part says more than what is known of its partition."""
        known = self._parts.get(part.predicate, {}).get(part.partition)
        return known is None or self._age(known) < self._age(part)

    def __iter__(self) -> Iterator[str]:
        """Yield the predicates that a partition has parts of."""
        return iter(self._parts)

    def of(self, predicate: str) -> dict[int, Part]:
        """Return the newest parts of a predicate, by partition."""
        return dict(sorted(self._parts.get(predicate, {}).items()))


# metrics

#: What is told of each predicate, and added up over those that share a label.
_SUMS: Final = (
    catalogue.HARVEST_PAGES, catalogue.HARVEST_HITS, catalogue.WINDOW_PAGES, catalogue.WINDOW_HITS,
    catalogue.CHANCE_PAGES, catalogue.CHANCE_HITS,
)  # fmt: skip


class HarvestMetrics:
    """Counts the outcomes that one harvest agent counts.

    ``states`` yields the statistics of predicates, each of the whole crawl and told by one worker alone: so a
    sum over workers counts nothing twice. It is asked at a scrape.
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
        """Tell each predicate's figures; those that share a label have no rate."""
        found: dict[str, tuple[int, ...]] = {}
        for predicate, state in self._states():
            window = min(state.pages, state.window_pages), state.ring_hits
            numbers = state.pages, state.hits, *window, *state.policies.get(RANDOM, (0, 0))
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
