"""robots.txt (RFC 9309): what a site asks of crawlers, fetched once a day and obeyed.

A site is an origin: scheme, host and port. A missing robots.txt allows everything (2.3.1.3). One that is
unavailable (server errors, no answer) allows nothing for now (2.3.1.4), unless there is an earlier copy (2.4).

A robots.txt is published before any page is fetched by it. The frontier keeps it, and sends it with the next
order to a worker that does not know it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import zstandard

from scentline.agents.fetch.resolver import Shared
from scentline.agents.fetch.result import DAY, UNKNOWN, Answer, Failure, FetchError, Validators, unexpected
from scentline.agents.fetch.rules import Rules, product, rules
from scentline.models.url import origin
from scentline.streams.crawl_settings import FetchSettings
from scentline.streams.records import ROBOTS_BYTES, RobotsTxt, Version

#: Bytes read of a robots.txt, as RFC 9309 (section 2.5) demands; the rest is skipped.
MAX_BYTES = 500 * 1024

#: Seconds until an unavailable robots.txt is requested again.
UNREACHABLE_SECONDS = 300.0
#: Seconds for which a copy replaces an unavailable robots.txt: 30 days, as RFC 9309 has it.
GRACE_SECONDS = 30 * DAY
_MAX_SITES = 10_000
_MAX_CHARACTERS = 8_000_000
_THREAD_CHARACTERS = 50_000

#: Fetches a robots.txt, at most `MAX_BYTES` of it, unless it is as known; raises `FetchError`.
Ask = Callable[[str, Validators], Awaitable[Answer]]
#: Called with an origin of which a page is wanted, and the sitemaps that its robots.txt names.
Announce = Callable[[str, tuple[str, ...]], None]
#: Publishes a robots.txt; returns when that is safe.
Publish = Callable[[RobotsTxt], Awaitable[None]]


class Decision(NamedTuple):
    """Whether a URL may be fetched."""

    allowed: bool
    #: In seconds, at most a day.
    crawl_delay: float | None = None
    #: The result of a fetch that is not allowed.
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class _Site:
    """What is known of a site until it ``expires``: its rules, or why there are none."""

    expires: float
    rules: Rules | None = None
    error: FetchError | None = None
    #: When the copy was read.
    time: float = 0.0
    validators: Validators = UNKNOWN
    #: The copy, compressed; None where it is too long to be kept.
    text: bytes | None = b""

    @property
    def size(self) -> int:
        return (0 if self.rules is None else self.rules.size) + len(self.text or b"")

    def published(self, origin: str) -> RobotsTxt | None:
        """Return the record of a site; None where its text is too long, or the site did not answer."""
        version = Version(*self.validators) if self.validators.known else None
        if self.error is not None:
            passing = self.error.unanswered or self.error.kind == "refused"  # it may be our network, or setting
            return None if passing else RobotsTxt(f"{origin}/robots.txt", self.expires, error=self.error.reason)
        if self.text is None:
            return None
        return RobotsTxt(f"{origin}/robots.txt", self.expires, self.text, self.time, version)


async def _unpublished(read: RobotsTxt) -> None:
    pass


def _decompressed(text: bytes) -> bytes:
    """Return the first `MAX_BYTES` of a compressed robots.txt; raises `ZstdError`."""
    with zstandard.ZstdDecompressor().stream_reader(text) as reader:
        return reader.read(MAX_BYTES)


class Robots:
    """Decides by robots.txt; concurrent callers wait for the same fetch, and its result is kept.

    At most 10,000 sites and 8 million characters of rules and texts are kept: those used last. ``clock``
    returns seconds since the epoch.
    """

    def __init__(
        self, ask: Ask, settings: FetchSettings, clock: Callable[[], float], announce: Announce | None = None
    ) -> None:
        self._ask = ask
        self._redirects = settings.redirects
        self._seconds = settings.timeout_seconds
        self._clock = clock
        self._announce = announce
        self.publish: Publish = _unpublished
        self._obeyed = settings.robots
        self._agent = product(settings.user_agent)
        self._sites: OrderedDict[str, _Site] = OrderedDict()
        self._size = 0
        self._pending: Shared[_Site] = Shared()

    def knows(self, url: str, until: float | None) -> bool:
        """Return whether a URL's site is known here as long as elsewhere, where it is known ``until`` then.

        None says nothing of what is known elsewhere: then anything that is still valid will do.
        """
        place = origin(url)
        if not self._obeyed or place in self._pending:
            return True
        site = self._sites.get(place)
        expires = 0.0 if site is None else site.expires
        return expires > self._clock() if until is None else expires >= until

    async def take_up(self, told: RobotsTxt) -> None:
        """Adopt the robots.txt that is known elsewhere, unless it is known here."""
        if not self.knows(told.url, told.until):
            await self._pending.run(place := origin(told.url), lambda: self._take_up(place, told))

    async def allowed(self, url: str) -> Decision:
        """Return whether the canonical ``url`` may be fetched; fetches the site's robots.txt if need be."""
        place = origin(url)
        site = self._sites.get(place)
        if site is None or site.expires <= self._clock():
            site = await self._pending.run(place, lambda: self._fetch(place))
        else:
            self._sites.move_to_end(place)
        if site.error is not None:
            return Decision(False, failure=self._failure(site.error, site.expires))
        if site.rules is None:
            return Decision(True)
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
        """End the fetches in flight; their callers are cancelled."""
        await self._pending.close()

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
        published = site.published(origin)
        if published is not None:
            await self.publish(published)
        self._keep(origin, site)
        return site

    async def _answer(self, url: str, validators: Validators) -> Answer:
        """Return the answer at the end of the redirects; raises `FetchError`."""
        for hop in range(self._redirects + 1):
            try:
                answer = await self._ask(url, validators)
            except FetchError as error:
                if hop == 0 and error.reason.partition(" ")[0] in ("address", "url", "contact"):
                    raise  # it applies to all pages of the site
                raise FetchError("retry", error.reason, unanswered=error.unanswered) from error
            if answer.status >= 500 or answer.status == 429:
                raise FetchError("retry", f"status {answer.status}", answer.retry_after)
            if answer.target is None:
                # The version of a redirect's end must not be requested at its beginning.
                return answer if hop == 0 else answer._replace(validators=UNKNOWN)
            url, validators = answer.target, UNKNOWN
        return Answer(404, None, b"")  # as if there were none (2.3.1.2)

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
        """Return the rules of a robots.txt, None for an empty one."""
        text = body.decode("utf-8-sig", "replace")
        if not text.strip():
            return None
        if len(text) > _THREAD_CHARACTERS:  # up to a second of work
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
