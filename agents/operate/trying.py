"""Trying a crawl out: what it sees of single pages, fetched as it would fetch them, or read from files."""

import asyncio
import mimetypes
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from scentline.agents.fetch.client import Client
from scentline.agents.fetch.guard import check_contact
from scentline.agents.fetch.result import Body, NoPage
from scentline.agents.judge.predicates import check_judges
from scentline.agents.judge.process import ExaminerProcess
from scentline.agents.judge.question import PageError, Seen, Show, Work
from scentline.models.errors import EventLog
from scentline.models.facts import Early, Missing, Moved
from scentline.models.page import NEEDS_SCRIPTS
from scentline.models.predicate import parse
from scentline.models.url import canonical, host
from scentline.streams.settings import ConfigurationError, Settings

log = EventLog("judge")


class Look(NamedTuple):
    """What is seen at a place, a URL or the path of a file."""

    place: str
    #: Where the page came from: redirects are followed.
    url: str
    seen: Seen | None
    #: Why there is no page.
    missing: str = ""
    #: Whether its content appears only once its scripts have run.
    scripts: bool = False


async def looks(settings: Settings, places: Sequence[str], url: str | None = None) -> AsyncIterator[Look]:
    """Yield a look at each place, in their order; ``url`` is that of a file's page.

    robots.txt, delays and rendering are as in a crawl. Raises `ConfigurationError` where no page can be judged.
    """
    check_judges({name: parse(text) for name, text in settings.predicates.items()}, settings.judge)
    pages = {place: known_as for place in places if (known_as := canonical(place))}
    check_contact(settings.fetch, pages.values())
    examiner = ExaminerProcess(Work.of(settings))
    try:
        await examiner.start()
        async with _client(settings) as client:
            for place in places:
                if place in pages:
                    found = await _fetched(client, pages[place], settings.fetch.redirects)
                else:
                    found = _read(Path(place), url, settings.fetch.max_bytes)
                yield await _look(examiner, settings, place, *found)
    finally:
        await examiner.close()


def _client(settings: Settings) -> Client:
    if settings.render.pages == "never":
        return Client(settings.fetch, time.time, formats=settings.judge.formats)
    # Imported here: it needs the extra `render`.
    from scentline.agents.render.client import Renderer

    return Renderer(settings.fetch, settings.render, time.time, settings.judge.formats)


async def _fetched(client: Client, url: str, redirects: int) -> tuple[str, Body | NoPage]:
    for _ in range(redirects + 1):
        while isinstance(result := (await client.fetch(url)).result, Early):
            log.info("waits, as the site's delay is not over", host=host(url), seconds=round(result.wait))
            await asyncio.sleep(result.wait)
        if not isinstance(result, Moved):
            return url, result
        url = result.target
    return url, Missing("gone", f"over {redirects} redirects (fetch.redirects)")


def _read(path: Path, url: str | None, most: int) -> tuple[str, Body | NoPage]:
    known_as = canonical(url or f"http://localhost/{quote(path.name)}")
    if known_as is None:
        raise ConfigurationError(f"--url {url!r}: expected an http or https URL")
    try:
        with path.open("rb") as file:
            body = file.read(most + 1)
    except OSError as error:
        return known_as, Missing("gone", f"no http or https URL, nor a file: {error.strerror}")
    if len(body) > most:
        return known_as, Missing("unfit", f"over {most} bytes (fetch.max_bytes)")
    kind, _ = mimetypes.guess_type(path.name)
    return known_as, Body(200, {"content-type": kind} if kind else {}, body)


async def _look(
    examiner: ExaminerProcess, settings: Settings, place: str, url: str, result: Body | NoPage
) -> Look:
    if not isinstance(result, Body):
        return Look(place, url, None, result.reason if isinstance(result, Missing) else "unchanged")

    async def show(body: bytes, kind: str | None) -> Seen:
        return await examiner.show(Show(url, body, kind, settings.predicates, settings.extract))

    try:
        seen, how = await show(result.body, result.headers.get("content-type")), result.rendered
        plain = seen if how is None else await show(how.plain, how.content_type)
    except PageError as error:
        return Look(place, url, None, str(error))
    scripts = plain.barred == NEEDS_SCRIPTS
    rendered = scripts or settings.render.pages == "always"
    return Look(place, url, seen if rendered else plain, scripts=scripts)
