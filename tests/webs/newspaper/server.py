"""The newspaper's server on loopback: answers conditional requests, and notes everything that it is asked."""

import json
import time
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import TextIO

from aiohttp import web

from tests.webs.newspaper.site import Site


@dataclass(frozen=True)
class Asked:
    """A request: its path, how many came before it, when it came, and what the answer was.

    ``conditional`` tells that another version only was asked for. Times are in seconds since the epoch.
    """

    path: str
    before: int
    time: float
    status: int
    conditional: bool


def read_record(path: Path) -> list[Asked]:
    """Return the requests that a server noted, in their order."""
    return [Asked(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


class NewspaperServer:
    """Serves a site; each request for a page is a line of JSON in ``record``. There is no robots.txt.

    A page's version is told by its ETag and Last-Modified. Raises OSError where it can't listen or write the
    record. Use it as ``async with NewspaperServer(...)``.
    """

    def __init__(self, site: Site, record: Path, port: int = 0) -> None:
        self._site = site
        self._path = record
        self._port = port
        self._times = [time.time()]
        self._resources = AsyncExitStack()

    @property
    def url(self) -> str:
        """The front page."""
        return f"http://127.0.0.1:{self._port}/"

    async def __aenter__(self) -> "NewspaperServer":
        self._record: TextIO = self._path.open("a", encoding="utf-8", buffering=1)
        self._resources.callback(self._record.close)
        runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=1.0)
        self._resources.push_async_callback(runner.cleanup)
        try:
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", self._port).start()
        except BaseException:
            await self._resources.aclose()
            raise
        self._port = runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._resources.aclose()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/robots.txt":
            return web.Response(status=404)
        before = len(self._times) - 1
        self._times.append(time.time())
        response = self._answer(request, before)
        conditional = "If-None-Match" in request.headers or "If-Modified-Since" in request.headers
        asked = Asked(request.path, before, self._times[-1], response.status, conditional)
        self._record.write(json.dumps(asdict(asked)) + "\n")
        return response

    def _answer(self, request: web.BaseRequest, before: int) -> web.Response:
        changed = self._site.changed(request.path, before)
        if changed is None:
            return web.Response(status=404)
        tag = f'"{changed}"'
        modified = datetime.fromtimestamp(int(self._times[changed]), UTC)
        headers = {"ETag": tag, "Last-Modified": format_datetime(modified, usegmt=True)}
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers=headers)
        return web.Response(
            body=self._site.page(request.path, before), content_type="text/html", headers=headers
        )
