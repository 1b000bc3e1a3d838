"""The paper's policies for a virtual crawl: linkage, collaborative, and both combined (Aggarwal 2004)."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Literal

from scentline.models.frontier.queue import UNLIMITED, CandidateQueue
from scentline.models.interest.features import BASE
from scentline.models.interest.ratio import Base, Denominator
from scentline.models.learner.lessons import LinkWords
from scentline.models.learner.named import Naming
from scentline.models.page import Page
from scentline.models.reuse import Learned, learned
from scentline.models.url import host
from scentline_lab.simulation.crawler import Choice, Ready, Task, anywhere
from scentline_lab.simulation.factors import Linked, Visited, Weights
from scentline_lab.simulation.tally import NAME, Counted, Places

PaperPolicy = Literal["linkage", "collaborative", "combined"]

#: A bound that nothing reaches.
UNBOUNDED = 1 << 62

#: Decimal digits of a priority, so that sums of the same logs in another order are equal.
DIGITS = 9


class PaperCrawler:
    """One of the paper's policies at work for one predicate; no probability is given.

    The priority of a candidate is log I^L of links, weighted, log I^C of the log (14), or their sum. Candidates
    are seeds, link targets and all pages of the log; or a policy's ``own`` alone: seeds and, of the linkage
    policy, link targets, of the collaborative one the pages of the log, of the combined one these and the links
    of pages that satisfy (section 4). While there is no hit all logs are 0: candidates that are not ``own`` go
    by how far URLs and links name the topic (`models.learner.named.Naming`). A candidate is scored when a
    judged page links to it, is a near sibling, or satisfies and was visited near by; the ``rescored`` best are
    scored again at each choice, ratios when the judged pages grew by more than the share ``drift``. With the
    ``state`` of an earlier crawl it goes on.
    """

    def __init__(
        self,
        task: Task,
        policy: PaperPolicy,
        parents: int = 32,
        t: float = 2.0,
        denominator: Denominator = "binomial",
        *,
        weights: Weights = (1.0, 1.0, 1.0, 1.0),
        own: bool = False,
        rescored: int = 50,
        drift: float = 0.02,
        state: Learned | None = None,
    ) -> None:
        places = Places()
        links = Linked(parents, t, denominator, places, weights)
        crowd = Visited(task.trace, t, denominator, places)
        parts: dict[PaperPolicy, tuple[Linked | Visited, ...]] = {
            "linkage": (links,), "collaborative": (crowd,), "combined": (links, crowd),
        }  # fmt: skip
        self._parts = parts[policy]
        self._rescored, self._drift = rescored, drift
        self._base, self._taken = Base(), 0
        self._naming = Naming(() if own else task.topic)
        #: By URL how far the best of the links to it names the topic, until there is a hit.
        self._named: dict[str, float] = {}
        self._fresh: set[str] = set()
        self._left: set[str] = set()
        self._seeds: dict[str, None] = {}
        self._queue = CandidateQueue(UNLIMITED, UNLIMITED)
        #: The number of each URL in the order of discovery.
        self._found: dict[str, int] = {}
        self._follows: tuple[bool, ...] = (True, False)
        logged: Collection[str] = task.trace.accesses
        if own:
            self._follows = {"linkage": (True, False), "collaborative": (), "combined": (True,)}[policy]
            logged = () if policy == "linkage" else logged
        for url in logged:
            self._put(url, 0.0)
        self._unscored = logged if state is not None or self._naming else ()
        if state is not None:
            counted = Counted(state)
            self._base = Base(*counted.base)
            for part in self._parts:
                part.start(counted)
            self._work_out()

    def export_state(self) -> Learned:
        return learned(NAME, "", self.counts())

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate that is chosen before all others; seeds go in their order."""
        if url not in self._left:
            self._put(url, 0.0)
            self._seeds[url] = None

    def judged(self, page: Page, holds: bool) -> None:
        """Learn from a page and score the candidates near it."""
        self.failed(page.url)
        self._base = Base(self._base.pages + 1, self._base.hits + holds)
        for part in self._parts:
            part.judged(page, holds, self._base)
        for link in page.links if holds in self._follows else ():
            if link.url not in self._queue and link.url not in self._left:
                self._put(link.url, 0.0)
        if self._base.pages > self._taken * (1 + self._drift):
            self._work_out()
        self._fresh.clear()
        self._score(chain.from_iterable(part.touched(page.url) for part in self._parts))
        self._name(page)

    def _name(self, page: Page) -> None:
        """Note how far a page's links name the topic, and score their targets by it, while there is no hit."""
        if self._base.hits:
            self._named.clear()
        elif self._naming:
            for link in page.links:
                named = self._naming.by_link(LinkWords.of(link))
                self._named[link.url] = max(named, self._named.get(link.url, 0.0))
            self._fresh.clear()
            self._score(link.url for link in page.links)

    def failed(self, url: str) -> None:
        self._left.add(url)
        self._seeds.pop(url, None)
        self._queue.discard(url)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Take out the candidate of highest priority on a ready host; equal ones go by order of discovery."""
        best = [seed for seed in self._seeds if seed in self._queue and ready(host(seed))]
        if not best:
            unscored, self._unscored = self._unscored, ()
            self._score(unscored)
            self._score(self._queue.best(self._rescored, ready))
            best = self._queue.best(1, ready)
        for url in best:
            self.failed(url)
            return Choice(url)
        return None

    def priority(self, url: str) -> float:
        if not self._base.hits and self._naming:
            return max(self._naming.by_url(url), self._named.get(url, 0.0))
        return round(sum(part.log(url) for part in self._parts), DIGITS)

    def counts(self) -> Iterator[tuple[str, int, int]]:
        """Yield (feature, pages, hits) of all that was learned, what the crawl started with included."""
        for part in self._parts:
            yield from part.counts(NAME)
        yield BASE, self._base.pages, self._base.hits

    def _work_out(self) -> None:
        self._taken = self._base.pages
        for part in self._parts:
            part.work_out(self._base)

    def _score(self, urls: Iterable[str]) -> None:
        for url in urls:
            if url in self._fresh or url not in self._queue:
                continue
            self._fresh.add(url)
            self._put(url, self.priority(url))

    def _put(self, url: str, priority: float) -> None:
        self._queue.put(url, host(url), priority, self._found.setdefault(url, len(self._found)))
