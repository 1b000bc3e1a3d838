"""Names and their addresses, cached for a while, failures included."""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Generic, TypeVar

from aiohttp.abc import AbstractResolver, ResolveResult

from scentline.agents.fetch.guard import hostname, literal
from scentline.agents.fetch.result import FetchError

#: Seconds for which addresses are kept.
FOUND_SECONDS = 300.0
#: Seconds for which a failure is kept at first; they double with each failure after it.
FAILED_SECONDS = 30.0
#: The longest time for which a failure is kept.
LONGEST_FAILED_SECONDS = 3600.0
#: Seconds that one look-up may take.
LOOKUP_SECONDS = 10.0
_MAX_NAMES = 10_000
_MAX_ADDRESSES = 16

T = TypeVar("T")


class Shared(Generic[T]):
    """Runs one task for each key at a time; whoever wants the same key meanwhile waits for that task."""

    def __init__(self) -> None:
        self._pending: dict[str, asyncio.Task[T]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._pending

    async def run(self, key: str, work: Callable[[], Coroutine[None, None, T]]) -> T:
        """Return the result of the key's task, which ``work`` starts if there is none."""
        task = self._pending.get(key)
        if task is None:
            # A task of its own: a caller that gives up must not end the others' wait.
            task = self._pending[key] = asyncio.create_task(work())
            task.add_done_callback(lambda _: self._pending.pop(key, None))
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Cancel the tasks, and with them whoever waits."""
        tasks = list(self._pending.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(slots=True)
class _Name:
    """The addresses of a name until they expire, or the wait after its failure."""

    expires: float
    found: tuple[ResolveResult, ...] = ()
    wait: float = 0.0


class Resolver(AbstractResolver):
    """Caches the addresses that ``ask`` finds, of the 10,000 names used last.

    Concurrent look-ups of a name are one. ``clock`` returns seconds. `close` closes ``ask`` as well.
    """

    def __init__(self, ask: AbstractResolver, clock: Callable[[], float]) -> None:
        self._ask = ask
        self._clock = clock
        self._names: OrderedDict[str, _Name] = OrderedDict()
        self._pending: Shared[_Name] = Shared()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of ``host``; OSError where there are none, or none were found of late."""
        found = (await self._name(hostname(host))).found
        if not found:
            raise OSError(None, "no address")
        return [{**one, "port": port} for one in found if family in (socket.AF_UNSPEC, one["family"])]

    async def addresses(self, host: str) -> tuple[str, ...]:
        """Return the addresses of a host, with or without a port, in an order of their own.

        Raises `FetchError` where there are none.
        """
        name = hostname(host)
        known = (await self._name(name)).found
        if not known:
            raise FetchError("retry", "dns", unanswered=True)
        return tuple(sorted({one["host"] for one in known}))

    async def close(self) -> None:
        """End the look-ups in flight; their callers are cancelled."""
        await self._pending.close()
        await self._ask.close()

    async def _name(self, name: str) -> _Name:
        known = self._names.get(name)
        if known is not None and known.expires > self._clock():
            self._names.move_to_end(name)
            return known
        return await self._pending.run(name, lambda: self._look_up(name))

    async def _look_up(self, name: str) -> _Name:
        found: tuple[ResolveResult, ...] = ()
        address = literal(name)
        if address is not None:
            family = socket.AF_INET if address.version == 4 else socket.AF_INET6
            found = (ResolveResult(hostname=name, host=str(address), port=0, family=family, proto=0, flags=0),)
        else:
            try:
                async with asyncio.timeout(LOOKUP_SECONDS):
                    found = tuple(await self._ask.resolve(name, 0, socket.AF_UNSPEC))[:_MAX_ADDRESSES]
            except (OSError, UnicodeError):  # TimeoutError is an OSError
                found = ()
        known = self._names.pop(name, None)
        wait = 0.0
        if not found:
            wait = min(2 * known.wait if known and known.wait else FAILED_SECONDS, LONGEST_FAILED_SECONDS)
        entry = self._names[name] = _Name(self._clock() + (wait or FOUND_SECONDS), found, wait)
        while len(self._names) > _MAX_NAMES:
            self._names.popitem(last=False)
        return entry
