"""A user's session on a site, small enough to be kept with the user, and the views that belong to none.

A session may never end, as its user may never come back. So a view changes counts at once, and a link followed
later that shortens a path corrects them. Baeza-Yates and Castillo 2004, sections 3 and 4.
"""

import re
from typing import Final, TypeAlias

import msgspec

#: Most views and most pages of a session; a longer one goes on as another.
MAX_VIEWS = 500
#: Seconds without an access that end a session (the paper's section 4).
PAUSE: Final = 30 * 60.0
#: Seconds within which a page referred to by another is its frame: too fast to read and click.
FRAME: Final = 1.0
#: The referrer of a view that came from outside the site.
ELSEWHERE: Final = ""
#: Most sites with a session of a user; one more ends the session longest without a view.
MOST_SITES: Final = 8
#: Changes of the numbers of page views: (level, change).
Changes: TypeAlias = list[tuple[int, int]]


class Trail(msgspec.Struct, array_like=True, gc=False):
    """An open session: its pages, numbered in their order, and the links followed between them.

    The depth of a page in a session is the length of the shortest path from the start page through the pages
    seen during the session (section 3): a link followed late may be a short cut.
    """

    #: Times of the last access, and of the last page that is not a frame.
    last: float
    shown: float
    #: The number of the page seen last.
    at: int
    #: The number of views.
    seen: int
    #: Numbers of pages by identifier; a frame has the number of its page.
    numbers: dict[bytes, int]
    #: By number of page.
    levels: list[int]
    views: list[int]
    #: Each `MAX_VIEWS` times the number of its page plus that of its target.
    links: list[int] = []

    @classmethod
    def begin(cls, time: float, page: bytes, came_from: bytes | None, changes: Changes) -> "Trail":
        """Start a session with a page, or with the page of the site that refers to it."""
        trail = cls(time, time, 0, 1, {came_from or page: 0}, [0], [1])
        changes.append((0, 1))
        if came_from is not None:
            trail.follow(page, changes)
        return trail

    @property
    def level(self) -> int:
        """The level of the page seen last."""
        return self.levels[self.at]

    def goes_on(self, time: float, page: bytes, referrer: bytes | str | None, referrers: bool) -> bool:
        """Return whether a view belongs to this session.

        A view from outside, or without a referrer in a log that has ``referrers``, starts another: the paper's
        "jump" and "start" are one ("indistinguishable in terms of the resulting distribution"). A page of the
        session viewed without a referrer is seen again.
        """
        if abs(time - self.last) > PAUSE or self.seen >= MAX_VIEWS or len(self.numbers) >= MAX_VIEWS:
            return False
        return referrer != ELSEWHERE and (referrer is not None or not referrers or page in self.numbers)

    def view(self, time: float, page: bytes, came_from: bytes | None, changes: Changes) -> bool:
        """View a page of the site; return False for a frame of the last page, which is not a view.

        Views that a cache answered are missing in the log, and are restored: if another page than the last is
        the referrer, that page was seen in between.
        """
        self.last = time
        if came_from is None:
            self.arrive(page, changes)
        elif (
            page not in self.numbers
            and self.numbers.get(came_from) == self.at
            and 0 <= time - self.shown <= FRAME
        ):
            self.numbers[page] = self.at
            return False
        else:
            if self.numbers.get(came_from) != self.at:
                self.arrive(came_from, changes)
            self.follow(page, changes)
        self.shown = time
        return True

    def arrive(self, page: bytes, changes: Changes) -> None:
        """View a page again if the session has it, else by a link on the last page."""
        number = self.numbers.get(page)
        if number is None:
            self.follow(page, changes)
        else:
            self._see(number, changes)

    def follow(self, page: bytes, changes: Changes) -> None:
        """View a page by a link on the last page."""
        number = self.numbers.get(page)
        if number is None:
            number = self.numbers[page] = len(self.levels)
            self.levels.append(self.level + 1)
            self.views.append(0)
            self.links.append(MAX_VIEWS * self.at + number)
        elif MAX_VIEWS * self.at + number not in self.links:
            self.links.append(MAX_VIEWS * self.at + number)
            if self.levels[number] > self.level + 1:
                self._shorten(self.at, changes)
        self._see(number, changes)

    def _see(self, number: int, changes: Changes) -> None:
        self.at = number
        self.seen += 1
        self.views[number] += 1
        changes.append((self.levels[number], 1))

    def _shorten(self, start: int, changes: Changes) -> None:
        """Lower the levels that a new link on page ``start`` shortens, breadth-first."""
        reached = [start]
        for page in reached:
            level = self.levels[page] + 1
            for target in (link % MAX_VIEWS for link in self.links if link // MAX_VIEWS == page):
                if self.levels[target] > level:
                    changes += ((self.levels[target], -self.views[target]), (level, self.views[target]))
                    self.levels[target] = level
                    reached.append(target)


class Browsing(msgspec.Struct, array_like=True):
    """A user's sessions on the sites viewed last."""

    #: Whether any view had a referrer.
    referred: bool = False
    #: By site, the last viewed at the end.
    trails: dict[str, Trail] = {}

    def view(
        self, site: str, time: float, page: bytes, referrer: bytes | str | None, *, referrers: bool
    ) -> tuple[int, bool, Changes] | None:
        """Add a page view on a site; return what it adds to the site's sessions, None for a frame.

        That is the level of the page, whether the view starts a session, and the changes of page views by
        level. ``page`` and ``referrer`` are identifiers of pages of the site; the referrer may also be
        `ELSEWHERE`, or None if none was sent. ``referrers`` is whether the log is known to have some.

        >>> browsing = Browsing()
        >>> for second, page in enumerate((b"home", b"news", b"item")):
        ...     found = browsing.view("a.org", 60.0 * second, page, None, referrers=False)
        >>> found
        (2, False, [(2, 1)])

        Then the item is viewed from the home page, which a cache served: it is only one link away.

        >>> browsing.view("a.org", 200.0, b"item", b"home", referrers=True)
        (1, False, [(0, 1), (2, -1), (1, 1), (1, 1)])
        """
        if referrer is not None:
            self.referred = True
        came_from = referrer if isinstance(referrer, bytes) and referrer != page else None
        trail, changes = self.trails.pop(site, None), list[tuple[int, int]]()
        begun = trail is None or not trail.goes_on(time, page, referrer, referrers)
        if trail is None or begun:
            self._make_room(time)
            trail = self.trails[site] = Trail.begin(time, page, came_from, changes)
        else:
            self.trails[site] = trail
            if not trail.view(time, page, came_from, changes):
                return None
        return trail.level, begun, changes

    def _make_room(self, now: float) -> None:
        """Forget ended sessions, and make room for one: those longest without a view first."""
        while self.trails:
            site = next(iter(self.trails))
            if len(self.trails) < MOST_SITES and now - self.trails[site].last <= PAUSE:
                return
            del self.trails[site]


#: Paths that do "not respond to the logic of page browsing": mail, content management, shopping carts, feeds
#: and APIs, by segments without their extension. In lower case, as programs are: an article may be on the Atom.
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
#: Attacks: paths out of the site, scripts and SQL in a query, shells, runs that overflow.
_ATTACK = re.compile(
    r"\.\./|%2e%2e|%00|/etc/passwd|/proc/self|<script|%3cscript|union(?:\+|%20)+(?:all(?:\+|%20)+)?select"
    r"|cmd\.exe|root\.exe|default\.ida|/bin/(?:ba)?sh|\$\{jndi|\.(?:env|git|htaccess)(?:/|\Z)"
    r"|(?:%u[0-9a-f]{4}){4}|(.)\1{99}",
    re.IGNORECASE,
)


def unbrowsed(url: str) -> str:
    """Return why a view of a URL is not browsing, "attack" or "application"; empty if it is (section 4).

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
