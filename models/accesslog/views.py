"""Page views by people among the lines of a log: no media, no robots, no client that poses as a crowd."""

import math
import re
from ipaddress import IPv4Address, IPv6Address

from scentline.models.accesslog.entry import Entry
from scentline.models.url import address_of

#: Content types of embedded and downloaded files: images, styles, scripts, media, fonts, archives.
_MEDIA_KINDS = frozenset({"image", "audio", "video", "font"})
_MEDIA_TYPES = frozenset(
    {
        *("text/css", "text/javascript", "text/ecmascript"),
        *("application/javascript", "application/ecmascript", "application/x-javascript"),
        *("application/wasm", "application/x-shockwave-flash", "application/ogg", "application/x-mpegurl"),
        *("application/vnd.apple.mpegurl", "application/dash+xml"),
        *("application/font-woff", "application/font-woff2", "application/font-sfnt"),
        *("application/x-font-woff", "application/x-font-ttf", "application/x-font-otf"),
        *("application/vnd.ms-fontobject", "application/x-font-opentype", "application/x-font-truetype"),
        *("application/zip", "application/gzip", "application/x-gzip", "application/x-zip-compressed"),
        *("application/x-tar", "application/x-bzip2", "application/x-xz", "application/zstd"),
        *("application/x-7z-compressed", "application/vnd.rar", "application/x-rar-compressed"),
        *("application/java-archive", "application/x-iso9660-image", "application/x-rpm"),
        *("application/vnd.debian.binary-package", "application/vnd.android.package-archive"),
        *("application/x-msdownload", "application/x-apple-diskimage"),
    }
)
#: The same by the extension in the URL's path.
_EXTENSIONS = """
    avif bmp gif heic ico jpeg jpg jxl png svg svgz tif tiff webp
    css js less map mjs scss swf wasm
    aac avi flac flv m3u8 m4a m4s m4v mid midi mkv mov mp3 mp4 mpeg mpg oga ogg ogv opus wav webm wma wmv
    eot otf ttf woff woff2
    7z apk bz2 cab deb dmg exe gz iso jar msi pkg rar rpm tar tbz2 tgz txz war xz zip zst
"""
_MEDIA_EXTENSIONS = frozenset(_EXTENSIONS.split())
#: Types that do not identify the content.
_NO_TYPE = frozenset({None, "application/octet-stream", "binary/octet-stream"})


def page_view(entry: Entry) -> str | None:
    """Return why an entry is not a page view, or None if it is one.

    In this order: "method" (another than GET), "status" (other than 2xx and 304), "media" (an image, style,
    script, film, sound, font or archive by its content type or, if that says nothing, by its URL).
    `models.url.canonical` decides whether the URL can be crawled.
    """
    if entry.method != "GET":
        return "method"
    if not (200 <= entry.status < 300 or entry.status == 304):
        return "status"
    return "media" if _is_media(entry) else None


def _is_media(entry: Entry) -> bool:
    kind = entry.content_type
    if kind is not None and kind not in _NO_TYPE:
        return kind in _MEDIA_TYPES or kind.partition("/")[0] in _MEDIA_KINDS
    folder, _, name = entry.url.partition("?")[0].partition("#")[0].rpartition("/")
    if folder.endswith(":/"):  # "http://example.zip" ends with its host
        return False
    _, dot, extension = name.rpartition(".")
    return bool(dot) and extension.lower() in _MEDIA_EXTENSIONS


#: Most viewers counted in a minute, and fewest robots and clients remembered.
KEPT = 50_000
#: Most clocks of a log: machines that write it, and lines with a wrong time.
CLOCKS = 4
#: Minutes by which a line's time may differ from its clock's.
_NEAR = 60
_MINUTE = 60.0


