"""A small stateful worker of its own process: it counts accesses by user, and tells of each.

``python -m tests.kafka.counting BROKER DIRECTORY [--blind] [--uncommitted]`` works until SIGTERM, and prints a
line for what happens. A blind one does not look at the clock: nothing but the broker keeps it from writing what
it lost. An uncommitted one commits no offsets but when it ends.
"""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec

from scentline.models.url import host
from scentline.streams.absorber import Handler
from scentline.streams.app import watch
from scentline.streams.facts import AccessPack, Visited
from scentline.streams.inbox import Shard
from scentline.streams.records import Decoder
from scentline.streams.runtime import Runtime
from scentline.streams.settings import KafkaSettings, Settings, StreamSettings
from scentline.streams.stateful import Stateful
from scentline.streams.topics import ACCESSES, SIGHTINGS
from scentline.streams.transport.kafka.log import connected

SESSION_SECONDS = 3.0
TABLE = "users"


class Row(msgspec.Struct, array_like=True):
    """How often a user was seen."""

    count: int = 0


def settings_of(broker: str, data: Path, commit_seconds: float = 0.5) -> Settings:
    kafka = KafkaSettings(session_seconds=SESSION_SECONDS, heartbeat_seconds=0.5)
    return Settings(
        broker=broker, data=data, kafka=kafka, streams=StreamSettings(commit_seconds=commit_seconds)
    )


class Counter(Handler[Row]):
    """Counts each access, and tells of it in the partition of its URL's host."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.inbox: Stateful[Row] = Stateful(
            runtime, ACCESSES, TABLE, Row, Decoder[AccessPack](AccessPack), self
        )

    def opened(self, shard: Shard[Row]) -> None:
        say(f"opened {shard.partition}")

    def closed(self, shard: Shard[Row]) -> None:
        say(f"closed {shard.partition}")

    def committed(self, shard: Shard[Row]) -> None:
        say(f"committed {shard.partition}")

    def absorb(self, shard: Shard[Row], fact: Any) -> None:
        row = shard.get(fact.user.encode()) or Row()
        row.count += 1
        shard.put(fact.user.encode(), row)
        place = self._runtime.partition(SIGHTINGS, host(fact.url))
        shard.outbox.emit(SIGHTINGS.name, place, Visited(fact.url, fact.user, fact.time))


def say(what: str) -> None:
    print(what, flush=True)


async def work(settings: Settings, blind: bool) -> None:
    done = asyncio.Event()
    failures: list[BaseException] = []

    def fail(error: BaseException) -> None:
        failures.append(error)
        done.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, done.set)
    async with connected(settings) as log:
        runtime = Runtime(log.app("browse"), settings, log.publisher, fail)
        counter = Counter(runtime)
        if blind:
            runtime.app.transport.in_session = lambda: True
        runtime.app.finalize()
        await runtime.app.start()
        watching = asyncio.create_task(watch(runtime.app, fail))
        await done.wait()
        watching.cancel()
        await runtime.close()
        await counter.inbox.flush()
        await runtime.app.stop()
    if failures:
        raise failures[0]


if __name__ == "__main__":
    _, address, directory, *flags = sys.argv
    seconds = 1000.0 if "--uncommitted" in flags else 0.5
    asyncio.run(work(settings_of(address, Path(directory), seconds), "--blind" in flags))
