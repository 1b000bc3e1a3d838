"""A rendered page is what its scripts left; a page that does harm is refused, and the next one is fine."""

import asyncio
import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from time import sleep
from time import time as now
from urllib.parse import quote, unquote, urlsplit

import pytest
from psutil import Process

from scentline.agents.fetch.client import Client
from scentline.agents.fetch.result import Body
from scentline.agents.render.browser import _large
from scentline.agents.render.client import Renderer
from scentline.agents.signals import environment
from scentline.models.facts import Early, Missing
from scentline.models.settings import RenderSettings
from scentline.streams.settings import ConfigurationError
from tests.agents.loopback import Request, awaited, serving, settings
from tests.cases import each_case
from tests.patience import PATIENCE

NOBODY = 65_534
UTF8 = "text/html; charset=utf-8"
MORE = " more" * 30  # with less text, more is waited for
APP = "<title>shell</title><div id=app></div><script src=/app.js></script>"
FILES = {
    "/app.js": ("text/javascript", "fetch('/api').then(r => r.text()).then(text => app.append(text))"),
    "/api": ("text/plain", "content \u00e9" + MORE),
    "/late": (UTF8, "<div id=app></div><script>setTimeout(() => app.append('content'), 600)</script>"),
    "/text": ("text/plain", "<script>document.write('x')</script>"),
    "/shadow": (UTF8, "<p id=a><script>a.attachShadow({mode: 'open'}).innerHTML = '<b>deep</b>'</script>"),
    "/self": (UTF8, "content \u00e9<script>location.reload(); location = '/self#there'</script>"),
    "/latin": ("text/html; charset=latin-1", "<script>document.write('content \u00e9<b>')</script>"),
}
#: Scripts that do harm, and how their pages end: None where what has come is taken.
HARM = {
    "while (true);": "rendering over 3 seconds",
    "while (true) alert('x')": "rendering over 3 seconds",
    "document.body.dataset.x = 'x'.repeat(6e6)": "body over 5000000 bytes",
    "setInterval(() => fetch('/api'), 1)": None,
    "fetch('/endless').then(r => r.text())": None,
    "fetch('/api', {headers: {x: '\u00e9', cookie: 'y', host: 'z', 'transfer-encoding': 'chunked'}})": None,
    "for (let n = 0; n < 99; n++) { open('/'); navigator.serviceWorker.register('/app.js'); confirm(n) }": None,
    "location = URL.createObjectURL(new Blob(['x'], {type: 'application/zip'}))": None,
    "for (let n = 0; n < 999; n++) history.pushState({}, '', '/' + n)": None,
    "Object.defineProperty(Element.prototype, 'outerHTML', {get: () => { while (true); }})": None,
}
GREED = ("new Array(1e6).fill(1.5)", "new Uint8Array(1e8).fill(1)", "document.createElement('p')")


async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
    if request.path == "/endless":
        request.begin(200, "text/plain")
        for _ in count():
            await request.write(b"x" * 100_000)
    kind, text = FILES.get(request.path, (UTF8, APP))
    if request.path == "/harm":
        text = f"<p>content \u00e9<script>{unquote(urlsplit(request.target).query)}</script>"
    request.send(200, text.encode("latin-1" if "latin" in kind else "utf-8"), kind)


async def rendered(client: Renderer, url: str) -> Body:
    result = (await client.fetch(url)).result
    assert isinstance(result, Body), result
    return result


@awaited
async def test_a_page_is_what_its_scripts_have_made_of_it_and_its_requests_are_counted() -> None:
    async with serving(answer) as server, Renderer(settings(), RenderSettings(), now) as client:
        found = await rendered(client, server.origin + "/")
        assert f'<div id="app">content \u00e9{MORE}</div>' in found.body.decode()
        assert found.headers["content-type"] == UTF8
        assert found.rendered is not None
        assert (found.rendered.plain, found.rendered.requests) == (APP.encode(), 3)
        again = (await rendered(client, server.origin + "/")).rendered
        assert again is not None and again.requests == 2  # the script is kept
        assert server.targets() == ["/", "/app.js", "/api", "/", "/api"]
        assert {asked.headers["user-agent"] for asked in server.requests} == {settings().user_agent}
        assert b"<b>deep</b>" in (await rendered(client, server.origin + "/shadow")).body
        assert "content \u00e9" in (await rendered(client, server.origin + "/self")).body.decode()
        assert "content \u00e9<b>" in (await rendered(client, server.origin + "/latin")).body.decode()
        assert (await rendered(client, server.origin + "/text")).rendered is None
        assert b'<div id="app">content' in (await rendered(client, server.origin + "/late")).body


