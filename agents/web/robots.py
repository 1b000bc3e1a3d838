"""robots.txt (RFC 9309): what a site asks of crawlers, fetched once a day and obeyed.

A site is an origin: scheme, host and port. No robots.txt allows everything; one that can't be had for now
(server errors, no answer) allows nothing for now.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from protego import Protego

from agents.web.result import DAY, Failure, FetchError
from streams.settings import FetchSettings

MAX_BYTES = 500 * 1024
"""Bytes read of a robots.txt; RFC 9309 (section 2.5) asks for as much, what follows is passed over."""

_UNREACHABLE_SECONDS = 300.0
_MAX_SITES = 10_000
_MAX_CHARACTERS = 8_000_000
_THREAD_CHARACTERS = 50_000
_AGENT = re.compile(r"\s*user[\s-]?\s*agent\s*[:\s]\s*(\*(?![^\s#])|[^\s*/(;,#]*)", re.IGNORECASE)


class RobotsAnswer(NamedTuple):
    """What a site answered: ``target`` is the canonical URL of a redirect."""

    status: int
    target: str | None
    body: bytes


Ask = Callable[[str], Awaitable[RobotsAnswer]]
"""Fetches a robots.txt, at most `MAX_BYTES` of it; raises `FetchError`."""


class Decision(NamedTuple):
    """Whether a URL may be asked for; if not, ``failure`` is the fetch's result.

    ``crawl_delay`` is in seconds, at most a day.
    """

    allowed: bool
    crawl_delay: float | None = None
    failure: Failure | None = None


_ALLOWED = Decision(True)


@dataclass(slots=True)
class _Site:
    """What is known of a site: its rules or why there are none, until when, and the rules' size."""

    expires: float
    rules: Protego | None = None
    crawl_delay: float | None = None
    error: FetchError | None = None
    size: int = 0


class Robots:
    """Decides by robots.txt; concurrent askers wait for the same fetch, and the answer is kept.

    Kept are at most 10,000 sites and 8 million characters of rules; the least recently asked go first.
    ``clock`` returns seconds since the epoch.
    """

    def __init__(self, ask: Ask, settings: FetchSettings, clock: Callable[[], float]) -> None:
        self._ask = ask
        self._redirects = settings.redirects
        self._clock = clock
        self._agent = product(settings.user_agent)
        self._sites: OrderedDict[str, _Site] = OrderedDict()
        self._size = 0
        self._pending: dict[str, asyncio.Task[_Site]] = {}

    async def allowed(self, url: str) -> Decision:
        """Return whether the canonical ``url`` may be asked for; fetches the site's robots.txt if need be."""
        origin = url[: url.index("/", 8)]
        site = self._sites.get(origin)
        if site is None or site.expires <= self._clock():
            site = await self._fetched(origin)
        else:
            self._sites.move_to_end(origin)
        if site.error is not None:
            return Decision(False, failure=self._failure(site.error, site.expires))
        if site.rules is None:
            return _ALLOWED
        if site.rules.can_fetch(url, self._agent):
            return Decision(True, site.crawl_delay)
        forbidden = Failure("refused", "robots.txt", crawl_delay=site.crawl_delay)
        return Decision(False, site.crawl_delay, forbidden)

    def _failure(self, error: FetchError, expires: float) -> Failure:
        if error.kind == "refused":
            return error.failure()
        wait = max(expires - self._clock(), 0.0)
        return Failure("retry", f"robots.txt {error.reason}", wait)

    async def close(self) -> None:
        """End the fetches under way; their askers are cancelled."""
        tasks = list(self._pending.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _fetched(self, origin: str) -> _Site:
        task = self._pending.get(origin)
        if task is None:
            # A task of its own: an asker that gives up must not end the others' wait.
            task = self._pending[origin] = asyncio.create_task(self._fetch(origin))
            task.add_done_callback(lambda _: self._pending.pop(origin, None))
        return await asyncio.shield(task)

    async def _fetch(self, origin: str) -> _Site:
        try:
            text = await self._text(f"{origin}/robots.txt")
            site = await self._parsed(text)
        except FetchError as error:
            site = _Site(self._clock() + _UNREACHABLE_SECONDS, error=error)
        self._keep(origin, site)
        return site

    async def _text(self, url: str) -> str:
        """Return the robots.txt; an empty one if there is none."""
        for hop in range(self._redirects + 1):
            try:
                status, target, body = await self._ask(url)
            except FetchError as error:
                if hop == 0 and error.reason.partition(" ")[0] in ("address", "url"):
                    raise  # what is wrong with the site's own is wrong with all its pages
                raise FetchError("retry", error.reason) from error
            if status >= 500 or status == 429:
                raise FetchError("retry", f"status {status}")
            if status == 200:
                return body.decode("utf-8-sig", "replace")
            if target is None:
                break
            url = target
        return ""

    async def _parsed(self, text: str) -> _Site:
        expires = self._clock() + DAY
        if not text.strip():
            return _Site(expires)
        if len(text) > _THREAD_CHARACTERS:  # up to a second of work, which must not hold up the others
            rules = await asyncio.to_thread(_parse, text, self._agent)
        else:
            rules = _parse(text, self._agent)
        delay = rules.crawl_delay(self._agent)
        return _Site(expires, rules, None if delay is None else min(float(delay), DAY), size=len(text))

    def _keep(self, origin: str, site: _Site) -> None:
        replaced = self._sites.pop(origin, None)
        if replaced is not None:
            self._size -= replaced.size
        self._sites[origin] = site
        self._size += site.size
        while len(self._sites) > _MAX_SITES or self._size > _MAX_CHARACTERS:
            _, oldest = self._sites.popitem(last=False)
            self._size -= oldest.size


def _parse(text: str, agent: str) -> Protego:
    return Protego.parse(own_groups(text, agent))


def product(user_agent: str) -> str:
    """Return the product token of a User-Agent, by which robots.txt knows the crawler, in lower case.

    >>> product("Scentline/0.1 (+https://example.org/contact)")
    'scentline'
    """
    return re.split(r"[/\s(]", user_agent.strip(), maxsplit=1)[0].lower()


def own_groups(text: str, agent: str) -> str:
    r"""Return a robots.txt whose groups for other agents than ``agent`` and "*" are named alike.

    A group counts as ours by its whole product token (RFC 9309, section 2.2.1), not by a part of it as for
    protego; and a file that names thousands of agents costs no more than one that names three.

    >>> own_groups("User-agent: Scent\nUser-agent: SCENTLINE/2\nDisallow: /a", "scentline")
    'user-agent: not-scentline\nuser-agent: scentline\nDisallow: /a'
    """
    return "\n".join(_own_line(line, agent) for line in text.splitlines())


def _own_line(line: str, agent: str) -> str:
    named = _AGENT.match(line)
    if named is None:
        return line
    token = named[1].lower()
    return f"user-agent: {token if token in ('*', agent) else 'not-' + agent}"
