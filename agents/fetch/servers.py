"""Name resolution, and the delays of servers: the last check before a request.

The frontier knows hosts by name, and orders no fetch that is too early for its name. Here addresses are known:
names that share one count as one server, which gets one request at a time, and a delay between two.
"""

import asyncio
import math
import socket
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from aiohttp.abc import AbstractResolver, ResolveResult

from scentline.agents.fetch.guard import hostname, literal
from scentline.agents.fetch.result import FetchError
from scentline.models.errors import ScentlineError
from scentline.models.url import server

#: Seconds that an order waits here at most; longer waits are the frontier's, which has other pages.
PATIENCE_SECONDS = 2.0
#: Seconds after which a busy server is tried again, and between two looks at whether it is free.
BUSY_SECONDS, LOOK_SECONDS = 1.0, 0.1
FOUND_SECONDS = 300.0  #: Seconds for which addresses are kept.
#: Seconds for which a failure is kept at first, doubled with each failure after it, and at most.
FAILED_SECONDS, LONGEST_FAILED_SECONDS = 30.0, 3600.0
LOOKUP_SECONDS = 10.0  #: Seconds that one look-up may take.
_MAX_SERVERS, _MAX_NAMES, _MAX_ADDRESSES = 100_000, 10_000, 16

K = TypeVar("K")
T = TypeVar("T")


