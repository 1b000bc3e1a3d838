"""Nothing that a page does has anybody asked whom a fetch may not ask, also where the browser is unconfined."""

import json
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from time import time as now

import pytest

from scentline.agents.fetch.result import Body
from scentline.agents.render import browser
from scentline.agents.render.client import Renderer
from scentline.models.facts import Moved
from scentline.models.settings import RenderSettings
from tests.agents.loopback import Answer, Request, awaited, fixed, serving, settings
from tests.cases import each_case, written
from tests.patience import PATIENCE

TABLE = "test_neither_spelling_of_an_address_nor_its_canonical_form_leads_to_loopback"
SPELLINGS = written(Path(__file__).parents[1] / "agents" / "cases.txt")[TABLE]
OUTSIDE = "127.0.0.2"  #: The address of the page, and the only one that may be asked.
MOVED = (301, 302, 303, 307, 308)
#: What a page may do with a URL, in HTML and by scripts; {w} is the URL of a WebSocket, {n} host and port.
MARKUP = """
<img src="{u}"><script src="{u}"></script><script type=module src="{u}"></script><iframe src="{u}"></iframe>
<link rel=stylesheet href="{u}"><link rel=prefetch href="{u}"><link rel=preconnect href="{u}">
<link rel=dns-prefetch href="{u}"><link rel=preload as=fetch href="{u}"><link rel=modulepreload href="{u}">
<link rel=icon href="{u}"><link rel=manifest href="{u}"><video src="{u}" autoplay></video>
<audio src="{u}" autoplay></audio><object data="{u}"></object><embed src="{u}"><input type=image src="{u}">
<style>@import "{u}"; @font-face {{ font-family: f; src: url("{u}") }}</style>
<style>p {{ font-family: f; background: url("{u}") }}</style>
<p>text</p><iframe name=hole></iframe><form target=hole method=post action="{u}"></form>
<a ping="{u}" href="#here">x</a><a href="{u}" target=hole>y</a>
<script type=speculationrules>{{"prerender": [{{"urls": ["{u}"]}}], "prefetch": [{{"urls": ["{u}"]}}]}}</script>
"""
SCRIPT = """
const attempt = act => { try { Promise.resolve(act()).catch(() => 0) } catch (error) {} };
const worker = code => new Worker(URL.createObjectURL(new Blob([code])));
for (const [url, web, name] of URLS) {
  attempt(() => fetch(url)); attempt(() => fetch(url, {mode: "no-cors"}));
  attempt(() => fetch(url, {method: "POST", body: "x", mode: "no-cors"}));
  attempt(() => { const x = new XMLHttpRequest(); x.open("GET", url); x.send(); });
  attempt(() => new WebSocket(web)); attempt(() => new EventSource(url));
  attempt(() => navigator.sendBeacon(url, "x"));
  attempt(() => new WebTransport(url.replace("http:", "https:")));
  attempt(() => import(url)); attempt(() => window.open(url)); attempt(() => { new Image().src = url; });
  attempt(() => navigator.serviceWorker.register(url)); attempt(() => new SharedWorker(url));
  attempt(() => worker(`fetch("${url}"); importScripts("${url}");`)); attempt(() => new Worker(url));
  attempt(() => worker(`new WebSocket("${web}")`));
  attempt(async () => {
    const peer = new RTCPeerConnection({iceServers: [
      {urls: `stun:${name}`}, {urls: `turn:${name}?transport=tcp`, username: "u", credential: "c"}]});
    peer.createDataChannel("x"); await peer.setLocalDescription(await peer.createOffer());
  });
}
for (const each of document.querySelectorAll("form")) attempt(() => each.submit());
for (const each of document.querySelectorAll("a")) attempt(() => each.click());
"""
#: In the place of `confined`, as where the system allows nothing.
UNCONFINED = """
import os, sys
open(sys.argv[1], "w").write(f"{os.getpid()}\\nnetwork of its own\\nsandbox")
os.execv(sys.argv[2], [*sys.argv[2:], "--no-sandbox"])
"""


def asking_for(*urls: str) -> bytes:
    """Return a page that asks for each URL in every way."""
    named = [(url, url.replace("http", "ws", 1), url.partition("//")[2].partition("/")[0]) for url in urls]
    marked = "".join(MARKUP.format(u=url) for url in urls)
    return f"{marked}<script>{SCRIPT.replace('URLS', json.dumps(named))}</script>".encode()


