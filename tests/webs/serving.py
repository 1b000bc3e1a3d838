"""A server in a thread, whose every answer a test decides, and the record of what it was asked."""

import asyncio
import random
import socket
import struct
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from html import escape
from threading import Thread
from typing import NamedTuple, TypeAlias
from urllib.parse import parse_qs, urlsplit

from scentline_lab.synthetic.plan import COMMON, TOPICS

HTML = "text/html; charset=utf-8"
_HEAD_BYTES = 300_000


def prose(title: str) -> str:
    """Return the text of the page of that title; equal titles give equal texts."""
    return " ".join(random.Random(title).choices([*TOPICS[0].words, *COMMON], k=120))


def document(title: str, links: Sequence[str] = (), text: str | None = None) -> bytes:
    """Return an HTML page: ``text`` (or prose), and ``links`` as they are written."""
    listed = "".join(f'<li><a href="{escape(link)}">{escape(link[:60])}</a></li>\n' for link in links)
    return (
        f"<!DOCTYPE html>\n<html><head><title>{escape(title)}</title></head><body>\n<h1>{escape(title)}</h1>\n"
        f"<p>{escape(prose(title) if text is None else text)}</p>\n<ul>\n{listed}</ul></body></html>\n"
    ).encode()


class Asked(NamedTuple):
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
        self.writer = writer

    def page(self, title: str, links: Sequence[str] = (), text: str | None = None, **headers: str) -> None:
        """Answer with an HTML page about ``title`` that has ``links``, as written."""
        self.send(200, document(title, links, text), **headers)

    def send(self, status: int, body: bytes = b"", kind: str = HTML, reason: str = "-", **headers: str) -> None:
        """Answer with a whole body; underscores in the names of ``headers`` stand for hyphens."""
        self.begin(status, kind, reason, Content_Length=str(len(body)), **headers)
        self.writer.write(body)

    def begin(self, status: int, kind: str = HTML, reason: str = "-", **headers: str) -> None:
        """Send the head of an answer; without a Content-Length it ends with the connection."""
        self.status = status
        given = {"Content-Type": kind, **headers}
        if "Content_Length" not in headers:
            given["Connection"] = "close"
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in given.items()]
        self.writer.write("\r\n".join([f"HTTP/1.1 {status} {reason}", *lines, "", ""]).encode("latin-1"))

    async def write(self, data: bytes) -> None:
        """Send more of a body, as fast as the client takes it; raises ConnectionError when that is gone."""
        if self.writer.is_closing() or self._reader.at_eof():
            raise ConnectionResetError
        self.writer.write(data)
        await self.writer.drain()

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
        self.writer.close()

    def reset(self) -> None:
        """Break the connection: the client gets a reset."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


#: What a host does with a request.
Answering: TypeAlias = Callable[[Exchange], Awaitable[None]]


def pages(known: Mapping[str, bytes | str]) -> Answering:
    """Return what answers with pages by their targets, and with a redirect where a text stands for one."""

    async def answer(exchange: Exchange) -> None:
        found = known.get(exchange.target)
        if isinstance(found, bytes):
            exchange.send(200, found, "text/html")
        elif found is None:
            exchange.send(404)
        else:
            exchange.send(302, Location=found)

    return answer


@dataclass
class Served:
    """A server's port, its connections, the requests as they came, and those that ended in that order."""

    port: int = 0
    connections: int = 0
    requests: list[Exchange] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    @property
    def origin(self) -> str:
        """The origin of the server at 127.0.0.1."""
        return f"http://127.0.0.1:{self.port}"

    def targets(self) -> list[str]:
        """Return what was asked for."""
        return [request.target for request in self.requests]


@asynccontextmanager
async def listening(answer: Answering, *addresses: str, port: int = 0) -> AsyncIterator[Served]:
    """Serve at addresses of the loopback interface, all on one port, in this event loop."""
    served, attempts = Served(port), Counter[tuple[str, str]]()
    servers: list[asyncio.Server] = []
    tasks: set[asyncio.Task[None] | None] = set()

    async def answered(exchange: Exchange) -> None:
        began, place = time.time(), (exchange.address, exchange.target)
        attempts[place] += 1
        exchange.attempt = attempts[place]
        served.requests.append(exchange)
        try:
            await answer(exchange)
        finally:
            served.asked.append(Asked(*place, exchange.status, began, time.time()))

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        served.connections += 1
        address = writer.get_extra_info("sockname")[0]
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                await answered(Exchange(head.decode("latin-1"), address, reader, writer))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, IndexError):
            pass
        finally:
            tasks.discard(asyncio.current_task())
            writer.close()

    try:
        for each in addresses or ("127.0.0.1",):
            servers.append(await asyncio.start_server(connected, each, served.port, limit=_HEAD_BYTES))
            served.port = servers[0].sockets[0].getsockname()[1]
        yield served
    finally:
        for server in servers:
            server.close()
        ending = [task for task in tasks if task is not None and task.cancel()]
        await asyncio.gather(*ending, return_exceptions=True)


@contextmanager
def serving(answer: Answering, *addresses: str) -> Iterator[Served]:
    """Serve so in a thread, while the block runs."""
    started: Future[tuple[Served, Callable[[], object]]] = Future()

    async def serve() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        async with listening(answer, *addresses) as served:
            started.set_result((served, lambda: loop.call_soon_threadsafe(stop.set)))
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except OSError as error:
            started.set_exception(error)

    thread = Thread(target=run)
    thread.start()
    served, end = started.result()
    try:
        yield served
    finally:
        end()
        thread.join()
