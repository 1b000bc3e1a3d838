"""Robots in a log: programs whose accesses say nothing of what people look for."""

import re

from models.accesslog.entry import Entry

#: What names a robot within its agent, in any case: "bot", "crawler" or "spider" at the end of a word ("Cubot"
#: is a telephone); a page or address to turn to, which people's programs do not send; these, as whole words.
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

#: Identities kept of each kind; beyond them the oldest half is forgotten, or nobody more is counted.
KEPT = 50_000
#: Agents whose answer is remembered: logs have few.
_AGENTS = 10_000
_MINUTE = 60.0


class Robots:
    """Tells a log's robots by its lines up to now, and by nothing else: the same lines, the same answers.

    A user or address is a robot from the line on

    - whose agent names one ("robot by agent": of that line only, since people may share the address);
    - with which it asked for robots.txt ("robot by robots.txt");
    - with which it views more than ``rate`` pages in a minute of the log's own time ("robot by rate"); 0 is no
      limit.

    Memory is bounded: at least the last 50,000 robots are kept, and 50,000 viewers of a minute are counted.

    >>> robots = Robots(rate=120)
    >>> robots.reason("::1", Entry("::1", None, 0.0, "GET", "/a", 200, 5, agent="Wget/1.21"))
    'robot by agent'
    """

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._known: dict[str, str] = {}
        self._older: dict[str, str] = {}
        self._agents: dict[str, bool] = {}
        self._minute = -1.0
        self._views: dict[str, int] = {}

    def ask(self, identity: str, entry: Entry) -> None:
        """Take in a request of any kind: one for robots.txt makes its sender a robot."""
        if entry.url.partition("?")[0].endswith("/robots.txt"):
            self._note(identity, "robot by robots.txt")

    def reason(self, identity: str, entry: Entry) -> str | None:
        """Return why the viewer of a page is a robot, None where it is none as far as is known."""
        if entry.agent is not None and self._named(entry.agent):
            return "robot by agent"
        if self._rate:
            self._count(identity, entry.time)
        return self._known.get(identity) or self._older.get(identity)

    def _named(self, agent: str) -> bool:
        named = self._agents.get(agent)
        if named is None:
            if len(self._agents) >= _AGENTS:
                self._agents.clear()
            named = self._agents[agent] = _AGENT.search(agent) is not None
        return named

    def _count(self, identity: str, time: float) -> None:
        minute = time // _MINUTE
        if minute > self._minute:
            self._minute = minute
            self._views = {}
        views = self._views.get(identity, 0) + 1
        if views > 1 or len(self._views) < KEPT:
            self._views[identity] = views
        if views > self._rate:
            self._note(identity, "robot by rate")

    def _note(self, identity: str, reason: str) -> None:
        if identity in self._known:
            return
        if len(self._known) >= KEPT:
            self._older, self._known = self._known, {}
        self._known[identity] = self._older.get(identity, reason)
