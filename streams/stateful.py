"""A stateful agent on Faust: its inbox topic, its table, its shards and when their groups are committed."""

import asyncio
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from streams.dead_letters import bury
from streams.inbox import Codec, LostShardError, Shard, commit
from streams.records import Pack, RecordError
from streams.runtime import Runtime
from streams.tables import OPTIONS, TablePartition
from streams.topics import Topic, changelog_of

Row = TypeVar("Row")


class Handler(Protocol[Row]):
    """What a stateful agent does with facts; all but `committed` is synchronous and touches its shard only."""

    def opened(self, shard: Shard[Row]) -> None:
        """A partition became ours and its rows are recovered."""

    def closed(self, shard: Shard[Row]) -> None:
        """A partition is no longer ours; what was kept of it in memory must go."""

    def absorb(self, shard: Shard[Row], fact: Any) -> None:
        """Change rows and emit, as a function of the rows and the fact alone."""

    def committed(self, shard: Shard[Row]) -> None:
        """A group of the shard is safe."""


class Stateful(Generic[Row]):
    """Runs a handler over an inbox topic, one shard a partition.

    ``decode`` reads an inbox message's (value, partition, offset) as a pack of facts; what it can't read
    goes to the dead letters. ``group_seconds`` overrides how long a group gathers.
    """

    def __init__(
        self,
        runtime: Runtime,
        topic: Topic,
        table: str,
        row_type: Any,
        decode: Callable[[bytes], Pack[Any]],
        handler: Handler[Row],
        group_seconds: float | None = None,
    ) -> None:
        self.runtime = runtime
        self.topic = topic
        self.shards: dict[int, Shard[Row]] = {}
        self._codec: Codec[Row] = Codec(row_type)
        self._decode = decode
        self._handler = handler
        self._limits = runtime.settings.streams
        self._group_seconds = group_seconds or self._limits.group_seconds
        self._timers: dict[int, asyncio.TimerHandle] = {}
        app = runtime.app
        self._partitions = runtime.publisher.partitions(topic.name)
        self._table = app.Table(
            table, partitions=self._partitions, key_type=bytes, value_type=bytes, options=dict(OPTIONS)
        )
        self._changelog = changelog_of(app.conf.id, table)
        self._generation = -1
        app.agent(runtime.channel(topic), name=f"{table}-inbox")(runtime.guarded(self._run))
        app.on_rebalance_complete.connect(self._recovered)

    # partitions

    async def _recovered(self, *_: Any, **__: Any) -> None:
        self._drop_shards()
        self._generation = self.runtime.app.consumer_generation_id
        for tp in self.runtime.app.assignor.assigned_actives():
            if tp.topic == self.topic.name:
                self._open(tp.partition)

    def _open(self, partition: int) -> Shard[Row]:
        store = TablePartition(self._table.data._db_for_partition(partition))
        source = f"{self.topic.name}/{partition}"
        shard = Shard(partition, source, store, self._codec, self._limits.cached_rows)
        self.shards[partition] = shard
        self._handler.opened(shard)
        return shard

    def _drop_shards(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for shard in self.shards.values():
            self._handler.closed(shard)
        self.shards.clear()

    def _owned(self, shard: Shard[Row]) -> bool:
        return (
            self.shards.get(shard.partition) is shard
            and self._generation == self.runtime.app.consumer_generation_id
        )

    # messages

    async def _run(self, stream: Any) -> None:
        async for event in stream.noack().events():
            message = event.message
            shard = self.shards.get(message.partition)
            if shard is None:
                continue  # between two owners: it comes again, to whoever owns the partition then
            try:
                self._absorb(shard, message.offset, event.value, event)
            except Exception:
                # Half of a message: nothing of the open group may be written, by the last flush least of all.
                del self.shards[message.partition]
                raise
            messages, rows = shard.size()
            if messages >= self._limits.group_messages or rows >= self._limits.group_rows:
                await self.commit(shard)
            else:
                self.commit_soon(shard)

    def _absorb(self, shard: Shard[Row], offset: int, value: bytes, event: Any) -> None:
        if shard.fresh(offset):
            try:
                pack = self._decode(value)
            except RecordError as error:
                self._bury(shard, offset, value, str(error))
            else:
                for fact in shard.accept(offset, pack):
                    self._handler.absorb(shard, fact)
        shard.absorbed(event)

    def _bury(self, shard: Shard[Row], offset: int, value: bytes, reason: str) -> None:
        shard.begin(offset)
        bury(shard.outbox, self.topic.name, shard.partition, offset, value, reason, self.runtime.clock())

    # groups

    def commit_soon(self, shard: Shard[Row]) -> None:
        """Commit the shard's group once it has gathered for its time."""
        if shard.partition not in self._timers:
            loop = asyncio.get_running_loop()
            self._timers[shard.partition] = loop.call_later(
                self._group_seconds, lambda: self.runtime.spawn(self.commit(shard))
            )

    async def commit(self, shard: Shard[Row]) -> None:
        """Commit the shard's group now; a shard that was lost meanwhile is left to its new owner."""
        timer = self._timers.pop(shard.partition, None)
        if timer is not None:
            timer.cancel()
        try:
            await commit(shard, self.runtime.publisher, self._changelog, lambda: self._owned(shard))
        except LostShardError:
            return
        self._handler.committed(shard)

    async def flush(self) -> None:
        """Commit every shard's group: what a graceful stop does last."""
        for shard in list(self.shards.values()):
            await self.commit(shard)
