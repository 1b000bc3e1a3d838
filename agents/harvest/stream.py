"""The harvest-rate stream: one a predicate, of the whole crawl, whoever holds which partitions.

The holder of a partition of `outcomes` writes its counts to `standing`. The holder of the partition of a
predicate's name merges the newest parts (`HarvestParts`) and writes the predicate's points.

No point goes back behind an earlier one. A part covers only what is committed, which the partition's next owner
has too, and a point is made of parts that were written before. So a new owner that has read all parts knows
what each earlier point covered. What an earlier owner appends after the new one's first point is refused
(`streams.runtime.Bus.take_over`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic

import msgspec

from scentline.models.errors import EventLog
from scentline.models.harvest import Harvest, merged
from scentline.models.published import FreshnessPart, HarvestPart, HarvestPoint, told_part
from scentline.models.records import Decoder, RecordError, partition_of
from scentline.streams.inbox import MARK, Mark, Row, Shard
from scentline.streams.runtime import Broadcast, FencedError, Runtime, every
from scentline.streams.stateful import Stateful
from scentline.streams.topics import HARVEST, STANDING
from scentline.streams.transport.database import Record

log = EventLog("harvest")
_PARTS: dict[bytes, Decoder[Any]] = {kind.KIND: Decoder(kind) for kind in (HarvestPart, FreshnessPart)}

#: What a point told: the offsets that it covers, and the time of the newest estimate.
Covered = tuple[dict[int, int], float]


class HarvestStream(Generic[Row]):
    """Tells the parts of the partitions held in ``inbox``, and the points of the predicates that are theirs.

    ``committed`` gives a shard's parts, of what is safe and no more, with the offset up to which that is.
    """

    def __init__(
        self,
        runtime: Runtime,
        inbox: Stateful[Row],
        committed: Callable[[Shard[Row], int], Iterable[HarvestPart]],
    ) -> None:
        self._runtime = runtime
        self._bus = runtime.bus
        self._inbox = inbox
        self._committed = committed
        self._partitions = self._bus.partitions(inbox.topic.name)
        self.parts = HarvestParts(self._partitions)
        self._fresh = FreshnessParts()
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
        read: list[tuple[Shard[Row], int]] = []
        for partition, shard in self._inbox.shards.items():
            mark = shard.store.get(MARK)
            offset = msgspec.msgpack.decode(mark, type=Mark).offset if mark is not None else -1
            if self._told.get(partition) != offset:
                read.append((shard, offset))
                # At first whatever is newer: others may have told what is not heard yet.
                says_more = self.parts.adds if partition in self._told else self.parts.newer
                new += filter(says_more, self._committed(shard, offset))
        if new:
            await self._bus.send_all([(STANDING.name, 0, *told_part(part)) for part in new])
        for part in new:
            self.parts.take(part)
        for shard, offset in read:
            if self._holds(shard):
                self._told[shard.partition] = offset

    async def _take_over(self, shard: Shard[Row]) -> None:
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

    def _holds(self, shard: Shard[Row]) -> bool:
        return self._inbox.shards.get(shard.partition) is shard

    async def _tell_points(self, shard: Shard[Row]) -> None:
        covered: dict[str, Covered] = {}
        records: list[Record] = []
        for predicate in self.parts:
            parts = self.parts.of(predicate)
            covers = {partition: part.offset for partition, part in parts.items()}
            told = covers, self._fresh.newest(predicate)
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
        state = whole({partition: part.state for partition, part in parts.items()})
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
        return self._fresh.told_in(point)


class HarvestParts:
    """The newest parts of each predicate, by partition; there are ``partitions`` of them at most.

    A part is all that a partition had counted of a predicate, so parts may come twice, late and in any order:
    the one of the greatest offset holds.
    """

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._parts: dict[str, dict[int, HarvestPart]] = {}

    def take(self, part: HarvestPart) -> None:
        """Take in a part, unless a newer one of its partition is known, or there is no such partition."""
        if part.partition < self._partitions and self.newer(part):
            self._parts.setdefault(part.predicate, {})[part.partition] = part

    def newer(self, part: HarvestPart) -> bool:
        """Return whether a part says more than what is known of its partition."""
        known = self._parts.get(part.predicate, {}).get(part.partition)
        return known is None or known.offset < part.offset

    def adds(self, part: HarvestPart) -> bool:
        """Return whether a part says of more pages than what is known of its partition."""
        known = self._parts.get(part.predicate, {}).get(part.partition)
        return known is None or known.state.pages < part.state.pages

    def __iter__(self) -> Iterator[str]:
        """Yield the predicates that a partition has pages of."""
        return iter(self._parts)

    def of(self, predicate: str) -> dict[int, HarvestPart]:
        """Return the newest parts of a predicate, by partition."""
        return dict(sorted(self._parts.get(predicate, {}).items()))


class FreshnessParts:
    """How current the matches are, as the frontiers of the partitions told last.

    They are estimates: one that an earlier owner of a partition tells late holds until the next one.
    """

    def __init__(self) -> None:
        self._parts: dict[str, dict[int, FreshnessPart]] = {}

    def take(self, part: FreshnessPart) -> None:
        """Take in a part, unless a newer one of its partition is known."""
        known = self._parts.setdefault(part.predicate, {})
        if part.partition not in known or known[part.partition].time < part.time:
            known[part.partition] = part

    def newest(self, predicate: str) -> float:
        """Return when it was last told of a predicate's matches; 0 where it never was."""
        return max((part.time for part in self._parts.get(predicate, {}).values()), default=0.0)

    def told_in(self, point: HarvestPoint) -> HarvestPoint:
        """Return a point that also tells how current the predicate's matches are, where that is known."""
        parts = self._parts.get(point.predicate, {}).values()
        if not parts:
            return point
        matches, revisits = sum(part.matches for part in parts), sum(part.revisits for part in parts)
        requests = sum(part.requests for part in parts)
        return msgspec.structs.replace(
            point,
            time=max(point.time, self.newest(point.predicate)),
            matches=matches,
            freshness=sum(part.current for part in parts) / matches if matches else None,
            age=sum(part.age for part in parts) / matches if matches else None,
            revisits=revisits,
            revisit_share=revisits / requests if requests else 0.0,
        )


def whole(parts: Mapping[int, Harvest]) -> Harvest:
    """Return the statistics of the crawl from those of its partitions, one or more."""
    return merged([parts[partition] for partition in sorted(parts)])