def redirecting(page: bytes, target: str) -> Answer:
    """Serve a page, and redirects to a target by every status."""

    async def answer(request: Request, writer: object) -> None:
        if request.path in ("/", "/own"):
            request.send(200, page)
        else:
            request.send(int(request.path[1:4]), Location=target, Access_Control_Allow_Origin="*")

    return answer


@contextmanager
def deaf(port: int) -> Iterator[socket.socket]:
    """Hear what is sent to a port by UDP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as heard:
        heard.bind(("127.0.0.1", port))
        heard.setblocking(False)
        yield heard
        with pytest.raises(BlockingIOError):
            heard.recv(1)


@pytest.mark.slow
@each_case(("name", "confined"), [*product(filter(shutil.which, browser._NAMES), [False]), ("", True)])
@awaited
async def test_no_spelling_and_no_redirect_lead_a_browser_inside(
    monkeypatch: pytest.MonkeyPatch, name: str, confined: bool
) -> None:
    bounds = RenderSettings(seconds=PATIENCE, requests=10_000, browser=name)
    if not confined:
        monkeypatch.setattr(browser, "command", lambda _, *rest: [sys.executable, "-c", UNCONFINED, *rest])
    async with serving(fixed(b"")) as inner, serving(fixed(b""), "::1", inner.port) as other:
        urls = [f"http://{name}:{inner.port}/" for name in SPELLINGS]
        moving = redirecting(asking_for(*urls, *(f"/{status}" for status in MOVED)), urls[0])
        async with (
            serving(moving, OUTSIDE) as outer,
            Renderer(settings(allow=(OUTSIDE,)), bounds, now) as client,
        ):
            with deaf(inner.port):
                result = (await client.fetch(f"http://{OUTSIDE}:{outer.port}/")).result
            assert isinstance(result, Body), result
            assert {"/", *(f"/{status}" for status in MOVED)} <= set(outer.targets())
        assert (inner.connections, other.connections) == (0, 0)


@awaited
async def test_where_that_is_allowed_they_do() -> None:
    async with serving(fixed(b"")) as inner:
        moving = redirecting(asking_for(inner.origin + "/direct", "/302"), inner.origin + "/moved")
        allowed = settings(allow=(OUTSIDE, "127.0.0.1"))
        async with serving(moving, OUTSIDE) as outer, Renderer(allowed, RenderSettings(), now) as client:
            await client.fetch(f"http://{OUTSIDE}:{outer.port}/")
        assert set(inner.targets()) == {"/direct", "/moved"}


@awaited
async def test_a_page_reads_nothing_of_another_site_sends_it_nothing_and_uses_none_of_its_log_ins() -> None:
    script = """const add = url => fetch(url).then(r => r.text()).then(text => document.body.append(text));
      add('/302'); add('OTHER/direct'); add('PRIVATE/'); fetch('/own', {method: 'POST', body: 'mine'});
      fetch('OTHER/posted', {method: 'POST', mode: 'no-cors', body: 'x'}); new Image().src = 'PRIVATE/image';"""
    async with serving(fixed(b"secret")) as other, serving(fixed(b"secret"), "127.0.0.3") as private:
        closed = f"http://127.0.0.3:{private.port}"
        page = f"<body><script>{script}</script>".replace("OTHER", other.origin).replace("PRIVATE", closed)
        moving = redirecting(page.encode(), other.origin + "/moved")
        allowed = settings(allow=("127.0.0.0/8",), headers=(f"{closed} = Authorization: Bearer x",))
        async with serving(moving, OUTSIDE) as outer, Renderer(allowed, RenderSettings(), now) as client:
            found = (await client.fetch(f"http://{OUTSIDE}:{outer.port}/")).result
        assert isinstance(found, Body) and found.body.count(b"secret") == 0
        assert (set(other.targets()), private.connections) == ({"/moved", "/direct"}, 0)
        assert {each.target for each in outer.requests if each.headers.get("content-length") == "4"} == {"/own"}


@awaited
async def test_a_script_that_goes_elsewhere_only_says_so() -> None:
    async with serving(fixed(b"")) as inner:
        going = fixed(f"<script>location = '{inner.origin}/next#x'</script>".encode())
        async with (
            serving(going, OUTSIDE) as outer,
            Renderer(settings(allow=(OUTSIDE,)), RenderSettings(), now) as client,
        ):
            result = (await client.fetch(f"http://{OUTSIDE}:{outer.port}/")).result
        assert (result, inner.connections) == (Moved(inner.origin + "/next", False), 0)
