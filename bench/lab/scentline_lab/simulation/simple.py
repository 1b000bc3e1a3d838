"""Crawlers that go by links alone, or by the truth: chance, Cho's orderings, OPIC, tag paths, the oracle."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from scentline.models.ordering import Crawled
from scentline.models.page import Page
from scentline.models.url import host
from scentline_lab.order.crawl import Estimate
from scentline_lab.simulation.virtual import Choice, Ready, Task, anywhere

_Array = npt.NDArray[Any]
_ROOM = 1024


def grown(values: _Array, size: int, new: float = 0.0) -> _Array:
    """Return ``values`` lengthened to ``size``, each new one being ``new``."""
    missing = size - len(values)
    return np.concatenate((values, np.full(missing, new, values.dtype))) if missing > 0 else values


class Board:
    """Numbers URLs, the rows, as discovered, and takes the highest score that is open; a new row's is 0."""

    def __init__(self, logged: Iterable[str] = ()) -> None:
        self._rows: dict[str, int] = {}
        self._urls: list[str] = []
        self._scores, self._open = np.zeros(_ROOM), np.zeros(_ROOM, np.bool_)
        self._closed: set[str] = set()
        self._late: dict[str, None] = dict.fromkeys(logged)

    def __len__(self) -> int:
        return len(self._urls)

    def row(self, url: str) -> int:
        row = self._rows.setdefault(url, len(self._urls))
        if row == len(self._urls):
            self._urls.append(url)
            if row == len(self._open):
                self._scores, self._open = grown(self._scores, 2 * row), grown(self._open, 2 * row)
            self._open[row] = url not in self._closed
        return row

    def put(self, url: str, score: float) -> None:
        row = self.row(url)
        self._scores[row] = score

    def close(self, url: str) -> None:
        self._closed.add(url)
        self._late.pop(url, None)
        if url in self._rows:
            self._open[self._rows[url]] = False

    def closed(self, url: str) -> bool:
        return url in self._closed

    def score(self, scores: Sequence[float] | _Array) -> None:
        self._scores[: len(self._urls)] = scores

    def scored(self, url: str) -> float:
        return float(self._scores[self._rows[url]]) if url in self._rows else 0.0

    def top(self) -> float | None:
        return float(self._scores[self._open].max(initial=-np.inf)) if self._open.any() else None

    def add_seed(self, url: str) -> None:
        self.row(url)

    def failed(self, url: str) -> None:
        self.close(url)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        scores = np.where(self._open, self._scores, -np.inf)
        rows = [scores.argmax()] if ready is anywhere else np.argsort(-scores, kind="stable")
        ranked = chain((self._urls[row] for row in rows if self._open[row]), self._late)
        url = next((url for url in ranked if ready(host(url))), None)
        if url is None:
            return None
        self.close(url)
        return Choice(url)


class Ranked(Board):
    """Fetches the URL of the highest score, equal ones as discovered; those that only the log knows last."""

    def __init__(self, score: Callable[[str], float], logged: Iterable[str] = ()) -> None:
        super().__init__(logged)
        self._score = score

    def add_seed(self, url: str) -> None:
        self.put(url, self._score(url))

    def judged(self, page: Page, holds: bool) -> None:
        self.close(page.url)
        for link in page.links:
            self.add_seed(link.url)


class BreadthFirst(Ranked):
    """First found, first fetched (Cho 1998, Figure 2, 1)."""

    def __init__(self, task: Task) -> None:
        super().__init__(lambda url: 0.0, task.trace.accesses)


class Drawn:
    """URLs that chance draws from; the last takes the place of one that is taken, so that it costs O(1)."""

    def __init__(self) -> None:
        self._urls: list[str] = []
        self._places: dict[str, int] = {}

    def add(self, url: str) -> None:
        self._places[url] = len(self._urls)
        self._urls.append(url)

    def discard(self, url: str) -> None:
        place = self._places.pop(url, None)
        if place is not None and (last := self._urls.pop()) != url:
            self._urls[place], self._places[last] = last, place

    def on(self, ready: Ready) -> Sequence[str]:
        return self._urls if ready is anywhere else [url for url in self._urls if ready(host(url))]


class Chance:
    """Draws uniformly from the log's URLs and the link targets: the base rate of what can be reached."""

    def __init__(self, task: Task) -> None:
        self._random = task.random
        self._open, self._known = Drawn(), set[str]()
        for url in task.trace.accesses:
            self.add_seed(url)

    def add_seed(self, url: str) -> None:
        if url not in self._known:
            self._known.add(url)
            self._open.add(url)

    def judged(self, page: Page, holds: bool) -> None:
        self.failed(page.url)
        for link in page.links:
            self.add_seed(link.url)

    def failed(self, url: str) -> None:
        self._known.add(url)
        self._open.discard(url)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        urls = self._open.on(ready)
        if not urls:
            return None
        url = self._random.choice(urls)
        self.failed(url)
        return Choice(url, explored=True)


class Estimated(Board):
    """Orders candidates by IB'(P), `Backlinks`, or IR'(P), `Rank` (Cho 1998, Figure 2, 2 and 3)."""

    def __init__(self, estimate: Estimate[str], task: Task) -> None:
        super().__init__(task.trace.accesses)
        self._estimate = estimate
        self._found: dict[str, None] = {}

    def add_seed(self, url: str) -> None:
        self._found[url] = None
        self.put(url, self._estimate.value(url))

    def judged(self, page: Page, holds: bool) -> None:
        self.close(page.url)
        distinct = dict.fromkeys(link.url for link in page.links if link.url != page.url)
        changed = self._estimate.crawled(Crawled(page.url, tuple(distinct)))
        for url in (*changed, *(self._found if self._estimate.sweep() else ())):
            self.add_seed(url)


