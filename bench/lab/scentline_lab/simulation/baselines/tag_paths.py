"""The policy `tag-paths`: links with like tag paths are an arm of a bandit, whose hits are its rewards."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from zlib import crc32

import numpy as np

from scentline.models.page import Page
from scentline.models.url import host
from scentline_lab.simulation.virtual import Choice, Ready, Task, anywhere

#: Similarity from which on a path belongs to an arm, as in the paper; the weight of the exploration.
LIKE = 0.75
EXPLORATION = 0.1
#: What pairs of elements are projected onto, as in the paper.
_NUMBERS = 4096


class TagPaths:
    """Draws from the arm of the highest bound, after SB-CLASSIFIER (Gauquier and others, arXiv 2602.11874).

    A new URL belongs to the arm that the tag path of its first link is most like (`Arms`). The next is drawn by
    chance from the arm of the highest r + ``exploration`` sqrt(ln t / n), r being the mean reward of n of t
    choices: AUER, for bandits whose arms may sleep (Kleinberg, Niculescu-Mizil, Sharma 2010), as these do
    without a link.

    The paper crawls one site for files; a classifier of URLs tells these, and a page's reward is how many it
    links to. Here no URL tells what satisfies a predicate, and the reward is the page's own verdict: so much
    less than a number of files that the paper's weight, 2 sqrt(2), would have it explore alone. URLs that only
    the log knows have no path and come last.
    """

    def __init__(self, task: Task, exploration: float = EXPLORATION) -> None:
        self._random = task.random
        self._exploration = exploration
        self._paths = Arms(LIKE)
        self._seeds = _Arm()
        self._arms: list[_Arm] = []
        self._logged = dict.fromkeys(task.trace.accesses)
        # What was given to an arm or asked for; the arm of what is in flight.
        self._known: set[str] = set()
        self._flying: dict[str, _Arm] = {}
        self._choices = 0

    def add_seed(self, url: str) -> None:
        self._known.add(url)
        self._seeds.open.append(url)

    def judged(self, page: Page, holds: bool) -> None:
        self._reward(page.url, holds)
        for link, path in zip(page.links, page.paths, strict=True):
            if link.url not in self._known:
                self._known.add(link.url)
                number = self._paths.of(path)
                if number == len(self._arms):
                    self._arms.append(_Arm())
                self._arms[number].open.append(link.url)

    def failed(self, url: str) -> None:
        self._reward(url, False)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        of_seeds = self._seeds.places(ready)
        arms = [self._seeds] if of_seeds else self._arms
        awake = [(arm, places) for arm in arms if (places := arm.places(ready))]
        if not awake:
            late = (url for url in self._logged if url not in self._known and ready(host(url)))
            for url in late:
                self._known.add(url)
                return Choice(url)
            return None
        best, places = max(awake, key=lambda found: found[0].bound(self._choices, self._exploration))
        url = best.draw(self._random.choice(places))
        self._choices += 1
        self._flying[url] = best
        return Choice(url)

    def _reward(self, url: str, holds: bool) -> None:
        self._known.add(url)
        if url in self._seeds.open:
            self._seeds.open.remove(url)
        arm = self._flying.pop(url, None)
        if arm is not None:
            arm.rewards += holds


@dataclass
class _Arm:
    """URLs that may be chosen, and how often that was done and rewarded; one in flight has no reward yet."""

    open: list[str] = field(default_factory=list)
    choices: int = 0
    rewards: int = 0

    def bound(self, choices: int, exploration: float) -> float:
        """Return the upper bound of the arm's mean reward after ``choices`` of all arms."""
        if not self.choices:
            return math.inf
        return self.rewards / self.choices + exploration * math.sqrt(math.log(choices) / self.choices)

    def places(self, ready: Ready) -> Sequence[int]:
        if ready is anywhere:
            return range(len(self.open))
        return [place for place, url in enumerate(self.open) if ready(host(url))]

    def draw(self, place: int) -> str:
        """Take the URL in a place; the last one takes that."""
        self.choices += 1
        url, self.open[place] = self.open[place], self.open[-1]
        self.open.pop()
        return url


class Arms:
    """Tag paths by likeness: each belongs to the arm of the nearest mean, or below ``like`` to a new one.

    A path is the bag of its pairs of elements that follow each other, its ends included, projected as in the
    paper onto 4,096 numbers, of which pairs may share one; the nearest mean is that of the highest cosine.
    """

    def __init__(self, like: float) -> None:
        self._like = like
        # For each arm the sum of its paths, which points where their mean does, and the square of its length.
        self._sums = np.zeros((0, _NUMBERS))
        self._squares = np.zeros(0)

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
