"""Turns one log line into an access, or the reason for none; and the site that a log belongs to."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple, TypeAlias

import msgspec

from scentline.agents.observe.pseudonym import Pseudonyms
from scentline.models.accesslog.entry import Entry, LogLineError, text_of
from scentline.models.accesslog.formats import W3C, Parser, parsers, recognise
from scentline.models.accesslog.views import Clients, Robots, network, page_view
from scentline.models.facts import Access
from scentline.models.secrets import Secrets
from scentline.models.url import canonical, host, without_query
from scentline.streams.settings import ConfigurationError, ObserveSettings

_log = logging.getLogger(__name__)
_REMEMBERED = 8_192
#: Malformed lines of a log that are reported one by one; all are counted.
MOST_TOLD = 1_000
#: Advice for a log without a page view: the end of an error.
HINT = "if lines have only paths, name their site: --site example.org"
#: The size that a larger response counts as.
_MOST_BYTES = 2**31


class Filtered(msgspec.Struct, frozen=True):
    """A line that is not a view of a crawlable page; the reason is "method", "status", ..."""

    reason: str


class Malformed(msgspec.Struct, frozen=True):
    """A line that could not be read; the reason does not quote it.

    ``told`` is False where the log had too many such lines to report each.
    """

    reason: str
    told: bool = True


Observed: TypeAlias = Access | Filtered | Malformed


class _Public(NamedTuple):
    """A URL as it may be published, and whether nothing was removed from it."""

    url: str
    whole: bool


class Counts:
    """The counts of the observed lines; ``filtered`` by reason."""

    def __init__(self) -> None:
        self.accepted: int = 0
        self.filtered: dict[str, int] = {}
        self.malformed: int = 0
        self.crowded: bool = False

    @property
    def lines(self) -> int:
        """How many lines were observed."""
        return self.accepted + sum(self.filtered.values()) + self.malformed


class Observer:
    """Reads the lines of a log one by one, and counts the results.

    Lines are filtered for the reasons of `page_view` and `Robots.reason`, "site" for a path without a site,
    "url" for a URL that can't be crawled, "secret" for one that can't be without a secret, "elsewhere" for one
    of another site than ``observe.base_url``, and "directive" for a head line of the W3C format.

    The result depends only on the settings, the key and the log's lines up to it, so each log has its own
    observer (`another`). ``everywhere`` accepts lines and referrers of all hosts. Raises ValueError when
    ``observe.base_url`` is not a site.
    """

    def __init__(self, settings: ObserveSettings, key: bytes, *, everywhere: bool = False) -> None:
        self._settings: Final = settings
        self._everywhere: Final = everywhere
        self._pseudonyms = Pseudonyms(key)
        self.counts = Counts()
        self._malformed = 0
        self._site: Final = _site(settings.base_url)
        self._keep_query: Final = settings.keep_query
        self._secrets: Final = Secrets(settings.secrets)
        self._known: Final = lru_cache(_REMEMBERED)(self._public)  # most lines name a page that was just named
        self._host: Final = None if self._site is None or everywhere else host(self._site)
        self._network: Final = lru_cache(_REMEMBERED)(network)
        self._clients: Final = Clients(settings.client_users) if settings.client_users else None
        self._robots: Final = Robots(settings.robot_rate, settings.client_rate) if settings.robots else None
        self._parsers: Final = parsers(settings.format, settings.json_fields)
        self._w3c: Final = next((read for read in self._parsers.values() if isinstance(read, W3C)), None)
        self._likely: Parser | None = None if len(self._parsers) > 1 else next(iter(self._parsers.values()))

    def another(self) -> "Observer":
        """Return an observer for another log; both share their counts."""
        fresh = Observer(self._settings, b"", everywhere=self._everywhere)
        fresh._pseudonyms = self._pseudonyms
        fresh.counts = self.counts
        return fresh

    @property
    def reading(self) -> str:
        """A short digest of the settings that decide how lines are read."""
        shown = self._settings.model_dump(mode="json", exclude={"user_key"})
        return blake2b(msgspec.json.encode(shown), digest_size=8).hexdigest()

    def recognise(self, lines: Sequence[bytes]) -> None:
        """Recognise the format of a log's first lines, if "auto"; raises `LogFormatError` where none fits.

        Does nothing without lines (an empty log).
        """
        if lines and len(self._parsers) > 1:
            self._likely = self._parsers[recognise(lines, self._parsers)]

    def observe(self, line: bytes) -> Observed:
        """Return the access in a raw line, or why it has none."""
        try:
            entry = self._entry(line)
        except LogLineError as error:
            self.counts.malformed += 1
            self._malformed += 1
            last = "; further ones are only counted" if self._malformed == MOST_TOLD else ""
            return Malformed(f"{error}{last}", self._malformed <= MOST_TOLD)
        if entry is None:
            return self._filter("directive")
        reason = page_view(entry)
        if reason is not None and not self._counts_user(entry):
            return self._filter(reason)
        who, client = self._counted(entry)
        if self._robots is not None:
            self._robots.ask(who, entry)
            reason = reason or self._robots.reason(who, entry, client)
        return self._access(entry, who) if reason is None else self._filter(reason)

    def _counts_user(self, entry: Entry) -> bool:
        """Return whether a line's user counts: that of page views, and of requests for robots.txt."""
        return (self._robots is not None and "/robots.txt" in entry.url) or page_view(entry) is None

    def _counted(self, entry: Entry) -> tuple[str, str | None]:
        """Return the pseudonyms that a line counts under, and of its client where it names one.

        A line counts under its user, or under its client if that has too many users.
        """
        identity = self._identity(entry)
        who, client = self._pseudonyms.of_client(entry.client)
        if identity != entry.client:
            who = self._pseudonyms.of(identity)
        if self._clients is None or client is None:
            return who, client
        counted = self._clients.counted(client, who)
        if counted != who and not self.counts.crowded:
            self.counts.crowded = True
            _log.warning(
                "observe: an address has more than %d users in the log; further ones count as the address. If "
                "many people share an address, set observe.client_users and observe.client_rate to 0",
                self._settings.client_users,
            )
        return counted, client

    def _identity(self, entry: Entry) -> str:
        return (entry.user if self._settings.user_field else None) or entry.client or entry.user or ""

    def identities(self, line: bytes) -> tuple[str, ...]:
        """Return the identities in a line: the one that it counts under, its client, then all others.

        Empty if it is unreadable. As in `observe`, the result depends on the lines before.
        """
        entry = self._read(line)
        if entry is None:
            return ()
        name, network = self._identity(entry), self._network(entry.client)
        if network is not None and self._counts_user(entry):
            who, _ = self._counted(entry)
            name = name if who == self._pseudonyms.of(name) else network
        found = [name, entry.client]
        found += [other for other in (entry.user, network) if other and other not in found]
        return tuple(found)

    def agent(self, line: bytes) -> str | None:
        """Return the user agent that a line names; None where it names none or can't be read."""
        entry = self._read(line)
        return None if entry is None else entry.agent

    def _read(self, line: bytes) -> Entry | None:
        with suppress(LogLineError):
            return self._entry(line)
        return None

    def pseudonym(self, identity: str) -> str:
        """Return the pseudonym of an identity."""
        return self._pseudonyms.of(identity)

    def _access(self, entry: Entry, who: str) -> Observed:
        url = entry.url
        if url.startswith("/"):
            if self._site is None:
                return self._filter("site")
            url = self._site + url
        known_as = self._known(url)
        if known_as is None:
            return self._filter("url" if canonical(url) is None else "secret")
        if self._elsewhere(known_as.url):
            return self._filter("elsewhere")
        referrer = None if entry.referrer is None else self._known(entry.referrer)
        if referrer is not None and self._elsewhere(referrer.url):
            referrer = None
        self.counts.accepted += 1
        size = min(entry.size, _MOST_BYTES) if known_as.whole and entry.status == 200 else 0
        came_from = None if referrer is None else referrer.url
        return Access(who, known_as.url, entry.time, came_from, entry.status, entry.content_type, size)

    def _elsewhere(self, url: str) -> bool:
        """Return whether a canonical URL is of another site than the log's.

        Other hosts in a site's log are visitors' claims, by request line, Host field or referrer.
        """
        return self._host is not None and host(url) != self._host

    def _entry(self, line: bytes) -> Entry | None:
        """Return a line's entry, None for a head line of the W3C format."""
        text = text_of(line)
        if text[0] == "#" and self._w3c is not None and self._w3c.directive(text):
            return None
        failure: LogLineError | None = None
        if self._likely is not None:
            try:
                return self._likely(text)
            except LogLineError as error:
                failure = error
        if len(self._parsers) > 1:
            for parse in self._parsers.values():
                with suppress(LogLineError):
                    return parse(text)
        raise failure or LogLineError(f"of no known format ({', '.join(self._parsers)})")

    def _public(self, url: str) -> "_Public | None":
        found = canonical(url)
        if found is None:
            return None
        public = self._secrets.strip(found if self._keep_query else without_query(found))
        return None if public is None else _Public(public, public == found)

    def _filter(self, reason: str) -> Filtered:
        filtered = self.counts.filtered
        if reason == "site" and reason not in filtered:
            _log.warning(
                "observe: left out lines with only a path, because no site is set: name it with --site "
                "example.org or observe.base_url"
            )
        filtered[reason] = filtered.get(reason, 0) + 1
        return Filtered(reason)


