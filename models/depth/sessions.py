"""The sessions of a site's users, from the accesses of its log as they come.

Requests that are no browsing are none of a session's (Baeza-Yates and Castillo 2004, section 4): applications,
feeds, attacks.
"""

import re
from typing import Final, NamedTuple

#: Views of a session, and pages; a longer one is cut, and goes on as another.
MAX_VIEWS = 500


class Session(NamedTuple):
    """A finished session: the level of each view, the page it began with, and the views put back into it."""

    levels: tuple[int, ...]
    start: str
    put_back: int


class Walk:
    """The views of a session and the links that led from one to the next.

    Baeza-Yates and Castillo 2004, section 3: the depth of a page in a session is the length of the shortest
    path from the start page through the pages seen during the session. So it is known at the session's end:
    a link followed late may be a short cut to a page that was reached the long way before.

    >>> walk = Walk("/")
    >>> for page in ("/a", "/b", "/c"):
    ...     walk.follow(page)
    >>> walk.see("/")
    >>> walk.follow("/c")
    >>> walk.end().levels
    (0, 1, 2, 1, 0, 1)
    """

    __slots__ = ("_links", "_numbers", "_put_back", "_start", "_views")

    def __init__(self, start: str) -> None:
        self._start = start
        self._numbers = {start: 0}
        self._views = [0]
        self._links: list[set[int]] = [set()]
        self._put_back = 0

    @property
    def full(self) -> bool:
        """Tell whether it has as many views or pages as it may have."""
        return max(len(self._views), len(self._numbers)) >= MAX_VIEWS

    def __contains__(self, page: str) -> bool:
        return page in self._numbers

    def at(self, page: str) -> bool:
        """Tell whether the last view is of this page."""
        return self._numbers.get(page) == self._views[-1]

    def follow(self, page: str) -> None:
        """View a page by a link on the page of the last view."""
        number = self._numbers.setdefault(page, len(self._links))
        if number == len(self._links):
            self._links.append(set())
        self._links[self._views[-1]].add(number)
        self._views.append(number)

    def see(self, page: str) -> None:
        """View a page of this session again, without a link."""
        self._views.append(self._numbers[page])

    def arrive(self, page: str) -> None:
        """View a page again where the session has it, else by a link on that of the last view."""
        if page in self:
            self.see(page)
        else:
            self.follow(page)

    def put_back(self) -> None:
        """Note that the last view stood in no line: it was put back."""
        self._put_back += 1

    def contain(self, page: str) -> None:
        """Take a page for a part of that of the last view, as a frame is."""
        self._numbers[page] = self._views[-1]

    def end(self) -> Session:
        """Return the session."""
        depths = self._depths()
        return Session(tuple(depths[number] for number in self._views), self._start, self._put_back)

    def _depths(self) -> list[int]:
        """Return the depth of each page: breadth-first from the start page, over the links followed."""
        depths = [-1] * len(self._links)
        depths[0] = 0
        reached = [0]
        for page in reached:
            for target in self._links[page]:
                if depths[target] < 0:
                    depths[target] = depths[page] + 1
                    reached.append(target)
        return depths


#: Seconds without an access that end a session (the paper's section 4).
PAUSE: Final = 30 * 60.0
#: Seconds from a page to a page it refers to within which nobody has read and clicked: that is a frame.
FRAME: Final = 1.0
#: Sessions that may be open at a time; beyond them the one longest without an access is ended.
OPEN: Final = 10_000
#: The referrer of a view that came from elsewhere than the site.
ELSEWHERE: Final = ""


class _Open:
    """A session that goes on, the time of its last access, and that of its last page which is no frame."""

    __slots__ = ("last", "shown", "walk")

    def __init__(self, walk: Walk, time: float) -> None:
        self.walk = walk
        self.last = self.shown = time

    def paused(self, now: float) -> bool:
        # Either way: a line with a wrong time, far ahead, must not end all sessions that come after it.
        return abs(now - self.last) > PAUSE