class Opic(Board):
    """Orders candidates by their cash (Abiteboul, Preda, Cobena, WWW 2003, sections 3 and 4: OPIC, greedy).

    Seeds start with equal cash. A fetched page hands its own on in equal shares to the distinct pages that it
    links to and the virtual page; a URL without a page to the latter alone. The virtual page hands its cash to
    all URLs alike when it is the richest. Pages are fetched once, so the paper's history is not needed.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task.trace.accesses)
        self._cash, self._virtual = np.zeros(0), 0.0

    def add_seed(self, url: str) -> None:
        row = self._row(url)
        self._cash[row] = 1.0

    def judged(self, page: Page, holds: bool) -> None:
        distinct = dict.fromkeys(link.url for link in page.links if link.url != page.url)
        self._hand_on(page.url, [*map(self._row, distinct)])

    def failed(self, url: str) -> None:
        self._hand_on(url, [])

    def next(self, ready: Ready = anywhere) -> Choice | None:
        self.score(self._cash)
        best = self.top()
        if best is not None and self._virtual > best:
            self._cash += self._virtual / len(self._cash)
            self._virtual = 0.0
            self.score(self._cash)
        return super().next(ready)

    def _row(self, url: str) -> int:
        row = self.row(url)
        self._cash = grown(self._cash, len(self))
        return row

    def _hand_on(self, url: str, targets: list[int]) -> None:
        self.close(url)
        row = self._row(url)
        share = self._cash[row] / (len(targets) + 1)
        self._cash[row] = 0.0
        self._cash[targets] += share
        self._virtual += share


#: The least likeness of a path to its arm, as in the paper, and the weight of the exploration.
LIKE, EXPLORATION = 0.75, 0.1
_NUMBERS = 4096  # what pairs of elements are projected onto, as in the paper


@dataclass
class _Arm:
    open: Drawn = field(default_factory=Drawn)
    choices: int = 0
    rewards: int = 0

    def bound(self, choices: int, exploration: float) -> float:
        n = self.choices
        return self.rewards / n + exploration * math.sqrt(math.log(choices) / n) if n else math.inf


class TagPaths:
    """Draws from the arm of the highest bound, after SB-CLASSIFIER (Gauquier and others, arXiv 2602.11874).

    A new URL belongs to the arm that the tag path of its first link is most like (`Arms`). Chance draws in the
    arm of the highest r + ``exploration`` sqrt(ln t / n), r being the mean reward of n of t choices: AUER, for
    bandits whose arms may sleep (Kleinberg, Niculescu-Mizil, Sharma 2010). The reward is the verdict; the
    paper's is the number of files linked to, so its weight, 2 sqrt(2), is too large. The log's URLs come last.
    """

    def __init__(self, task: Task, exploration: float = EXPLORATION) -> None:
        self._random, self._exploration, self._choices = task.random, exploration, 0
        self._paths, self._seeds, self._arms = Arms(LIKE), _Arm(), list[_Arm]()
        self._logged = dict.fromkeys(task.trace.accesses)
        self._known: set[str] = set()  # given to an arm or asked for
        self._flying: dict[str, _Arm] = {}

    def add_seed(self, url: str) -> None:
        self._known.add(url)
        self._seeds.open.add(url)

    def judged(self, page: Page, holds: bool) -> None:
        self._reward(page.url, holds)
        for link, path in zip(page.links, page.paths, strict=True):
            if link.url not in self._known:
                self._known.add(link.url)
                number = self._paths.of(path)
                self._arms += [_Arm()] * (number == len(self._arms))
                self._arms[number].open.add(link.url)

    def failed(self, url: str) -> None:
        self._reward(url, False)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        arms = [self._seeds] if self._seeds.open.on(ready) else self._arms
        awake = [(arm, urls) for arm in arms if (urls := arm.open.on(ready))]
        if awake:
            best, urls = max(awake, key=lambda found: found[0].bound(self._choices, self._exploration))
            url = self._random.choice(urls)
            best.open.discard(url)
            best.choices += 1
            self._choices += 1
            self._flying[url] = best
            return Choice(url)
        late = next((url for url in self._logged if url not in self._known and ready(host(url))), None)
        self._known.update(() if late is None else (late,))
        return None if late is None else Choice(late)

    def _reward(self, url: str, holds: bool) -> None:
        self._known.add(url)
        self._seeds.open.discard(url)
        if (arm := self._flying.pop(url, None)) is not None:
            arm.rewards += holds


class Arms:
    """Tag paths by likeness: each belongs to the arm whose mean has the highest cosine, below ``like`` to a new
    one. A path is the bag of its pairs of consecutive elements and ends, hashed as in the paper.
    """

    def __init__(self, like: float) -> None:
        self._like = like
        # By arm the sum of its paths, which points where their mean does, and the square of the sum's length.
        self._sums, self._squares = np.zeros((0, _NUMBERS)), np.zeros(0)

    def of(self, path: str) -> int:
        """Return the number of a path's arm, which moves towards it."""
        pairs = Counter(crc32(" ".join(pair).encode()) % _NUMBERS for pair in pairwise(("", *path.split(), "")))
        columns, values = list(pairs), np.array(list(pairs.values())) / pairs.total()
        square = float((values**2).sum())
        cosines = self._sums[:, columns] @ values / np.sqrt(self._squares * square)
        arm = int(cosines.argmax()) if len(cosines) else 0
        if not len(cosines) or cosines[arm] < self._like:
            arm = len(cosines)
            self._sums, self._squares = np.pad(self._sums, ((0, 1), (0, 0))), np.pad(self._squares, (0, 1))
        self._squares[arm] += square + 2 * float(self._sums[arm, columns] @ values)
        self._sums[arm, columns] += values
        return arm
