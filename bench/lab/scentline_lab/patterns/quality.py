"""How good patterns are: what they cover, how they blur the traffic, how well they order a crawl (Liu 2011)."""

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import combinations, pairwise
from random import Random
from statistics import fmean
from typing import NamedTuple

import numpy as np
from lxml import etree
from scipy.spatial import distance

from scentline.agents.observe.observer import Site as Host
from scentline.agents.observe.observer import base_url, site_named
from scentline.models.facts import Access
from scentline.models.ordering import pagerank
from scentline.models.page import Page
from scentline.models.papers.pattern_tree import PatternTree
from scentline.models.papers.patterns import Figures, Patterns, TreeCut
from scentline.models.papers.ways import DISCOVERY, FETCH, VISITS, Behaviour, score
from scentline.models.url import canonical, host, identifier
from scentline.streams.settings import ObserveSettings
from scentline_lab.experiment import Progress
from scentline_lab.order.reading import Curve, Graph
from scentline_lab.reading import LogReader
from scentline_lab.simulation.simple import Ranked
from scentline_lab.simulation.virtual import Terms, virtual_crawl

#: The distinct tag paths of a page, from its root to an element.
Layout = frozenset[str]


class Coverage(NamedTuple):
    """Shares of URLs and visits, from 0 to 1."""

    urls: float
    visits: float


def coverage(visits: Mapping[str, int], covered: Iterable[str]) -> Coverage:
    """Return the shares of the URLs of ``visits``, visits by URL, and of the visits that are ``covered``."""
    found = [visits[url] for url in covered]
    return Coverage(len(found) / max(len(visits), 1), sum(found) / max(sum(visits.values()), 1))


def matching(tree: PatternTree, cut: TreeCut, urls: Iterable[str]) -> list[str]:
    """Return the URLs that match a pattern of a cut (Liu 2011, section 5.2, mirror coverage)."""
    return [url for url in urls if cut.of[tree.find(url)] >= 0]


def traffic_approximation(
    visits: Mapping[str, int], tree: PatternTree, cut: TreeCut, figures: Figures
) -> float:
    """Return the Jensen-Shannon divergence in bits of visits from their patterns' shares (5.2, equation 4)."""
    urls = np.array([cut.of[tree.find(url)] for url in visits])
    shares = figures.visits[urls] / figures.urls[urls]
    return float(distance.jensenshannon(np.array([*visits.values()], float), shares, base=2)) ** 2


def layout_similarity(
    layouts: Mapping[str, Layout], groups: Mapping[str, int]
) -> tuple[float | None, float | None]:
    """Return the mean similarity of two pages of one group, and of two groups; None where there are no two.
    The paper (section 5.2) names no measure: here it is the share of either page's tag paths that both have
    (Buttler, *A Short Survey of Document Structure Similarity Algorithms*, 2004). A group below 0 is none.
    """
    found: dict[bool, list[float]] = {True: [], False: []}
    for one, other in combinations((url for url in layouts if groups[url] >= 0), 2):
        either = layouts[one] | layouts[other]
        alike = len(layouts[one] & layouts[other]) / len(either) if either else 1.0
        found[groups[one] == groups[other]].append(alike)
    together, apart = (fmean(alike) if alike else None for alike in found.values())
    return together, apart


def fetched_visits(order: Sequence[str], visits: Mapping[str, int], size: int) -> Curve:
    """Return the share of ``visits`` to the first 0, 1, ... ``size`` pages (Liu 2011, 5.3.1)."""
    return _curve([visits.get(url, 0) for url in order], sum(visits.values()), size)


def discovered_visits(order: Sequence[str], pages: Mapping[str, Page], visits: Mapping[str, int]) -> Curve:
    """Return the share of visits to pages fetched or linked to by these (Liu 2011, 5.3.2)."""
    seen, gains = set[str](), []
    for url in order:
        fresh = {url, *(link.url for link in pages[url].links)} - seen
        seen |= fresh
        gains.append(sum(visits.get(target, 0) for target in fresh if target in pages))
    return _curve(gains, sum(visits.values()), len(pages))


def reached(curve: Curve, share: float) -> float | None:
    """Return the share of the pages at which a curve reaches a share of the visits, None if it does not."""
    enough = np.flatnonzero(curve >= share - 1e-12)
    return float(enough[0]) / (len(curve) - 1) if len(enough) else None


def _curve(gains: Sequence[int], total: int, size: int) -> Curve:
    curve = np.zeros(size + 1)
    curve[1 : len(gains) + 1] = np.cumsum(gains)
    curve[len(gains) + 1 :] = curve[len(gains)]
    return curve / max(total, 1)


#: The paper's share of the visits.
WANTED = 0.8
#: Virtual crawls of an ordering, and the seed pages of each.
STARTS, SEEDS = 5, 10
BREADTH_FIRST, PAGERANK = "breadth-first", "pagerank"
#: The visits, or referrals, of the single page.
OWN_VISITS, OWN_REFERRALS = "own-visits", "own-referrals"

