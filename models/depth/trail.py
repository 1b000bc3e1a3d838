"""One user's session on one site, small enough to be kept with the user: levels told as views come.

`models.depth.sessions` has a whole session in memory until it ends. Here it may never end, for its user may
never come back; so what a view changes is told at once, and taken back where a link that is followed later is a
short cut.
"""

from typing import Final, TypeAlias

import msgspec

from scentline.models.depth.sessions import ELSEWHERE, FRAME, MAX_VIEWS, PAUSE

#: Sites on which a user's sessions are kept; one on a further site ends the one longest without a view.
MOST_SITES: Final = 8
#: Changes of the number of page views: (level, change).
Changes: TypeAlias = list[tuple[int, int]]


class Trail(msgspec.Struct, array_like=True, gc=False):
    """A session that goes on: its pages, numbered in their order, and the links followed between them.

    ``last`` is the time of the last access, ``shown`` that of the last page which is no frame, ``at`` the
    number of the page seen last, ``seen`` the views in all. A page has a ``numbers`` entry by its identifier, a
    ``levels`` and a ``views`` entry by its number; a frame has the number of the page it is in. A link is
    `MAX_VIEWS` times the number of its page plus that of its target: there may be many, and they are one list.
    """

    last: float
    shown: float
    at: int
    seen: int
    numbers: dict[bytes, int]
    levels: list[int]
    views: list[int]
    links: list[int] = []

    @property
    def level(self) -> int:
        """The level of the page seen last."""
        return self.levels[self.at]

    def goes_on(self, time: float, page: bytes, referrer: bytes | str | None, referrers: bool) -> bool:
        """Tell whether a view belongs to this session: the rules are those of `Sessions`."""
        if abs(time - self.last) > PAUSE or self.seen >= MAX_VIEWS or len(self.numbers) >= MAX_VIEWS:
            return False
        return referrer != ELSEWHERE and (referrer is not None or not referrers or page in self.numbers)

    def frame(self, time: float, page: bytes, referrer: bytes) -> bool:
        """Take a page for a part of that of the last view where it came with it; tell whether it did."""
        inside = page not in self.numbers and self.numbers.get(referrer) == self.at
        if inside and 0 <= time - self.shown <= FRAME:
            self.numbers[page] = self.at
            return True
        return False

    def arrive(self, page: bytes, changes: Changes) -> None:
        """View a page again where the session has it, else by a link on that of the last view."""
        number = self.numbers.get(page)
        if number is None:
            self.follow(page, changes)
        else:
            self._see(number, changes)

    def follow(self, page: bytes, changes: Changes) -> None:
        """View a page by a link on that of the last view."""
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
        """Bring the levels up to date that a new link on a page makes less: breadth-first from there."""
        reached = [start]
        for page in reached:
            level = self.levels[page] + 1
            for target in (link % MAX_VIEWS for link in self.links if link // MAX_VIEWS == page):
                if self.levels[target] > level:
                    changes += ((self.levels[target], -self.views[target]), (level, self.views[target]))
                    self.levels[target] = level
                    reached.append(target)


class Browsing(msgspec.Struct, array_like=True):
    """What is kept of a user to tell levels: the ``trails`` by site, those viewed last at the end.

    ``referred`` says whether a view of his ever had a referrer.
    """

    referred: bool = False
    trails: dict[str, Trail] = {}

    def view(
        self, site: str, time: float, page: bytes, referrer: bytes | str | None, *, referrers: bool
    ) -> tuple[int, bool, Changes] | None:
        """Take in a page view on a site; return what it adds to the site's sessions, None for a frame.

        That is the level of the page, whether a session began with the view, and how the number of page views
        of levels changed. ``page`` and ``referrer`` are identifiers of pages of the site, the referrer also
        `ELSEWHERE` or None as for `Sessions.view`. ``referrers`` says whether the log is known to have some.

        >>> browsing = Browsing()
        >>> for second, page in enumerate((b"home", b"news", b"item")):
        ...     told = browsing.view("a.org", 60.0 * second, page, None, referrers=False)
        >>> told
        (2, False, [(2, 1)])

        Then the item is viewed from the home page, which was seen again in a cache: it is one link away only.

        >>> browsing.view("a.org", 200.0, b"item", b"home", referrers=True)
        (1, False, [(0, 1), (2, -1), (1, 1), (1, 1)])
        """
        if referrer is not None:
            self.referred = True
        came_from = referrer if isinstance(referrer, bytes) and referrer != page else None
        trail = self.trails.pop(site, None)
        if trail is None or not trail.goes_on(time, page, referrer, referrers):
            return self._begin(site, time, page, came_from)
        trail.last = time
        self.trails[site] = trail
        changes: Changes = []
        if came_from is None:
            trail.arrive(page, changes)
        elif trail.frame(time, page, came_from):
            return None
        else:
            if trail.numbers.get(came_from) != trail.at:
                trail.arrive(came_from, changes)
            trail.follow(page, changes)
        trail.shown = time
        return trail.level, False, changes

    def _begin(self, site: str, time: float, page: bytes, came_from: bytes | None) -> tuple[int, bool, Changes]:
        """Begin a session with a page, or with the page of the site that refers to it."""
        self._make_room(time)
        changes = [(0, 1)]
        trail = Trail(time, time, 0, 1, {came_from or page: 0}, [0], [1])
        if came_from is not None:
            trail.follow(page, changes)
        self.trails[site] = trail
        return trail.level, True, changes

    def _make_room(self, now: float) -> None:
        """Forget what can't go on, and what is one site too many, those longest without a view first."""
        while self.trails:
            site = next(iter(self.trails))
            if len(self.trails) < MOST_SITES and now - self.trails[site].last <= PAUSE:
                return
            del self.trails[site]
