"""A real HTTP server on 127.0.0.1 whose every byte a test decides."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from functools import wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar

import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult

from scentline.agents.fetch.result import Ended
from scentline.models.facts import Kind, Missing
from scentline.models.records import HostAnswer
from scentline.models.settings import FetchSettings
from tests.webs.serving import Exchange, Served, listening

#: Names a contact, so that any host may be asked.
USER_AGENT = "Scentline/0.2 (+mailto:tests@crawler.internal)"

Request: TypeAlias = Exchange
Server: TypeAlias = Served
Answer = Callable[[Exchange, asyncio.StreamWriter], Awaitable[None]]
P = ParamSpec("P")
R = TypeVar("R")


def awaited(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test in an event loop of its own."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def serving(answer: Answer, address: str = "127.0.0.1", port: int = 0) -> AbstractAsyncContextManager[Served]:
    """Serve what ``answer`` writes to each request; it may close the writer, or write for ever."""
    return listening(lambda exchange: answer(exchange, exchange.writer), address, port=port)


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


def untimed(ended: Ended) -> Ended:
    """Return the end of a fetch without the time that it took."""
    return ended._replace(host=msgspec.structs.replace(ended.host, elapsed=0.0))


def failed(kind: Kind, reason: str, retry_after: float | None = None, **told: Any) -> Ended:
    """Return the end of a fetch that brought no page, and what it ``told`` of the host."""
    return Ended(Missing(kind, reason), HostAnswer(retry_after=retry_after, **told))
