"""The policy `pagerank`: the page with the highest PageRank in the graph known so far comes first."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from models.evaluate.baselines.heap import Heap
from models.evaluate.crawler import Choice, Task
from models.page import Page

#: The paper's d, in all of its experiments (Cho 1998, section 4).
DAMPING = 0.9
#: Pages between two computations.
EVERY = 100
# The iteration ends when the ranks moved by less than this a node. Every step moves them by at most d times
# as far as the one before, so that the bound on the steps is only there for a d near 1.
_TOLERANCE = 1e-10
_STEPS = 1000


def pagerank(
    sources: Sequence[int],
    targets: Sequence[int],
    nodes: int,
    damping: float = DAMPING,
    start: npt.NDArray[np.float64] | None = None,
) -> npt.NDArray[np.float64]:
    """Return the PageRank IR of each of ``nodes`` nodes, shape (nodes,), mean 1.

    Edge i goes from ``sources[i]`` to ``targets[i]``, each edge at most once. A node without out-links links
    to every node (Cho 1998, section 2, IR(P)). ``start`` is where the iteration starts, with mean 1, such
    as earlier ranks; by default every rank is 1.

    >>> pagerank([0, 1, 1], [1, 0, 2], 3, damping=0.5).round(3).tolist()
    [0.938, 1.125, 0.938]
    """
    source, target = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
    out = np.bincount(source, minlength=nodes)
    leaves = out == 0
    part = damping / np.maximum(out, 1)
    ranks = np.ones(nodes) if start is None else start
    for _ in range(_STEPS):
        spread = 1 - damping + damping * ranks[leaves].sum() / nodes
        found = spread + np.bincount(target, (ranks * part)[source], minlength=nodes)
        moved = float(np.abs(found - ranks).sum())
        ranks = found
        if moved < _TOLERANCE * nodes:
            break
    return ranks


class PageRank:
    """Orders candidates by IR'(P), PageRank over fetched pages and their targets (Cho 1998, Figure 2, 3).

    It is worked out anew every ``every`` pages. Between, a candidate keeps its rank, and a new one has what
    one step of the iteration would give it: the sum of its in-links' shares, and what every page has.
    """

    def __init__(self, task: Task, every: int = EVERY, damping: float = DAMPING) -> None:
        self._heap = Heap(task.trace.accesses)
        self._every = every
        self._damping = damping
        self._nodes: dict[str, int] = {}
        self._names: list[str] = []
        self._ranks: list[float] = []
        self._sources: list[int] = []
        self._targets: list[int] = []
        self._settled = 0  # nodes that the last computation knew
        self._spread = 1.0  # what every page has; all ranks are 1 before there are links
        self._fetched = 0

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate."""
        self._heap.put(url, self._ranks[self._node(url)])

    def judged(self, page: Page, holds: bool) -> None:
        """Add the page's links to the graph; the verdict is of no account."""
        self._heap.close(page.url)
        source = self._node(page.url)
        distinct = dict.fromkeys(link.url for link in page.links)
        targets = [self._node(url) for url in distinct if url != page.url]
        self._sources += [source] * len(targets)
        self._targets += targets
        self._fetched += 1
        if self._fetched % self._every:
            self._share_out(source, targets)
        else:
            self._work_out()

    def failed(self, url: str) -> None:
        """Take a URL out for good."""
        self._heap.close(url)

    def next(self) -> Choice | None:
        """Return the candidate of the highest rank."""
        url = self._heap.best()
        return None if url is None else Choice(url)

    def _node(self, url: str) -> int:
        node = self._nodes.get(url)
        if node is None:
            node = self._nodes[url] = len(self._names)
            self._names.append(url)
            self._ranks.append(self._spread)
        return node

    def _share_out(self, source: int, targets: list[int]) -> None:
        share = self._damping * self._ranks[source] / len(targets) if targets else 0.0
        for target in targets:
            if target >= self._settled:
                self._ranks[target] += share
                self._heap.put(self._names[target], self._ranks[target])

    def _work_out(self) -> None:
        nodes = len(self._names)
        start = np.asarray(self._ranks)
        ranks = pagerank(self._sources, self._targets, nodes, self._damping, start / start.mean())
        linking = np.zeros(nodes, np.bool_)
        linking[self._sources] = True
        self._spread = 1 - self._damping + self._damping * float(ranks[~linking].sum()) / nodes
        self._ranks = ranks.tolist()
        self._settled = nodes
        for url, rank in zip(self._names, self._ranks, strict=True):
            self._heap.put(url, rank)
