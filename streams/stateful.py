"""A stateful agent on Faust: its inbox topic, its table, its shards, and when their groups are committed."""

import asyncio
import time
import weakref
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Generic

from scentline.models.records import Pack, RecordError, UnknownFactsError, encode
from scentline.streams.attempts import Place, bury, why
from scentline.streams.inbox import Codec, Group, LostShardError, Row, Shard, Store, commit
from scentline.streams.metrics import Reading, catalogue
from scentline.streams.runtime import FencedError, Runtime
from scentline.streams.topics import Topic

WHOLE = -1  #: The number that stands for all facts of a message.
#: Origins reserved for a quarantined fact, more than any fact emits: later emissions keep their origins if the
#: fact is absorbed on another attempt.
LEFT_FREE = 1_000_000
#: Bytes of decoded rows cached for a table whose rows are mostly written once and never read again.
WRITTEN_ONCE = 1024 * 1024


class Handler(Generic[Row]):
    """What a stateful agent does with facts. Each method is synchronous and touches its shard only."""

    def opened(self, shard: Shard[Row]) -> None:
        """A partition is assigned here, its rows recovered."""

    def closed(self, shard: Shard[Row]) -> None:
        """A partition is no longer assigned here: drop its state in memory."""

    def absorb(self, shard: Shard[Row], fact: Any) -> None:
        """Change rows and emit, as a function of the rows and the fact alone."""
        raise NotImplementedError

    def committed(self, shard: Shard[Row]) -> None:
        """A group of the shard is safe."""

    def restored(self, shard: Shard[Row]) -> None:
        """The open group was rolled back, and its messages come again: drop its state in memory."""

    def refused(self, shard: Shard[Row], value: bytes) -> None:
        """A message, or a fact of it, was quarantined: send the answer that others wait for."""


