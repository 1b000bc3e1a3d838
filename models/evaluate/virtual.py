"""A crawl without a network: pages and verdicts are known, and a policy says in which order to fetch them."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from models.evaluate.crawler import Crawler
from models.page import Page


class Fetched(NamedTuple):
    """One page of a crawl, and what the policy said when it chose it (`models.evaluate.crawler.Choice`)."""

    url: str
    hit: bool
    probability: float | None = None
    explored: bool = False


def virtual_crawl(
    pages: Mapping[str, Page], hits: Collection[str], seeds: Sequence[str], crawler: Crawler, budget: int
) -> list[Fetched]:
    """Return the first ``budget`` pages that ``crawler`` fetches, in order; fewer when it runs out.

    ``hits`` are the URLs of the pages that satisfy the predicate. The seeds are added, then fetched first, in
    their order and without asking the policy; they count as pages. A URL without a page has failed and costs
    nothing. Membership in ``hits`` is asked once a page, so a set serves best.

    Raises ValueError when the policy asks for a URL that is done with: it would never end.

    >>> from random import Random
    >>> from models.crowd.trace import Trace
    >>> from models.evaluate.baselines.simple import BreadthFirst
    >>> from models.evaluate.crawler import Task
    >>> from models.page import Link
    >>> pages = {"a": Page("a", links=(Link("b"), Link("gone"), Link("c"))), "b": Page("b"), "c": Page("c")}
    >>> crawler = BreadthFirst(Task((), Trace([]), Random(1)))
    >>> [(page.url, page.hit) for page in virtual_crawl(pages, {"c"}, ["a"], crawler, budget=10)]
    [('a', False), ('b', False), ('c', True)]
    """
    done: set[str] = set()
    fetched: list[Fetched] = []

    def visit(url: str, probability: float | None = None, explored: bool = False) -> None:
        done.add(url)
        page = pages.get(url)
        if page is None:
            crawler.failed(url)
            return
        hit = url in hits
        fetched.append(Fetched(url, hit, probability, explored))
        crawler.judged(page, hit)

    distinct = tuple(dict.fromkeys(seeds))
    for url in distinct:
        crawler.add_seed(url)
    for url in distinct:
        if len(fetched) < budget:
            visit(url)
    while len(fetched) < budget:
        choice = crawler.next()
        if choice is None:
            break
        if choice.url in done:
            raise ValueError(f"virtual crawl: the policy chose {choice.url} again, expected a URL not done yet")
        visit(choice.url, choice.probability, choice.explored)
    return fetched