class Shared(Generic[T]):
    """Runs one task per key at a time; further callers with the key wait for that task."""

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
        """Cancel the tasks, and with them their callers."""
        tasks = list(self._pending.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Recent(OrderedDict[K, T]):
    """The entries that were set last, at most ``most``, of at most ``size`` in all."""

    def __init__(self, most: int, size_of: Callable[[T], int] = lambda _: 0, size: int = 0) -> None:
        super().__init__()
        self._most, self._size_of, self._most_size = most, size_of, size
        self._size = 0

    def __setitem__(self, key: K, value: T) -> None:
        if key in self:
            self._size -= self._size_of(self.pop(key))
        super().__setitem__(key, value)
        self._size += self._size_of(value)
        while len(self) > self._most or self._size > self._most_size:
            self._size -= self._size_of(self.popitem(last=False)[1])


class _Name(NamedTuple):
    """The addresses of a name until they expire, or the wait after its failure."""

    expires: float
    found: tuple[ResolveResult, ...]
    wait: float


class Resolver(AbstractResolver):
    """Caches the addresses that ``ask`` finds, of the 10,000 names used last.

    Concurrent callers share a name's look-up. ``clock`` returns seconds. `close` closes ``ask`` as well.
    """

    def __init__(self, ask: AbstractResolver, clock: Callable[[], float]) -> None:
        self._ask = ask
        self._clock = clock
        self._names: Recent[str, _Name] = Recent(_MAX_NAMES)
        self._pending: Shared[_Name] = Shared()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of ``host``; OSError if there are none, or a recent look-up failed."""
        found = (await self._name(hostname(host))).found
        if not found:
            raise OSError(None, "no address")
        return [{**one, "port": port} for one in found if family in (socket.AF_UNSPEC, one["family"])]

    async def addresses(self, host: str) -> tuple[str, ...]:
        """Return the addresses of a host, with or without a port, sorted; raises `FetchError` without any."""
        found = (await self._name(hostname(host))).found
        if not found:
            raise FetchError("retry", "dns", unanswered=True)
        return tuple(sorted({one["host"] for one in found}))

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
        found: Sequence[ResolveResult] = ()
        address = literal(name)
        if address is not None:
            family = socket.AF_INET if address.version == 4 else socket.AF_INET6
            found = (ResolveResult(hostname=name, host=str(address), port=0, family=family, proto=0, flags=0),)
        else:
            with suppress(OSError, UnicodeError):  # TimeoutError is an OSError
                async with asyncio.timeout(LOOKUP_SECONDS):
                    found = await self._ask.resolve(name, 0, socket.AF_UNSPEC)
        before, wait = self._names.get(name), 0.0
        if not found:
            wait = min(2 * before.wait if before and before.wait else FAILED_SECONDS, LONGEST_FAILED_SECONDS)
        expires = self._clock() + (wait or FOUND_SECONDS)
        entry = self._names[name] = _Name(expires, tuple(found[:_MAX_ADDRESSES]), wait)
        return entry


class TooEarlyError(ScentlineError):
    """No request may go to a server for ``seconds``."""

    explains_itself = False

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


#: Called with the address that a request is sent to, once it has a connection.
connected: ContextVar[Callable[[str], None] | None] = ContextVar("connected", default=None)


@dataclass(slots=True)
class _Server:
    """An address: when the last request began, and that request, until it is known where it went.

    A request is each address that it may have gone to, with the start of the previous request there.
    """

    started: float
    taken: bool = False
    request: "list[tuple[_Server, float]] | None" = None


class Servers:
    """Which servers are in use, and when the last request to each began.

    A server is known by its addresses, IPv6 ones by their /64: `take` and `start` need all of them. The 100,000
    used last are kept. ``clock`` is monotonic, in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._servers: OrderedDict[str, _Server] = OrderedDict()
        self._held = -math.inf
        #: How often, and for how many seconds, fetches waited here.
        self.waits, self.waited = 0, 0.0

    def hold(self) -> None:
        """Count every server as just requested, perhaps by an earlier worker."""
        self._held = self._clock()
        for one in self._servers.values():
            one.started = max(one.started, self._held)

    def take(self, addresses: Sequence[str], delay: float) -> None:
        """Take a server until `release`; raises `TooEarlyError` if it is taken, or its wait is long."""
        servers = self._at(addresses)
        if any(one.taken for one in servers):
            raise TooEarlyError(max(delay, BUSY_SECONDS))
        self._wait(servers, delay)
        for one in servers:
            one.taken = True

    def release(self, addresses: Sequence[str]) -> None:
        """Let others use a server again."""
        for one in self._at(addresses):
            one.taken = False

    async def ready(self, addresses: Sequence[str], delay: float) -> None:
        """Wait until the last request to a server is ``delay`` seconds ago; `TooEarlyError` for a long wait."""
        servers = self._at(addresses)
        while (wait := self._wait(servers, delay)) > 0:
            self.waits += 1
            self.waited += wait
            await asyncio.sleep(wait)

    async def start(self, addresses: Sequence[str], delay: float) -> None:
        """Wait until a server is `ready`, and note that a request begins."""
        await self.ready(addresses, delay)
        now, servers = self._clock(), self._at(addresses)
        request = [(one, one.started) for one in servers]
        for one in servers:
            one.started, one.request = now, request

    def charge(self, addresses: Sequence[str], seconds: float) -> None:
        """Have the next request to a server wait for so many seconds more, and for its delay from now on."""
        for one in self._at(addresses):
            one.started = max(one.started + seconds, self._clock())

    @asynccontextmanager
    async def turn(self, addresses: Sequence[str], delay: float) -> AsyncIterator[None]:
        """Take a server and start a request, however long that takes."""
        with Held(self, delay) as held:
            while True:
                try:
                    await held.take(addresses)
                    await self.start(addresses, delay)
                    break
                except TooEarlyError as early:
                    await asyncio.sleep(min(early.seconds, LOOK_SECONDS))
            yield

    def connected(self, address: str) -> None:
        """Note that the last request that began at ``address`` went there, and to no other address."""
        asked = self._servers.get(server(address))
        if asked is None or asked.request is None:
            return
        request, asked.request = asked.request, None
        for other, before in request:
            if other.request is request:
                other.started, other.request = before, None

    def _wait(self, servers: Sequence[_Server], delay: float) -> float:
        last = max((one.started for one in servers), default=-delay)
        wait = last + delay - self._clock()
        if wait > PATIENCE_SECONDS:
            raise TooEarlyError(wait)
        return wait

    def _at(self, addresses: Sequence[str]) -> list[_Server]:
        names = list(dict.fromkeys(map(server, addresses)))
        for name in names:
            self._servers.setdefault(name, _Server(self._held))
            self._servers.move_to_end(name)
        found = [self._servers[name] for name in names]
        while len(self._servers) > _MAX_SERVERS:
            del self._servers[next(name for name, one in self._servers.items() if not one.taken)]
        return found


class Held:
    """What one fetch holds: all addresses of its host, until a connection shows which one it uses.

    At the end of the block they are released.
    """

    def __init__(self, servers: Servers, delay: float) -> None:
        self._servers = servers
        self.delay = delay  #: Seconds between two requests.
        self.crawl_delay: float | None = None  #: Those that robots.txt asks for.
        self.asked: float | None = None  #: When the page was requested.
        self.answered: float | None = None  #: When it had come, if something was done with it then.
        self.requests = 1  #: Those to its site that it took in all.
        self.addresses: tuple[str, ...] = ()
        self.server = ""  #: The address in use, or the only one; empty while it could be any of several.

    def __enter__(self) -> "Held":
        self._before = connected.set(self.connected)
        return self

    def __exit__(self, *_: object) -> None:
        connected.reset(self._before)
        if self.requests > 1:
            self._servers.charge(self.addresses, (self.requests - 1) * self.delay)
        self._servers.release(self.addresses)
        self.addresses = ()

    async def take(self, addresses: Sequence[str]) -> None:
        """Hold the ``addresses`` as soon as they are ready; raises `TooEarlyError` as `Servers.take`."""
        if len(addresses) == 1:
            self.server = addresses[0]
        held = set(map(server, self.addresses))
        others = [address for address in addresses if server(address) not in held]
        self._servers.take(others, self.delay)
        self.addresses = tuple(dict.fromkeys((*self.addresses, *addresses)))
        if others:
            await self._servers.ready(addresses, self.delay)

    def connected(self, address: str) -> None:
        """Release all addresses but the one of the connection.

        A host's addresses are what its name server lists. It may list those of others, which its slow answers
        must not hold up.
        """
        self._servers.connected(address)
        if address in self.addresses:
            self._servers.release([other for other in self.addresses if server(other) != server(address)])
            self.addresses, self.server = (address,), address
