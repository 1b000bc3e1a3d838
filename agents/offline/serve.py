"""The HTTP server of the offline webs, which answers as a forward proxy.

As a program it serves archives to its parent process (`ServerProcess`).
"""

import argparse
import asyncio
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO, TypeAlias

from scentline.agents.offline.archive import Answer, Archive, ArchiveError, plain
from scentline.agents.signals import command, die_with_parent, environment
from scentline.models.errors import ScentlineError

if TYPE_CHECKING:
    from aiohttp import web

MAX_LINE = 8190
_MAX_HEADERS = 100
_SHUTDOWN_SECONDS = 1.0
_BLOCK = 65536
_UNPRINTABLE = re.compile(r"[^\x21-\x7e]")
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+")

#: Takes the requested absolute URL and the request's headers.
Answerer: TypeAlias = Callable[[str, Mapping[str, str]], Answer]

_log = logging.getLogger(__name__)


@asynccontextmanager
async def serving(
    answer: Answerer,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    log: Path | None = None,
    latency: Callable[[str], float] | None = None,
) -> AsyncIterator[str]:
    """Serve ``answer`` during the block, as a forward proxy (``GET http://host/path``) and as an origin (Host).

    Yields the address, such as http://127.0.0.1:40123; ``port`` 0 takes a free one. GET and HEAD are answered,
    over kept-alive connections; CONNECT is refused with 501 (a tunnel would hold TLS), any other method with
    405. With ``log``, each request appends a line in Squid's native format to that file before its answer is
    sent. ``latency`` returns the seconds to delay a URL's answer. Raises OSError where it can't listen or write
    the log.
    """
    # Imported here: the process that starts a server does not need it.
    from aiohttp import web

    with ExitStack() as resources:
        lines: TextIO | None = None
        if log is not None:
            # Line-buffered: each line is in the file once it is written.
            lines = resources.enter_context(await asyncio.to_thread(open, log, "a", 1, "ascii"))

        async def handle(request: "web.BaseRequest") -> "web.StreamResponse":
            started = time.time()
            if latency is not None:
                await asyncio.sleep(latency(_requested(request)))
            found = _answered(request, answer)
            if lines is not None:
                lines.write(f"{_log_line(request, found, started)}\n")
            response = web.Response(status=found.status, headers=found.headers, body=found.body)
            # aiohttp would declare application/octet-stream; an empty value declares nothing.
            response.headers.setdefault("Content-Type", "")
            return response

        server = web.Server(
            handle, access_log=None, max_line_size=MAX_LINE, max_field_size=MAX_LINE, max_headers=_MAX_HEADERS
        )
        runner = web.ServerRunner(server, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
        try:
            await runner.setup()
            await web.TCPSite(runner, host, port).start()
            at, found = runner.addresses[0][:2]
            yield f"http://[{at}]:{found}" if ":" in at else f"http://{at}:{found}"
        finally:
            await runner.cleanup()


def _answered(request: "web.BaseRequest", answer: Answerer) -> Answer:
    if request.method == "CONNECT":
        return plain(501, "no tunnels here: ask for http:// URLs in absolute form")
    if request.method not in ("GET", "HEAD"):
        refused = plain(405, "this web is read only: GET and HEAD")
        return Answer(refused.status, (*refused.headers, ("Allow", "GET, HEAD")), refused.body)
    return answer(_requested(request), request.headers)


def _requested(request: "web.BaseRequest") -> str:
    """Return the requested absolute URL, as the client wrote it."""
    target = request.raw_path
    return f"http://{request.host}{target}" if target.startswith("/") else target


def _log_line(request: "web.BaseRequest", answer: Answer, started: float) -> str:
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


def squid_line(
    *,
    time: float,
    elapsed: int,
    client: str,
    status: int,
    size: int,
    url: str,
    method: str,
    server: str,
    content_type: str | None,
    result: str = "TCP_MISS",
    hierarchy: str = "HIER_DIRECT",
) -> str:
    """Return a line of an access log in Squid's native format, without its end.

    That is ``%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt``, here without a user: ``time`` in
    seconds since the epoch, ``elapsed`` in milliseconds. Whatever would break the line (spaces, controls, what
    is not ASCII) is percent-encoded.

    >>> squid_line(time=1.5, elapsed=12, client="10.0.0.1", status=200, size=99, url="http://a.example/",
    ...            method="GET", server="192.0.2.7", content_type="text/html; charset=utf-8")
    '1.500     12 10.0.0.1 TCP_MISS/200 99 GET http://a.example/ - HIER_DIRECT/192.0.2.7 text/html'
    """
    seconds, milliseconds = divmod(round(time * 1000), 1000)
    media_type = _MEDIA_TYPE.match((content_type or "").strip())
    return (
        f"{seconds}.{milliseconds:03d} {elapsed:6d} {_field(client)} {_field(result)}/{status:03d} {size} "
        f"{_field(method)} {_field(url)} - {_field(hierarchy)}/{_field(server)} "
        f"{media_type[0] if media_type else '-'}"
    )


def _field(text: str) -> str:
    return _UNPRINTABLE.sub(_escaped, text) or "-"


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode(errors="replace"))


