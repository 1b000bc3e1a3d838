"""The servers of the dangerous webs, and the record of what they were asked and when."""

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, TextIO

from tests.webs.dangers.exchange import Answering, Exchange, GoneError
from tests.webs.dangers.web import FORBIDDEN, Dangers

_HEAD_BYTES = 300_000
_AGENT = re.compile(r"^User-Agent: *([^\r]*)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """A request as its server saw it: ``began`` and ``ended`` are in seconds since the epoch.

    ``host`` is the host's name, `FORBIDDEN` where nothing may be asked. A status of 0 is no answer.
    """

    host: str
    target: str
    status: int
    began: float
    ended: float


def read_log(path: Path) -> list[Asked]:
    """Return the requests of a server's log, in the order in which they ended."""
    return [Asked(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


class Web(Protocol):
    """Hosts by name: their addresses, the first of which is where a crawl starts, and what answers there."""

    @property
    def addresses(self) -> Mapping[str, str]:
        """The address of each host."""

    def hosts(self, port: int) -> Mapping[str, Answering]:
        """Return what answers at each host; the servers listen on ``port``."""


class DangerServer:
    """Serves a dangerous web on loopback: each host at an address of its own, all on one port.

    Each request is a line of JSON in ``log``, written when it has ended, in whatever way. Raises OSError
    where it can't listen or write the log. Use it as ``async with DangerServer(path) as server:``.
    """

    def __init__(self, log: Path, port: int = 0, web: Web | None = None) -> None:
        self._path = log
        self._web: Web = web or Dangers()
        self._port = port
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._resources = AsyncExitStack()
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The home page, from which a crawl starts."""
        return f"http://{next(iter(self._web.addresses.values()))}:{self._port}/"

    async def __aenter__(self) -> "DangerServer":
        self._log: TextIO = self._path.open("a", encoding="utf-8", buffering=1)
        self._resources.callback(self._log.close)
        try:
            for name, address in self._web.addresses.items():
                await self._listen(name, address)
            await self._listen(FORBIDDEN, FORBIDDEN)
        except BaseException:
            await self._resources.aclose()
            raise
        self._hosts = self._web.hosts(self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._resources.aclose()

    async def _listen(self, name: str, at: str) -> None:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
            await self._converse(name, reader, writer)

        server = await asyncio.start_server(connected, at, self._port, limit=_HEAD_BYTES)
        self._resources.callback(server.close)
        self._port = server.sockets[0].getsockname()[1]

    async def _converse(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                await self._answer(name, head.decode("latin-1"), reader, writer)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, GoneError, IndexError):
            pass
        finally:
            writer.close()

    async def _answer(
        self, name: str, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        began = time.time()
        target = head.split(" ", 2)[1]
        agent = _AGENT.search(head)
        self._attempts[name, target] += 1
        exchange = Exchange(target, self._attempts[name, target], reader, writer, agent[1] if agent else "")
        try:
            await self._answering(name, exchange)(exchange)
            await writer.drain()
        finally:
            line = Asked(name, target, exchange.status, began, time.time())
            self._log.write(json.dumps(asdict(line)) + "\n")

    def _answering(self, name: str, exchange: Exchange) -> Answering:
        if exchange.path == "/robots.txt" and name not in ("private", FORBIDDEN):
            return _no_robots
        return self._hosts.get(name, _secret)


async def _no_robots(exchange: Exchange) -> None:
    exchange.send(404)


async def _secret(exchange: Exchange) -> None:
    exchange.page("A secret that nobody may read")


def by_host(asked: list[Asked]) -> Iterator[tuple[str, list[Asked]]]:
    """Return the requests of each host, in the order in which they began."""
    for name in {one.host for one in asked}:
        yield name, sorted((one for one in asked if one.host == name), key=lambda one: one.began)
