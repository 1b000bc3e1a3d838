"""Serving an offline web until it is told to stop; what runs in the server's own process."""

import asyncio
import logging
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from agents.offline.answer import Answerer
from agents.offline.archive import Archive, Progress
from agents.offline.server import OfflineServer
from agents.offline.synthetic.web import SyntheticWeb

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


async def serve_synthetic(
    web: SyntheticWeb,
    host: str = "127.0.0.1",
    port: int = 0,
    log: Path | None = None,
    ready: Callable[[str], None] | None = None,
    *,
    until_stdin_closes: bool = False,
) -> None:
    """Serve a synthetic web as `serve` does."""
    await serve(web.answer, host, port, log, ready, until_stdin_closes=until_stdin_closes)


async def serve_on(url: str, ready: Callable[[str], None] | None, *, until_stdin_closes: bool) -> None:
    """Say that a server listens at ``url``, and wait until it is to end, as `serve` does."""
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
