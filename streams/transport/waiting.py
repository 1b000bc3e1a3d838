"""Waiting for appends: whoever waits is woken by the next append to a partition it named."""

import asyncio
from collections.abc import Iterable

#: A partition of a topic.
Place = tuple[str, int]


class Waiters:
    """The futures that wait for appends, by (topic, partition); their event loops may differ."""

    def __init__(self) -> None:
        self._waiting: dict[Place, set[asyncio.Future[None]]] = {}

    async def wait(self, places: Iterable[Place]) -> None:
        """Return after the next `wake` of any of the partitions."""
        await self.join(asyncio.get_running_loop().create_future(), places)

    async def join(self, future: "asyncio.Future[None]", places: Iterable[Place]) -> None:
        """Return when ``future`` is done: by the next `wake` of any of the partitions, or by its owner."""
        named = list(places)
        for name in named:
            self._waiting.setdefault(name, set()).add(future)
        try:
            await future
        finally:
            for name in named:
                self._leave(name, future)

    def _leave(self, name: Place, future: "asyncio.Future[None]") -> None:
        waiting = self._waiting.get(name)
        if waiting is not None:
            waiting.discard(future)
            if not waiting:
                del self._waiting[name]

    def wake(self, name: Place) -> None:
        """Wake whoever waits for the partition; may be called from any thread."""
        waiting = self._waiting.pop(name, ())
        here = _running() if waiting else None
        for future in waiting:
            loop = future.get_loop()
            if loop is here:
                finish(future)
            elif not loop.is_closed():
                loop.call_soon_threadsafe(finish, future)


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def finish(future: "asyncio.Future[None]") -> None:
    """Complete the future, unless it is done."""
    if not future.done():
        future.set_result(None)