def _site(base_url: str | None) -> str | None:
    """Return the scheme and host of a log's site (a log's paths begin at the root)."""
    if base_url is None:
        return None
    known_as = canonical(base_url)
    if known_as is None:
        raise ValueError(f"observe.base_url is {base_url!r}, expected a site such as https://example.org")
    return Site(known_as).base


class Site:
    """The host of a canonical URL, on any port, and its subdomains; `base` is where its paths begin.

    >>> site = Site("https://example.org:8443/a")
    >>> site.host, site.base
    ('example.org', 'https://example.org:8443')
    >>> site.holds("http://www.example.org/a"), site.holds("http://notexample.org/")
    (True, False)
    """

    def __init__(self, url: str) -> None:
        self.host = _without_port(host(url))
        self.base = "/".join(url.split("/", 3)[:3])

    def holds(self, url: str) -> bool:
        """Return whether a canonical URL is of the site."""
        return f".{_without_port(host(url))}".endswith(f".{self.host}")


def site_named(text: str) -> Site:
    """Return the site of the host that ``--site`` names, after the scheme of its pages or for http.

    Raises `ConfigurationError` for another text.

    >>> site_named("Example.org").base, site_named("https://example.org").base
    ('http://example.org', 'https://example.org')
    """
    scheme, separator, name = text.rpartition("://")
    url = None if set(name) & set("/\\?#") else canonical(f"{scheme if separator else 'http'}://{name}/")
    if url is None or host(url) != _without_port(host(url)):
        raise ConfigurationError(f"--site {text!r}: expected a host, such as example.org")
    return Site(url)


def observed(settings: ObserveSettings, site: Site | None) -> ObserveSettings:
    """Return the settings with the site as that of a log's paths; unchanged without one."""
    return settings.model_copy(update={"base_url": base_url(site, settings.base_url)})


def base_url(site: Site | None, setting: str | None) -> str | None:
    """Return the base URL of a log's paths, None where unknown.

    The setting ``observe.base_url`` wins if it is of the site: it may say more, such as the scheme.
    """
    known = None if setting is None else canonical(setting)
    if site is None or (known is not None and site.holds(known)):
        return setting
    return site.base


def _without_port(name: str) -> str:
    before, _, port = name.rpartition(":")
    return before if before and port.isdigit() else name
