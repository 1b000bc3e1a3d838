"""The sessions of a site's users, from the accesses of its log as they come."""

from typing import Final, NamedTuple

from scentline.models.depth.trail import PAUSE, Trail

#: Sessions that may be open at a time; beyond them the one longest without an access is ended.
OPEN: Final = 10_000


class Session(NamedTuple):
    """A finished session."""

    #: The level of each view.
    levels: tuple[int, ...]
    #: The page that it began with.
    start: str
    #: The views that the log lacks.
    put_back: int


class _Open:
    """A session that goes on: its trail, and the number of each page viewed."""

    def __init__(self, time: float, page: str, referrer: str | None) -> None:
        came_from = referrer if referrer and referrer != page else None
        self.start = came_from or page
        self.trail = Trail.begin(time, page.encode(), came_from.encode() if came_from else None, [])
        self.order = [0] if came_from is None else [0, 1]
        self.put_back = len(self.order) - 1

    def view(self, time: float, page: str, referrer: str | None) -> None:
        trail, before = self.trail, self.trail.seen
        came_from = referrer.encode() if referrer and referrer != page else None
        trail.view(time, page.encode(), came_from, [])
        if came_from is not None and trail.seen - before == 2:
            self.order.append(trail.numbers[came_from])
            self.put_back += 1
        if trail.seen > before:
            self.order.append(trail.at)

    def end(self) -> Session:
        return Session(tuple(self.trail.levels[number] for number in self.order), self.start, self.put_back)


class Sessions:
    """Groups the accesses of a site into sessions, as Baeza-Yates and Castillo 2004, section 4, do.

    A session (`models.depth.trail.Trail`) is what one visitor (user and agent) views with pauses of 30 minutes
    at most. Until a referrer was seen, a log is taken to have none, and each view to follow the one before.

    A duplicate counts as the page that it is like (section 5): visiting it is a move back. So the caller gives
    all copies of a page one name.

    Memory is bounded: 10,000 open sessions of 500 views at most.

    >>> sessions = Sessions()
    >>> for second, page in enumerate(("/", "/a", "/b", "/c")):
    ...     ended = sessions.view("ann", 60.0 * second, page, None)
    >>> ended = sessions.view("ann", 300.0, "/c", "/")
    >>> sessions.finish()
    [Session(levels=(0, 1, 2, 1, 0, 1), start='/', put_back=1)]
    """

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._referrers = False

    def view(self, visitor: str, time: float, page: str, referrer: str | None) -> list[Session]:
        """Add a page view, and return the sessions that have ended by then.

        ``time`` is in seconds; accesses may come out of order by less than a pause. ``referrer`` is a page of
        the site, `models.depth.trail.ELSEWHERE`, or None where none was sent.
        """
        self._referrers = self._referrers or referrer is not None
        ended = []
        known = self._open.pop(visitor, None)
        from_page = referrer.encode() if referrer else referrer
        if known is not None and known.trail.goes_on(time, page.encode(), from_page, self._referrers):
            known.view(time, page, referrer)
        else:
            ended += [] if known is None else [known.end()]
            known = _Open(time, page, referrer)
        self._open[visitor] = known
        # Either way: a line with a wrong time, far ahead, must not end all sessions that come after it.
        while len(self._open) > OPEN or abs(time - next(iter(self._open.values())).trail.last) > PAUSE:
            ended.append(self._oldest())
        return ended

    def finish(self) -> list[Session]:
        """End all sessions, and return them."""
        return [self._oldest() for _ in range(len(self._open))]

    def _oldest(self) -> Session:
        return self._open.pop(next(iter(self._open))).end()
