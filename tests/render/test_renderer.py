"""A rendered page is what its scripts left; a page that does them harm is refused, and the next one is fine."""

import time

import pytest

from scentline.agents.fetch.result import Body
from scentline.agents.render.client import Renderer
from scentline.models.settings import RenderSettings
from scentline.streams.settings import ConfigurationError
from tests.agents.loopback import Request, awaited, serving, settings

APP = "<title>shell</title><div id=app></div><script src=/app.js></script>"
FILES = {
    "/app.js": ("text/javascript", "fetch('/api').then(r => r.text()).then(text => app.append(text))"),
    "/api": ("text/plain", "content \u00e9"),
}


async def answer(request: Request, writer: object) -> None:
    kind, text = FILES.get(request.path, ("text/html; charset=utf-8", APP))
    request.send(200, text.encode(), kind)


@awaited
async def test_a_page_is_what_its_scripts_have_made_of_it_and_its_requests_are_counted() -> None:
    async with serving(answer) as server, Renderer(settings(), RenderSettings(), time.time) as client:
        found = (await client.fetch(server.origin + "/")).result
        assert isinstance(found, Body) and found.rendered is not None
        assert '<div id="app">content \u00e9</div>' in found.body.decode()
        assert found.headers["content-type"] == "text/html; charset=utf-8"
        assert (found.rendered.plain, found.rendered.requests) == (APP.encode(), 3)
        assert server.targets() == ["/", "/app.js", "/api"]


def test_without_a_browser_the_error_says_what_to_install() -> None:
    with pytest.raises(ConfigurationError, match="'/no/browser' is no program; install Chromium"):
        Renderer(settings(), RenderSettings(browser="/no/browser"), time.time)
