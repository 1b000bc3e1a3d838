"""``GET /metrics``, ``/healthz`` and ``/readyz``, answered by threads beside the event loop."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import BoundedSemaphore, Lock, Thread, Timer
from typing import Any

from prometheus_client.exposition import choose_encoder

from scentline.streams.configuration import ConfigurationError
from scentline.streams.logging import EventLog
from scentline.streams.metrics.catalogue import LATE
from scentline.streams.metrics.registry import Metrics
from scentline.streams.settings import MetricsSettings

log = EventLog("metrics")

#: Requests answered at a time; beyond them the oldest is broken off, first of those that have not asked yet.
MOST_REQUESTS = 8
#: Of these, scrapes, which take longer than to say whether the process is well; further ones are turned away.
MOST_SCRAPES = 4
ROOM_SECONDS = 1.0  #: Seconds that a request waits for the place of one that was broken off.
REQUEST_SECONDS = 15.0  #: Seconds that a request may take in all, from its first byte to the answer's last.


@asynccontextmanager
async def endpoint(settings: MetricsSettings, metrics: Metrics) -> AsyncIterator[str | None]:
    """Serve during the block; give the address, None without a port. Raises `ConfigurationError`."""
    if not settings.port:
        yield None
        return
    async with serving(settings.host, settings.port, settings.stuck_seconds, metrics) as url:
        yield url


@asynccontextmanager
async def serving(host: str, port: int, stuck_seconds: float, metrics: Metrics) -> AsyncIterator[str]:
    """Serve at a host and port, 0 for any that is free; give the address."""
    try:
        server = _Server((host, port), partial(_Handler, metrics, stuck_seconds))
    except OSError as error:
        raise ConfigurationError(
            f"opening metrics.host {host}, metrics.port {port}: {error.strerror}; expected a free port"
        ) from error
    metrics.attach(asyncio.get_running_loop())
    beats = asyncio.create_task(metrics.health.beat(metrics.histogram(LATE).observe), name="heartbeat")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="metrics", daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_port}"
    finally:
        metrics.attach(None)
        beats.cancel()
        # In a thread: it waits for the server's, which may be waiting for this loop.
        await asyncio.to_thread(server.shutdown)
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    """A thread a request, of which there are a few at most, each for a limited time."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 8 * MOST_REQUESTS

    def __init__(self, address: tuple[str, int], handler: Any) -> None:
        self.address_family = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0][0]
        self._room = BoundedSemaphore(MOST_REQUESTS)
        self.scrapes = BoundedSemaphore(MOST_SCRAPES)
        self._lock = Lock()
        # Connections, the oldest first, and whether each has asked for something.
        self._open: dict[socket.socket, bool] = {}
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind, without looking up what the host is called."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, in the place of the oldest if there is no other."""
        if not self._room.acquire(blocking=False):
            with self._lock:  # those that say nothing go first: idle ones stop no health check
                oldest = min(self._open, key=self._open.__getitem__, default=None)
                if oldest is not None:
                    _break_off(oldest)
            if not self._room.acquire(timeout=ROOM_SECONDS):
                self.shutdown_request(request)
                return
        self.note(request, asked=False)
        super().process_request(request, client_address)

    def note(self, request: socket.socket, *, asked: bool) -> None:
        """Note whether a request has come whole."""
        with self._lock:
            self._open[request] = asked

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and break off where that takes too long."""
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
        """Note what went wrong: most often, that the client went away."""
        log.debug("a request failed", reason=repr(sys.exception()))


def _break_off(request: socket.socket) -> None:
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: _Server

    def __init__(self, metrics: Metrics, stuck_seconds: float, *args: Any) -> None:
        self._metrics = metrics
        self._stuck_seconds = stuck_seconds
        super().__init__(*args)

    def do_GET(self) -> None:
        """Answer a GET."""
        self.server.note(self.connection, asked=True)
        match self.path.partition("?")[0]:
            case "/healthz":
                self._judge(self._stuck())
            case "/readyz":
                self._judge(self._stuck() + self._metrics.health.missing())
            case "/metrics" if self.server.scrapes.acquire(blocking=False):
                try:
                    self._scrape()
                finally:
                    self.server.scrapes.release()
            case "/metrics":
                self._say(HTTPStatus.SERVICE_UNAVAILABLE, f"{MOST_SCRAPES} scrapes are being answered")
            case _:
                self._say(HTTPStatus.NOT_FOUND, "expected one of: /metrics, /healthz, /readyz")

    def _stuck(self) -> list[str]:
        age = self._metrics.health.age()
        if age <= self._stuck_seconds:
            return []
        return [f"event loop: has not turned for {age:.0f} s; expected within {self._stuck_seconds:g} s"]

    def _judge(self, missing: list[str]) -> None:
        if missing:
            self._say(HTTPStatus.SERVICE_UNAVAILABLE, *missing)
        else:
            self._say(HTTPStatus.OK, "ok")

    def _scrape(self) -> None:
        encode, kind = choose_encoder(self.headers.get("Accept", ""))
        try:
            found = encode(self._metrics.registry)
        except Exception as error:
            log.error("reading the metrics", cause=error)
            self._say(HTTPStatus.INTERNAL_SERVER_ERROR, f"reading the metrics: {type(error).__name__}")
        else:
            self._answer(HTTPStatus.OK, kind, found)

    def _say(self, status: HTTPStatus, *lines: str) -> None:
        self._answer(status, "text/plain; charset=utf-8", "".join(f"{line}\n" for line in lines).encode())

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """Return the program's name, and nothing of what it is made of."""
        return "scentline"

    def log_message(self, *_: Any) -> None:
        """Write no line a request."""
