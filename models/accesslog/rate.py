"""Who views how many pages in a minute, by the times of a log's lines and nothing else."""

import math

#: Viewers counted in one minute; beyond them nobody more is.
KEPT = 50_000
#: Clocks told apart: machines whose lines meet in one log, and lines that were given a wrong time.
CLOCKS = 4
#: Minutes by which a line may lie beside a clock that it is still taken to be of.
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
    """Counts views of the minute that is open; a late line counts to it as well.

    A line whose time is more than an hour away, in the future or the past, opens a minute of its own and leaves
    the other one open: a wrong time neither holds a minute open nor empties it. The last four are kept.

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
