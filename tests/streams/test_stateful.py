"""A stateful agent's inbox: what a handler that raises leaves behind."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scentline.streams.absorber import Handler
from scentline.streams.facts import Access, AccessPack, Visited
from scentline.streams.inbox import Shard
from scentline.streams.records import Decoder, Pack, encode
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.stateful import Stateful
from scentline.streams.topics import ACCESSES, SIGHTINGS
from tests.agents.shards import a_runtime, disk


class Raising(Handler[int]):
    """A handler that counts accesses and can't bear one of them, which it finds when it has counted."""

    error: Exception = OSError("the disk is gone")
    refusals = 0

    def refused(self, shard: Shard[int], value: bytes) -> None:
        self.refusals += 1

    def absorb(self, shard: Shard[int], fact: Any) -> None:
        shard.put(fact.user.encode(), (shard.get(fact.user.encode()) or 0) + 1)
        shard.put(b"all", (shard.get(b"all") or 0) + 1)
        shard.outbox.emit(SIGHTINGS.name, 0, Visited(fact.url, fact.user, fact.time))
        if fact.user == "bad":
            raise self.error


class Messages:
    """A stream of inbox messages, as Faust gives it."""

    def __init__(self, *values: bytes | None) -> None:
        self.values = values

    def noack(self) -> "Messages":
        return self

    async def events(self) -> AsyncIterator[Any]:
        for offset, value in enumerate(self.values):
            message = SimpleNamespace(partition=0, offset=offset)
            yield SimpleNamespace(message=message, value=value, ack=lambda: None)


def an_inbox(runtime: Runtime, shard: Shard[int], handler: Handler[int]) -> Stateful[int]:
    """Return the inbox of accesses, whose one partition is a shard that is ours."""
    decode = Decoder[AccessPack](AccessPack)
    inbox: Stateful[int] = Stateful(runtime, ACCESSES, "users", int, decode, handler, group_seconds=60.0)
    inbox.shards[0] = shard
    inbox._generation = runtime.app.consumer_generation_id
    return inbox


def packed(*users: str) -> bytes:
    return encode(Pack(facts=[(0, n, Access(user, "http://a.org/", 0.0)) for n, user in enumerate(users)]))


def test_a_message_that_was_half_absorbed_is_not_written_by_the_last_flush(tmp_path: Path) -> None:
    with a_runtime(Settings(data=tmp_path)) as runtime, disk(tmp_path) as rows:
        shard = rows.shard(int, ACCESSES)
        inbox = an_inbox(runtime, shard, Raising())

        async def run() -> None:
            with pytest.raises(OSError, match="the disk is gone"):
                await inbox._run(Messages(packed("good", "bad", "good")))
            await inbox.flush()

        asyncio.run(run())
        assert shard.store.get(b"good") is None
        assert rows.shard(int, ACCESSES).mark.offset == -1


def test_a_group_ends_when_its_messages_hold_the_bytes_that_are_set(tmp_path: Path) -> None:
    value = packed("good")
    settings = Settings.model_validate({"data": tmp_path, "streams": {"group_bytes": 3 * len(value)}})
    with a_runtime(settings) as runtime, disk(tmp_path) as rows:
        shard = rows.shard(int, ACCESSES)
        asyncio.run(an_inbox(runtime, shard, Raising())._run(Messages(*[value] * 8)))
        assert rows.shard(int, ACCESSES).mark.offset == 5
        assert shard.size() == (2, 2, 2 * len(value))


class Waiting(Messages):
    """A stream whose next message never comes."""

    async def events(self) -> AsyncIterator[Any]:
        async for event in super().events():
            yield event
        await asyncio.Event().wait()


def test_a_shard_that_was_lost_is_kept_by_nobody_while_the_next_message_is_waited_for(tmp_path: Path) -> None:
    with a_runtime(Settings(data=tmp_path)) as runtime, disk(tmp_path) as rows:

        async def run() -> bool:
            inbox = an_inbox(runtime, rows.shard(int, ACCESSES), Raising())
            lost = weakref.ref(inbox.shards[0])
            reading = asyncio.create_task(inbox._run(Waiting(packed("good"))))
            while not inbox.shards[0].pending:
                await asyncio.sleep(0)
            inbox._drop_shards()
            gc.collect()
            kept = lost() is not None
            reading.cancel()
            return kept

        assert not asyncio.run(run())
