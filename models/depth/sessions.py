"""The sessions of a site's users, from the accesses of its log as they come."""

from typing import Final

from models.depth.walk import Session, Walk

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
