"""One request and its answer: the means by which a dangerous host answers, or does worse."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias
from urllib.parse import parse_qs, urlsplit

from scentline.models.errors import ScentlineError
from tests.webs.dangers.text import document

HTML = "text/html; charset=utf-8"


class GoneError(ScentlineError):
    """The client has closed its connection."""

    explains_itself = False


class Exchange:
    """A request for ``target`` (path and query), the ``attempt``-th for it, and the connection it came by.

    ``agent`` is who asks, as it calls itself.

    An answer that is not framed by its length ends with `finish` or `reset`.
    """

    def __init__(
        self,
        target: str,
        attempt: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        agent: str = "",
    ) -> None:
        self.target = target
        self.attempt = attempt
        self.agent = agent
        self.status = 0
        parts = urlsplit(f"//x{target}")
        self.path = parts.path
        self.query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self._reader = reader
        self._writer = writer

    def page(self, title: str, links: Sequence[str] = (), text: str | None = None) -> None:
        """Answer with an HTML page about ``title`` that has ``links``, as written."""
        self.send(200, document(title, links, text))

    def send(self, status: int, body: bytes = b"", kind: str = HTML, **headers: str) -> None:
        """Answer with a whole body; underscores in the names of ``headers`` stand for hyphens."""
        self.begin(status, kind, Content_Length=str(len(body)), **headers)
        self._writer.write(body)

    def begin(self, status: int, kind: str = HTML, **headers: str) -> None:
        """Send the head of an answer; without a Content-Length it ends with the connection."""
        self.status = status
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        if "Content_Length" not in headers:
            lines.append("Connection: close")
        head = "\r\n".join([f"HTTP/1.1 {status} -", f"Content-Type: {kind}", *lines])
        self._writer.write(f"{head}\r\n\r\n".encode("latin-1"))

    async def write(self, data: bytes) -> None:
        """Send more of a body, as fast as the client takes it; raises `GoneError`."""
        if self._writer.is_closing() or self._reader.at_eof():
            raise GoneError
        self._writer.write(data)
        try:
            await self._writer.drain()
        except ConnectionError as error:
            raise GoneError from error

    async def pause(self, seconds: float) -> None:
        """Wait; raises `GoneError` as soon as the client closes its connection."""
        try:
            async with asyncio.timeout(seconds):
                # A client that waits for its answer has nothing to send.
                await self._reader.read(1)
        except TimeoutError:
            return
        except ConnectionError as error:
            raise GoneError from error
        raise GoneError

    def finish(self) -> None:
        """End the answer with the connection."""
        self._writer.close()

    def reset(self) -> None:
        """Break the connection: the client gets a reset."""
        raw = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


#: What a dangerous host does with a request.
Answering: TypeAlias = Callable[[Exchange], Awaitable[None]]


def reached(path: str) -> str:
    """Return the path of a good page that is linked from ``path`` alone: asked for, it shows that it was read.

    >>> reached("/shift-jis")
    '/after/shift-jis'
    """
    return f"/after{path}"
