"""The client of rendered pages: fetched as any other, then left to their scripts for a while."""

import time
from collections.abc import Callable, Collection
from typing import Final

import msgspec

from scentline.agents.fetch.client import Client, media_type
from scentline.agents.fetch.result import Body, FetchError, Result
from scentline.agents.fetch.servers import Held
from scentline.agents.render.browser import Chromium
from scentline.agents.render.loader import Loader, Scripts
from scentline.models.facts import Moved, Rendering
from scentline.models.formats import Format
from scentline.models.records import Rendered, Version
from scentline.models.settings import FetchSettings, RenderSettings

_WITH_SCRIPTS: Final = frozenset({"text/html", "application/xhtml+xml"})


class Renderer(Client):
    """Fetches pages as a `Client` does, and brings HTML as its scripts leave it in a browser.

    robots.txt, delays, checks and redirects are those of a `Client`. No request is conditional: what scripts
    show may change although the document does not. `ConfigurationError` without Playwright or Chromium.
    """

    def __init__(
        self,
        settings: FetchSettings,
        render: RenderSettings,
        clock: Callable[[], float],
        formats: Collection[Format] = (),
    ) -> None:
        # The fetchers read sitemaps.
        super().__init__(settings.model_copy(update={"sitemaps": False}), clock, formats=formats)
        self._render = render
        self._browser = Chromium(render, settings.user_agent)
        self._scripts = Scripts()

    @property
    def slots(self) -> int:
        """How many pages are fetched at the same time."""
        return self._render.slots

    async def __aenter__(self) -> "Renderer":
        await self._browser.__aenter__()  # first: it may fail
        await super().__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._browser.__aexit__()
        await super().__aexit__()

    async def _page(self, url: str, known: Version | None, held: Held) -> Result:
        page = await super()._page(url, None, held)
        if not isinstance(page, Body) or media_type(page.headers) not in _WITH_SCRIPTS:
            return page
        began, most = time.perf_counter(), self._settings.max_bytes
        held.answered = began
        loader = Loader(self._pool, self._settings, self._render, self._scripts, url, page)
        try:
            html = await self._browser.rendered(loader, most)
        except FetchError as error:
            if error.kind != "retry":
                took = Rendering(time.perf_counter() - began, needed=False, brought=False)
                error.ended = error.ended._replace(rendering=took)
            raise
        finally:
            held.requests = loader.requests
        if loader.moved:
            return Moved(loader.moved, False)
        kind = page.headers["content-type"]
        how = Rendered(time.perf_counter() - began, loader.requests, page.body, kind)
        headers = page.headers | {"content-type": "text/html; charset=utf-8"}
        return msgspec.structs.replace(page, headers=headers, body=html, rendered=how)