Score = Callable[[str], float]


class Result(NamedTuple):
    """An ordering's mean curve, and the share of pages to `WANTED` visits, None if not all crawls got there."""

    aim: str
    ordering: str
    curve: Curve
    pages: float | None


def static(
    patterns: Patterns, first: Behaviour, urls: Iterable[str], visits: Mapping[str, int]
) -> list[Result]:
    """Order the URLs of a log without a link graph: any may be fetched; equal ones by digest."""
    known = sorted(urls, key=identifier)
    return [
        _result("fetch", name, [fetched_visits(sorted(known, key=value, reverse=True), visits, len(known))])
        for name, value in _fetch_scores(patterns, first).items()
    ]


def crawled(
    patterns: Patterns,
    first: Behaviour,
    pages: Mapping[str, Page],
    visits: Mapping[str, int],
    random_seed: int,
    progress: Progress,
) -> list[Result]:
    """Crawl a mirror by each ordering, which knows ``first``, from the same seed pages (Liu 2011, section 5.3).
    The curves are of ``visits``. PageRank is that of the whole mirror, as in the paper.
    """
    sought = {url: count for url, count in visits.items() if url in pages}
    graph = Graph.of_links({url: [link.url for link in page.links] for url, page in pages.items()})
    ranks = dict(zip(pages, pagerank(graph.matrix).tolist(), strict=True))
    linked: dict[str, Score] = {BREADTH_FIRST: lambda url: 0.0, PAGERANK: ranks.__getitem__}
    fetch = {**linked, **_fetch_scores(patterns, first)}
    own: dict[str, Score] = {OWN_REFERRALS: lambda url: first.referrals.get(url, 0)}
    discovery = {**linked, **_scores(patterns, DISCOVERY), **own}
    progress.phase("crawl the mirror", STARTS * (len(fetch) + len(discovery) - len(linked)))
    orders: dict[str, list[list[str]]] = {}
    for name, value in {**fetch, **discovery}.items():
        values = {url: value(url) for url in pages}
        orders[name] = []
        for start in range(1, STARTS + 1):
            orders[name].append(_crawl(pages, values, random_seed, start))
            progress.advance()
    curves: dict[str, tuple[Iterable[str], Callable[[list[str]], Curve]]] = {
        "fetch": (fetch, lambda order: fetched_visits(order, sought, len(pages))),
        "discovery": (discovery, lambda order: discovered_visits(order, pages, sought)),
    }
    return [
        _result(aim, name, [curve(order) for order in orders[name]])
        for aim, (names, curve) in curves.items()
        for name in names
    ]


def _crawl(pages: Mapping[str, Page], values: Mapping[str, float], random_seed: int, start: int) -> list[str]:
    seeds = Random(f"{random_seed}:{start}").sample(list(pages), min(SEEDS, len(pages)))
    crawler = Ranked(lambda url: values.get(url, -1.0))
    asked = virtual_crawl(pages, (), seeds, crawler, Terms(len(pages)))
    return [request.url for request in asked if request.page]


def _result(aim: str, name: str, curves: Sequence[Curve]) -> Result:
    ends = [end for curve in curves if (end := reached(curve, WANTED)) is not None]
    mean = float(np.mean(ends)) if len(ends) == len(curves) else None
    return Result(aim, name, np.mean(curves, axis=0), mean)


def _fetch_scores(patterns: Patterns, first: Behaviour) -> dict[str, Score]:
    return {
        **_scores(patterns, FETCH),
        OWN_VISITS: lambda url: first.visits.get(url, 0),
        VISITS: lambda url: patterns.expected_visits(url, first.visits.get(url, 0)),
    }


def _scores(patterns: Patterns, rankings: Mapping[str, Callable[..., float]]) -> dict[str, Score]:
    def value(ranking: Callable[..., float], url: str) -> float:
        return score(ranking, patterns.pattern_of(url))

    return {name: partial(value, ranking) for name, ranking in rankings.items()}


class Record(NamedTuple):
    """One access; ``referrer`` is None if it is not of the site."""

    user: str
    url: str
    referrer: str | None
    time: float = 0.0


