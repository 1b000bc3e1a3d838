"""A user's latest accesses, bounded and in time order, however late or often their log lines come."""

from bisect import bisect_left

import msgspec


class Visit(msgspec.Struct, array_like=True, frozen=True, order=True):
    """One access of a user: ``time`` in seconds since the epoch (finite), canonical ``url``.

    Visits are ordered by time and, within one instant, by URL.
    """

    time: float
    url: str


def insert(window: list[Visit], visit: Visit, limit: int) -> int | None:
    """Put ``visit`` into the ordered ``window`` and return its place there.

    None means a repeated line: the window holds a visit of the same time and URL. Beyond ``limit`` (at least
    1) the oldest visit leaves. A visit older than all of a full window is not kept and taken for new (place
    -1), since the window can't tell any more: forgetting a page seen late would be worse than seeing it
    twice. Hence the window is always the ``limit`` latest distinct visits, whatever the order they came in.
    O(log n) comparisons.

    >>> window: list[Visit] = []
    >>> [insert(window, Visit(time, "http://example.org/"), 2) for time in (30.0, 10.0, 30.0, 20.0, 5.0)]
    [0, 0, None, 0, -1]
    >>> [visit.time for visit in window]
    [20.0, 30.0]
    """
    place = bisect_left(window, visit)
    if place < len(window) and window[place] == visit:
        return None
    window.insert(place, visit)
    excess = len(window) - limit
    if excess > 0:
        del window[:excess]
        place -= excess
    return max(place, -1)
