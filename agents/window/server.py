"""The window's server: static files, views once or as they change, and requests to the crawl.

``GET /api/SCREEN?...`` gives a view once, ``GET /events/SCREEN?...`` the view and what stands above it as
server-sent events, each whenever it has changed. ``POST /steer`` takes a request
(`agents.operate.control.requests`).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from scentline.agents.operate.control.command import submit
from scentline.agents.operate.control.requests import RefusedError, checked
from scentline.agents.operate.control.requests import Request as Steering
from scentline.agents.window.guard import ASKING, ENTER, HEALTH, MOST_BODY, Access, Guard
from scentline.agents.window.reading import Reading
from scentline.agents.window.screens import crawl, errors, hosts, learning, now, page, pages, steer, trial
from scentline.agents.window.screens import next as upcoming
from scentline.agents.window.trials import Judging
from scentline.models.errors import ScentlineError
from scentline.streams.logging import EventLog, printable
from scentline.streams.records import reason_of
from scentline.streams.transport.database import StorageError

#: Every screen by its name in addresses.
SCREENS: Mapping[str, ModuleType] = {
    "crawl": crawl,
    "errors": errors,
    "hosts": hosts,
    "learning": learning,
    "next": upcoming,
    "now": now,
    "page": page,
    "pages": pages,
    "steer": steer,
    "trial": trial,
}

#: Viewers at a time; each holds one connection.
MOST_VIEWERS = 32
#: Seconds between two views that are made for a viewer.
VIEW_SECONDS = 1.0
#: Seconds between two looks at whether there is work to be done ahead.
IDLE_SECONDS = 1.0
#: Seconds after which work that failed is tried again.
AGAIN_SECONDS = 5.0
#: Beside a crawl, how many times as long as a piece of such work is the pause after it.
BESIDE_A_CRAWL = 100.0
#: Seconds of it after which these pauses begin.
AT_ONCE_SECONDS = 1.0
#: Seconds without a change after which a viewer is told that nothing is wrong; that shows if it is gone.
BEAT_SECONDS = 10.0

_STATIC = Path(__file__).with_name("static")
_JSON = "application/json"

log = EventLog("window")
T = TypeVar("T")

_encode = msgspec.json.Encoder().encode
_steering: msgspec.json.Decoder[Steering] = msgspec.json.Decoder(Steering)


class Window:
    """What is served of one crawl: all that reads is done in one thread, by turns."""

    def __init__(self, reading: Reading, access: Access) -> None:
        self.viewers = 0
        self._reading = reading
        self._access = access
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reading")
        self._closing = asyncio.Event()
        self._told = ""
        self._judging = Judging(lambda: reading.settings, reading.next_pages, reading.running, self._in_turn)
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
        """End what viewers wait for, and let go of the crawl."""
        self._closing.set()
        await self._in_turn(self._reading.close)
        self._thread.shutdown()

    async def run(self) -> None:
        """Work ahead of the views while there are viewers, and judge pages for trials; never returns."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._on_and_on(self._work))
            group.create_task(self._on_and_on(self._judging.run))

    async def _on_and_on(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do work that has no end; where it fails, begin it anew after a while."""
        while True:
            try:
                await work()
            except Exception as error:
                self._tell(error)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _work(self) -> None:
        """Work ahead of the views while there are viewers; never returns.

        Beside a crawl that takes a hundredth of a core, but for the first second: the first pages of lists are
        what people wait for.
        """
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
        """Do work; what can't be read is told, and the directory is opened anew when it is read next."""
        try:
            found = work(*arguments)
        except Exception as error:
            if isinstance(error, ScentlineError) and not isinstance(error, StorageError):
                raise
            self._tell(error)
            with suppress(Exception):  # what is damaged may not even be closed
                self._reading.close()
            reason = printable(str(error) or type(error).__name__)
            raise _UnreadError(f"The crawl can't be read: {reason}") from error
        return found

    def _tell(self, error: Exception) -> None:
        """Log an error, once where the same one comes again and again."""
        told = repr(error)
        if told != self._told and not isinstance(error, _UnreadError):
            self._told = told
            explained = isinstance(error, ScentlineError) and error.explains_itself
            log.error("reading failed", reason=str(error), cause=None if explained else error)

    # answers

    async def _page(self, _: Request) -> Response:
        return FileResponse(_STATIC / "index.html")

    async def _health(self, _: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def _enter(self, request: Request) -> Response:
        """Put the token of the address into a cookie, and lead on to the address without it.

        By a page, not a redirect: after one that began at another site, a strict cookie is not sent.
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
            screen, query = _asked(request)
            return Response(await self._in_turn(self._view, screen, query), media_type=_JSON)
        except ScentlineError as error:
            return _refused(error)

    async def _events(self, request: Request) -> Response:
        try:
            screen, query = _asked(request)
        except ScentlineError as error:
            return _refused(error)
        if self.viewers >= MOST_VIEWERS:
            return PlainTextResponse(
                f"{MOST_VIEWERS} viewers look already; close one.\n", HTTPStatus.SERVICE_UNAVAILABLE
            )
        return StreamingResponse(self._stream(screen, query), media_type="text/event-stream")

    async def _stream(self, screen: ModuleType, query: Any) -> AsyncIterator[bytes]:
        """Yield what a viewer is to see, as it changes."""
        self.viewers += 1
        told: dict[str, bytes] = {}
        silent = 0.0
        try:
            while not self._closing.is_set():
                events = await self._both(screen, query)
                for event, data in events.items():
                    if told.get(event) != data:
                        silent = 0.0
                        yield b"event: %s\ndata: %s\n\n" % (event.encode(), data)
                told = events  # after trouble, a view is told again that is as before
                if silent >= BEAT_SECONDS:
                    silent = 0.0
                    yield b": all is as it was\n\n"
                with suppress(TimeoutError):
                    async with asyncio.timeout(VIEW_SECONDS):
                        await self._closing.wait()
                silent += VIEW_SECONDS
        finally:
            self.viewers -= 1

    async def _both(self, screen: ModuleType, query: Any) -> dict[str, bytes]:
        """Return what stands above a screen, and its view, or in the place of that why there is none."""
        found: dict[str, bytes] = {}
        try:
            found["crawl"] = await self._in_turn(self._view, crawl, crawl.Query())
            found["view"] = await self._in_turn(self._view, screen, query)
        except ScentlineError as error:
            found["trouble"] = _encode(str(error))
        return found

    def _view(self, screen: ModuleType, query: Any) -> bytes:
        reading = self._reading
        reading.refresh()
        reading.watching.begin(reading.now)
        try:
            return _encode(screen.view(reading, query))
        finally:
            if reading.begun:
                reading.watching.end()

    async def _steer(self, request: Request) -> Response:
        try:
            asked = _steering.decode(await request.body())
            said = await self._in_turn(submit, self._reading.settings, checked(asked))
        except ClientDisconnect:
            return PlainTextResponse(
                f"A request has {MOST_BODY} bytes at most.\n", HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            )
        except (msgspec.MsgspecError, RecursionError) as error:
            return PlainTextResponse(f"That is no request: {reason_of(error)}\n", HTTPStatus.BAD_REQUEST)
        except ScentlineError as error:
            return _refused(error)
        log.info("a request was made", request=type(asked).__name__, done=said is not None)
        return Response(_encode({"said": said}), media_type=_JSON)


class _UnknownError(ScentlineError):
    """There is no such screen."""


class _UnreadError(ScentlineError):
    """The crawl's directory can't be read now."""


class _QueryError(ScentlineError):
    """A screen was asked for what it can't show."""


def _refused(error: ScentlineError) -> Response:
    """Return what says why there is no answer."""
    status = HTTPStatus.BAD_REQUEST
    if isinstance(error, _UnknownError):
        status = HTTPStatus.NOT_FOUND
    elif isinstance(error, _UnreadError):
        status = HTTPStatus.SERVICE_UNAVAILABLE
    return PlainTextResponse(f"{error}\n", status)


def _asked(request: Request) -> tuple[ModuleType, Any]:
    """Return the screen that is asked for, and what of it."""
    name = request.path_params["screen"]
    screen = SCREENS.get(name)
    if screen is None:
        raise _UnknownError(f"There is no screen {name[:40]!r}; expected one of {', '.join(SCREENS)}.")
    try:
        return screen, msgspec.convert(dict(request.query_params), screen.Query, strict=False)
    except (msgspec.ValidationError, RefusedError) as error:
        raise _QueryError(f"{name}: {reason_of(error)}") from error
