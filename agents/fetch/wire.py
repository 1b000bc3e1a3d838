"""Connections: where they lead, and a bound on what comes over them beside bodies, such as endless heads."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import aiohttp
from aiohttp import StreamReader
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.helpers import set_exception
from aiohttp.http_parser import RawResponseMessage
from aiohttp.tracing import Trace

#: Bytes of one answer, beside its body and as many again, that are read.
FRAMING_BYTES = 512 * 1024


class FramingError(aiohttp.ClientPayloadError):
    """An answer of which too much is no body: heads without end, or chunks of which hardly anything is data."""


class BoundedHandler(ResponseHandler):
    """aiohttp's reader of a connection, which breaks off where `FRAMING_BYTES` are exceeded.

    aiohttp bounds each line of a head, and their number. It bounds neither how many answers of a status of 1xx
    come before the answer, nor what chunks hold beside data (RFC 9112, 7.1.1): such bytes cost time, and never
    come to an end of their own.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._received = 0
        self._body: StreamReader | None = None

    def set_response_params(self, **options: Any) -> None:
        """Begin to read an answer."""
        self._received = 0
        self._body = None
        super().set_response_params(**options)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Take a head, and the body that will follow it."""
        message, body = data
        if message.code >= 200:
            self._body = body
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        """Take what came, unless what came before is too much already."""
        body = 0 if self._body is None else self._body.total_bytes
        if self._received > FRAMING_BYTES + 2 * body:
            self._break_off()
        else:
            self._received += len(data)
            super().data_received(data)

    def _break_off(self) -> None:
        if self.transport is not None:
            self.transport.close()
        self._parser = None  # else the end of the connection would be reported instead
        error = FramingError("too much that is no body")
        self.set_exception(error)
        if self._payload is not None:
            set_exception(self._payload, error)


#: Is told the address that a request is sent to, as soon as there is a connection.
connected: ContextVar[Callable[[str], None] | None] = ContextVar("connected", default=None)


class Connector(aiohttp.TCPConnector):
    """Connections that are read by `BoundedHandler` and tell where they lead."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        handler: type[ResponseHandler] = BoundedHandler
        self._factory = partial(handler, self._loop)  # there is no public way to say so

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        """Return a connection for a request, a new one or one that was kept."""
        connection = await super().connect(req, traces, timeout)
        tell = connected.get()
        peer = connection.transport.get_extra_info("peername") if connection.transport else None
        if tell is not None and peer:
            tell(str(peer[0]))
        return connection


@contextmanager
def telling(tell: Callable[[str], None]) -> Iterator[None]:
    """Have ``tell`` told of the connections that are made, or used again, for what is asked in the block."""
    token = connected.set(tell)
    try:
        yield
    finally:
        connected.reset(token)
