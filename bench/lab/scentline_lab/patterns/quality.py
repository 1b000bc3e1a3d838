"""How good patterns are: what they cover, how they blur the traffic, how soon they lead to the visits."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from statistics import fmean
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial import distance

from scentline.models.ordering.rank import pagerank
from scentline.models.page import Page
from scentline.models.patterns.counts import DISCOVERY, FETCH, VISITS, Behaviour, score
from scentline.models.patterns.mine import Figures, Patterns, TreeCut
from scentline.models.patterns.tree import PatternTree
from scentline.models.url import identifier
from scentline_lab.order.reading import Graph
from scentline_lab.progress import Progress
from scentline_lab.simulation.baselines.simple import Ranked
from scentline_lab.simulation.virtual import Terms, virtual_crawl

#: The distinct tag paths of a page, from its root to an element, by number.
Layout = frozenset[int]


class Coverage(NamedTuple):
    """Shares of URLs, and of the visits to them, from 0 to 1."""

    urls: float
    visits: float


def coverage(visits: Mapping[str, int], covered: Iterable[str]) -> Coverage:
    """Return the shares of ``visits``, visits by URL, that the URLs ``covered`` have."""
    found = [visits[url] for url in covered]
    return Coverage(len(found) / max(len(visits), 1), sum(found) / max(sum(visits.values()), 1))


def matching(tree: PatternTree, cut: TreeCut, urls: Iterable[str]) -> list[str]:
    """Return the URLs that match a pattern of a cut (Liu 2011, section 5.2, mirror coverage)."""
    return [url for url in urls if cut.of[tree.find(url)] >= 0]


def jensen_shannon(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64]) -> float:
    """Return the Jensen-Shannon divergence of two distributions, in bits, from 0 (the same) to 1."""
    return float(distance.jensenshannon(p, q, base=2)) ** 2


def traffic_approximation(
    visits: Mapping[str, int], tree: PatternTree, cut: TreeCut, figures: Figures
) -> float:
    """Return how far the visits to URLs are from those that their patterns give them (Liu 2011, section 5.2).

    It is the Jensen-Shannon divergence in bits, from 0 (the same) to 1. ``visits`` are those that the tree was
    built of and its ``figures`` counted from; a pattern gives each of its URLs an equal share of its visits
    (equation 4).
    """
    urls = np.array([cut.of[tree.find(url)] for url in visits])
    own = np.array(list(visits.values()), np.float64)
    smoothed = figures.visits[urls] / figures.urls[urls]
    return jensen_shannon(own, smoothed)


def layout_similarity(
    layouts: Mapping[str, Layout], groups: Mapping[str, int]
) -> tuple[float | None, float | None]:
    """Return the mean similarity of two pages of one group, and of two groups; None where there are no two.

    The paper (Liu 2011, section 5.2) names none: here it is the share of the tag paths of either page that both
    have (as in Buttler, *A Short Survey of Document Structure Similarity Algorithms*, 2004). How often a page
    has a path says how long its lists are, and doesn't count. A group below 0 is none.
    """
    together: list[float] = []
    apart: list[float] = []
    for one, other in combinations((url for url in layouts if groups[url] >= 0), 2):
        either = layouts[one] | layouts[other]
        alike = len(layouts[one] & layouts[other]) / len(either) if either else 1.0
        (together if groups[one] == groups[other] else apart).append(alike)
    return fmean(together) if together else None, fmean(apart) if apart else None


Curve = npt.NDArray[np.float64]


def fetched_visits(order: Sequence[str], visits: Mapping[str, int], size: int) -> Curve:
    """Return the share of ``visits`` that the first 0, 1, ... ``size`` pages have (Liu 2011, 5.3.1)."""
    return _curve([visits.get(url, 0) for url in order], sum(visits.values()), size)


def discovered_visits(order: Sequence[str], pages: Mapping[str, Page], visits: Mapping[str, int]) -> Curve:
    """Return the share of visits to pages fetched or linked to by these (Liu 2011, 5.3.2)."""
    seen: set[str] = set()
    gains = []
    for url in order:
        fresh = {url, *(link.url for link in pages[url].links)} - seen
        seen |= fresh
        gains.append(sum(visits.get(target, 0) for target in fresh if target in pages))
    return _curve(gains, sum(visits.values()), len(pages))


def reached(curve: Curve, share: float) -> float | None:
    """Return the share of the pages at which a curve reaches a share of the visits; None where it does not."""
    enough = np.flatnonzero(curve >= share - 1e-12)
    return float(enough[0]) / (len(curve) - 1) if len(enough) else None


def _curve(gains: Sequence[int], total: int, size: int) -> Curve:
    curve = np.zeros(size + 1)
    curve[1 : len(gains) + 1] = np.cumsum(gains)
    curve[len(gains) + 1 :] = curve[len(gains)]
    return curve / max(total, 1)


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
    """An ordering's mean curve, and the pages to `WANTED` visits, None where not all crawls got there."""

    aim: str
    ordering: str
    curve: Curve
    pages: float | None


