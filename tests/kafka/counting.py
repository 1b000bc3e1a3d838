"""A small stateful worker of its own process: it counts accesses by user, and tells of each.

``python -m tests.kafka.counting BROKER DIRECTORY [--blind] [--uncommitted]`` works until SIGTERM, and prints a
line for what happens. A blind one does not look at the clock: nothing but the broker keeps it from writing what
it lost. An uncommitted one commits no offsets but when it ends.
"""

import asyncio
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

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
from scentline.streams.transport.partition import finish

TABLE = "users"


def settings_of(broker: str, data: Path, commit_seconds: float = 0.5) -> Settings:
    kafka = KafkaSettings(session_seconds=3.0, heartbeat_seconds=0.5)
    streams = StreamSettings(commit_seconds=commit_seconds)
    return Settings(broker=broker, data=data, kafka=kafka, streams=streams)


class Counter(Handler[int]):
    """Counts each access, and tells of it in the partition of its URL's host."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        decode = Decoder[AccessPack](AccessPack)
        self.inbox: Stateful[int] = Stateful(runtime, ACCESSES, TABLE, int, decode, self)

    def opened(self, shard: Shard[int]) -> None:
        say(f"opened {shard.partition}")

    def committed(self, shard: Shard[int]) -> None:
        say(f"committed {shard.partition}")

    def absorb(self, shard: Shard[int], fact: Any) -> None:
        shard.put(fact.user.encode(), (shard.get(fact.user.encode()) or 0) + 1)
        place = self._runtime.partition(SIGHTINGS, host(fact.url))
        shard.outbox.emit(SIGHTINGS.name, place, Visited(fact.url, fact.user, fact.time))


def say(what: str) -> None:
    print(what, flush=True)


async def work(settings: Settings, blind: bool) -> None:
    """Work until SIGTERM, or until something fails, which is raised."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def fail(error: BaseException) -> None:
        if not done.done():
            done.set_exception(error)

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, partial(finish, done))
    async with connected(settings) as log:
        runtime = Runtime(log.app("browse"), settings, log.publisher, fail)
        counter = Counter(runtime)
        if blind:
            runtime.app.transport.in_session = lambda: True
        runtime.app.finalize()
        await runtime.app.start()
        watching = asyncio.create_task(watch(runtime.app, fail))
        await asyncio.wait([done])
        watching.cancel()
        await runtime.close()
        await counter.inbox.flush()
        await runtime.app.stop()
    done.result()


if __name__ == "__main__":
    _, address, directory, *flags = sys.argv
    seconds = 1000.0 if "--uncommitted" in flags else 0.5
    asyncio.run(work(settings_of(address, Path(directory), seconds), "--blind" in flags))