class Stateful(Generic[Row]):
    """Runs a handler over an inbox topic, one shard per partition.

    ``decode`` reads a message; what it can't read goes to the dead letters. ``group_seconds`` and
    ``cached_bytes`` override the settings. ``prepare`` is awaited with a message before it is absorbed, for
    slow work on untrusted data.
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
        cached_bytes: int | None = None,
        prepare: Callable[[bytes], Awaitable[None]] | None = None,
    ) -> None:
        self.runtime = runtime
        self.topic = topic
        self.shards: dict[int, Shard[Row]] = {}
        self._codec: Codec[Row] = Codec(row_type)
        self._prepare = prepare
        self._decode = decode
        self._handler = handler
        self._name = table
        self._limits = runtime.settings.streams
        self._group_seconds = group_seconds or self._limits.group_seconds
        self._cached_bytes = cached_bytes or self._limits.cached_bytes
        self._timers: dict[int, asyncio.TimerHandle] = {}
        app = runtime.app
        self._committer = runtime.bus.committer(app, table, topic.name)
        histogram, counter = runtime.metrics.histogram, runtime.metrics.counter
        self._messages = histogram(catalogue.GROUP_MESSAGES).labels(table)
        self._rows = histogram(catalogue.GROUP_ROWS).labels(table)
        self._seconds = histogram(catalogue.GROUP_SECONDS).labels(table)
        self._lost = counter(catalogue.GROUPS_LOST).labels(table)
        self._taken = counter(catalogue.TAKEN).labels(topic.name)
        self._generation = -1
        self._resting = False
        runtime.watch(self._measure)
        runtime.watch_lag(topic, self._positions)
        runtime.read(topic, f"{table}-inbox", self._run)
        app.on_partitions_revoked.connect(self._revoked)
        app.on_rebalance_complete.connect(self._recovered)

    # partitions

    async def _revoked(self, *_: Any, **__: Any) -> None:
        """Drop all shards: uncommitted messages come again, to the next owner."""
        self._drop_shards()

    async def _recovered(self, *_: Any, **__: Any) -> None:
        """Open the shards of recovered tables; Faust waits for this before messages come."""
        app = self.runtime.app
        self._drop_shards()
        generation = app.consumer_generation_id
        name = self.runtime.settings.named(self.topic.name)
        owned = [tp.partition for tp in app.assignor.assigned_actives() if tp.topic == name]
        try:
            stores = await asyncio.gather(*map(self._committer.claim, owned))
        except FencedError:
            app.consumer.rejoin()  # two claim the same: one of them does not know yet that it lost it
        except Exception as error:
            self.runtime.fail(error)
        else:
            if generation == app.consumer_generation_id:
                self._generation = generation
                for partition, store in zip(owned, stores, strict=True):
                    self._open(partition, store, self._cached_bytes // len(owned))

    def _open(self, partition: int, store: Store, cached: int) -> None:
        shard = Shard(partition, f"{self.topic.name}/{partition}", store, self._codec, cached)
        self.shards[partition] = shard
        self._handler.opened(shard)

    def _drop_shards(self) -> None:
        for shard in list(self.shards.values()):
            self._drop(shard)

    def _drop(self, shard: Shard[Row]) -> None:
        del self.shards[shard.partition]
        timer = self._timers.pop(shard.partition, None)
        if timer is not None:
            timer.cancel()
        self._committer.release(shard.partition)
        self._handler.closed(shard)

    def owns(self, shard: Shard[Row]) -> bool:
        """Return whether this worker certainly still owns a shard."""
        app = self.runtime.app
        return (
            self.shards.get(shard.partition) is shard
            and self._generation == app.consumer_generation_id
            and app.consumer.in_session()
        )

    # messages

    async def _run(self, stream: Any) -> None:
        async for event in stream.noack().events():
            # By a call: a variable here would keep the table of a lost shard open until the next message, and
            # an open table can't be claimed again.
            await self._take(event)

    async def _take(self, event: Any) -> None:
        message = event.message
        shard = self.shards.get(message.partition)
        if self._resting or shard is None or not await self._in_turn(shard, message):
            return  # it comes again, to the partition's next owner
        if self._prepare is not None and message.offset > shard.mark.offset:
            known = weakref.ref(shard)
            del shard  # it may be lost meanwhile, and an open table can't be claimed again
            await self._prepare(event.value or b"")
            shard = known()
            if shard is None or self.shards.get(message.partition) is not shard:
                return
        try:
            await self._take_in(shard, event)
        except Exception:
            # Half a message is absorbed: nothing, the last flush included, may write the open group.
            self.shards.pop(message.partition, None)
            raise
        if self._full(shard):
            await self.commit(shard)
        else:
            self.commit_soon(shard)

    async def _in_turn(self, shard: Shard[Row], message: Any) -> bool:
        """Return whether no message is missing before this one, and the shard is still ours."""
        due = shard.mark.offset + 1
        if message.offset <= due:
            return True
        gone = await self.runtime.app.consumer.gone(message.tp, due, message.offset)
        return gone and self.shards.get(shard.partition) is shard and shard.mark.offset + 1 == due

    def _full(self, shard: Shard[Row]) -> bool:
        """Return whether the shard's group must be committed."""
        messages, rows, size = shard.size()
        limits = self._limits
        return messages >= limits.group_messages or rows >= limits.group_rows or size >= limits.group_bytes

    async def _take_in(self, shard: Shard[Row], event: Any) -> None:
        """Absorb a message, or bury it if too many processes ended with it."""
        place = self._place(shard, event.message.offset)
        reason = self.runtime.deadly(place)
        if reason:
            shard.quarantined[event.message.offset, WHOLE] = reason
            self._absorb(shard, event)
            return
        with self.runtime.attempts.taking(place):
            if not self._absorb(shard, event):
                await self._absorb_again(shard, event)

    async def _absorb_again(self, shard: Shard[Row], event: Any) -> None:
        """Roll back the open group and a message with a quarantined fact; absorb them without the fact.

        The earlier messages are committed first, so that further failures roll back this one only.
        """
        waiting = [event]
        while waiting:
            waiting = [*shard.roll_back(), *waiting]
            self._handler.restored(shard)
            while waiting:
                if self._prepare is not None:
                    await self._prepare(waiting[0].value or b"")
                    if self.shards.get(shard.partition) is not shard:
                        return
                if not self._absorb(shard, waiting[0]):
                    break
                del waiting[0]
                if len(waiting) <= 1:
                    await self.commit(shard)
                    if self.shards.get(shard.partition) is not shard:
                        return  # what is left comes again, to its new owner

    # absorbing: the shard notes the open group's quarantined facts, and buries them again after a rollback

    def _place(self, shard: Shard[Row], offset: int) -> Place:
        return Place(self.topic.name, shard.partition, offset)

    def _absorb(self, shard: Shard[Row], event: Any) -> bool:
        """Absorb a message; return False if a fact was quarantined: the group must be rolled back."""
        offset, value = event.message.offset, event.value or b""
        if offset > shard.mark.offset:
            pack = self._read(shard, offset, value)
            for number, fact in enumerate(shard.accept(offset, pack)):
                if shard.quarantined and (offset, number) in shard.quarantined:
                    alone: Pack[Any] = Pack(source=pack.source, facts=[(*shard.origin, fact)])
                    self._bury(shard, number, encode(alone), value)
                    continue
                try:
                    self._handler.absorb(shard, fact)
                except Exception as error:
                    self._quarantine(shard, offset, number, error)
                    return False
        shard.absorbed(event, len(value))
        return True

    def _read(self, shard: Shard[Row], offset: int, value: bytes) -> Pack[Any]:
        """Return a message's known facts; what can't be read goes to the dead letters."""
        if (offset, WHOLE) not in shard.quarantined:
            try:
                pack = self._decode(value)
                shard.check_source(pack)
                return pack
            except RecordError as error:
                partly = error if isinstance(error, UnknownFactsError) else None
                shard.begin(offset)
                letter = partly.unknown if partly else value
                self.runtime.bury(shard, self._place(shard, offset), letter, str(error), why(error))
                return partly.known if partly else Pack(facts=[])
            except Exception as error:
                self._quarantine(shard, offset, WHOLE, error)
        shard.begin(offset)
        self._bury(shard, WHOLE, value, value)
        return Pack(facts=[])

    def _quarantine(self, shard: Shard[Row], offset: int, number: int, error: Exception) -> None:
        shard.quarantined[offset, number] = self.runtime.quarantine(self._place(shard, offset), error)

    def _bury(self, shard: Shard[Row], number: int, letter: bytes, value: bytes) -> None:
        """Bury a quarantined fact of the message in hand, or all of it."""
        offset = shard.mark.offset
        shard.mark.quarantined += 1
        bury(
            shard, self._place(shard, offset), letter, shard.quarantined[offset, number], "quarantine",
            self.runtime.clock(), None if number == WHOLE else shard.origin,
        )  # fmt: skip
        shard.skip(LEFT_FREE)
        self._handler.refused(shard, value)

    # groups

    def commit_soon(self, shard: Shard[Row]) -> None:
        """Commit the shard's group after the group's seconds."""
        if shard.partition not in self._timers:
            loop = asyncio.get_running_loop()
            self._timers[shard.partition] = loop.call_later(
                self._group_seconds, lambda: self.runtime.finish(self.commit(shard))
            )

    async def commit(self, shard: Shard[Row]) -> None:
        """Commit the shard's group now; leave a lost shard to its new owner."""
        timer = self._timers.pop(shard.partition, None)
        if timer is not None:
            timer.cancel()
        try:
            group = await commit(shard, self._committer, partial(self.owns, shard))
        except LostShardError:
            self._lost.inc()
            if self.shards.get(shard.partition) is shard:
                self._drop(shard)
                self.runtime.app.consumer.rejoin()
            return
        except BaseException:
            # Half a group may have been sent: nothing after it may be written. It comes again.
            if self.shards.get(shard.partition) is shard:
                del self.shards[shard.partition]
            raise
        if group is not None:
            self._landed(group)
        if self.shards.get(shard.partition) is shard:
            self._handler.committed(shard)

    async def rest(self) -> None:
        """Stop absorbing, and commit every shard's group: the rows are final."""
        self._resting = True
        await self.flush()

    async def flush(self) -> None:
        """Commit every shard's group."""
        for shard in list(self.shards.values()):
            await self.commit(shard)

    def absorbed(self, ends: Mapping[int, int]) -> bool:
        """Return whether all before these offsets, by partition, is absorbed here."""
        marks = self._positions()
        return all(marks.get(partition, -1) >= end for partition, end in ends.items())

    async def unabsorbed(self) -> int:
        """Return how many messages the inbox has yet to absorb; all of its partitions are owned here."""
        ends, marks = await self.runtime.bus.ends(self.topic.name), self._positions()
        return sum(end - marks.get(partition, 0) for partition, end in ends.items())

    # metrics

    def _landed(self, group: Group) -> None:
        self._seconds.observe(time.perf_counter() - group.closed)
        self._messages.observe(len(group.messages))
        self._rows.observe(len(group.rows))
        self._taken.inc(len(group.messages))

    def _positions(self) -> Mapping[int, int]:
        return {partition: shard.mark.offset + 1 for partition, shard in self.shards.items()}

    def _measure(self, reading: Reading) -> None:
        for shard in self.shards.values():
            rows, size = shard.store.size()
            reading.add(catalogue.TABLE_ROWS, rows, self._name)
            reading.add(catalogue.TABLE_BYTES, size, self._name)
