"""Chromium: found, started confined, given a fresh context for each page, and started anew."""

import asyncio
import os
import resource
import shlex
import shutil
import signal
import tempfile
import time
from asyncio import FIRST_COMPLETED
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scentline.agents.fetch.result import FetchError
from scentline.agents.render.loader import Loader
from scentline.agents.signals import command, environment, kill_group
from scentline.models.errors import EventLog, cause
from scentline.models.settings import RenderSettings
from scentline.streams.settings import ConfigurationError

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page

#: Programs to look for. The first two have no window to draw: a page takes an eighth of the CPU.
_NAMES: Final = ("chromium-headless-shell", "chrome-headless-shell", "chromium", "google-chrome")
_PAGES: Final = 500  # Pages after which it starts anew: what it holds of them grows.
_START_SECONDS, _CLOSE_SECONDS = 120.0, 5.0
_STUCK_SECONDS = 45.0  # Seconds beyond those of a page after which the browser is taken for stuck.
_LAST_SECONDS: Final = 2.0  # Seconds to wait, at the end of a page's time, for what it has come to.
_WATCH_SECONDS: Final = 0.25  # Seconds between two looks at its memory.
#: Characters of text below which a page may wait for a timer of its own, and seconds until it counts as empty.
_LEAST_TEXT, _EMPTY_SECONDS = 150, 2.0
_GROUP, _RESIDENT = 2, 21  # Fields of /proc/PID/stat after the name: process group, pages in memory.
_INHERITED: Final = ("HOME", "LANG", "PATH", "PYTHONPATH", "TMPDIR")  # Variables; others may hold secrets.
#: Beside Playwright's own. By a proxy that does not exist, what does not come by `loader` goes nowhere, also
#: where the system gives the browser no network of its own.
_FLAGS: Final = (
    "--proxy-server=http://nowhere.invalid:9", "--proxy-bypass-list=<-loopback>", "--disable-quic",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--dns-prefetch-disable",
    *(f"--{name}webrtc-ip-handling-policy=disable_non_proxied_udp" for name in ("", "force-")),
    "--disable-domain-reliability", "--no-pings", "--disable-logging", "--disable-gpu", "--mute-audio",
    "--block-new-web-contents", "--disable-remote-fonts", "--blink-settings=imagesEnabled=false",
)  # fmt: skip
_UNWANTED: Final = ("--disable-ipc-flooding-protection", "--disable-popup-blocking")  #: Playwright's.

# Whether the document is loaded, whether it shows text, and its HTML; after it what lies in open shadow roots,
# which is no part of it.
_SCRIPT: Final = """(most, least) => {
  const roots = [];
  const seek = root => root.querySelectorAll("*").forEach(each => {
    if (each.shadowRoot) { roots.push(each.shadowRoot); seek(each.shadowRoot); }
  });
  seek(document);
  let html = document.documentElement ? document.documentElement.outerHTML : "";
  for (const root of roots) if (html.length <= most) html += `<div>${root.innerHTML}</div>`;
  const text = [document.body?.innerText ?? "", ...roots.map(root => root.textContent)].join("");
  return [document.readyState === "complete", text.length >= least, html.length > most ? null : html];
}"""

log = EventLog("render")


def found(settings: RenderSettings) -> str:
    """Return the path of Chromium; raises `ConfigurationError` without it, or without Playwright."""
    try:
        import playwright  # noqa: F401
    except ImportError:
        raise ConfigurationError("rendering needs Playwright: pip install 'scentline[render]'") from None
    names = (settings.browser,) if settings.browser else _NAMES
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        how = f"install Chromium (on Debian: apt-get install {_NAMES[0]})"
        raise ConfigurationError(f"render.browser: {names[0]!r} is no program; {how}")
    return path


