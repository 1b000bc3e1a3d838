"""Robots in a log: programs whose accesses do not show what people look for."""

import math
import re

from scentline.models.accesslog.entry import Entry

#: Viewers counted in one minute, and robots remembered.
KEPT = 50_000
#: Clocks kept apart: machines that write one log, and lines with a wrong time.
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
        """Begin a later minute; a line that comes late counts to the one that is open."""
        if minute > self.minute:
            self.minute = minute
            self.views = {}


class Rates:
    """Counts views of the open minute; a late line counts to it as well.

    A line whose time is more than an hour away opens a minute of its own and leaves the other one open, so that
    a wrong time neither holds a minute open nor empties it. The last four are kept.

    >>> rates = Rates()
    >>> [rates.count("ann", time) for time in (60.0, 61.0, 1e11, 62.0, 1e11, 120.0)]
    [1, 2, 1, 3, 2, 1]
    """

    def __init__(self) -> None:
        self._clocks: list[_Clock] = []  # that of the last line at the end
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


#: What names a robot in its agent, in any case: "bot", "crawler" or "spider" at the end of a word ("Cubot" is a
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

#: Agents remembered, and characters of one: logs have few.
_AGENTS = 10_000
_AGENT_LENGTH = 500


class Robots:
    """Detects a log's robots by its lines up to now alone: the same lines give the same answers.

    A user or address is a robot from the line on

    - whose agent names one ("robot by agent": of that line only, since people may share the address);
    - with which it requested robots.txt ("robot by robots.txt");
    - with which it views more than ``rate`` pages in a minute of the log's own time ("robot by rate"), or its
      client, under whatever names, more than ``client_rate``; 0 is no limit.

    Memory is bounded: at least the last 50,000 robots are kept; `Rates` says how many viewers are counted.

    >>> robots = Robots(rate=120)
    >>> robots.reason("::1", Entry("::1", None, 0.0, "GET", "/a", 200, 5, agent="Wget/1.21"))
    'robot by agent'
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
        """Note a request of any kind: one for robots.txt makes its sender a robot."""
        url = entry.url
        if "/robots.txt" in url and url.partition("?")[0].endswith("/robots.txt"):
            self._note(identity, "robot by robots.txt")

    def reason(self, identity: str, entry: Entry, client: str | None = None) -> str | None:
        """Return why the viewer of a page is a robot, None where it seems to be none.

        ``client`` is the client that the view came from, None where it is unknown.
        """
        if entry.agent is not None and self._named(entry.agent):
            return "robot by agent"
        if self._rate and self._views.count(identity, entry.time) > self._rate:
            self._note(identity, "robot by rate")
        found = self._of(identity)
        if client is None or not self._client_rate:
            return found
        # All users of a client are not the user of its name, who may be one of many.
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
