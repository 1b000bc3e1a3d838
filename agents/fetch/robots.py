"""robots.txt (RFC 9309): what a site asks of crawlers, fetched once a day and obeyed.

A site is an origin: scheme, host and port. No robots.txt allows everything (2.3.1.3). One that can't be had for
now (server errors, no answer) allows nothing for now (2.3.1.4), unless there is a copy of it from before (2.4).

What was read is told to the frontier before any page is asked for by it. The frontier keeps it, and hands it to
whoever fetches from the site next and does not know it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import NamedTuple

import zstandard

from scentline.agents.fetch.result import DAY, UNKNOWN, Answer, Failure, FetchError, Validators, unexpected
from scentline.agents.fetch.rules import Rules, product, rules
from scentline.models.url import origin
from scentline.streams.crawl_settings import FetchSettings
from scentline.streams.records import ROBOTS_BYTES, RobotsTxt, Version

MAX_BYTES = 500 * 1024
"""Bytes read of a robots.txt; RFC 9309 (section 2.5) asks for as much, what follows is passed over."""

#: Seconds until a robots.txt that could not be had is asked for again.
UNREACHABLE_SECONDS = 300.0
#: Seconds for which a copy stands in for a robots.txt that can't be had: 30 days, as RFC 9309 has it.
GRACE_SECONDS = 30 * DAY
_MAX_SITES = 10_000
_MAX_CHARACTERS = 8_000_000
_THREAD_CHARACTERS = 50_000


Ask = Callable[[str, Validators], Awaitable[Answer]]
"""Fetches a robots.txt, at most `MAX_BYTES` of it, unless it is as known; raises `FetchError`."""

Announce = Callable[[str, tuple[str, ...]], None]
"""Is told of an origin that is asked for a page, and the sitemaps that its robots.txt names."""

Tell = Callable[[RobotsTxt], Awaitable[None]]
"""Is told what was read of a robots.txt, and returns when that is safe."""


class Decision(NamedTuple):
    """Whether a URL may be asked for; if not, ``failure`` is the fetch's result.

    ``crawl_delay`` is in seconds, at most a day.
    """

    allowed: bool
    crawl_delay: float | None = None
    failure: Failure | None = None


_ALLOWED = Decision(True)


@dataclass(frozen=True, slots=True)
class _Site:
    """What is known of a site until ``expires``: its rules, or why there are none; the copy is of ``time``.

    ``text`` is the copy, compressed; None where it is too long to be kept.
    """

    expires: float
    rules: Rules | None = None
    error: FetchError | None = None
    time: float = 0.0
    validators: Validators = UNKNOWN
    text: bytes | None = b""

    @property
    def size(self) -> int:
        return (0 if self.rules is None else self.rules.size) + len(self.text or b"")

    def told(self, origin: str) -> RobotsTxt | None:
        """Return what of this is of use to others; None where it is too long, or nobody answered."""
        version = Version(*self.validators) if self.validators.known else None
        if self.error is not None:
            passing = self.error.unanswered or self.error.kind == "refused"  # it may be our network, or setting
            return None if passing else RobotsTxt(f"{origin}/robots.txt", self.expires, error=self.error.reason)
        if self.text is None:
            return None
        return RobotsTxt(f"{origin}/robots.txt", self.expires, self.text, self.time, version)


async def _nobody(told: RobotsTxt) -> None:
    """Tell nobody."""


def _decompressed(text: bytes) -> bytes:
    """Return as much of a compressed robots.txt as is read; `ZstdError` for what is none."""
    with zstandard.ZstdDecompressor().stream_reader(text) as reader:
        return reader.read(MAX_BYTES)


class Robots:
    """Decides by robots.txt; concurrent askers wait for the same fetch, and the answer is kept.

    Kept are at most 10,000 sites and 8 million characters of rules and texts: those asked for last.
    ``clock`` returns seconds since the epoch. ``tell`` is told what was read.
    """

    def __init__(
        self, ask: Ask, settings: FetchSettings, clock: Callable[[], float], announce: Announce | None = None
    ) -> None:
        self._ask = ask
        self._redirects = settings.redirects
        self._seconds = settings.timeout_seconds
        self._clock = clock
        self._announce = announce
        self.tell: Tell = _nobody
        self._obeyed = settings.robots
        self._agent = product(settings.user_agent)
        self._sites: OrderedDict[str, _Site] = OrderedDict()
        self._size = 0
        self._pending: dict[str, asyncio.Task[_Site]] = {}

    def knows(self, url: str, until: float | None) -> bool:
        """Return whether as much is known of a URL's site here as elsewhere, where it is known ``until`` then.

        With None it is not known whether anything is known elsewhere: then any that is valid will do.
        """
        place = origin(url)
        if not self._obeyed or place in self._pending:
            return True
        site = self._sites.get(place)
        expires = 0.0 if site is None else site.expires
        return expires > self._clock() if until is None else expires >= until

    async def take_up(self, told: RobotsTxt) -> None:
        """Take in what is known elsewhere of a site, unless it is known here."""
        if not self.knows(told.url, told.until):
            await self._once(origin(told.url), lambda place: self._take_up(place, told))

    async def allowed(self, url: str) -> Decision:
        """Return whether the canonical ``url`` may be asked for; fetches the site's robots.txt if need be."""
        place = origin(url)
        site = self._sites.get(place)
        if site is None or site.expires <= self._clock():
            site = await self._once(place, self._fetch)
        else:
            self._sites.move_to_end(place)
        if site.error is not None:
            return Decision(False, failure=self._failure(site.error, site.expires))
        if site.rules is None:
            return _ALLOWED
        if self._announce is not None and site.rules.sitemaps:
            self._announce(place, site.rules.sitemaps)
        if site.rules.allows(url):
            return Decision(True, site.rules.crawl_delay)
        forbidden = Failure("refused", "robots.txt", crawl_delay=site.rules.crawl_delay)
        return Decision(False, site.rules.crawl_delay, forbidden)

    def _failure(self, error: FetchError, expires: float) -> Failure:
        if error.kind == "refused":
            return error.failure()
        wait = max(expires - self._clock(), 0.0)
        return Failure("retry", f"robots.txt {error.reason}", wait, unanswered=error.unanswered)

    async def close(self) -> None:
        """End the fetches under way; their askers are cancelled."""
        tasks = list(self._pending.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _once(self, origin: str, read: Callable[[str], Coroutine[None, None, _Site]]) -> _Site:
        task = self._pending.get(origin)
        if task is None:
            # A task of its own: an asker that gives up must not end the others' wait.
            task = self._pending[origin] = asyncio.create_task(read(origin))
            task.add_done_callback(lambda _: self._pending.pop(origin, None))
        return await asyncio.shield(task)

    async def _take_up(self, origin: str, told: RobotsTxt) -> _Site:
        error = FetchError("retry", told.error) if told.error else None
        try:
            found = await self._rules(_decompressed(told.text)) if told.text else None
        except zstandard.ZstdError:
            return await self._fetch(origin)
        version = UNKNOWN if told.version is None else Validators(told.version.etag, told.version.last_modified)
        site = _Site(told.until, found, error, told.time, version, told.text)
        self._keep(origin, site)
        return site

    async def _fetch(self, origin: str) -> _Site:
        known = self._sites.get(origin)
        try:
            async with asyncio.timeout(self._seconds):
                answer = await self._answer(f"{origin}/robots.txt", known.validators if known else UNKNOWN)
            site = await self._read(answer, known)
        except TimeoutError:
            site = self._unreachable(FetchError("retry", "timeout", unanswered=True), known)
        except FetchError as error:
            site = self._unreachable(error, known)
        except Exception as error:
            site = self._unreachable(unexpected("robots.txt", origin, error), known)
        told = site.told(origin)
        if told is not None:
            await self.tell(told)
        self._keep(origin, site)
        return site

    async def _answer(self, url: str, validators: Validators) -> Answer:
        """Return what the last of the redirects brought; raises `FetchError`."""
        for hop in range(self._redirects + 1):
            try:
                answer = await self._ask(url, validators)
            except FetchError as error:
                if hop == 0 and error.reason.partition(" ")[0] in ("address", "url", "contact"):
                    raise  # what is wrong with the site's own is wrong with all its pages
                raise FetchError("retry", error.reason, unanswered=error.unanswered) from error
            if answer.status >= 500 or answer.status == 429:
                raise FetchError("retry", f"status {answer.status}", answer.retry_after)
            if answer.target is None:
                # What the end of a redirect says of its version is not asked of its beginning.
                return answer if hop == 0 else answer._replace(validators=UNKNOWN)
            url, validators = answer.target, UNKNOWN
        return Answer(404, None, b"")  # more redirects than that: as if there were none (2.3.1.2)

    async def _read(self, answer: Answer, known: _Site | None) -> _Site:
        now = self._clock()
        if answer.status == 304 and known is not None and known.rules is not None:
            return replace(known, expires=now + DAY, time=now)
        found = await self._rules(answer.body) if answer.status == 200 else None
        if found is None:
            return _Site(now + DAY, time=now)
        text = zstandard.compress(answer.body)
        kept = text if len(text) <= ROBOTS_BYTES else None
        return _Site(now + DAY, found, time=now, validators=answer.validators, text=kept)

    async def _rules(self, body: bytes) -> Rules | None:
        """Read the text of a robots.txt, None for one that says nothing."""
        text = body.decode("utf-8-sig", "replace")
        if not text.strip():
            return None
        if len(text) > _THREAD_CHARACTERS:  # up to a second of work, which must not hold up the others
            return await asyncio.to_thread(rules, text, self._agent)
        return rules(text, self._agent)

    def _unreachable(self, error: FetchError, known: _Site | None) -> _Site:
        now = self._clock()
        expires = now + max(UNREACHABLE_SECONDS, error.retry_after or 0.0)
        copy = known if error.kind == "retry" and known is not None and known.rules is not None else None
        if copy is not None and now < copy.time + GRACE_SECONDS:
            return replace(copy, expires=expires)
        return _Site(expires, error=error)

    def _keep(self, origin: str, site: _Site) -> None:
        replaced = self._sites.pop(origin, None)
        if replaced is not None:
            self._size -= replaced.size
        self._sites[origin] = site
        self._size += site.size
        while len(self._sites) > _MAX_SITES or self._size > _MAX_CHARACTERS:
            _, oldest = self._sites.popitem(last=False)
            self._size -= oldest.size
