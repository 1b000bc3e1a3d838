"""The door's server: three calls over HTTP/1.1, for clients with its token.

``POST /door/1/lease``, ``/door/1/settle`` and ``/door/1/discover`` take JSON (`agents.door.telling`), and
``GET /door/1/state`` nothing. A settle with bodies is framed: the length of its JSON in four bytes
(big-endian), the JSON, and the bodies, each a zlib stream of as many bytes as its answer says.
"""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from hmac import compare_digest
from http import HTTPStatus
from importlib.metadata import version
from logging import getLogger
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from aiohttp import web

from scentline.agents.door.agent import OVER, DoorAgent, order_of
from scentline.agents.door.telling import MOST_CALL, Answer, Discover, Lease, Settle
from scentline.agents.fetch.guard import is_this_machine
from scentline.agents.stored import kept_token
from scentline.models.errors import EventLog, ScentlineError
from scentline.models.records import UNREADABLE, reason_of
from scentline.models.settings import DoorSettings
from scentline.streams.settings import ConfigurationError, Settings

PROTOCOL = 1  #: The version of the calls, in their paths.
FRAMED = "application/x-scentline"  #: The content type of a call with bodies.
TOKEN_FILE = "door/token"  # noqa: S105 - a file's name
#: Seconds after which a client that was put off may come again, and that calls have when the door closes.
AGAIN_SECONDS, LAST_SECONDS = 2, 1.0
_HEAD_BYTES = 4

log = EventLog("door")
#: Of aiohttp's server, which would quote requests that it can't read, and with them tokens.
_SILENT = getLogger("scentline.door.silent")
_SILENT.disabled = True
T = TypeVar("T")