class Chromium:
    """A browser that runs while this is entered, and is started anew when it ended or grew old."""

    def __init__(self, settings: RenderSettings, user_agent: str) -> None:
        self._settings, self._user_agent = settings, user_agent
        self._path = found(settings)
        self._running = AsyncExitStack()
        self._browser: Browser | None = None
        self._leader = 0  # the process, which leads a group of all others
        self._pages, self._open = 0, 0
        self._turn, self._idle = asyncio.Lock(), asyncio.Event()
        self._idle.set()
        self._said = False

    async def __aenter__(self) -> "Chromium":
        try:
            await self._start()
        except FetchError as error:
            raise ConfigurationError(f"render.browser: {self._path} does not start") from error
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._running.aclose()

    async def rendered(self, loader: Loader, most: int) -> bytes:
        """Return a page's HTML as its scripts left it, in UTF-8, empty when one went to another page.

        Raises `FetchError` for a page that crashes or never rests, or has over ``most`` bytes.
        """
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(self._settings.seconds + _STUCK_SECONDS), self._page() as page:
                return await self._settled(page, loader, most)
        except (Error, TimeoutError) as error:
            if isinstance(error, TimeoutError):
                self._kill()
            if self._ended():
                raise FetchError("retry", "rendering browser", unanswered=True) from error
            raise FetchError("refused", "rendering crashed") from error

    async def _settled(self, page: "Page", loader: Loader, most: int) -> bytes:
        """Return the HTML once nothing is loaded any more, or the time is over."""
        await loader.attach(page)
        crashed = asyncio.Event()
        page.on("crash", lambda _: crashed.set())
        work = asyncio.create_task(_loaded(page, loader, most))
        ends = [work, *(asyncio.create_task(event.wait()) for event in (loader.over, crashed))]
        try:
            await asyncio.wait(ends, timeout=self._settings.seconds, return_when=FIRST_COMPLETED)
            if loader.moved:
                return b""
            if crashed.is_set():
                raise FetchError("refused", "rendering crashed")
            if work.done():
                return await work
            async with asyncio.timeout(_LAST_SECONDS):
                return (await _seen(page, most))[2]
        except TimeoutError:
            raise FetchError("refused", f"rendering over {self._settings.seconds:g} seconds") from None
        finally:
            for each in ends:
                each.cancel()
            await asyncio.gather(*ends, loader.close(), return_exceptions=True)

    @asynccontextmanager
    async def _page(self) -> AsyncIterator["Page"]:
        """Open a page in a context of its own."""
        async with self._turn:
            if self._ended() or self._pages >= _PAGES:
                await self._idle.wait()  # pages that are open end soon
                await self._running.aclose()
                await self._start()
            browser = self._browser
            assert browser is not None
            self._pages += 1
            self._open += 1
            self._idle.clear()
        context: BrowserContext | None = None
        try:
            context = await browser.new_context(
                user_agent=self._user_agent, service_workers="block", accept_downloads=False
            )
            context.set_default_timeout(0)  # the whole is timed
            yield await context.new_page()
        finally:
            self._open -= 1
            if not self._open:
                self._idle.set()
            await self._closed(context)

    async def _closed(self, context: "BrowserContext | None") -> None:
        """Close a context, or the browser when there is none, or it does not close."""
        from playwright.async_api import Error

        with suppress(TimeoutError, Error):
            async with asyncio.timeout(_CLOSE_SECONDS):
                if context is not None:
                    await context.close()
                    return
        self._kill()

    def _ended(self) -> bool:
        return self._browser is None or not self._browser.is_connected()

    def _kill(self) -> None:
        leader, self._leader, self._browser = self._leader, 0, None
        if leader:
            kill_group(leader)

    async def _start(self) -> None:
        """Start a browser; raises `FetchError`."""
        from playwright.async_api import Error, async_playwright

        self._browser, self._pages = None, 0
        async with AsyncExitStack() as stack:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scentline-render-")))
            report, starter = place / "report", place / "browser"
            words = command("scentline.agents.render.confined", str(report), self._path)
            starter.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
            starter.chmod(0o700)
            given = environment()
            stack.callback(self._kill)
            try:
                driver = await async_playwright().start()
                stack.push_async_callback(driver.stop)
                self._browser = await driver.chromium.launch(
                    executable_path=starter, args=_FLAGS, ignore_default_args=_UNWANTED, chromium_sandbox=True,
                    env={name: given[name] for name in _INHERITED if name in given},
                    handle_sigint=False, handle_sigterm=False, handle_sighup=False,
                    timeout=_START_SECONDS * 1000,
                )  # fmt: skip
            except (Error, OSError) as error:
                log.error("the browser does not start", error=cause(error))
                raise FetchError("retry", "rendering browser", unanswered=True) from error
            leader, *missing = report.read_text(encoding="ascii").splitlines()
            self._leader = int(leader)
            if missing and not self._said:
                log.warning("the system does not allow the browser all that protects it", missing=missing)
                self._said = True
            watch = asyncio.create_task(self._watch())
            stack.callback(watch.cancel)
            self._running = stack.pop_all()

    async def _watch(self) -> None:
        """Kill each process of the browser that takes too much memory: its page crashes, and no other."""
        while True:
            await asyncio.sleep(_WATCH_SECONDS)
            busy = self._open and self._leader
            for process in _large(self._leader, self._settings.memory_bytes) if busy else ():
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)


async def _loaded(page: "Page", loader: Loader, most: int) -> bytes:
    await page.goto(loader.url, wait_until="commit")
    patience = time.monotonic() + _EMPTY_SECONDS
    while True:
        begun = await loader.quiet()
        complete, filled, html = await _seen(page, most)  # after the script at work: it may have asked for more
        if complete and loader.begun == begun and (filled or time.monotonic() > patience):
            return html


async def _seen(page: "Page", most: int) -> tuple[bool, bool, bytes]:
    """Return whether a document is loaded, whether it shows text, and its HTML in UTF-8.

    All are as a world of its own sees them, which the page's scripts can't reach.
    """
    session = await page.context.new_cdp_session(page)
    tree = await session.send("Page.getFrameTree")
    world = await session.send("Page.createIsolatedWorld", {"frameId": tree["frameTree"]["frame"]["id"]})
    context = world["executionContextId"]
    asked = {"expression": f"({_SCRIPT})({most}, {_LEAST_TEXT})", "contextId": context, "returnByValue": True}
    answer = await session.send("Runtime.evaluate", asked)
    await session.detach()
    complete, filled, html = answer["result"]["value"]
    body = b"" if html is None else html.encode("utf-8", "replace")
    if html is None or len(body) > most:
        raise FetchError("unfit", f"body over {most} bytes")
    return complete, filled, body


def _large(group: int, most: int) -> Iterator[int]:
    """Yield the processes of a group that have over ``most`` bytes in memory."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_bytes().rpartition(b")")[2].split()  # without the name, which may hold anything
            if int(fields[_GROUP]) == group and int(fields[_RESIDENT]) * resource.getpagesize() > most:
                yield int(stat.parent.name)
