"""Daily clicks of pages, kept in memory as a log is read, within bounds (Wang 2007, section 3)."""

from collections.abc import Mapping
from heapq import nsmallest

from scentline.models.news.clicks import Criterion, History, Standing, day_of, standing


class DailyClicks:
    """The daily clicks of each page in the last ``window`` days; a user counts once a page and day.

    The newest day is that of the latest access: who feeds it keeps times of the future away. Accesses may come
    in any order within the last ``open_days`` days, whose visitors are remembered; later ones are ``late`` and
    not counted. So the counts equal a recount of all accesses but the late ones, whatever their order, as long
    as no bound is reached:

    - ``pages``: beyond it a tenth of the pages is ``forgotten``, those with the fewest clicks a day of their
      life, which are the last to be judged. One that is clicked again is born again.
    - ``visitors``: beyond so many (page, user, day) the days before an access are closed early, the oldest
      first; when that does not help, it is ``uncounted``.

    With a window of 60 days a page takes up to 640 bytes beside its URL; a visitor about 90, and the first of a
    page and day 220 more. That makes 64 MB and 130 MB at most.

    >>> clicks = DailyClicks()
    >>> [clicks.add("http://a.org/", user, 0.0) for user in ("ann", "bob", "ann")]
    [True, True, False]
    >>> clicks.histories
    {'http://a.org/': History(first=0, clicks=[2])}
    """

    def __init__(
        self, window: int = 60, *, open_days: int = 2, pages: int = 100_000, visitors: int = 1_000_000
    ) -> None:
        if not 1 <= open_days <= window:
            raise ValueError(f"daily clicks: {open_days} open days, expected 1 to the window of {window}")
        if min(pages, visitors) < 1:
            raise ValueError(
                f"daily clicks: room for {pages} pages and {visitors} visitors, expected 1 at least"
            )
        self.window = window
        self.newest: int | None = None
        self.late = self.forgotten = self.uncounted = 0
        self._open_days, self._pages, self._limit = open_days, pages, visitors
        self._histories: dict[str, History] = {}
        self._visitors: dict[int, dict[str, set[str]]] = {}
        self._held = 0

    @property
    def histories(self) -> Mapping[str, History]:
        """The history of each page with a click in the window, not to be changed."""
        return self._histories

    def add(self, url: str, user: str, time: float) -> bool:
        """Take in an access at ``time``, in seconds since the epoch, and tell whether it counts as a click."""
        day = day_of(time)
        self._advance(day)
        if day not in self._visitors:
            self.late += 1
            return False
        if user in self._visitors[day].get(url, ()):
            return False
        if not self._room(day):
            self.uncounted += 1
            return False
        self._count(url, day)
        self._visitors[day].setdefault(url, set()).add(user)
        self._held += 1
        return True

    def _advance(self, day: int) -> None:
        """Move the window on, if ``day`` is a newer one than any before."""
        first_open = day - self._open_days + 1
        if self.newest is not None:
            if day <= self.newest:
                return
            for old in [opened for opened in self._visitors if opened < first_open]:
                self._close(old)
            # A day that was closed early stays closed.
            first_open = max(first_open, self.newest + 1)
        self.newest = day
        for opened in range(first_open, day + 1):
            self._visitors[opened] = {}
        self._slide(day - self.window + 1)

    def _slide(self, start: int) -> None:
        for url, history in [item for item in self._histories.items() if item[1].first < start]:
            history.drop_before(start)
            if not history.clicks:
                del self._histories[url]

    def _room(self, day: int) -> bool:
        """Close days before ``day`` until there is room for one more visitor, and tell whether there is."""
        while self._held >= self._limit and (oldest := min(self._visitors)) < day:
            self._close(oldest)
        return self._held < self._limit

    def _close(self, day: int) -> None:
        self._held -= sum(map(len, self._visitors.pop(day).values()))

    def _count(self, url: str, day: int) -> None:
        history = self._histories.get(url)
        if history is not None:
            history.count(day)
            return
        if len(self._histories) >= self._pages:
            self._forget(max(1, self._pages // 10))
        self._histories[url] = History(day, [1])

    def _forget(self, count: int) -> None:
        end = max(self._visitors) + 1
        rarest = nsmallest(
            count, self._histories.items(), key=lambda item: (item[1].total / (end - item[1].first), item[0])
        )
        for url, _ in rarest:
            del self._histories[url]
            for pages in self._visitors.values():
                self._held -= len(pages.pop(url, ()))
        self.forgotten += len(rarest)


def standings(histories: Mapping[str, History], last: int, criterion: Criterion) -> dict[str, Standing]:
    """Judge every page born by the end of day ``last``; what came later is not looked at."""
    return {
        url: standing(history.until(last), last, criterion)
        for url, history in histories.items()
        if history.first <= last
    }
