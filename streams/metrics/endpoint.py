"""The HTTP server, in threads beside the event loop: ``/metrics``, ``/healthz``, ``/readyz``, and more."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from email.message import Message
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import BoundedSemaphore, Lock, Thread, Timer
from typing import Any, NamedTuple, TypeAlias

from prometheus_client.exposition import choose_encoder

from scentline.models.errors import EventLog
from scentline.streams.metrics import Metrics
from scentline.streams.metrics.catalogue import LATE
from scentline.streams.settings import ConfigurationError

log = EventLog("metrics")

#: Requests served at a time; one more breaks off the oldest, connections without a request first.
MOST_REQUESTS = 8
#: Scrapes among these, which take longer than health checks; further ones are refused.
MOST_SCRAPES = 4
MOST_BODY = 4_000_000  #: Most bytes of a body: a request with 10,000 seeds fits.
ROOM_SECONDS = 1.0  #: Seconds that a request waits for the slot of one that was broken off.
REQUEST_SECONDS = 15.0  #: Seconds that a request may take in all, from its first byte to the answer's last.


class Answer(NamedTuple):
    """A response: its status, content type and body."""

    status: HTTPStatus
    kind: str
    body: bytes


#: Answers a request from its query, or the body of a POST, and its headers, in a thread.
Route: TypeAlias = Callable[[str, Message], Answer]


@asynccontextmanager
async def serving_metrics(
    host: str, port: int, stuck_seconds: float, metrics: Metrics, routes: dict[str, Route] | None = None
) -> AsyncIterator[str]:
    """Serve metrics and health beside ``routes``, which may grow; yield the address.

    Raises `ConfigurationError`.
    """
    found = {} if routes is None else routes
    found.update(_routes(metrics, stuck_seconds))
    metrics.attach(asyncio.get_running_loop())
    beats = asyncio.create_task(metrics.health.beat(metrics.histogram(LATE).observe), name="heartbeat")
    try:
        async with serving(host, port, found) as url:
            yield url
    finally:
        metrics.attach(None)
        beats.cancel()


@asynccontextmanager
async def serving(host: str, port: int, routes: Mapping[str, Route]) -> AsyncIterator[str]:
    """Serve at a host and port, 0 for any free one; yield the address."""
    try:
        server = _Server((host, port), partial(_Handler, routes))
    except OSError as error:
        raise ConfigurationError(
            f"opening metrics.host {host}, metrics.port {port}: {error.strerror}; expected a free port"
        ) from error
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="http", daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_port}"
    finally:
        # In a thread: it waits for the server's thread, which may be waiting for this loop.
        await asyncio.to_thread(server.shutdown)
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    """One thread per request, a few at most, each for a limited time."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 8 * MOST_REQUESTS

    def __init__(self, address: tuple[str, int], handler: Any) -> None:
        self.address_family = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0][0]
        self._room = BoundedSemaphore(MOST_REQUESTS)
        self._lock = Lock()
        # Connections, oldest first, and whether each has sent its request.
        self._open: dict[socket.socket, bool] = {}
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind without a look-up of the host's name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own; with none free, break off the oldest request."""
        if not self._room.acquire(blocking=False):
            with self._lock:  # silent ones first: idle connections block no health check
                oldest = min(self._open, key=self._open.__getitem__, default=None)
                if oldest is not None:
                    _break_off(oldest)
            if not self._room.acquire(timeout=ROOM_SECONDS):
                self.shutdown_request(request)
                return
        self.note(request, asked=False)
        super().process_request(request, client_address)

    def note(self, request: socket.socket, *, asked: bool) -> None:
        """Note whether a request has arrived whole."""
        with self._lock:
            self._open[request] = asked

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and break off after `REQUEST_SECONDS`."""
        end = Timer(REQUEST_SECONDS, _break_off, (request,))
        end.daemon = True
        end.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            end.cancel()
            with self._lock:
                del self._open[request]
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log the error: most often, the client went away."""
        log.debug("a request failed", reason=repr(sys.exception()))


def _break_off(request: socket.socket) -> None:
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: _Server

    def __init__(self, routes: Mapping[str, Route], *args: Any) -> None:
        self._routes = routes
        super().__init__(*args)

    def do_GET(self) -> None:
        """Answer a GET."""
        path, _, query = self.path.partition("?")
        self._answer(path, query)

    def do_POST(self) -> None:
        """Answer a POST, whose body is what is asked; one that is too long, or without a route, is not read."""
        path, length = f"POST {self.path}", self.headers.get("Content-Length", "")
        if path in self._routes and length.isascii() and length.isdigit() and int(length) <= MOST_BODY:
            self._answer(path, self.rfile.read(int(length)).decode(errors="replace"))

    def _answer(self, path: str, asked: str) -> None:
        self.server.note(self.connection, asked=True)
        route = self._routes.get(path)
        if route is None:
            answer = said(HTTPStatus.NOT_FOUND, f"expected one of: {', '.join(self._routes)}")
        else:
            try:
                answer = route(asked, self.headers)
            except Exception as error:
                log.error("answering", path=path, cause=error)
                answer = said(HTTPStatus.INTERNAL_SERVER_ERROR, f"answering {path}: {type(error).__name__}")
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def version_string(self) -> str:
        """Return the program's name without versions or libraries."""
        return "scentline"

    def log_message(self, *_: Any) -> None:
        """Log no line per request."""


def said(status: HTTPStatus, *lines: str) -> Answer:
    """Return a plain-text answer."""
    return Answer(status, "text/plain; charset=utf-8", "".join(f"{line}\n" for line in lines).encode())


def _routes(metrics: Metrics, stuck_seconds: float) -> dict[str, Route]:
    """Return the routes of metrics and health."""
    scrapes = BoundedSemaphore(MOST_SCRAPES)

    def scrape(_: str, headers: Message) -> Answer:
        if not scrapes.acquire(blocking=False):
            return said(HTTPStatus.SERVICE_UNAVAILABLE, f"{MOST_SCRAPES} scrapes are being answered")
        try:
            encode, kind = choose_encoder(headers.get("Accept", ""))
            return Answer(HTTPStatus.OK, kind, encode(metrics.registry))
        finally:
            scrapes.release()

    def well(missing: Callable[[], list[str]] = list) -> Answer:
        age, found = metrics.health.age(), missing()
        if age > stuck_seconds:
            found = [f"event loop: has not turned for {age:.0f} s; expected within {stuck_seconds:g} s", *found]
        return said(HTTPStatus.SERVICE_UNAVAILABLE, *found) if found else said(HTTPStatus.OK, "ok")

    ready = metrics.health.missing
    return {"/metrics": scrape, "/healthz": lambda *_: well(), "/readyz": lambda *_: well(ready)}
