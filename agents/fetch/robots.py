"""A site's rules for crawlers: its robots.txt (RFC 9309), fetched once a day and obeyed, and X-Robots-Tag.

A site is an origin: scheme, host and port. A missing robots.txt allows everything (2.3.1.3). One that is
unavailable (server errors, no answer) allows nothing for now (2.3.1.4), unless there is an earlier copy (2.4).

A robots.txt is published before any page is fetched by it. The frontier keeps it, and sends it with the next
order to a worker that does not know it. For X-Robots-Tag Google's description is the standard in use:
developers.google.com/search/docs/crawling-indexing/robots-meta-tag
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from typing import NamedTuple

import zstandard
from protego import Protego

from scentline.agents.fetch.guard import product
from scentline.agents.fetch.result import DAY, Answer, Ask, FetchError, unexpected
from scentline.agents.fetch.servers import Recent, Shared
from scentline.models.records import ROBOTS_BYTES, RobotsTxt, Version
from scentline.models.settings import FetchSettings
from scentline.models.url import canonical, origin

MAX_BYTES = 500 * 1024  #: Bytes read of a robots.txt, as RFC 9309 (2.5) demands; the rest is skipped.
UNREACHABLE_SECONDS = 300.0  #: Seconds until an unavailable robots.txt is requested again.
#: Seconds for which a copy replaces an unavailable robots.txt: 30 days, as in RFC 9309.
GRACE_SECONDS = 30 * DAY
_MAX_SITES, _MAX_CHARACTERS, _THREAD_CHARACTERS = 10_000, 8_000_000, 50_000
#: Rules of one robots.txt with a wildcard, ``*`` or ``$``, and wildcards in one: each is tried for each URL.
MAX_WILD_RULES, MAX_WILDCARDS = 2_000, 20
MAX_SITEMAPS = 50  #: Sitemaps of one robots.txt that are read at most.

_AGENT = re.compile(r"\s*user[\s-]?\s*agent\s*[:\s]\s*(\*(?![^\s#])|[^\s*/(;,#]*)", re.IGNORECASE)
# A rule with a wildcard, matched loosely: names are spelled in many ways, and the colon may be missing.
_WILD = re.compile(r"\s*(?:(allow)|di)[^#*$]*+[*$]", re.IGNORECASE)
# A name before a colon is a crawler's, unless it is that of a directive with a value.
_FOR = re.compile(r"(\*|[a-z][a-z0-9_-]*)\s*:\s*(.*)", re.DOTALL)
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_BOTH = frozenset({"noindex", "nofollow"})


class Rules(NamedTuple):
    """The rules of a robots.txt for ``agent``, a product token."""

    agent: str
    parsed: Protego
    crawl_delay: float | None  #: In seconds, at most a day.
    sitemaps: tuple[str, ...]
    size: int

    def allows(self, url: str) -> bool:
        """Return whether a canonical URL may be requested."""
        return bool(self.parsed.can_fetch(url, self.agent))


class _Site(NamedTuple):
    """What is known of a site until it ``expires``: its rules, or why there are none."""

    expires: float
    rules: Rules | None = None
    error: FetchError | None = None
    time: float = 0.0  #: When the copy was read.
    version: Version | None = None
    text: bytes | None = b""  #: The copy, compressed; None if it is too long to be kept.

    @property
    def size(self) -> int:
        return (0 if self.rules is None else self.rules.size) + len(self.text or b"")

    def record(self, origin: str) -> RobotsTxt | None:
        """Return the record to publish; None if it is too long, or our network or setting may be at fault."""
        url, error = f"{origin}/robots.txt", self.error
        if self.text is None or (error and (error.ended.host.unanswered or error.kind == "refused")):
            return None
        why = error.reason if error else ""
        return RobotsTxt(url, self.expires, self.text, self.time, self.version, why)


class Robots:
    """Decides by robots.txt; concurrent callers share one fetch, whose result is kept.

    The sites used last are kept, within bounds of their number and of the size of their rules and texts.
    """

    def __init__(self, ask: Ask, settings: FetchSettings, clock: Callable[[], float]) -> None:
        self._ask = ask
        self._settings = settings
        self._clock = clock
        #: Called with the origin of a wanted page, and the sitemaps that its robots.txt names.
        self.announce: Callable[[str, tuple[str, ...]], None] | None = None
        #: Publishes a robots.txt; returns once it is in the log.
        self.publish: Callable[[RobotsTxt], Awaitable[None]] | None = None
        self._agent = product(settings.user_agent)
        self._sites: Recent[str, _Site] = Recent(_MAX_SITES, lambda site: site.size, _MAX_CHARACTERS)
        self._pending: Shared[_Site] = Shared()

    def knows(self, url: str, until: float | None) -> bool:
        """Return whether a URL's site is known here at least ``until`` it is known elsewhere.

        With None, for an unknown time, anything that is still valid will do.
        """
        place = origin(url)
        if not self._settings.robots or place in self._pending:
            return True
        site = self._sites.get(place)
        expires = 0.0 if site is None else site.expires
        return expires > self._clock() if until is None else expires >= until

    async def take_up(self, told: RobotsTxt) -> None:
        """Adopt a robots.txt that is known elsewhere, unless it is known here."""
        if not self.knows(told.url, told.until):
            await self._pending.run(place := origin(told.url), lambda: self._take_up(place, told))

    async def allow(self, url: str) -> float | None:
        """Return the Crawl-delay for a canonical URL; raises `FetchError` if it may not be fetched."""
        place = origin(url)
        site = self._sites.get(place)
        if site is None or site.expires <= self._clock():
            site = await self._pending.run(place, lambda: self._fetch(place))
        else:
            self._sites.move_to_end(place)
        error, rules = site.error, site.rules
        if error is not None and error.kind == "retry":
            wait, unanswered = max(site.expires - self._clock(), 0.0), error.ended.host.unanswered
            raise FetchError("retry", f"robots.txt {error.reason}", retry_after=wait, unanswered=unanswered)
        if error is not None:
            raise FetchError(error.kind, error.reason)
        if rules is None:
            return None
        if self.announce is not None and rules.sitemaps:
            self.announce(place, rules.sitemaps)
        if not rules.allows(url):
            raise FetchError("refused", "robots.txt", crawl_delay=rules.crawl_delay)
        return rules.crawl_delay

    def delay(self, url: str) -> float | None:
        """Return the Crawl-delay for a URL, None where its site has none or is unknown here."""
        site = self._sites.get(origin(url))
        return None if site is None or site.rules is None else site.rules.crawl_delay

    async def learn(self, url: str, status: int, body: bytes) -> None:
        """Take a robots.txt that another program read at a canonical URL, unless the known one is valid."""
        place = origin(url)
        known = self._sites.get(place)
        if known is None or known.expires <= self._clock():
            await self._pending.run(place, lambda: self._learn(place, Answer(status, None, body[:MAX_BYTES])))

    async def _learn(self, place: str, answer: Answer) -> _Site:
        site = await self._read(answer, None)
        await self._keep(place, site)
        return site

    async def close(self) -> None:
        """End the fetches in flight; their callers are cancelled."""
        await self._pending.close()

    async def _take_up(self, origin: str, told: RobotsTxt) -> _Site:
        error = FetchError("retry", told.error) if told.error else None
        try:
            with zstandard.ZstdDecompressor().stream_reader(told.text) as reader:
                found = await self._rules(reader.read(MAX_BYTES)) if told.text else None
        except zstandard.ZstdError:
            return await self._fetch(origin)
        site = _Site(told.until, found, error, told.time, told.version, told.text)
        self._sites[origin] = site
        return site

    async def _fetch(self, origin: str) -> _Site:
        known = self._sites.get(origin)
        try:
            async with asyncio.timeout(self._settings.timeout_seconds):
                answer = await self._answer(f"{origin}/robots.txt", known.version if known else None)
            site = await self._read(answer, known)
        except TimeoutError:
            site = self._unreachable(FetchError("retry", "timeout", unanswered=True), known)
        except FetchError as error:
            site = self._unreachable(error, known)
        except Exception as error:
            site = self._unreachable(unexpected("robots.txt", origin, error), known)
        await self._keep(origin, site)
        return site

    async def _keep(self, origin: str, site: _Site) -> None:
        """Publish a robots.txt, and then decide by it."""
        record = site.record(origin)
        if self.publish is not None and record is not None:
            await self.publish(record)
        self._sites[origin] = site

    async def _answer(self, url: str, version: Version | None) -> Answer:
        """Return the answer at the end of the redirects; raises `FetchError`."""
        for hop in range(self._settings.redirects + 1):
            try:
                answer = await self._ask(url, version)
            except FetchError as error:
                if hop == 0 and error.reason.partition(" ")[0] in ("address", "url", "contact"):
                    raise  # it applies to all pages of the site
                raise FetchError("retry", error.reason, unanswered=error.ended.host.unanswered) from error
            if answer.status >= 500 or answer.status == 429:
                raise FetchError("retry", f"status {answer.status}", retry_after=answer.retry_after)
            if answer.target is None:
                # The version of a redirect's end must not be sent to its start.
                return answer if hop == 0 else answer._replace(version=None)
            url, version = answer.target, None
        return Answer(404, None, b"")  # as if there were none (2.3.1.2)

    async def _read(self, answer: Answer, known: _Site | None) -> _Site:
        now = self._clock()
        if answer.status == 304 and known is not None and known.rules is not None:
            return known._replace(expires=now + DAY, time=now)
        found = await self._rules(answer.body) if answer.status == 200 else None
        if found is None:
            return _Site(now + DAY, time=now)
        text = zstandard.compress(answer.body)
        kept = text if len(text) <= ROBOTS_BYTES else None
        return _Site(now + DAY, found, time=now, version=answer.version, text=kept)

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
        expires = now + max(UNREACHABLE_SECONDS, error.ended.host.retry_after or 0.0)
        if error.kind == "retry" and known is not None and known.rules and now < known.time + GRACE_SECONDS:
            return known._replace(expires=expires)
        return _Site(expires, error=error)


def rules(text: str, agent: str) -> Rules:
    """Read a robots.txt for the product token ``agent``; never raises."""
    parsed = Protego.parse(own_groups(text, agent))
    delay = parsed.crawl_delay(agent)
    found = map(canonical, islice(parsed.sitemaps, MAX_SITEMAPS))
    sitemaps = tuple(dict.fromkeys(url for url in found if url is not None))
    return Rules(agent, parsed, None if delay is None else min(float(delay), DAY), sitemaps, len(text))


def own_groups(text: str, agent: str) -> str:
    """Return a robots.txt whose groups for other agents than ``agent`` and "*" are named alike.

    A group counts as ours by its whole product token (RFC 9309, 2.2.1), not by a part of it as in protego; and
    a file that names thousands of agents costs no more than one that names three. A rule with too many
    wildcards, or after too many such, forbids more, or is left out if it allows.
    """
    lines, left = [], MAX_WILD_RULES
    for line in text.splitlines():
        named, wild = _AGENT.match(line), _WILD.match(line)
        if named is not None:
            token = named[1].lower()
            lines.append(f"user-agent: {token if token in ('*', agent) else 'not-' + agent}")
            continue
        left -= wild is not None
        if wild is None or (left >= 0 and line.count("*") + line.count("$") <= MAX_WILDCARDS):
            lines.append(line)
        elif wild[1] is None:
            plain = wild[0][:-1].rstrip()
            lines.append(plain if "/" in plain else f"{plain} /")
    return "\n".join(lines)


def directives(values: Iterable[str], agent: str) -> frozenset[str]:
    """Return which of "noindex" and "nofollow" X-Robots-Tag headers give to ``agent``, a product token.

    ``values`` are those of the headers, one by one: a crawler's name counts to the end of its header.
    """
    found: set[str] = set()
    for value in values:
        ours = True
        for part in value.lower().split(","):
            directive = part.strip()
            named = _FOR.fullmatch(directive)
            if named is not None and named[1] not in _VALUED:
                ours = named[1] in (agent, "*")
                directive = named[2]
            if ours:
                found |= _BOTH if directive == "none" else {directive}
    return _BOTH & found
