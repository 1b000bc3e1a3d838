"""The frontier agent: the shell around `models.frontier.core.Frontier`, which decides what is ordered next.

Its topics are in `streams.topics`; its table is `frontier`.
"""

import asyncio
import time
from contextlib import suppress
from functools import partial
from random import Random
from typing import TypeAlias

import msgspec

from scentline.agents.frontier.answers import Answers
from scentline.agents.frontier.metrics import FrontierMetrics
from scentline.agents.stored import table_of
from scentline.models.errors import EventLog
from scentline.models.facts import Sighting, SightingPack
from scentline.models.frontier.core import Frontier
from scentline.models.frontier.keys import BLOCK_PREFIX, SEGMENT_PREFIX, Rows, totals_of
from scentline.models.frontier.rows import FrontierRow
from scentline.models.papers.patterns import mine
from scentline.models.policy.estimates import Estimates
from scentline.models.published import PredicateDefinition, control_key, told_part
from scentline.models.records import Block, Decoder, FetchOrder, Interests, RecordError, encode
from scentline.streams.inbox import Message, Shard
from scentline.streams.runtime import Runtime, every
from scentline.streams.settings import ConfigurationError
from scentline.streams.stateful import Handler, Stateful
from scentline.streams.topics import CONTROL, INTERESTS, SIGHTINGS, STANDING

log = EventLog("frontier")

FrontierShard: TypeAlias = Shard[FrontierRow]

#: Seconds between two published standings.
PUBLISH_SECONDS = 60.0
#: Seconds between two looks for whether ordering stopped or resumed meanwhile.
LOOK_SECONDS = 1.0
#: Seconds of CPU time after which no further predicate's best candidates are published at the end.
LAST_SECONDS = 1.0
#: Seconds between two publications of counts: by so much the verdicts of other workers are delayed.
TELL_SECONDS = 0.25
#: Seconds between two checks for sites whose usage changed.
MINE_SECONDS = 0.5


