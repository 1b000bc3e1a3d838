"""The crawls of the clock in virtual time: what `scentline evaluate --clock` would say of them."""

from collections.abc import Mapping, Sequence
from itertools import chain
from random import Random

from bench.clock.table import Crawl
from bench.clock.webs import Pages
from scentline.agents.stored import table_of
from scentline.models.frontier.queue import UNLIMITED
from scentline.models.page import Page
from scentline.models.predicate import Predicate
from scentline.models.trace import Trace
from scentline.streams.settings import Settings
from scentline_lab.reading import Web
from scentline_lab.simulation.policies import REUSABLE, Truth, policies
from scentline_lab.simulation.virtual import (
    Choice,
    Clock,
    Crawler,
    Ready,
    Task,
    Terms,
    anywhere,
    virtual_crawl,
)
from scentline_lab.simulation.words import Hindsight


class Together:
    """One policy at work for several predicates with one stream of fetches: these choose in turn.

    ``hits`` are each predicate's; what a virtual crawl counts is of no account.
    """

    def __init__(self, crawlers: Mapping[str, Crawler], hits: Mapping[str, frozenset[str]]) -> None:
        self._crawlers = crawlers
        self._hits = hits
        self._turns = list(crawlers)
        self._taken: set[str] = set()

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate to start from."""
        for crawler in self._crawlers.values():
            crawler.add_seed(url)

    def judged(self, page: Page, holds: bool) -> None:
        """Have each predicate learn from its own verdict."""
        for name, crawler in self._crawlers.items():
            crawler.judged(page, page.url in self._hits[name])

    def failed(self, url: str) -> None:
        """Take in that a request brought no page."""
        for crawler in self._crawlers.values():
            crawler.failed(url)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Return the best for the predicate whose turn it is, or for one behind it."""
        for name in list(self._turns):
            while (choice := self._crawlers[name].next(ready)) is not None:
                if choice.url not in self._taken:
                    self._taken.add(choice.url)
                    self._turns.remove(name)
                    self._turns.append(name)
                    return choice
        return None


def simulated(
    policy: str, web: Web, pages: Pages, predicates: Mapping[str, Predicate], seeds: Sequence[str], clock: Clock
) -> Crawl:
    """Return the crawl of a policy in virtual time."""
    maker, hindsight = policies(Settings(), table_of(Settings().learn.table))[policy], Hindsight(web.pages)
    crawlers = {
        name: maker(_task(predicate, name), Truth(pages.hits[name], hindsight))
        for name, predicate in predicates.items()
    }
    clock = clock._replace(paced=policy.startswith(REUSABLE))
    hits = frozenset(chain.from_iterable(pages.hits.values()))
    crawler = Together(crawlers, pages.hits)
    order = virtual_crawl(web.pages, hits, seeds, crawler, Terms(UNLIMITED, clock=clock), texts=web.texts)
    return Crawl(order, {request.url for request in order if request.page}, pages, seeds, clock.seconds)


def _task(predicate: Predicate, name: str) -> Task:
    return Task(predicate.keywords, Trace(()), Random(name), predicate.sought)
