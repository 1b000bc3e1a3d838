"""Orderings against each other: how many pages until most of the visits are fetched, or discovered."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from scipy.sparse import csr_array

from scentline.agents.progress import Progress
from scentline.models.ordering.rank import pagerank
from scentline.models.page import Page
from scentline.models.patterns.counts import Behaviour
from scentline.models.patterns.mine import Patterns
from scentline.models.patterns.ranking import DISCOVERY, FETCH, VISITS, score
from scentline.models.url import identifier
from scentline_lab.patterns.quality import Curve, discovered_visits, fetched_visits, reached
from scentline_lab.simulation.baselines.simple import Ranked
from scentline_lab.simulation.virtual import Terms, virtual_crawl

#: The share of the visits that the paper asks for.
WANTED = 0.8
#: Virtual crawls of an ordering, and the seed pages of each.
STARTS, SEEDS = 5, 10
BREADTH_FIRST, PAGERANK = "breadth-first", "pagerank"
#: The visits, or referrals, of the single page: what patterns stand in for.
OWN_VISITS, OWN_REFERRALS = "own-visits", "own-referrals"

Score = Callable[[str], float]


@dataclass(frozen=True)
class Result:
    """What came of an ordering: the mean curve of its crawls, and the share of the pages at `WANTED` visits.

    ``aim`` is "fetch" or "discovery". None of the pages where not every crawl got there.
    """

    aim: str
    ordering: str
    curve: Curve
    pages: float | None


def static(
    patterns: Patterns, first: Behaviour, urls: Iterable[str], visits: Mapping[str, int]
) -> list[Result]:
    """Order the URLs of a log without a link graph, of which any may be fetched at any time.

    Equal ones come in an order that says nothing (by digest). There is nothing to discover.
    """
    known = sorted(urls, key=identifier)
    results = []
    for name, value in _fetch_scores(patterns, first).items():
        values = {url: value(url) for url in known}
        order = sorted(known, key=lambda url: -values[url])
        curve = fetched_visits(order, visits, len(known))
        results.append(Result("fetch", name, curve, reached(curve, WANTED)))
    return results


def crawled(
    patterns: Patterns,
    first: Behaviour,
    pages: Mapping[str, Page],
    visits: Mapping[str, int],
    random_seed: int,
    progress: Progress,
) -> list[Result]:
    """Crawl the pages of a mirror by each ordering, from the same seed pages (Liu 2011, section 5.3).

    ``first`` is what the orderings know of the users, ``visits`` what they are held against. PageRank is that
    of the whole mirror, as in the paper.
    """
    sought = {url: count for url, count in visits.items() if url in pages}
    linked = _link_scores(pages)
    fetch = {**linked, **_fetch_scores(patterns, first)}
    discovery = {**linked, **_discovery_scores(patterns, first)}
    progress.phase("crawl the mirror", STARTS * (len(fetch) + len(discovery) - len(linked)))
    orders: dict[str, list[list[str]]] = {}
    for name, value in {**fetch, **discovery}.items():
        values = {url: value(url) for url in pages}
        orders[name] = []
        for start in range(1, STARTS + 1):
            orders[name].append(_crawl(pages, values, _seeds(pages, random_seed, start)))
            progress.advance()
    results = [
        _result("fetch", name, [fetched_visits(order, sought, len(pages)) for order in orders[name]])
        for name in fetch
    ]
    return results + [
        _result("discovery", name, [discovered_visits(order, pages, sought) for order in orders[name]])
        for name in discovery
    ]


def _crawl(pages: Mapping[str, Page], values: Mapping[str, float], seeds: Sequence[str]) -> list[str]:
    crawler = Ranked(lambda url: values.get(url, -1.0))
    asked = virtual_crawl(pages, (), seeds, crawler, Terms(len(pages)))
    return [request.url for request in asked if request.page]


def _seeds(pages: Mapping[str, Page], random_seed: int, start: int) -> list[str]:
    return Random(f"{random_seed}:{start}").sample(list(pages), min(SEEDS, len(pages)))


def _result(aim: str, name: str, curves: Sequence[Curve]) -> Result:
    ends = [reached(curve, WANTED) for curve in curves]
    found = [end for end in ends if end is not None]
    mean = float(np.mean(found)) if len(found) == len(ends) else None
    return Result(aim, name, np.mean(curves, axis=0), mean)


def _link_scores(pages: Mapping[str, Page]) -> dict[str, Score]:
    rows = {url: row for row, url in enumerate(pages)}
    links = [
        (rows[url], rows[target])
        for url, page in pages.items()
        for target in {link.url for link in page.links}
        if target in rows and target != url
    ]
    pairs = np.array(links, np.int64).reshape(-1, 2)
    matrix = csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(rows), len(rows)))
    ranks = dict(zip(pages, pagerank(matrix).tolist(), strict=True))
    return {BREADTH_FIRST: lambda url: 0.0, PAGERANK: ranks.__getitem__}


def _fetch_scores(patterns: Patterns, first: Behaviour) -> dict[str, Score]:
    def expected(url: str) -> float:
        return patterns.expected_visits(url, first.visits.get(url, 0))

    own = {OWN_VISITS: lambda url: first.visits.get(url, 0), VISITS: expected}
    return {**_scores(patterns, FETCH), **own}


def _discovery_scores(patterns: Patterns, first: Behaviour) -> dict[str, Score]:
    return {**_scores(patterns, DISCOVERY), OWN_REFERRALS: lambda url: first.referrals.get(url, 0)}


def _scores(patterns: Patterns, rankings: Mapping[str, Callable[..., float]]) -> dict[str, Score]:
    def scorer(name: str) -> Score:
        return lambda url: score(rankings[name], patterns.pattern_of(url))

    return {name: scorer(name) for name in rankings}
