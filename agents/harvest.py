"""The harvest agent: the harvest rate of each predicate, as a stream.

Reads `outcomes`; keeps the table `harvest` (a row a predicate, a row a judged URL); writes `harvest`.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from agents.metrics.harvest import HarvestMetrics
from models.harvest import Harvest
from models.url import identifier
from streams.handler import Handler
from streams.inbox import Shard
from streams.records import (
    UNREADABLE,
    VERSION,
    HarvestPoint,
    Outcome,
    Pack,
    RecordError,
    UnknownVersionError,
    reason_of,
)
from streams.runtime import Runtime
from streams.stateful import Stateful
from streams.topics import HARVEST, OUTCOMES

PREDICATE_PREFIX = b"p"
SEEN_PREFIX = b"s"

#: Of an offset, fewer.
MOST_DIGITS = 19

_outcome = msgspec.json.Decoder(Outcome)


class HarvestRow(msgspec.Struct, array_like=True, tag="harvest"):
    """A predicate's statistics, and the time of its last judged page."""

    state: Harvest
    time: float = 0.0


class SeenRow(msgspec.Struct, array_like=True, tag="seen"):
    """A URL whose outcome was counted: its time, and the predicates. A page fetched twice counts once."""

    time: float = 0.0
    predicates: list[str] = []


HarvestTableRow: TypeAlias = HarvestRow | SeenRow


def read_outcome(value: bytes) -> Pack[Outcome]:
    """Return an outcome as a pack of one fact, with its page's place as origin."""
    try:
        outcome = _outcome.decode(value)
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
        self._runtime = runtime
        self._settings = runtime.settings.harvest
        self._metrics = HarvestMetrics(runtime, self._all_states)
        self._changed: set[tuple[int, str]] = set()
        self.matches: list[tuple[str, str, str]] = []
        self.inbox: Stateful[HarvestTableRow] = Stateful(
            runtime, OUTCOMES, "harvest", HarvestTableRow, read_outcome, self
        )

    def opened(self, shard: Shard[HarvestTableRow]) -> None:
        """Tell where a partition stands, for who has just come."""
        self._changed |= {(shard.partition, key[1:].decode()) for key, _ in shard.scan(PREDICATE_PREFIX)}

    def closed(self, shard: Shard[HarvestTableRow]) -> None:
        """Say no more of a partition."""
        self._changed = {changed for changed in self._changed if changed[0] != shard.partition}

    def absorb(self, shard: Shard[HarvestTableRow], fact: Any) -> None:
        """Count one outcome, if its page was not counted before; of a later one, its new predicates."""
        outcome: Outcome = fact
        key = SEEN_PREFIX + identifier(outcome.url)
        seen = shard.get(key)
        if not isinstance(seen, SeenRow):
            if outcome.later:
                return
            seen = SeenRow(outcome.time)
        elif not outcome.later or seen.time != outcome.time:
            return
        new = {name: hit for name, hit in outcome.verdict.items() if name not in seen.predicates}
        seen.predicates = [*seen.predicates, *new]
        shard.put(key, seen)
        for predicate, hit in new.items():
            row = self._row(shard, predicate)
            row.state.add(hit, outcome.time, outcome.policy, outcome.explored)
            self._metrics.counted(predicate, hit)
            row.time = max(row.time, outcome.time)
            shard.put(PREDICATE_PREFIX + predicate.encode(), row)
            self._changed.add((shard.partition, predicate))
            if hit:
                self.matches = [*self.matches[-19:], (predicate, outcome.url, outcome.title)]

    def _row(self, shard: Shard[HarvestTableRow], predicate: str) -> HarvestRow:
        row = shard.get(PREDICATE_PREFIX + predicate.encode())
        if isinstance(row, HarvestRow):
            return row
        return HarvestRow(Harvest(self._settings.window_pages, self._settings.window_seconds))

    async def tell(self) -> None:
        """Write a point of every predicate that changed since the last time."""
        changed, self._changed = self._changed, set()
        messages = []
        for partition, predicate in sorted(changed):
            shard = self.inbox.shards.get(partition)
            if shard is not None:
                point = self._point(shard, predicate)
                key = predicate.encode()
                to = self._runtime.partition(HARVEST, predicate)
                messages.append((HARVEST.name, to, key, msgspec.json.encode(point)))
        if messages:
            await self._runtime.publisher.send_all(messages)

    def _point(self, shard: Shard[HarvestTableRow], predicate: str) -> HarvestPoint:
        row = self._row(shard, predicate)
        return HarvestPoint(
            predicate=predicate,
            partition=shard.partition,
            time=row.time,
            pages=row.state.pages,
            hits=row.state.hits,
            harvest_rate=row.state.rate,
            rate_by_pages=row.state.rate_by_pages,
            rate_by_time=row.state.rate_by_time(self._runtime.clock()),
            lift=row.state.lift,
            policies=row.state.policies,
        )

    def states(self, predicate: str) -> list[Harvest]:
        """Return a predicate's statistics in each partition held."""
        return [self._row(shard, predicate).state for shard in self.inbox.shards.values()]

    def _all_states(self) -> Iterator[tuple[str, Harvest]]:
        for shard in self.inbox.shards.values():
            for key, row in shard.scan(PREDICATE_PREFIX):
                if isinstance(row, HarvestRow):
                    yield key[1:].decode(), row.state
