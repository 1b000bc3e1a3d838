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
from scentline.models.reuse import WEIGHT, Learned, learned
from scentline.models.url import host
from scentline_lab.simulation.crawler import Choice, Ready, Task, anywhere
from scentline_lab.simulation.factors import EVEN, Linked, Visited, Weights
from scentline_lab.simulation.tally import NAME, Counted, Places

PaperPolicy = Literal["linkage", "collaborative", "combined"]

#: A bound that nothing reaches.
UNBOUNDED = 1 << 62

#: Decimal digits of a priority, so that sums of the same logs in another order are equal.
DIGITS = 9


class PaperCrawler:
    """One of the paper's policies at work for one predicate; a `simulation.crawler.Crawler`.

    The priority of a candidate is log I^L of links, weighted, log I^C of the log (14), or their sum. Candidates
    are seeds, link targets and all pages of the log; or a policy's ``own`` alone: seeds and, of the linkage
    policy, link targets, of the collaborative one the pages of the log, "instead of using the set of
    hyperlinks", of the combined one these and the links of pages that satisfy (section 4). While there is no
    hit all logs are 0: candidates that are not ``own`` go by how far their URLs and links name the predicate's
    topic until then (`models.learner.named.Naming`). A candidate is scored when a judged page links to it, is a
    near sibling, or satisfies and was visited near by; the ``rescored`` best are scored again at each choice.
    Ratios are computed again when the judged pages grew by more than the share ``drift``. ``parents`` bounds
    the in-linking pages whose words and other targets count, ``t`` and ``denominator`` make the significance
    test.
    With the ``state`` of an earlier crawl this one goes on where that ended, its counts multiplied by
    ``weight``. No probability is given.

    >>> from random import Random
    >>> from scentline.models.crowd.trace import Step, Trace
    >>> trace = Trace([Step("ann", "http://a.test/", 1.0), Step("ann", "http://b.test/", 2.0)])
    >>> crawler = PaperCrawler(Task((), trace, Random(1)), "combined")
    >>> crawler.add_seed("http://a.test/")
    >>> crawler.next().url
    'http://a.test/'
    >>> crawler.judged(Page("http://a.test/"), True)
    >>> crawler.next().url
    'http://b.test/'
    """

    def __init__(
        self,
        task: Task,
        policy: PaperPolicy,
        parents: int = 32,
        t: float = 2.0,
        denominator: Denominator = "binomial",
        *,
        weights: Weights = EVEN,
        own: bool = False,
        rescored: int = 50,
        drift: float = 0.02,
        state: Learned | None = None,
        weight: float = WEIGHT,
    ) -> None:
        places = Places()
        links = Linked(parents, t, denominator, places, weights)
        crowd = Visited(task.trace, t, denominator, places)
        parts: dict[PaperPolicy, tuple[Linked | Visited, ...]] = {
            "linkage": (links,),
            "collaborative": (crowd,),
            "combined": (links, crowd),
        }
        self._parts = parts[policy]
        self._rescored = rescored
        self._drift = drift
        self._base = Base()
        self._taken = 0
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
            counted = Counted(state, weight)
            self._base = Base(*counted.base)
            for part in self._parts:
                part.start(counted)
            self._work_out()

    def export_state(self) -> Learned:
        """Return what was learned, what the crawl started with included (section 4.1)."""
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
        """Take a URL out of the candidates for good."""
        self._left.add(url)
        self._seeds.pop(url, None)
        self._queue.discard(url)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Take out the candidate of highest priority on a ready host; equal ones go by order of discovery."""
        url = self._next(ready)
        if url is None:
            return None
        self.failed(url)
        return Choice(url)

    def _next(self, ready: Ready) -> str | None:
        for seed in self._seeds:
            if seed in self._queue and ready(host(seed)):
                return seed
        unscored, self._unscored = self._unscored, ()
        self._score(unscored)
        self._score(self._queue.best(self._rescored, ready))
        best = self._queue.best(1, ready)
        return best[0] if best else None

    def priority(self, url: str) -> float:
        """Return the priority of a candidate, computed from all that is known of it now."""
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
