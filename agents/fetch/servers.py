"""One request at a time to one server, and a delay between requests: the last check before a request.

The frontier knows hosts by name, and orders no fetch that is too early by that. Here the addresses are known:
names that share one count as one server.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from scentline.models.domain import server
from scentline.models.errors import ScentlineError

#: Seconds that an order waits here at most; longer waits are the frontier's, which has other pages.
PATIENCE_SECONDS = 2.0
#: Seconds after which a busy server is tried again.
BUSY_SECONDS = 1.0
#: Seconds between two looks at whether a server is free.
LOOK_SECONDS = 0.1
_MAX_SERVERS = 100_000


def _names(addresses: Iterable[str]) -> list[str]:
    """Return the names of the servers at some addresses, each once."""
    return list(dict.fromkeys(map(server, addresses)))


class TooEarlyError(ScentlineError):
    """No request may go to a server for ``seconds``."""

    explains_itself = False

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


@dataclass(slots=True)
class _Server:
    """An address; ``request`` is the last that may have gone here, until it is known where it went."""

    started: float
    taken: bool = False
    request: "_Request | None" = None


class _Request:
    """A request to one of several addresses, and when the request before it began at each."""

    def __init__(self, servers: Iterable[_Server]) -> None:
        self.before = [(server, server.started) for server in servers]


class Held:
    """The addresses that one fetch holds: all of its host, until a connection shows which one it uses.

    ``server`` is the address in use, or the only one; empty while it could be any of several.
    """

    def __init__(self, servers: "Servers") -> None:
        self._servers = servers
        self.addresses: tuple[str, ...] = ()
        self.server = ""

    def take(self, addresses: Sequence[str], delay: float) -> None:
        """Hold the ``addresses`` that are not held yet; raises `TooEarlyError` as `Servers.take`."""
        if len(addresses) == 1:
            self.server = addresses[0]
        held = _names(self.addresses)
        self._servers.take([address for address in addresses if server(address) not in held], delay)
        self.addresses += tuple(address for address in addresses if address not in self.addresses)

    def connected(self, address: str) -> None:
        """Release all addresses but the one of the connection.

        A host's addresses are what its name server says. It may name those of others, which its slow answers
        must not hold up.
        """
        self._servers.connected(address)
        if address in self.addresses:
            self._servers.release([other for other in self.addresses if server(other) != server(address)])
            self.addresses = (address,)
            self.server = address

    def release(self) -> None:
        """Release all of them."""
        self._servers.release(self.addresses)
        self.addresses = ()


class Servers:
    """Which servers are in use, and when the last request to each began.

    A server is known by its addresses, those of one /64 by that: `take` and `start` need all of them. At most
    100,000 are kept, those used last. ``clock`` returns seconds, and never goes back.

    >>> servers = Servers(lambda: 0.0)
    >>> servers.take(["192.0.2.1", "192.0.2.2"], 1.0)
    >>> servers.take(["192.0.2.2"], 1.0)
    Traceback (most recent call last):
    ...
    scentline.agents.fetch.servers.TooEarlyError: 1.0
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._servers: OrderedDict[str, _Server] = OrderedDict()
        self._held = -math.inf
        #: How often, and for how many seconds, fetches waited here.
        self.waits, self.waited = 0, 0.0

    def take(self, addresses: Sequence[str], delay: float) -> None:
        """Take a server until `release`; raises `TooEarlyError` where it is taken, or its delay is long."""
        names = _names(addresses)
        known = [self._servers[name] for name in names if name in self._servers]
        if any(server.taken for server in known):
            raise TooEarlyError(max(delay, BUSY_SECONDS))
        self._wait(known, delay)
        for name in names:
            self._server(name).taken = True

    def hold(self) -> None:
        """Count every server as requested now, as an earlier worker may have done."""
        self._held = self._clock()
        for one in self._servers.values():
            one.started = max(one.started, self._held)

    def release(self, addresses: Sequence[str]) -> None:
        """Let others use a server again."""
        for name in _names(addresses):
            found = self._servers.get(name)
            if found is not None:
                found.taken = False

    @asynccontextmanager
    async def turn(self, addresses: Sequence[str], delay: float) -> AsyncIterator[Held]:
        """Take a server and start a request, however long that takes."""
        held = Held(self)
        while True:
            try:
                held.take(addresses, delay)
                break
            except TooEarlyError as early:
                await asyncio.sleep(min(early.seconds, LOOK_SECONDS))
        try:
            await self.start(addresses, delay)
            yield held
        finally:
            held.release()

    async def start(self, addresses: Sequence[str], delay: float) -> None:
        """Wait until the last request to a server is ``delay`` seconds ago, and note that one begins.

        Raises `TooEarlyError` instead of a long wait.
        """
        await self.ready(addresses, delay)
        now = self._clock()
        begun = [self._server(name) for name in _names(addresses)]
        request = _Request(begun)
        for one in begun:
            one.started, one.request = now, request
        for name in _names(addresses):
            self._servers.move_to_end(name)

    def connected(self, address: str) -> None:
        """Note that the last request that began at ``address`` went there, and to no other address."""
        (name,) = _names([address])
        asked = self._servers.get(name)
        if asked is None or asked.request is None:
            return
        for other, before in asked.request.before:
            if other is not asked and other.request is asked.request:
                other.started, other.request = before, None
        asked.request = None

    async def ready(self, addresses: Sequence[str], delay: float) -> None:
        """Wait until the last request to a server is ``delay`` seconds ago; `TooEarlyError` as for `start`."""
        servers = [self._server(name) for name in _names(addresses)]
        while (wait := self._wait(servers, delay)) > 0:
            self.waits += 1
            self.waited += wait
            await asyncio.sleep(wait)

    def _wait(self, servers: Iterable[_Server], delay: float) -> float:
        last = max((server.started for server in servers), default=-delay)
        wait = last + delay - self._clock()
        if wait > PATIENCE_SECONDS:
            raise TooEarlyError(wait)
        return wait

    def _server(self, name: str) -> _Server:
        found = self._servers.get(name)
        if found is None:
            found = self._servers[name] = _Server(self._held)
            if len(self._servers) > _MAX_SERVERS:
                oldest = next((other for other, one in self._servers.items() if not one.taken), name)
                del self._servers[oldest]
        return found
