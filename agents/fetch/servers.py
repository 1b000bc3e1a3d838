"""One request at a time to one server, and a delay between requests: the last word before a site is asked.

The frontier knows hosts by name and orders no fetch too early, as far as it knows. Here the addresses are
known: names that turn out to share one are asked as one.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from scentline.models.domain import server
from scentline.models.errors import ScentlineError

#: An order waits here for as many seconds at most; a longer wait is for the frontier, which has other pages.
PATIENCE_SECONDS = 2.0
#: Seconds after which a server that is being asked is tried again.
BUSY_SECONDS = 1.0
#: Seconds between two looks at whether a server is free, for those who wait for it.
LOOK_SECONDS = 0.1
_MAX_SERVERS = 100_000


def _names(addresses: Iterable[str]) -> list[str]:
    """Return what the servers at some addresses are known by, each once."""
    return list(dict.fromkeys(map(server, addresses)))


class TooEarlyError(ScentlineError):
    """A server that may not be asked for ``seconds``."""

    explains_itself = False

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


@dataclass(slots=True)
class _Server:
    """An address; ``request`` is the last that may have been sent here, while it is not known where it went."""

    started: float
    taken: bool = False
    request: "_Request | None" = None


class _Request:
    """A request that goes to one of several addresses, and when the one before it began at each."""

    def __init__(self, servers: Iterable[_Server]) -> None:
        self.before = [(server, server.started) for server in servers]


class Held:
    """The addresses that one fetch keeps others from: all of its host, until it is known which is asked.

    ``server`` is the one that was asked, or the only one; empty while it could be any of several.
    """

    def __init__(self, servers: "Servers") -> None:
        self._servers = servers
        self.addresses: tuple[str, ...] = ()
        self.server = ""

    def take(self, addresses: Sequence[str], delay: float) -> None:
        """Keep others from what of ``addresses`` is not held yet; raises `TooEarlyError` as `Servers.take`."""
        if len(addresses) == 1:
            self.server = addresses[0]
        held = _names(self.addresses)
        self._servers.take([address for address in addresses if server(address) not in held], delay)
        self.addresses += tuple(address for address in addresses if address not in self.addresses)

    def connected(self, address: str) -> None:
        """Let others to all addresses but that which is asked.

        A host's addresses are what its name server says. It may name those of others, whom its slow answers
        must not hold up.
        """
        self._servers.connected(address)
        if address in self.addresses:
            self._servers.release([other for other in self.addresses if server(other) != server(address)])
            self.addresses = (address,)
            self.server = address

    def release(self) -> None:
        """Let others to all of them."""
        self._servers.release(self.addresses)
        self.addresses = ()


class Servers:
    """Knows who is being asked, and when a request to each server last began.

    A server is known by its addresses, those of one /64 by that: `take` and `start` need all of them. At most
    100,000 are kept, those longest not asked are forgotten first. ``clock`` returns seconds, and never goes
    back. ``waits`` and ``waited`` say how often and for how many seconds a delay was waited for here.

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
        self.waits = 0
        self.waited = 0.0

    def take(self, addresses: Sequence[str], delay: float) -> None:
        """Keep others from a server; raises `TooEarlyError` where one has it, or its delay goes on for long.

        Whoever took it has to `release` it.
        """
        names = _names(addresses)
        known = [self._servers[name] for name in names if name in self._servers]
        if any(server.taken for server in known):
            raise TooEarlyError(max(delay, BUSY_SECONDS))
        self._wait(known, delay)
        for name in names:
            self._server(name).taken = True

    def hold(self) -> None:
        """Count every server as asked now: whoever carried out orders before may just have asked it."""
        self._held = self._clock()
        for one in self._servers.values():
            one.started = max(one.started, self._held)

    def release(self, addresses: Sequence[str]) -> None:
        """Let others to a server again."""
        for name in _names(addresses):
            found = self._servers.get(name)
            if found is not None:
                found.taken = False

    @asynccontextmanager
    async def turn(self, addresses: Sequence[str], delay: float) -> AsyncIterator[Held]:
        """Take a server and start, however long that takes."""
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