def static(
    patterns: Patterns, first: Behaviour, urls: Iterable[str], visits: Mapping[str, int]
) -> list[Result]:
    """Order the URLs of a log without a link graph: any may be fetched; equal ones by digest."""
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
    """Crawl the pages of a mirror by each ordering, from the same seed pages (Liu 2011, section 5.3). ``first``
    is what the orderings know of the users, ``visits`` what they are held against. PageRank is that of the
    whole mirror, as in the paper.
    """
    sought = {url: count for url, count in visits.items() if url in pages}
    linked = _link_scores(pages)
    fetch = {**linked, **_fetch_scores(patterns, first)}

    def referrals(url: str) -> float:
        return first.referrals.get(url, 0)

    discovery = {**linked, **_scores(patterns, DISCOVERY), OWN_REFERRALS: referrals}
    progress.phase("crawl the mirror", STARTS * (len(fetch) + len(discovery) - len(linked)))
    orders: dict[str, list[list[str]]] = {}
    for name, value in {**fetch, **discovery}.items():
        values = {url: value(url) for url in pages}
        orders[name] = []
        for start in range(1, STARTS + 1):
            orders[name].append(_crawl(pages, values, random_seed, start))
            progress.advance()
    fetched = {name: [fetched_visits(order, sought, len(pages)) for order in orders[name]] for name in fetch}
    seen = {name: [discovered_visits(order, pages, sought) for order in orders[name]] for name in discovery}
    return [
        _result(aim, name, curves)
        for aim, found in (("fetch", fetched), ("discovery", seen))
        for name, curves in found.items()
    ]


def _crawl(pages: Mapping[str, Page], values: Mapping[str, float], random_seed: int, start: int) -> list[str]:
    seeds = Random(f"{random_seed}:{start}").sample(list(pages), min(SEEDS, len(pages)))
    crawler = Ranked(lambda url: values.get(url, -1.0))
    asked = virtual_crawl(pages, (), seeds, crawler, Terms(len(pages)))
    return [request.url for request in asked if request.page]


def _result(aim: str, name: str, curves: Sequence[Curve]) -> Result:
    ends = [reached(curve, WANTED) for curve in curves]
    found = [end for end in ends if end is not None]
    mean = float(np.mean(found)) if len(found) == len(ends) else None
    return Result(aim, name, np.mean(curves, axis=0), mean)


def _link_scores(pages: Mapping[str, Page]) -> dict[str, Score]:
    graph = Graph.of_links({url: [link.url for link in page.links] for url, page in pages.items()})
    ranks = dict(zip(pages, pagerank(graph.matrix).tolist(), strict=True))
    return {BREADTH_FIRST: lambda url: 0.0, PAGERANK: ranks.__getitem__}


def _fetch_scores(patterns: Patterns, first: Behaviour) -> dict[str, Score]:
    def expected(url: str) -> float:
        return patterns.expected_visits(url, first.visits.get(url, 0))

    own = {OWN_VISITS: lambda url: first.visits.get(url, 0), VISITS: expected}
    return {**_scores(patterns, FETCH), **own}


def _scores(patterns: Patterns, rankings: Mapping[str, Callable[..., float]]) -> dict[str, Score]:
    def scorer(name: str) -> Score:
        return lambda url: score(rankings[name], patterns.pattern_of(url))

    return {name: scorer(name) for name in rankings}
