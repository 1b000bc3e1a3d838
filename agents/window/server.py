"""The window's server: static files, views once or as they change, and requests to the crawl.

``GET /api/SCREEN?...`` returns a view, ``GET /events/SCREEN?...`` the view and the header as server-sent
events, each when it changes. ``POST /steer`` takes a request (`agents.operate.requests`).
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from scentline.agents.operate.control import submit
from scentline.agents.operate.requests import Request as Steering
from scentline.agents.window.guard import ASKING, ENTER, HEALTH, Access, Guard
from scentline.agents.window.reading import Reading
from scentline.agents.window.screens import screen
from scentline.models.errors import EventLog, ScentlineError, StorageError
from scentline.models.records import reason_of
from scentline.streams.logging import printable
from scentline.streams.metrics.endpoint import MOST_BODY

#: Most viewers; each holds one connection.
MOST_VIEWERS = 32
#: Seconds between two views for a viewer.
VIEW_SECONDS = 1.0
#: Seconds between two checks for work to do ahead.
IDLE_SECONDS = 1.0
#: Seconds after which failed work is retried.
AGAIN_SECONDS = 5.0
#: Beside a crawl, the pause after a piece of such work, in multiples of its time.
BESIDE_A_CRAWL = 25.0
#: Seconds of work before these pauses begin.
AT_ONCE_SECONDS = 1.0
#: Seconds that viewers have for a last view when the window ends.
LAST_SECONDS = 1.5
#: Seconds without a change after which a viewer gets a comment; sending it shows whether the viewer is gone.
BEAT_SECONDS = 10.0

_STATIC = Path(__file__).with_name("static")

log = EventLog("window")
T = TypeVar("T")
View = Callable[[Reading], dict[str, Any]]

_crawl, _now = screen("crawl", {}), screen("now", {})

_encode = msgspec.json.Encoder().encode
_steering: msgspec.json.Decoder[Steering] = msgspec.json.Decoder(Steering)


class Window:
    """The application of one crawl; one thread does all reading."""

    def __init__(self, reading: Reading, access: Access) -> None:
        self.viewers = 0
        self._reading = reading
        self._access = access
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reading")
        self._closing = asyncio.Event()
        self._logged = ""
        self.app = Starlette(
            routes=[
                Route("/", self._page),
                Route(ENTER, self._enter),
                Route(HEALTH, self._health),
                Route("/api/{screen}", self._once),
                Route("/events/{screen}", self._events),
                Route("/steer", self._steer, methods=["POST"]),
                Mount("/static", StaticFiles(directory=_STATIC)),
            ],
            middleware=[Middleware(Guard, access=access)],
        )

    async def close(self) -> None:
        """End the event streams, each with a last view and why, and close the crawl."""
        await self._in_turn(self._reading.close)  # a crawl that has just ended is reopened, at rest
        self._closing.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                while self.viewers:
                    await asyncio.sleep(0.02)
        await self._in_turn(self._reading.close)
        self._thread.shutdown()

    async def run(self) -> None:
        """Work ahead of the views while there are viewers; never returns. It restarts after an error."""
        while True:
            try:
                await self._work()
            except Exception as error:
                self._log(error)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _work(self) -> None:
        """Work; beside a crawl on a few percent of a core, after a first second that fills the lists."""
        at_once = AT_ONCE_SECONDS
        while True:
            seconds = await self._in_turn(self._reading.work) if self.viewers else None
            if seconds is None:
                await asyncio.sleep(IDLE_SECONDS)
            elif await self._in_turn(self._reading.running):
                at_once -= seconds
                if at_once < 0:
                    await asyncio.sleep(BESIDE_A_CRAWL * seconds)

    async def _in_turn(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._survived, work, *arguments)

    def _survived(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do work; if the crawl can't be read, log why, and reopen its directory at the next read."""
        try:
            found = work(*arguments)
        except Exception as error:
            if isinstance(error, ScentlineError) and not isinstance(error, StorageError):
                raise
            self._log(error)
            with suppress(Exception):  # a damaged journal may not even close
                self._reading.close()
            reason = printable(str(error) or type(error).__name__)
            raise _UnreadError(f"The crawl can't be read: {reason}") from error
        return found

    def _log(self, error: Exception) -> None:
        """Log an error, but only once if it repeats."""
        text = repr(error)
        if text != self._logged and not isinstance(error, _UnreadError):
            self._logged = text
            explained = isinstance(error, ScentlineError) and error.explains_itself
            log.error("reading failed", reason=str(error), cause=None if explained else error)

    # answers

    async def _page(self, _: Request) -> Response:
        return FileResponse(_STATIC / "index.html")

    async def _health(self, _: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _enter(self, request: Request) -> Response:
        """Move the token from the address into a cookie, and forward to the address without it.

        A page forwards, since after a redirect that began at another site a strict cookie is not sent.
        """
        token = request.query_params.get("token", "")
        if not self._access.admits(token):
            return HTMLResponse(ASKING.format(reason="That is not its token."), HTTPStatus.UNAUTHORIZED)
        answer = HTMLResponse(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Scentline</title>'
            '<link rel="icon" href="/static/icon.svg" type="image/svg+xml">'
            '<meta http-equiv="refresh" content="0; url=/"><a href="/">Open the window</a></html>'
        )
        answer.set_cookie(self._access.cookie, self._access.kept, httponly=True, samesite="strict")
        return answer

    async def _once(self, request: Request) -> Response:
        try:
            view = screen(request.path_params["screen"], request.query_params)
            return Response(_encode(await self._in_turn(view, self._reading)), media_type="application/json")
        except ScentlineError as error:
            return _refused(error)

    async def _events(self, request: Request) -> Response:
        try:
            view = screen(request.path_params["screen"], request.query_params)
        except ScentlineError as error:
            return _refused(error)
        if self.viewers >= MOST_VIEWERS:
            reason = f"{MOST_VIEWERS} viewers look already; close one.\n"
            return PlainTextResponse(reason, HTTPStatus.SERVICE_UNAVAILABLE)
        return StreamingResponse(self._stream(view), media_type="text/event-stream")

    async def _stream(self, view: View) -> AsyncIterator[bytes]:
        self.viewers += 1
        sent: dict[str, bytes] = {}
        silent = 0.0
        try:
            while not self._closing.is_set():
                events = await self._both(view)
                for event, data in events.items():
                    if sent.get(event) != data:
                        silent = 0.0
                        yield _event(event, data)
                sent = events  # after trouble, an unchanged view is sent again
                if silent >= BEAT_SECONDS:
                    silent = 0.0
                    yield b": all is as it was\n\n"
                with suppress(TimeoutError):
                    async with asyncio.timeout(VIEW_SECONDS):
                        await self._closing.wait()
                silent += VIEW_SECONDS
            for event, data in (await self._both(view)).items():
                yield _event(event, data)
            with suppress(ScentlineError):
                yield _event("ended", _encode(await self._in_turn(_now, self._reading)))
        finally:
            self.viewers -= 1

    async def _both(self, view: View) -> dict[str, bytes]:
        """Return the header and the view of a screen, or the error in place of the view."""
        found: dict[str, bytes] = {}
        try:
            for event, make in (("crawl", _crawl), ("view", view)):
                found[event] = _encode(await self._in_turn(make, self._reading))
        except ScentlineError as error:
            found["trouble"] = _encode(str(error))
        return found

    async def _steer(self, request: Request) -> Response:
        try:
            steering = _steering.decode(await request.body())
            said = await self._in_turn(submit, self._reading.settings, steering)
        except ClientDisconnect:
            return PlainTextResponse(
                f"A request has {MOST_BODY} bytes at most.\n", HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            )
        except (msgspec.MsgspecError, RecursionError) as error:
            return PlainTextResponse(f"That is no request: {reason_of(error)}\n", HTTPStatus.BAD_REQUEST)
        except ScentlineError as error:
            return _refused(error)
        log.info("a request was carried out", request=type(steering).__name__)
        return Response(_encode({"said": said}), media_type="application/json")


def _event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


class _UnreadError(ScentlineError):
    """The crawl's directory can't be read now."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


def _refused(error: ScentlineError) -> Response:
    return PlainTextResponse(f"{error}\n", getattr(error, "status", HTTPStatus.BAD_REQUEST))