class _Clock:
    """The open minute of a log, and the views in it."""

    def __init__(self, minute: float) -> None:
        self.minute = minute
        self.views: dict[str, int] = {}

    def near(self, minute: float) -> bool:
        return abs(minute - self.minute) <= _NEAR

    def open(self, minute: float) -> None:
        """Start a later minute; a late line counts in the open one."""
        if minute > self.minute:
            self.minute = minute
            self.views = {}


class Rates:
    """Counts views in the open minute; a late line counts in it as well.

    A line whose time is more than an hour off opens another minute and leaves the first one open, so that a
    wrong time neither keeps a minute open nor empties it. The last four are kept.

    >>> rates = Rates()
    >>> [rates.count("ann", time) for time in (60.0, 61.0, 1e11, 62.0, 1e11, 120.0)]
    [1, 2, 1, 3, 2, 1]
    """

    def __init__(self) -> None:
        self._clocks: list[_Clock] = []  # the last line's at the end
        self._last = _Clock(math.nan)  # near nothing

    def count(self, viewer: str, time: float) -> int:
        """Count a view at ``time``, in seconds since the epoch; return the viewer's views of that minute."""
        minute = time // _MINUTE
        clock = self._last
        if minute != clock.minute:
            if not clock.near(minute):
                clock = self._last = self._clock(minute)
            clock.open(minute)
        views = clock.views.get(viewer, 0) + 1
        if views > 1 or len(clock.views) < KEPT:
            clock.views[viewer] = views
        return views

    def _clock(self, minute: float) -> _Clock:
        clocks = self._clocks
        place = next((place for place, clock in enumerate(clocks) if clock.near(minute)), None)
        clock = _Clock(minute) if place is None else clocks.pop(place)
        clocks.append(clock)
        del clocks[:-CLOCKS]
        return clock


#: Names of robots in an agent, in any case: "bot", "crawler" or "spider" at the end of a word ("Cubot" is a
#: telephone); a URL or mail address, which browsers do not send; these, as whole words.
_PROGRAMS = r"""
    aiohttp archiver bingpreview curl facebookexternalhit feedfetcher-google feedparser fetcher
    go-http-client harvester headlesschrome heritrix httpclient httpx ia_archiver indexer java(?=/) libfetch
    libwww-perl linkchecker lwp-request lwp-trivial mechanize mediapartners-google nagios netcraft nutch
    okhttp phantomjs pingdom playwright puppeteer python-httplib2 python-httpx python-requests python-urllib
    python(?=/) rest-client ruby scraper scrapy selenium slurp teoma uptimerobot w3c_validator wget winhttp
    wordpress zabbix zgrab internal\ dummy\ connection w3\ total\ cache
"""
_AGENT = re.compile(
    r"(?<!cu)(?:bot|crawler|spider)s?(?![a-z])|https?://|[\w.]@\w|(?<![a-z])(?:"
    + "|".join(re.split(r"(?<!\\)\s+", _PROGRAMS.strip()))
    + r")(?![a-z])",
    re.IGNORECASE | re.ASCII,
)

#: Agents remembered, and most characters of one: logs have few.
_AGENTS = 10_000
_AGENT_LENGTH = 500