class FrontierAgent(Handler[FrontierRow]):
    """Runs a frontier: passes it sightings, has it choose, and sends its orders and publications."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        decode = Decoder[SightingPack](SightingPack)
        self.inbox: Stateful[FrontierRow] = Stateful(runtime, SIGHTINGS, "frontier", FrontierRow, decode, self)
        settings, now = runtime.settings, runtime.clock()
        partitions, table = runtime.bus.partitions, table_of(settings.semantic)
        estimates, random = Estimates(settings, table), Random(settings.random_seed)
        self.core = Frontier(settings, partitions, estimates, random, self._soon, time.perf_counter, now)
        self._interests = Decoder[Interests](Interests)
        self.answers = Answers(self.core, runtime.clock)
        self._metrics = FrontierMetrics(runtime, self.core)
        self._wake = asyncio.Event()
        self._held = asyncio.Event()
        #: Columns of counts that may be published at once.
        self._room = 0.0

    def _soon(self, shard: Rows) -> None:
        self.inbox.commit_soon(self.inbox.shards[shard.partition])

    # what others publish

    def hear_interests(self, key: bytes | None, value: bytes | None) -> None:
        """Apply what learners and other frontiers publish; skip what can't be read."""
        if value is None:
            return  # a later message has it
        try:
            told = self._interests(value)
        except RecordError as error:
            log.warning("skipped interests that can't be read", reason=str(error))
        else:
            self.core.heard_interests(told)

    def heard_predicate(self, definition: PredicateDefinition) -> None:
        """Apply a predicate's definition: a new one, or a change of its share or state."""
        self.core.heard_predicate(definition)
        self._wake.set()

    def hear_steering(self, value: bytes | None) -> None:
        """Apply a steering record of `control`; one that can't be read is skipped."""
        told = self.core.steered.hear(value)
        if told is not None:
            self.core.steer(told)
            self._wake.set()

    async def _tell_limits(self) -> None:
        told, self.core.limits = self.core.limits, []
        await self.runtime.bus.send_all(
            [(CONTROL.name, 0, control_key(limit).encode(), msgspec.json.encode(limit)) for limit in told]
        )

    # the inbox

    def opened(self, shard: FrontierShard) -> None:
        """Load a partition; `ConfigurationError` for rows of an earlier release."""
        check_release(shard)
        shard.closing = partial(self.core.close_group, shard)
        self.core.open(shard, self.runtime.clock())
        self._held.set()
        self._wake.set()

    def closed(self, shard: FrontierShard) -> None:
        """Drop a partition's candidates."""
        self.core.close(shard)

    def restored(self, shard: FrontierShard) -> None:
        """Reload the state kept beside the rows."""
        self.core.restore(shard, self.runtime.clock())

    def absorb(self, shard: FrontierShard, fact: Sighting) -> None:
        """Change rows and emit evidence for one sighting."""
        self.core.absorb(shard, fact)

    def committed(self, shard: FrontierShard) -> None:
        """Apply the committed group, and choose again."""
        self.core.committed(shard, self.runtime.clock())
        self._wake.set()

    # choosing

    async def run(self) -> None:
        """Choose whenever something changed, and now and then; never returns."""
        pause, core, clock = 0.0, self.core, self.runtime.clock
        core.steered.tell()
        while True:
            with suppress(TimeoutError):
                # Not wait_for: before Python 3.12 it may swallow a cancellation.
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            self._wake.clear()
            if core.limits:
                await self._tell_limits()
            if core.candidates.opening:
                core.take_up(clock())
            pause = 0.0 if core.candidates.unknown else await self._choose(clock())

    async def _choose(self, now: float) -> float:
        """Choose once; return the seconds until the next choice, should nothing change before."""
        ordered = [shard.partition for shard in self.core.choose(now)]
        for partition in ordered:
            # A partition may be revoked while another commits; its new owner orders anew.
            if shard := self.inbox.shards.get(partition):
                await self.inbox.commit(shard)
        return self.core.rest(now, ordered=bool(ordered))

    def expect(self, order: FetchOrder) -> None:
        """Note an order that was sent, but not stored in its row before the process died."""
        self.core.expect(order, self.runtime.clock())

    # publishing

    async def publish(self) -> None:
        """Publish the standing at the start, at intervals, and when it stops or goes on; never returns."""
        await self._held.wait()
        while True:
            stopped = self._stopped()
            await self._publish("")
            with suppress(TimeoutError):
                async with asyncio.timeout(PUBLISH_SECONDS):
                    while stopped == self._stopped():
                        await asyncio.sleep(LOOK_SECONDS)

    def _stopped(self) -> str:
        """Return why nothing is ordered by decision, if so."""
        return state if (state := self.core.state) in ("paused", "spent") else ""

    async def _publish(self, predicate: str, *, final: bool = False) -> None:
        for standing in self.core.standing.steps(self.runtime.clock(), predicate, final=final):
            if standing is None:
                await asyncio.sleep(0)
                continue
            key = f"frontier {standing.worker} {predicate}".encode()
            await self.runtime.bus.send_all([(STANDING.name, 0, key, msgspec.json.encode(standing))])

    async def publish_counts(self) -> None:
        """Publish blocks of counts now and then; never returns."""
        await every(TELL_SECONDS, self.tell_counts)

    async def tell_counts(self) -> None:
        """Publish due blocks for other frontiers, within this worker's share of `learn.told` a second."""
        rate = self.runtime.settings.learn.told * self.core.ledger.share
        self._room = min(self._room + TELL_SECONDS * rate, rate)
        blocks, told = self.core.ledger.tell(self._room)
        if blocks:
            self._room -= told
            self._metrics.told.inc(told)
            await self.runtime.bus.send_all([block_message(block) for block in blocks])

    async def publish_freshness(self) -> None:
        """Publish now and then how current the matches are; returns only where pages are not visited again."""
        while self.core.schedule is not None:
            await asyncio.sleep(self.runtime.settings.revisit.tell_seconds)
            shards = self.core.candidates.shards.values()
            parts = self.core.schedule.freshness.parts(shards, self.runtime.clock())
            if parts:
                await self.runtime.bus.send_all([(STANDING.name, 0, *told_part(part)) for part in parts])

    async def mine(self) -> None:
        """Mine the patterns of sites whose usage changed, on a thread; returns only without patterns."""
        patterns = self.core.patterns
        while patterns is not None:
            due = patterns.due
            for site in due:
                for found in patterns.read(site):
                    if found is None:
                        await asyncio.sleep(0)
                    else:
                        patterns.mined(site, await asyncio.to_thread(mine, found))
            if due:
                self.core.reorder()
                self._wake.set()
            await asyncio.sleep(MINE_SECONDS)

    async def finish(self) -> None:
        """Store what the shards held start with the next time."""
        self.core.note_start()

    async def report(self) -> None:
        """Publish the final standing, with each predicate's best candidates if there is time."""
        await self.inbox.rest()
        predicates = sorted(self.core.candidates.queues) or [""]
        begun = time.thread_time()
        while predicates and time.thread_time() < begun + LAST_SECONDS:
            await self._publish(predicates.pop(0), final=True)


def block_message(block: Block) -> Message:
    """Return the message that publishes a block of counts; it replaces the block's previous one."""
    key = f"{block.partition}/{block.number}".encode()
    return INTERESTS.name, block.partition, key, encode(Interests(block=block))


def check_release(shard: FrontierShard) -> None:
    """Raise `ConfigurationError` if an earlier release wrote the partition: it has pages, but no counts."""
    counted = any(True for prefix in (BLOCK_PREFIX, SEGMENT_PREFIX) for _ in shard.store.scan(prefix))
    if totals_of(shard).judged and not counted:
        raise ConfigurationError(
            "table frontier: an earlier release wrote it, without counts; expected one of this release: finish "
            "the crawl with that release, or begin another in a data directory of its own"
        )