class Site:
    """A host ``name`` and those beneath it; without one the host of ``base``, without either all of a log.
    ``base`` is the site of a log of paths, by default ``name``; with or without "www." it is the same site.
    """

    def __init__(self, name: str | None, base: str | None) -> None:
        named = None if name is None else site_named(name)
        known = canonical(base_url(named, base) or "")
        paths = None if known is None else Host(known)
        self._base = None if paths is None else paths.base
        self._host = named or paths

    def holds(self, url: str) -> bool:
        return self._host is None or self._host.holds(url)

    def record(self, access: Access) -> Record | None:
        """Return the record of an access, None for another site's."""
        if not self.holds(access.url):
            return None
        referrer = access.referrer
        if referrer is not None and self._base is not None and access.url.startswith(f"{self._base}/"):
            names = (host(each).removeprefix("www.") for each in (referrer, f"{self._base}/"))
            if len({*names}) == 1:
                referrer = f"{self._base}/{referrer.split('/', 3)[3]}"
        if referrer is not None and not self.holds(referrer):
            referrer = None
        return Record(access.user, access.url, referrer, access.time)

    def records(self, source: str, settings: ObserveSettings, progress: Progress) -> Iterator[Record]:
        """Return the records of a log; raises what `LogReader.read` raises."""
        reader = LogReader(settings.model_copy(update={"base_url": self._base}), progress, everywhere=True)
        found = map(self.record, reader.read(source, "read the log"))
        return (record for record in found if record is not None)


def counted(records: Iterable[Record]) -> Behaviour:
    """Return F_in, F_out and F_trans of a site's URLs; the same user going the same way counts once."""
    visits, referrals, transitions = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for _, url, referrer in dict.fromkeys(record[:3] for record in records):
        visits[url] += 1
        if referrer is not None:
            visits.setdefault(referrer, 0)
            referrals[referrer] += 1
            transitions[referrer, url] += 1
    return Behaviour(visits, referrals, transitions)


#: Equal parts of a log; the paper has six months of logs and mines the first.
PERIODS = 6
#: Coverage by the URLs themselves.
URLS = "URLs"


class Period(NamedTuple):
    """A part of a log: its first and last time, and each URL's visits (F_in)."""

    first: float
    last: float
    visits: Mapping[str, int]

    @property
    def span(self) -> str:
        days = (datetime.fromtimestamp(time, UTC).date().isoformat() for time in (self.first, self.last))
        return " to ".join(dict.fromkeys(days))


@dataclass(frozen=True)
class Reliability:
    """Coverage of each later period, by `URLS` and by the tree's stages."""

    periods: list[Period]
    coverages: list[dict[str, Coverage]]

    @property
    def later_visits(self) -> dict[str, int]:
        """Visits after the first period, by URL."""
        return sum((Counter(period.visits) for period in self.periods[1:]), Counter[str]())


def split(records: Sequence[Record]) -> tuple[list[Period], Behaviour]:
    """Return the periods with records, and the counts of the first."""
    bounds = pairwise(-(-part * len(records) // PERIODS) for part in range(PERIODS + 1))
    found = [(records[start:end], counted(records[start:end])) for start, end in bounds if start < end]
    periods = []
    for part, counts in found:
        times = [record.time for record in part]
        periods.append(Period(min(times), max(times), {url: n for url, n in counts.visits.items() if n}))
    return periods, found[0][1]


def reliability(patterns: Patterns, periods: list[Period]) -> Reliability:
    """Return how the first period's patterns and URLs cover the later ones (Liu 2011, section 5.2)."""
    coverages = []
    for _, _, visits in periods[1:]:
        found = {URLS: coverage(visits, visits.keys() & periods[0].visits.keys())}
        for name, cut in patterns.cuts.items():
            found[name] = coverage(visits, matching(patterns.tree, cut, visits))
        coverages.append(found)
    return Reliability(periods, coverages)


class TreeFigures(NamedTuple):
    """One row of the paper's Tables 3 and 4: the divergence in bits, the share of the mirror's URLs that match
    a pattern, the mean similarity of two pages of one pattern, and of two; None without such pages.
    """

    mined: str
    tree: str
    patterns: int
    height: int
    approximation: float
    mirror: float | None
    layout: float | None
    apart: float | None


def tree_figures(
    mined: str, found: tuple[Patterns, Behaviour], mirror: Collection[str], layouts: Mapping[str, Layout]
) -> list[TreeFigures]:
    """Return the figures of the syntax tree and of both cuts."""
    patterns, behaviour = found
    rows, tree = [], patterns.tree
    for name, cut in patterns.cuts.items():
        covered = len(matching(tree, cut, mirror)) / len(mirror) if mirror else None
        divergence = traffic_approximation(behaviour.visits, tree, cut, patterns.figures)
        similar = layout_similarity(layouts, {url: int(cut.of[tree.find(url)]) for url in layouts})
        rows.append(TreeFigures(mined, name, len(cut.patterns), cut.height, divergence, covered, *similar))
    return rows


def layout_of(html: bytes) -> Layout:
    """Return the layout of a page."""
    parser = etree.HTMLParser(recover=True, no_network=True, huge_tree=False, remove_comments=True)
    try:
        root = etree.fromstring(html, parser)
    except etree.LxmlError:
        return frozenset()
    paths: set[str] = set()
    below = [] if root is None else [(root, "")]
    while below:
        element, above = below.pop()
        if isinstance(element.tag, str):
            paths.add(path := sys.intern(f"{above} {element.tag}"))
            below += ((child, path) for child in element)
    return frozenset(paths)
