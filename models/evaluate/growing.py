"""A log that grows: what `models.crowd.trace.Trace` says of a whole one, after each access."""

from collections import defaultdict

from models.crowd.together import Pair, arrive
from models.crowd.trace import Step
from models.crowd.window import Visit
from models.evaluate.unions import Places


class GrowingTrace:
    """Accesses, visitors and neighbours of pages: at any time those of a `Trace` of the steps so far.

    Bounds are those of a `Trace`. A neighbour that is displaced never returns, because those that displaced it
    stay: so what was known of it may be forgotten.

    >>> trace = GrowingTrace()
    >>> trace.add(Step("ann", "a", 1.0)), sorted(trace.add(Step("ann", "b", 2.0)))
    ({'a'}, ['a', 'b'])
    >>> trace.together["a"], trace.visitors["b"]
    ({'b': (1, 6)}, ('ann',))
    """

    def __init__(self, *, reach: int = 5, users: int = 32, others: int = 64, window: int = 64) -> None:
        self.accesses: dict[str, int] = {}
        self.visitors: dict[str, tuple[str, ...]] = {}
        self.together: dict[str, dict[str, tuple[int, int]]] = {}
        self._windows: dict[str, list[Visit]] = defaultdict(list)
        self._places = Places()
        self._reach = reach
        self._users = users
        self._others = others
        self._window = window

    def add(self, step: Step) -> set[str]:
        """Take in an access; return the pages of which more, or something else, is known now."""
        visit = Visit(step.time, step.url)
        pairs = arrive(self._windows[step.user], visit, step.referrer, limit=self._window, reach=self._reach)
        if pairs is None:
            return set()
        self.accesses[step.url] = self.accesses.get(step.url, 0) + 1
        users = {*self.visitors.get(step.url, ()), step.user}
        self.visitors[step.url] = tuple(sorted(users)[: self._users])
        for pair in pairs:
            self._tell(pair.url, pair.other, pair)
            self._tell(pair.other, pair.url, pair)
        return {step.url, *(pair.url for pair in pairs), *(pair.other for pair in pairs)}

    def _tell(self, url: str, other: str, pair: Pair) -> None:
        cells = self.together.setdefault(url, {})
        times, sixths = cells.get(other, (0, 0))
        cells[other] = (times + pair.times, sixths + pair.sixths)
        if len(cells) > self._others:
            places, place = self._places, self._places[url]
            del cells[max(cells, key=lambda name: places[name] ^ place)]
