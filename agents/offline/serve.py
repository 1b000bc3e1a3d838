"""The HTTP server of the offline webs, which takes the requests of a forward proxy's clients."""

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from aiohttp import web

from scentline.agents.offline.answer import Answer, Answerer, plain
from scentline.agents.offline.archive import Archive, Progress
from scentline.agents.offline.squidlog import squid_line

MAX_LINE = 8190
_MAX_HEADERS = 100
_SHUTDOWN_SECONDS = 1.0


class OfflineServer:
    """Serves ``answer`` over HTTP, as a forward proxy (``GET http://host/path``) and as an origin (Host).

    GET and HEAD are answered, over kept-alive connections; CONNECT is refused with 501 (a tunnel would hold
    TLS), every other method with 405. ``port`` 0 takes a free one. With ``log``, each request appends a line in
    Squid's native format to that file before its answer is sent. ``latency`` returns the seconds that the
    answer of a URL waits. Raises OSError where it can't listen or write the log.

    Use it as ``async with OfflineServer(answer) as server:``.
    """

    def __init__(
        self,
        answer: Answerer,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        log: Path | None = None,
        latency: Callable[[str], float] | None = None,
    ) -> None:
        self._answer = answer
        self._latency = latency
        self._host = host
        self._port = port
        self._log_path = log
        self._log: TextIO | None = None
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        """The server's address, such as http://127.0.0.1:40123, for clients to use as their proxy."""
        if self._runner is None:
            raise RuntimeError("the offline server has no address before it listens")
        host, port = self._runner.addresses[0][:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def __aenter__(self) -> "OfflineServer":
        if self._log_path is not None:
            # By lines: each is in the file when it is written.
            self._log = await asyncio.to_thread(open, self._log_path, "a", 1, "ascii")
        server = web.Server(
            self._handle, access_log=None, max_line_size=MAX_LINE, max_field_size=MAX_LINE,
            max_headers=_MAX_HEADERS,
        )  # fmt: skip
        self._runner = web.ServerRunner(server, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
        try:
            await self._runner.setup()
            await web.TCPSite(self._runner, self._host, self._port).start()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def _close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        if self._log is not None:
            self._log.close()
            self._log = None

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        started = time.time()
        if self._latency is not None:
            await asyncio.sleep(self._latency(_requested(request)))
        answer = self._answered(request)
        if self._log is not None:
            self._log.write(f"{_log_line(request, answer, started)}\n")
        response = web.Response(status=answer.status, headers=answer.headers, body=answer.body)
        if "Content-Type" not in response.headers:
            # aiohttp would declare application/octet-stream; an empty value declares nothing.
            response.headers["Content-Type"] = ""
        return response

    def _answered(self, request: web.BaseRequest) -> Answer:
        if request.method == "CONNECT":
            return plain(501, "no tunnels here: ask for http:// URLs in absolute form")
        if request.method not in ("GET", "HEAD"):
            answer = plain(405, "this web is read only: GET and HEAD")
            return Answer(answer.status, (*answer.headers, ("Allow", "GET, HEAD")), answer.body)
        return self._answer(_requested(request), request.headers)


def _requested(request: web.BaseRequest) -> str:
    """Return the requested absolute URL, as the client wrote it."""
    target = request.raw_path
    return f"http://{request.host}{target}" if target.startswith("/") else target


def _log_line(request: web.BaseRequest, answer: Answer, started: float) -> str:
    now = time.time()
    host = request.url.host if request.method != "CONNECT" else None
    head = sum(len(name) + len(value) + 4 for name, value in answer.headers)
    return squid_line(
        time=now,
        elapsed=round((now - started) * 1000),
        client=request.remote or "-",
        status=answer.status,
        size=head + (0 if request.method == "HEAD" else len(answer.body)),
        url=_requested(request),
        method=request.method,
        server=host or "-",
        content_type=dict(answer.headers).get("Content-Type"),
    )


_BLOCK = 65536

_log = logging.getLogger(__name__)


async def serve(
    answer: Answerer,
    host: str = "127.0.0.1",
    port: int = 0,
    log: Path | None = None,
    ready: Callable[[str], None] | None = None,
    *,
    until_stdin_closes: bool = False,
) -> None:
    """Serve ``answer`` until cancelled, or until standard input (a pipe) reaches its end.

    ``ready`` is called with the server's address once it listens. A parent that holds the other end of the
    pipe takes this process with it, however the parent ends.
    """
    async with OfflineServer(answer, host=host, port=port, log=log) as server:
        await serve_on(server.url, ready, until_stdin_closes=until_stdin_closes)


async def serve_archive(
    paths: Iterable[Path],
    host: str = "127.0.0.1",
    port: int = 0,
    log: Path | None = None,
    ready: Callable[[str], None] | None = None,
    *,
    progress: Progress | None = None,
    until_stdin_closes: bool = False,
) -> None:
    """Index WARC files (see `Archive` for errors and ``progress``), then serve them as `serve` does."""
    with Archive(paths, progress) as archive:
        for warning in archive.warnings:
            _log.warning("%s", warning)
        await serve(archive.answer, host, port, log, ready, until_stdin_closes=until_stdin_closes)


async def serve_on(url: str, ready: Callable[[str], None] | None, *, until_stdin_closes: bool) -> None:
    """Publish the server's ``url``, and wait until it is to end, as `serve` does."""
    if ready is not None:
        ready(url)
    if until_stdin_closes:
        await _standard_input_closed()
    else:
        await asyncio.Event().wait()


async def _standard_input_closed() -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        while await reader.read(_BLOCK):
            pass
    finally:
        transport.close()