class Robots:
    """Detects a log's robots from its lines so far alone: the same lines give the same results.

    A user or address is a robot from the line on

    - whose agent names one ("robot by agent": for that line only, since people may share the address);
    - that requests robots.txt ("robot by robots.txt");
    - that exceeds ``rate`` page views in a minute of the log's own time ("robot by rate"), or ``client_rate``
      of its client under any names; 0 is no limit.

    Memory is bounded: at least the last 50,000 robots are kept; `Rates` bounds the viewers.
    """

    def __init__(self, rate: int, client_rate: int = 0) -> None:
        self._rate = rate
        self._client_rate = client_rate
        self._known: dict[str, str] = {}
        self._older: dict[str, str] = {}
        self._agents: dict[str, bool] = {}
        self._views = Rates()
        self._client_views = Rates()

    def ask(self, identity: str, entry: Entry) -> None:
        """Record a request of any kind: one for robots.txt makes its sender a robot."""
        url = entry.url
        if "/robots.txt" in url and url.partition("?")[0].endswith("/robots.txt"):
            self._note(identity, "robot by robots.txt")

    def reason(self, identity: str, entry: Entry, client: str | None = None) -> str | None:
        """Return why the viewer of a page is a robot, None if it does not look like one.

        ``client`` is the client of the view, None if it is unknown.
        """
        if entry.agent is not None and self._named(entry.agent):
            return "robot by agent"
        if self._rate and self._views.count(identity, entry.time) > self._rate:
            self._note(identity, "robot by rate")
        found = self._of(identity)
        if client is None or not self._client_rate:
            return found
        # The name of all users of a client differs from its own, which may be one user of many.
        every_user = f"all of {client}"
        if self._client_views.count(every_user, entry.time) > self._client_rate:
            self._note(every_user, "robot by rate")
        return found or self._of(every_user)

    def _of(self, identity: str) -> str | None:
        return self._known.get(identity) or self._older.get(identity)

    def _named(self, agent: str) -> bool:
        named = self._agents.get(agent)
        if named is None:
            named = _AGENT.search(agent) is not None
            if len(self._agents) >= _AGENTS:
                self._agents.clear()
            if len(agent) <= _AGENT_LENGTH:
                self._agents[agent] = named
        return named

    def _note(self, identity: str, reason: str) -> None:
        if identity in self._known:
            return
        if len(self._known) >= KEPT:
            self._older, self._known = self._known, {}
        self._known[identity] = self._older.get(identity, reason)


_NETWORK = 64
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
#: An IPv4 address, as in most lines; matched in a tenth of the time of parsing.
_PLAIN = re.compile(rf"(?!0\.0\.0\.0){_BYTE}(?:\.{_BYTE}){{3}}")


def network(client: str) -> str | None:
    """Return the name of a client, which is the addresses it holds; None if the line names no client.

    An IPv4 address is one client, and so is the /64 of an IPv6 address (RFC 6177), without a port. Any other
    text, such as a digest, is a client as it is. "", "-" and the unspecified address, which cleaned logs have
    in each line, name no client.

    >>> [network(text) for text in ("192.0.2.7", "192.0.2.7:51234", "2001:db8::7", "::ffff:192.0.2.7", "-")]
    ['192.0.2.7', '192.0.2.7', '2001:db8::/64', '192.0.2.7', None]
    """
    if client in ("", "-"):
        return None
    address = None if _PLAIN.fullmatch(client) is not None else address_of(client)
    if address is None:
        return client
    if address.is_unspecified:
        return None
    if isinstance(address, IPv4Address):
        return str(address)
    prefix = IPv6Address(int(address) >> _NETWORK << _NETWORK)
    return f"{prefix}/{_NETWORK}"


class Clients:
    """Bounds the users of each client: the first ``users`` it names count, all others count as the client.

    The result for a line depends on the lines up to it alone. At least the last 50,000 clients are remembered.

    >>> clients = Clients(2)
    >>> [clients.counted("192.0.2.7", user) for user in ("ann", "bob", "cy", "ann")]
    ['ann', 'bob', '192.0.2.7', 'ann']
    """

    def __init__(self, users: int) -> None:
        self._most = users
        self._known: dict[str, tuple[str, ...]] = {}
        self._older: dict[str, tuple[str, ...]] = {}

    def counted(self, client: str, user: str) -> str:
        """Return the user that a line counts for: the one it names, or the client itself."""
        if user == client:
            return client
        named = self._known.get(client)
        if named is None:
            if len(self._known) >= KEPT:
                self._older, self._known = self._known, {}
            named = self._known[client] = self._older.get(client, ())
        if user in named:
            return user
        if len(named) >= self._most:
            return client
        self._known[client] = (*named, user)
        return user