class Calls:
    """Answers calls for a door; ``figures`` returns what the crawl has found, for those who ask."""

    def __init__(self, door: DoorAgent, token: str, figures: Callable[[], dict[str, Any]]) -> None:
        self._door = door
        self._token = token.encode()
        self._figures = figures
        self.app = web.Application(client_max_size=MOST_CALL, middlewares=[self._guarded])
        self.app.on_response_prepare.append(_unversioned)
        path = f"/door/{PROTOCOL}"
        self.app.add_routes([
            web.get("/healthz", self.healthy),
            web.get(f"{path}/state", self.state),
            web.post(f"{path}/lease", self.lease),
            web.post(f"{path}/settle", self.settle),
            web.post(f"{path}/discover", self.discover),
        ])  # fmt: skip

    @web.middleware
    async def _guarded(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Let in who has the token, and no page of a browser; answer errors with a line."""
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        admitted = scheme.lower() == "bearer" and compare_digest(given.strip().encode(), self._token)
        if request.path != "/healthz" and (not admitted or "Origin" in request.headers):
            return _said(HTTPStatus.UNAUTHORIZED, "expected the header Authorization: Bearer TOKEN")
        try:
            return await handler(request)
        except ScentlineError as error:
            answer = _said(getattr(error, "status", HTTPStatus.BAD_REQUEST), str(error))
            answer.headers["Retry-After"] = str(AGAIN_SECONDS)
            return answer
        except web.HTTPException:
            raise
        except Exception as error:
            log.error("a call failed", path=request.path, cause=error)
            return _said(HTTPStatus.INTERNAL_SERVER_ERROR, f"answering failed: {type(error).__name__}")

    async def healthy(self, _: web.Request) -> web.Response:
        """Answer a probe; needs no token, and reveals nothing."""
        return web.Response(text="ok\n")

    async def state(self, _: web.Request) -> web.Response:
        """Answer how the crawl stands."""
        return _json({"protocol": PROTOCOL, "scentline": version("scentline"), **self._standing()})

    async def lease(self, request: web.Request) -> web.Response:
        """Lease orders."""
        return self._answer(**await self._leased(_decoded(Lease, await request.read()), request))

    async def settle(self, request: web.Request) -> web.Response:
        """Take answers, and lease orders."""
        head, rest = _framed(request.content_type, await request.read())
        call = _decoded(Settle, head)
        said = await self._door.settle(call, _bodies(call.answers, rest))
        return self._answer(said=said, **await self._leased(call.lease, request) if call.lease else {})

    async def _leased(self, call: Lease, request: web.Request) -> dict[str, Any]:
        found = await self._door.lease(call, lambda: request.transport is None)
        return {"orders": [order_of(each) for each in found]}

    async def discover(self, request: web.Request) -> web.Response:
        """Take URLs."""
        return self._answer(said=await self._door.discover(_decoded(Discover, await request.read())))

    def _answer(self, **found: Any) -> web.Response:
        """Answer a call, and the last one also with how the crawl ended: no later one may be heard."""
        state = self._door.state()
        return _json(found | (self._standing() if state in OVER else {"state": state}))

    def _standing(self) -> dict[str, Any]:
        return {
            "state": self._door.state(), "clients": self._door.clients, "leased": self._door.held(),
            "parked": len(self._door.leases.parked), **self._figures(),
        }  # fmt: skip


class CallError(ScentlineError):
    """A call that can't be read."""


def _decoded(kind: type[T], data: bytes) -> T:
    try:
        return msgspec.json.decode(data, type=kind)
    except UNREADABLE as error:
        raise CallError(f"not a {kind.__name__}: {reason_of(error)}") from error


def _framed(kind: str, data: bytes) -> tuple[bytes, memoryview]:
    """Return the JSON of a call and its bodies; raises `CallError`."""
    if kind != FRAMED:
        return data, memoryview(b"")
    length = int.from_bytes(data[:_HEAD_BYTES])
    if len(data) < _HEAD_BYTES + length:
        raise CallError(f"a head of {length} bytes; expected as many")
    return data[_HEAD_BYTES : _HEAD_BYTES + length], memoryview(data)[_HEAD_BYTES + length :]


def _bodies(answers: list[Answer], rest: memoryview) -> list[bytes]:
    """Return the body of each answer, empty without one; raises `CallError` unless all are there."""
    found, at = [], 0
    for answer in answers:
        found.append(bytes(rest[at : at + answer.body]))
        at += answer.body
    if at != len(rest):
        raise CallError(f"{len(rest)} bytes of bodies; expected {at}")
    return found


async def _unversioned(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["Server"] = "scentline"  # without versions or libraries


def _json(found: dict[str, Any]) -> web.Response:
    return web.Response(body=msgspec.json.encode(found), content_type="application/json")


def _said(status: HTTPStatus, line: str) -> web.Response:
    return web.Response(status=status, text=f"{line}\n")


@asynccontextmanager
async def serving_door(
    settings: Settings, door: DoorAgent, figures: Callable[[], dict[str, Any]]
) -> AsyncIterator[str]:
    """Serve a door where ``door.address`` says; yield its URL. Raises `ConfigurationError`."""
    given = settings.door
    at = urlsplit(f"//{given.address}")
    context = _context(given, at.hostname or "")
    token = kept_token(settings.data / TOKEN_FILE, given.token)
    app = Calls(door, token, figures).app
    runner = web.AppRunner(
        app, access_log=None, handle_signals=False, logger=_SILENT, shutdown_timeout=LAST_SECONDS
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, at.hostname, at.port, ssl_context=context).start()
    except (OSError, ValueError) as error:
        await runner.cleanup()
        raise ConfigurationError(
            f"opening door.address {given.address}: {error}; expected a free port"
        ) from error
    try:
        name, bound = given.address.rpartition(":")[0], runner.addresses[0][1]
        yield f"http{'s' if context else ''}://{name}:{bound}"
    finally:
        await runner.cleanup()


def _context(given: DoorSettings, name: str) -> ssl.SSLContext | None:
    """Return the TLS of a door; raises `ConfigurationError` for an open address without any."""
    if given.certificate is None or given.key is None:
        if not is_this_machine(name):
            raise ConfigurationError(
                f"door.address {given.address}: others could read what clients send; expected a loopback "
                "address, or door.certificate and door.key for TLS"
            )
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(given.certificate, given.key)
        if given.clients is not None:
            context.load_verify_locations(given.clients)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"door.certificate, door.key or door.clients: {error}") from error
    return context