class Sessions:
    """Puts the accesses of a site together to sessions, as Baeza-Yates and Castillo 2004, section 4, do.

    A session is what one visitor (user and agent) views with pauses of 30 minutes at most. What the log does
    not show, because a cache answered, is put back from the referrers: where a view was referred to by another
    page than the last, that page was seen before it. What a page refers to within a second is a frame of it,
    and no view of its own.

    A view that came from elsewhere, or from nowhere in a log that has referrers, begins another session: the
    paper's "jump" and "start" are one ("indistinguishable in terms of the resulting distribution"). Until a
    referrer was seen, a log is taken to have none, and each view to follow the one before. A page that was seen
    in the session is seen again, however one came to it; but for "elsewhere".

    A duplicate counts as the page that it is like (the paper's section 5): visiting it is a move back. So
    pages are named by whatever the caller has for the same page, such as the URL of the first of its copies.

    Memory is bounded: 10,000 open sessions of 500 views at most.
    """

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._referrers = False

    def view(self, visitor: str, time: float, page: str, referrer: str | None) -> list[Session]:
        """Take in a page view, and return the sessions that have ended by then.

        ``time`` is in seconds; accesses may come out of order by less than a pause. ``referrer`` is a page of
        the site, `ELSEWHERE`, or None where none was sent.
        """
        self._referrers = self._referrers or referrer is not None
        ended = []
        known = self._open.pop(visitor, None)
        if known is not None and not self._goes_on(known, time, page, referrer):
            ended.append(known.walk.end())
            known = None
        if known is None:
            known = _begun(time, page, referrer)
        known.last = time
        self._open[visitor] = known
        while len(self._open) > OPEN or next(iter(self._open.values())).paused(time):
            ended.append(self._oldest())
        return ended

    def finish(self) -> list[Session]:
        """End all sessions, and return them."""
        return [self._oldest() for _ in range(len(self._open))]

    def _oldest(self) -> Session:
        return self._open.pop(next(iter(self._open))).walk.end()

    def _goes_on(self, session: _Open, time: float, page: str, referrer: str | None) -> bool:
        """Add a view to a session, or return False where another begins with it."""
        walk = session.walk
        if walk.full or session.paused(time) or referrer == ELSEWHERE:
            return False
        if referrer is None and self._referrers and page not in walk:
            return False
        if referrer is None or referrer == page:
            walk.arrive(page)
        elif page not in walk and walk.at(referrer) and 0 <= time - session.shown <= FRAME:
            walk.contain(page)
            return True
        else:
            if not walk.at(referrer):
                walk.arrive(referrer)
                walk.put_back()
            walk.follow(page)
        session.shown = time
        return True


def _begun(time: float, page: str, referrer: str | None) -> _Open:
    """Return a session that begins with a page, or with the page of the site that refers to it."""
    if not referrer or referrer == page:
        return _Open(Walk(page), time)
    walk = Walk(referrer)
    walk.put_back()
    walk.follow(page)
    return _Open(walk, time)


#: What does "not respond to the logic of page browsing": mail, content management, shops' carts, feeds and
#: programs' interfaces, by segments of a path without their extension. In lower case, as programs are: an
#: article may be on the Atom.
_SEGMENTS = r"""
    webmail roundcube squirrelmail horde mailman owa
    wp-admin wp-login wp-cron wp-json wp-signup xmlrpc administrator admin login logout signin signup
    phpmyadmin pma mysqladmin cpanel plesk typo3 umbraco
    cart checkout my-account
    feed feeds rss rss2 rdf atom
    api ajax graphql oauth cgi-bin
"""
_APPLICATION = re.compile(
    r"/(?:" + "|".join(_SEGMENTS.split()) + r")(?:\.(?:php\d?|aspx?|jsp|cgi|pl|xml|rdf|html?))?(?:/|\Z)"
)
_FEED = re.compile(r"[?&](?:flav|feed|format)=(?:atom|rss|rdf|feed)", re.IGNORECASE)
#: What is sent to break in: paths out of the site, scripts and SQL in a query, shells, runs that overflow.
_ATTACK = re.compile(
    r"\.\./|%2e%2e|%00|/etc/passwd|/proc/self|<script|%3cscript|union(?:\+|%20)+(?:all(?:\+|%20)+)?select"
    r"|cmd\.exe|root\.exe|default\.ida|/bin/(?:ba)?sh|\$\{jndi|\.(?:env|git|htaccess)(?:/|\Z)"
    r"|(?:%u[0-9a-f]{4}){4}|(.)\1{99}",
    re.IGNORECASE,
)


def unbrowsed(url: str) -> str:
    """Return why a view of a URL is no browsing, "attack" or "application"; empty where it is.

    >>> unbrowsed("http://example.org/wp-login.php"), unbrowsed("http://example.org/blog/feed/")
    ('application', 'application')
    >>> unbrowsed("http://example.org/?page=..%2F..%2F../etc/passwd")
    'attack'
    >>> unbrowsed("http://example.org/login-problems.html")
    ''
    """
    path, _, query = url.partition("://")[2].partition("?")
    if _ATTACK.search(url):
        return "attack"
    return "application" if _APPLICATION.search(path) or (query and _FEED.search(f"?{query}")) else ""
