"""What every agent is given: the Faust app, the settings, the log to publish to, the clock."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import faust

from streams.settings import Settings
from streams.topics import Topic, partition_of
from streams.transport.publisher import Publisher

#: An agent's body: it reads its stream without end.
Work = Callable[[Any], Coroutine[Any, Any, None]]


@dataclass
class Runtime:
    """What every agent is given.

    ``fail`` is called with an error that must end the program: state may not be written past it.
    """

    app: faust.App
    settings: Settings
    publisher: Publisher
    fail: Callable[[BaseException], None]
    clock: Callable[[], float] = time.time
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def partition(self, topic: Topic, key: str) -> int:
        """Return the partition of ``key`` in a topic."""
        return partition_of(key, self.publisher.partitions(topic.name))

    def channel(self, topic: Topic) -> Any:
        """Return the topic as a Faust channel of raw bytes."""
        return self.app.topic(
            topic.name,
            key_type=bytes,
            value_type=bytes,
            key_serializer="raw",
            value_serializer="raw",
            partitions=self.publisher.partitions(topic.name),
        )

    def guarded(self, work: Work) -> Work:
        """Return an agent's body that ends the program where it raises.

        Faust would log the error and go on with the next message, past one that was never absorbed.
        """

        async def run(stream: Any) -> None:
            try:
                await work(stream)
            except Exception as error:
                self.fail(error)
                await asyncio.Event().wait()  # until the app stops: nothing more is absorbed

        return run

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run ``work`` beside the agents; an error in it ends the program."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)

    async def close(self) -> None:
        """Cancel whatever `spawn` started and is still running."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


#: A timer's body.
Tick = Callable[[], Awaitable[None]]


async def every(seconds: float, tick: Tick) -> None:
    """Call ``tick`` again and again, ``seconds`` apart."""
    while True:
        await asyncio.sleep(seconds)
        await tick()
