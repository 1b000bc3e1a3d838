"""A server in a thread, whose every answer a test decides, and the record of what it was asked."""

import asyncio
import socket
import struct
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

from tests.webs.text import document

HTML = "text/html; charset=utf-8"
_HEAD_BYTES = 300_000


@dataclass(frozen=True)
class Asked:
    """A request as the server at ``address`` saw it, in seconds since the epoch; a status of 0 is no answer."""

    address: str
    target: str
    status: int
    began: float
    ended: float


class Exchange:
    """A request, and the means to answer it, or to do worse.

    ``address`` is the server's, ``attempt`` counts the requests for this target there. An answer that is not
    framed by its length ends with `finish` or `reset`.
    """

    def __init__(
        self, head: str, address: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        first, *lines = head.split("\r\n")
        self.target = first.split(" ", 2)[1]
        parts = urlsplit(self.target if "://" in self.target else f"//x{self.target}")
        self.path = parts.path
        self.query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        fields = (line.partition(":") for line in lines)
        self.headers: Mapping[str, str] = {name.lower(): value.strip() for name, _, value in fields}
        self.host = (urlsplit(self.target).hostname or self.headers.get("host", "")).partition(":")[0]
        self.address = address
        self.port: int = writer.get_extra_info("sockname")[1]
        self.attempt = 1
        self.status = 0
        self._reader = reader
        self._writer = writer

    @property
    def conditional(self) -> bool:
        """Whether only another version is asked for."""
        return not {"if-none-match", "if-modified-since"}.isdisjoint(self.headers)

    def page(self, title: str, links: Sequence[str] = (), text: str | None = None) -> None:
        """Answer with an HTML page about ``title`` that has ``links``, as written."""
        self.send(200, document(title, links, text))

    def send(self, status: int, body: bytes = b"", kind: str = HTML, reason: str = "-", **headers: str) -> None:
        """Answer with a whole body; underscores in the names of ``headers`` stand for hyphens."""
        self.begin(status, kind, reason, Content_Length=str(len(body)), **headers)
        self._writer.write(body)

    def begin(self, status: int, kind: str = HTML, reason: str = "-", **headers: str) -> None:
        """Send the head of an answer; without a Content-Length it ends with the connection."""
        self.status = status
        given = {"Content-Type": kind, **headers}
        if "Content_Length" not in headers:
            given["Connection"] = "close"
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in given.items()]
        self._writer.write("\r\n".join([f"HTTP/1.1 {status} {reason}", *lines, "", ""]).encode("latin-1"))

    async def write(self, data: bytes) -> None:
        """Send more of a body, as fast as the client takes it; raises ConnectionError when that is gone."""
        if self._writer.is_closing() or self._reader.at_eof():
            raise ConnectionResetError
        self._writer.write(data)
        await self._writer.drain()

    async def pause(self, seconds: float) -> None:
        """Wait; raises ConnectionError as soon as the client closes its connection."""
        try:
            async with asyncio.timeout(seconds):
                await self._reader.read(1)  # a client that waits for its answer has nothing to send
        except TimeoutError:
            return
        raise ConnectionResetError

    def finish(self) -> None:
        """End the answer with the connection."""
        self._writer.close()

    def reset(self) -> None:
        """Break the connection: the client gets a reset."""
        raw = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


#: What a host does with a request.
Answering: TypeAlias = Callable[[Exchange], Awaitable[None]]


@dataclass
class Served:
    """A server's port, and the requests to it, in the order in which they ended."""

    port: int = 0
    asked: list[Asked] = field(default_factory=list)

    @property
    def origin(self) -> str:
        """The origin of the server at 127.0.0.1."""
        return f"http://127.0.0.1:{self.port}"

    def targets(self) -> list[str]:
        """Return what was asked for."""
        return [asked.target for asked in self.asked]

    def by_address(self) -> dict[str, list[Asked]]:
        """Return the requests to each address, in the order in which they began."""
        found: dict[str, list[Asked]] = {}
        for asked in sorted(self.asked, key=lambda asked: asked.began):
            found.setdefault(asked.address, []).append(asked)
        return found


@contextmanager
def serving(answer: Answering, *addresses: str, served: Served | None = None) -> Iterator[Served]:
    """Serve at addresses of the loopback interface, all on one port, while the block runs."""
    served = served or Served()
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    server = _Server(answer, served)

    def have(work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, loop).result()

    with ExitStack() as ends:
        ends.callback(loop.close)
        ends.callback(thread.join)
        ends.callback(loop.call_soon_threadsafe, loop.stop)
        ends.callback(lambda: have(server.close()))
        have(server.listen(addresses or ("127.0.0.1",)))
        yield served


class _Server:
    def __init__(self, answer: Answering, served: Served) -> None:
        self._answering = answer
        self._served = served
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()

    async def listen(self, addresses: Sequence[str]) -> None:
        for address in addresses:
            server = await asyncio.start_server(self._connected, address, self._served.port, limit=_HEAD_BYTES)
            self._servers.append(server)
            self._served.port = server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        address = writer.get_extra_info("sockname")[0]
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                await self._answer(Exchange(head.decode("latin-1"), address, reader, writer))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, IndexError):
            pass
        finally:
            writer.close()

    async def _answer(self, exchange: Exchange) -> None:
        began = time.time()
        self._attempts[exchange.address, exchange.target] += 1
        exchange.attempt = self._attempts[exchange.address, exchange.target]
        try:
            await self._answering(exchange)
        finally:
            asked = Asked(exchange.address, exchange.target, exchange.status, began, time.time())
            self._served.asked.append(asked)
