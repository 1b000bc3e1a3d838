"""A crawl without a network: pages and verdicts are known, and a policy says in which order to ask for them."""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from models.domain import owner
from models.duplicates import BAND_PAGES, Sketch, bands, likeness
from models.evaluate.crawler import Choice, Crawler
from models.frontier.window import window
from models.page import Page
from models.url import host


class Request(NamedTuple):
    """One request of a crawl, and what the policy said when it chose it (`models.evaluate.crawler.Choice`).

    ``page`` says whether a page came, ``hit`` whether that satisfies the predicate.
    """

    url: str
    page: bool
    hit: bool
    probability: float | None = None
    explored: bool = False


class Terms(NamedTuple):
    """What a crawl is held to, as the settings of the same names hold the real one; 0 is no limit.

    It ends after ``budget`` pages, or as many ``requests``. Of a host at most ``host_budget`` pages come.
    ``window_share`` of the pages so far, 1 to ``window_max``, are in flight (`models.frontier.window`). Seeds
    are asked first, in their order, as in Aggarwal 2004, Figure 1, or, as in a real crawl, where the policy
    chooses them.
    """

    budget: int
    requests: int = 0
    host_budget: int = 0
    window_share: float = 0.0
    window_max: int = 1
    seeds_first: bool = True


class Texts(NamedTuple):
    """The sketches of pages by URL, where these have words enough, and the likeness of near-duplicates."""

    sketches: Mapping[str, Sketch]
    likeness: float


NO_TEXTS = Texts({}, 1.0)


def virtual_crawl(
    pages: Mapping[str, Page],
    hits: Collection[str],
    seeds: Sequence[str],
    crawler: Crawler,
    terms: Terms,
    barred: Collection[str] = (),
    texts: Texts = NO_TEXTS,
) -> list[Request]:
    """Return the requests that ``crawler`` makes, in the order of their answers.

    ``hits`` are the URLs of the pages that satisfy the predicate. A URL without a page is a request that fails,
    as a dead link does, and so does a near-duplicate of a page of the same owner that came before, as
    ``texts`` tell. URLs that are ``barred``, or of a host whose budget is spent, cost nothing. Answers come in
    the order of the requests; what is in flight was chosen without them. Membership in ``hits`` is asked once a
    page, so a set serves best.

    Raises ValueError when the policy chooses a URL twice: it would never end.

    >>> from random import Random
    >>> from models.crowd.trace import Trace
    >>> from models.evaluate.baselines.simple import BreadthFirst
    >>> from models.evaluate.crawler import Task
    >>> from models.page import Link
    >>> pages = {"a": Page("a", links=(Link("b"), Link("gone"), Link("c"))), "b": Page("b"), "c": Page("c")}
    >>> crawler = BreadthFirst(Task((), Trace([]), Random(1)))
    >>> found = virtual_crawl(pages, {"c"}, ["a"], crawler, Terms(budget=10))
    >>> [(request.url, request.page, request.hit) for request in found]
    [('a', True, False), ('b', True, False), ('gone', False, False), ('c', True, True)]
    """
    return _VirtualCrawl(pages, hits, crawler, terms, barred, texts).run(seeds)


class _VirtualCrawl:
    """The requests that were answered, and those in flight."""

    def __init__(
        self,
        pages: Mapping[str, Page],
        hits: Collection[str],
        crawler: Crawler,
        terms: Terms,
        barred: Collection[str],
        texts: Texts,
    ) -> None:
        self._pages = pages
        self._hits = hits
        self._crawler = crawler
        self._terms = terms
        self._barred = barred
        self._texts = texts
        #: The pages judged last whose sketches have a band.
        self._like: defaultdict[bytes, deque[str]] = defaultdict(lambda: deque(maxlen=BAND_PAGES))
        self._seeds: deque[str] = deque()
        self._chosen: set[str] = set()
        self._asked: set[str] = set()
        self._flying: deque[Choice] = deque()
        self._answered: list[Request] = []
        self._judged = 0
        self._of_host: Counter[str] = Counter()

    def run(self, seeds: Sequence[str]) -> list[Request]:
        distinct = dict.fromkeys(seeds)
        for url in distinct:
            self._crawler.add_seed(url)
        if self._terms.seeds_first:
            self._seeds.extend(distinct)
        while True:
            while self._has_room() and (choice := self._next()) is not None:
                self._asked.add(choice.url)
                self._flying.append(choice)
            if not self._flying:
                return self._answered
            self._answer(self._flying.popleft())

    def _has_room(self) -> bool:
        terms, flying = self._terms, len(self._flying)
        if terms.requests and len(self._answered) + flying >= terms.requests:
            return False
        room = min(
            window(self._judged, terms.window_share, terms.window_max),
            terms.budget - self._judged,
        )
        return flying < room

    def _next(self) -> Choice | None:
        """Return what to ask for next: a seed first, then what the policy chooses."""
        while self._seeds:
            seed = self._seeds.popleft()
            if self._may_ask(seed):
                return Choice(seed)
        while (choice := self._crawler.next()) is not None:
            if choice.url in self._chosen:
                raise ValueError(f"virtual crawl: the policy chose {choice.url} again, expected another URL")
            self._chosen.add(choice.url)
            if self._may_ask(choice.url):
                return choice
        return None

    def _may_ask(self, url: str) -> bool:
        if url in self._asked or url in self._barred:
            return False
        limit = self._terms.host_budget
        if not limit:
            return True
        name = host(url)
        flying = sum(host(choice.url) == name for choice in self._flying)
        return self._of_host[name] + flying < limit

    def _answer(self, choice: Choice) -> None:
        """Tell the policy what came of a request."""
        page = self._pages.get(choice.url)
        if page is not None and self._repeats(choice.url):
            page = None
        hit = page is not None and choice.url in self._hits
        self._answered.append(Request(choice.url, page is not None, hit, choice.probability, choice.explored))
        if page is None:
            self._crawler.failed(choice.url)
            return
        self._judged += 1
        if self._terms.host_budget:
            self._of_host[host(choice.url)] += 1
        self._crawler.judged(page, hit)

    def _repeats(self, url: str) -> bool:
        """Tell whether a page is a near-duplicate; one that is none is remembered.

        In a crawl a page like another owner's is one too, where that owner is trusted more.
        """
        sketches, least = self._texts
        sketch = sketches.get(url)
        if sketch is None:
            return False
        found = [self._like[band] for band in bands(sketch)]
        own = owner(host(url))
        for other in dict.fromkeys(chain.from_iterable(found)):
            if owner(host(other)) == own and likeness(sketch, sketches[other]) >= least:
                return True
        for pages in found:
            pages.append(url)
        return False
