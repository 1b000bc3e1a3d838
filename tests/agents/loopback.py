"""A real HTTP server on 127.0.0.1 whose every byte a test decides."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult

from scentline.streams.crawl_settings import FetchSettings

#: Names a contact, so that any host may be asked.
USER_AGENT = "Scentline/0.2 (+mailto:tests@crawler.internal)"

Answer = Callable[["Request", asyncio.StreamWriter], Awaitable[None]]
P = ParamSpec("P")
R = TypeVar("R", bound=msgspec.Struct)


def awaited(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test in an event loop of its own."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


@dataclass
class Request:
    target: str
    headers: dict[str, str]


@dataclass
class Server:
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    connections: int = 0

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def targets(self) -> list[str]:
        return [request.target for request in self.requests]


@asynccontextmanager
async def serving(answer: Answer, address: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Server]:
    """Serve what ``answer`` writes to each request; it may close the writer, or write for ever."""
    seen = Server()
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        seen.connections += 1
        try:
            while not writer.is_closing():
                request = _parsed(await reader.readuntil(b"\r\n\r\n"))
                seen.requests.append(request)
                await answer(request, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, address, port)
    seen.port = server.sockets[0].getsockname()[1]
    try:
        yield seen
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


class Names(AbstractResolver):
    """A name service that knows the addresses of some names, in their order, and fails on all others."""

    def __init__(self, known: dict[str, list[str]]) -> None:
        self.known = known
        self.asked: list[str] = []
        self.closed = False

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        self.asked.append(host)
        await asyncio.sleep(0)
        if host not in self.known:
            raise OSError(None, "not found")
        kinds = {address: socket.AF_INET6 if ":" in address else socket.AF_INET for address in self.known[host]}
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kinds[address], proto=0, flags=0)
            for address in self.known[host]
        ]

    async def close(self) -> None:
        self.closed = True


async def hanging(request: Request, writer: asyncio.StreamWriter) -> None:
    """Never answer."""
    await asyncio.sleep(3600)


async def closing(request: Request, writer: asyncio.StreamWriter) -> None:
    """Close the connection instead of an answer."""
    writer.close()


def fixed(body: bytes, status: str = "200 OK", **headers: str) -> Answer:
    """Answer every request alike; a header's underscores stand for hyphens."""
    message = response(body, status, **headers)

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(message)

    return answer


def response(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    given = {"content-type": "text/html", "content-length": str(len(body))}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def settings(**changes: object) -> FetchSettings:
    """Return settings under which 127.0.0.1 may be asked, without robots.txt and delays unless it is said."""
    given = {"allow": ("127.0.0.1",), "robots": False, "delay_seconds": 0.0, "user_agent": USER_AGENT}
    return FetchSettings.model_validate(given | changes)


def untimed(result: R) -> R:
    """Return a result, or a fact of one, without the time that it took."""
    return msgspec.structs.replace(result, elapsed=0.0)


def _parsed(head: bytes) -> Request:
    first, *rest = head.decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip() for name, colon, value in (line.partition(":") for line in rest) if colon
    }
    return Request(first.split(" ")[1], headers)