async def serve(
    answer: Answerer,
    host: str = "127.0.0.1",
    port: int = 0,
    log: Path | None = None,
    ready: Callable[[str], None] | None = None,
    latency: Callable[[str], float] | None = None,
) -> None:
    """Serve as `serving` does until cancelled; ``ready`` is called with the address.

    Without ``ready`` it serves its parent process: it writes ``ready URL``, and ends when standard input, a
    pipe, does. So it ends with its parent, however that ends.
    """
    async with serving(answer, host=host, port=port, log=log, latency=latency) as url:
        if ready is not None:
            ready(url)
            await asyncio.Event().wait()
        print("ready", url, flush=True)
        await _standard_input_closed()


async def serve_archive(
    paths: Iterable[Path],
    host: str = "127.0.0.1",
    port: int = 0,
    log: Path | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Index WARC files (see `Archive` for errors), then serve them as `serve` does."""
    with Archive(paths) as archive:
        for warning in archive.warnings:
            _log.warning("%s", warning)
        await serve(archive.answer, host, port, log, ready)


async def _standard_input_closed() -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        while await reader.read(_BLOCK):
            pass
    finally:
        transport.close()


# in a process of its own, so that serving pages takes no time from crawling them

_CLOSE_SECONDS = 10.0
_MAX_MESSAGES = 20_000


class ServerProcessError(ScentlineError):
    """A server process that ended too early; the text holds what it wrote."""


class ServerProcess:
    """A running child process that serves an offline web at `url`.

    Start one with `archive`, or with the ``module`` of another web that behaves like this one; both return once
    it serves, and raise `ServerProcessError` if it ends before that. The child ends with `close`, and with this
    process, however that ends, since the pipe that it reads ends. Ctrl-C does not reach it.
    """

    def __init__(self, module: str, arguments: Iterable[str]) -> None:
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the child runs
        self._child = subprocess.Popen(  # noqa: S603 - this interpreter, and arguments that no shell reads
            command(module, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            # Ctrl-C reaches a terminal's foreground group; this one serves the pages still in flight.
            start_new_session=True,
            env=environment(module),
        )
        try:
            self.url = self._started()
        except BaseException:
            self.close()
            raise

    @classmethod
    def archive(cls, paths: Iterable[Path]) -> "ServerProcess":
        """Serve WARC files."""
        return cls("scentline.agents.offline.serve", ["--", *map(str, paths)])

    @property
    def output(self) -> BinaryIO:
        """The standard output of the child, which ends with it."""
        assert isinstance(self._child.stdout, BufferedReader)
        return self._child.stdout

    def check(self) -> None:
        """Raise `ServerProcessError` if the child has ended by itself."""
        status = self._child.poll()
        if status is not None:
            raise ServerProcessError(f"the offline server ended with status {status}: {self._said()}")

    def close(self) -> None:
        """End the child process and wait for its end."""
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._child.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._messages.close()

    def __enter__(self) -> "ServerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self) -> str:
        for line in self.output:
            word, _, rest = line.decode(errors="replace").rstrip("\n").partition(" ")
            if word == "ready":
                for warning in self._said().splitlines():
                    _log.warning("%s", warning)
                return rest
        status = self._child.wait()
        raise ServerProcessError(
            f"the offline server ended with status {status} before it served: {self._said()}"
        )

    def _said(self) -> str:
        # Not seek and read: the child writes at the same file offset.
        return os.pread(self._messages.fileno(), _MAX_MESSAGES, 0).decode(errors="replace").strip()


def main() -> None:
    """Parse the command line and serve; an error that explains itself ends the process with status 1."""
    parser = argparse.ArgumentParser(prog="scentline.agents.offline.serve")
    parser.add_argument("paths", type=Path, nargs="+")
    given = parser.parse_args()
    die_with_parent()  # indexing may take minutes
    try:
        asyncio.run(serve_archive(given.paths))
    except (ArchiveError, OSError) as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
