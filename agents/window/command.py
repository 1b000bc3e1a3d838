"""Serve a crawl's directory: the socket, the token, and the server until it ends."""

import asyncio
import shutil
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import BinaryIO

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from scentline.agents.signals import told_to_end
from scentline.agents.stored import kept_token
from scentline.agents.window.guard import ENTER, Access, names_of
from scentline.agents.window.process import mirror
from scentline.agents.window.reading import Reading
from scentline.agents.window.server import MOST_VIEWERS, Window
from scentline.agents.worker.directory import WINDOW
from scentline.streams.settings import ConfigurationError, Settings, WindowSettings

#: The mirror of a crawl on Kafka, within the window's data directory.
MIRROR = "mirror"
_TOKEN_FILE = "token"  # noqa: S105 - a file's name
#: Most connections at a time: of viewers, pages and requests.
MOST_CONNECTIONS = 2 * MOST_VIEWERS
#: The states of clients whose requests are incomplete.
_UNFINISHED = (h11.IDLE, h11.SEND_BODY)
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


def run(settings: Settings, ready: Callable[[str], object], until: BinaryIO | None = None) -> None:
    """Serve until a signal; ``ready`` receives the address, with the token unless the settings have one.

    With ``until``, the end of that file ends it, too. A crawl on Kafka is mirrored first. Raises
    `ConfigurationError` if the port can't be opened, `ServerProcessError` if the mirror fails.
    """
    with ExitStack() as resources:
        listener = resources.enter_context(_listening(settings.window))
        access = _access(settings, int(listener.getsockname()[1]))
        ends = [] if until is None else [until]
        if settings.on_kafka:
            shutil.rmtree(settings.data / MIRROR, ignore_errors=True)
            settings = settings.model_copy(update={"data": settings.data / MIRROR})
            mirroring = resources.enter_context(mirror(settings))
            ends.append(mirroring.output)
            resources.callback(mirroring.check)
        address = f"http://{_name(settings.window.host)}:{listener.getsockname()[1]}"
        window = Window(Reading(settings), access)
        # A configured token is known, and the output may be a log.
        entrance = f"{ENTER}?token={access.token}" if settings.window.token is None else "/"
        asyncio.run(_serve(window, listener, ends, lambda: ready(f"{address}{entrance}")))


def _access(settings: Settings, port: int) -> Access:
    given = settings.window
    token = kept_token(settings.data / WINDOW / _TOKEN_FILE, given.token)
    return Access(token, names_of([*_LOOPBACK, *given.hosts], port), f"scentline-{port}", given.read_only)


async def _serve(
    window: Window, listener: socket.socket, ends: Iterable[BinaryIO], ready: Callable[[], object]
) -> None:
    """Serve until a signal, or the end of one of the files."""
    server = _Server(
        uvicorn.Config(
            window.app, http=Connection, log_config=None, access_log=False, server_header=False, lifespan="off",
            ws="none", timeout_graceful_shutdown=2,
        )
    )  # fmt: skip
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for file in ends:
        loop.add_reader(file.fileno(), ended.set)
    working, ending = asyncio.create_task(window.run()), asyncio.create_task(ended.wait())
    serving = asyncio.create_task(server.serve([listener]))
    with told_to_end(ended.set):
        ready()
        await asyncio.wait({serving, working, ending}, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    working.cancel()
    await window.close()
    await serving
    with suppress(asyncio.CancelledError):
        await working


class _Server(uvicorn.Server):
    """A server that leaves signals to its caller."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class Connection(H11Protocol):
    """A client's connection, closed if its request stays incomplete.

    Beyond `MOST_CONNECTIONS`, the oldest without a complete request makes room: strangers who hold connections
    open lock no one out.
    """

    #: Seconds that a request has to arrive, twice as many at most.
    seconds = 30.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Watch a client, and make room for it."""
        super().connection_made(transport)
        self.since = self.loop.time()
        others = [each for each in self.connections if isinstance(each, Connection) and each is not self]
        silent = [each for each in others if each.conn.their_state in _UNFINISHED]
        if len(others) >= MOST_CONNECTIONS and silent:
            min(silent, key=lambda each: each.since).transport.close()
        self._watch(None)

    def _watch(self, seen: tuple[object, object] | None) -> None:
        """Close the connection if nothing has happened since; during an answer the client may be silent."""
        state = (self.conn.their_state, self.cycle)
        if state == seen and state[0] in _UNFINISHED:
            self.transport.close()
        elif not self.transport.is_closing():
            self.loop.call_later(self.seconds, self._watch, state)


def _listening(given: WindowSettings) -> socket.socket:
    """Return a socket that listens as configured; if the default port is taken, on any free one."""
    try:
        family = socket.getaddrinfo(given.host, given.port, type=socket.SOCK_STREAM)[0][0]
        try:
            return socket.create_server((given.host, given.port), family=family)
        except OSError:
            if "port" in given.model_fields_set:
                raise
            return socket.create_server((given.host, 0), family=family)
    except OSError as error:
        raise ConfigurationError(
            f"opening window.host {given.host}, window.port {given.port}: {error.strerror}; "
            "expected a free port"
        ) from error


def _name(host: str) -> str:
    return "127.0.0.1" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host  # noqa: S104
