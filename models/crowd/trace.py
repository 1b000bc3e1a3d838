"""A whole log at once: who visited which page, and which pages lie together. Read-only, shared by crawls."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from models.crowd.together import Pair, arrive
from models.crowd.window import Visit
from models.interest.parents import rank
from models.url import identifier


class Step(NamedTuple):
    """One access of a log: user, canonical URL, seconds since the epoch, the page it was reached from."""

    user: str
    url: str
    time: float
    referrer: str | None = None


class Trace:
    """What a log says of its pages, by canonical URL.

    ``accesses``: how often a page was visited. ``visitors``: the first by name of its distinct users, at most
    ``users``. ``together``: for each page the others within ``reach`` steps of the same user, as (access
    pairs within the region, sixths of co-visits); at most ``others``, of lowest rank
    (`models.interest.parents`). ``keepers`` is the same from the other side: the pages that keep a page.
    A user's pairs are those within the last ``window`` accesses.
    """

    def __init__(
        self, steps: Iterable[Step], *, reach: int = 5, users: int = 32, others: int = 64, window: int = 64
    ) -> None:
        self.accesses: dict[str, int] = {}
        self.together: dict[str, dict[str, tuple[int, int]]] = {}
        visitors: dict[str, set[str]] = defaultdict(set)
        windows: dict[str, list[Visit]] = defaultdict(list)
        for step in steps:
            visit = Visit(step.time, step.url)
            pairs = arrive(windows[step.user], visit, step.referrer, limit=window, reach=reach)
            if pairs is None:
                continue
            self.accesses[step.url] = self.accesses.get(step.url, 0) + 1
            visitors[step.url].add(step.user)
            for pair in pairs:
                self._add(pair)
        self._bound(others)
        self.keepers: dict[str, dict[str, tuple[int, int]]] = {}
        for url, cells in self.together.items():
            for other, cell in cells.items():
                self.keepers.setdefault(other, {})[url] = cell
        self.visitors = {url: tuple(sorted(names)[:users]) for url, names in visitors.items()}

    def _add(self, pair: Pair) -> None:
        for one, two in ((pair.url, pair.other), (pair.other, pair.url)):
            cells = self.together.setdefault(one, {})
            times, sixths = cells.get(two, (0, 0))
            cells[two] = (times + pair.times, sixths + pair.sixths)

    def _bound(self, others: int) -> None:
        names = {url: identifier(url) for url in self.together}
        for url, cells in self.together.items():
            if len(cells) > others:
                page = names[url]
                nearest = sorted(cells, key=lambda other: rank(names[other], page))[:others]
                self.together[url] = {other: cells[other] for other in nearest}