@awaited
async def test_a_server_is_left_alone_for_as_many_delays_as_a_page_had_requests() -> None:
    delay = 30.0  # much longer than a page takes here
    slow = settings(delay_seconds=delay)
    async with (
        serving(answer) as server,
        Renderer(slow, RenderSettings(), now) as client,
        Client(slow, now) as other,
    ):
        other.servers = client.servers
        await rendered(client, server.origin + "/")
        early = (await other.fetch(server.origin + "/")).result
        assert isinstance(early, Early) and early.wait > 2 * delay


@pytest.mark.slow
@awaited
async def test_a_page_that_does_harm_ends_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = RenderSettings(seconds=3, requests=20, max_bytes=1_000_000, memory_bytes=500_000_000)
    async with serving(answer) as server, Renderer(settings(), bounds, now) as client:
        for script, reason in HARM.items():
            monkeypatch.setattr("scentline.agents.render.browser._LAST_SECONDS", 2.0 if reason else PATIENCE)
            ended = await client.fetch(f"{server.origin}/harm?{quote(script)}")
            found = ended.result
            assert getattr(found, "reason", None) == reason, script
            assert (ended.rendering is not None and ended.rendering.seconds > 0) == (reason is not None)
            if reason is None:
                assert isinstance(found, Body) and "<p>content \u00e9" in found.body.decode(), script
        assert server.targets().count("/api") <= 20 + 1
        assert "content" in (await rendered(client, server.origin + "/")).body.decode()


def driver() -> int:
    """Return the process of Playwright's driver."""
    (found,) = (each for each in Process().children() if Path(each.exe()).name == "node")
    return found.pid


@pytest.mark.slow
@awaited
async def test_a_browser_that_ended_or_is_stuck_is_started_anew_and_its_page_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scentline.agents.render.browser._STUCK_SECONDS", 1)
    async with serving(answer) as server, Renderer(settings(), RenderSettings(seconds=5), now) as client:
        for whose, number in (
            ("browser", signal.SIGKILL),
            ("browser", signal.SIGSTOP),
            ("driver", signal.SIGKILL),
        ):
            seen = len(server.requests)
            lost = asyncio.create_task(client.fetch(server.origin + "/harm?while(true);"))
            while len(server.requests) == seen:
                await asyncio.sleep(0.01)
            if whose == "browser":
                os.killpg(client._browser._leader, number)
            else:
                os.kill(driver(), number)
            ended = await lost
            assert (ended.result, ended.host.unanswered) == (Missing("retry", "rendering browser"), True)
            assert "content" in (await rendered(client, server.origin + "/")).body.decode()


HOLDER = """
import asyncio, time
from scentline.agents.render.client import Renderer
from scentline.models.settings import FetchSettings, RenderSettings

async def main():
    async with Renderer(FetchSettings(), RenderSettings(), time.time) as client:
        print(client._browser._leader, int(client._browser._said), flush=True)
        await asyncio.sleep(3600)

asyncio.run(main())
"""


def test_a_browser_has_no_network_is_nobody_and_dies_with_the_program_that_started_it() -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, env=environment()) as holder:
        assert holder.stdout is not None
        leader, missing = map(int, holder.stdout.readline().split())
        assert len(list(_large(leader, 0))) > 1
        place = Path("/proc", str(leader))
        assert (place.joinpath("ns/net").readlink() != Path("/proc/self/ns/net").readlink()) or missing
        assert os.geteuid() != 0 or place.stat().st_uid == NOBODY
        holder.kill()
    until = now() + PATIENCE
    while any(_large(leader, 0)):
        assert now() < until
        sleep(0.1)


@each_case(("browser", "path"), [("/no/browser", os.environ["PATH"]), ("", "/nowhere")])
def test_without_a_browser_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, browser: str, path: str
) -> None:
    monkeypatch.setenv("PATH", path)
    with pytest.raises(ConfigurationError, match="is no program; install Chromium"):
        Renderer(settings(), RenderSettings(browser=browser), now)


def test_without_playwright_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "playwright", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'scentline\[render\]'"):
        Renderer(settings(), RenderSettings(), now)
