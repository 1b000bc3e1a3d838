"""What a site's trees came to, and how long the patterns of a log's first part hold in the later ones.

The accesses of a log that concern the site are records of who came to which URL from which.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

from lxml import etree

from scentline.agents.observe.site import Site as Host
from scentline.agents.observe.site import base_url, site_named
from scentline.agents.progress import Progress
from scentline.models.patterns.counts import Behaviour
from scentline.models.patterns.mine import Patterns
from scentline.models.url import canonical, host
from scentline.streams.facts import Access
from scentline.streams.settings import ObserveSettings
from scentline_lab.patterns.counts import BehaviourCounts
from scentline_lab.patterns.quality import (
    Coverage,
    Layout,
    coverage,
    layout_similarity,
    matching,
    traffic_approximation,
)
from scentline_lab.reading import LogReader

_WWW = "www."


class Record(NamedTuple):
    """One access; ``referrer`` is None where it is not of the site."""

    user: str
    url: str
    referrer: str | None
    time: float


class Site:
    """A host ``name`` and those beneath it; without one the host of ``base``, without either all of a log.

    ``base`` is the site of a log whose lines hold paths only, by default that of ``name``. To its pages people
    come from its other name as well, with or without "www.": that is the same page.
    """

    def __init__(self, name: str | None, base: str | None) -> None:
        named = None if name is None else site_named(name)
        known = canonical(base_url(named, base) or "")
        paths = None if known is None else Host(known)
        self.base = None if paths is None else paths.base
        self._host = named or paths

    def holds(self, url: str) -> bool:
        """Say whether a canonical URL is of the site."""
        return self._host is None or self._host.holds(url)

    def record(self, access: Access) -> Record | None:
        """Return the record of an access, None of one to another site."""
        if not self.holds(access.url):
            return None
        referrer = access.referrer
        if referrer is not None and self.base is not None and access.url.startswith(f"{self.base}/"):
            referrer = self._same_origin(referrer, self.base)
        if referrer is not None and not self.holds(referrer):
            referrer = None
        return Record(access.user, access.url, referrer, access.time)

    def _same_origin(self, url: str, base: str) -> str:
        if host(url).removeprefix(_WWW) != host(f"{base}/").removeprefix(_WWW):
            return url
        return f"{base}/{url.split('/', 3)[3]}"


def records(
    source: str, settings: ObserveSettings, site: Site, name: str, progress: Progress
) -> Iterator[Record]:
    """Yield the records of a log file in the order of its lines; robots are left out as the settings say.

    ``name`` is what the reading is called. Raises what `LogReader.read` raises.
    """
    reader = LogReader(settings.model_copy(update={"base_url": site.base}), progress, everywhere=True)
    for access in reader.read(source, name):
        record = site.record(access)
        if record is not None:
            yield record


#: Parts of a log, as many accesses in each; the paper has six months of logs and mines the first.
PERIODS = 6
#: What coverage is told of beside the trees: the URLs themselves.
URLS = "URLs"


class Period(NamedTuple):
    """A part of a log: the times of its first and last access, and each URL's visits (F_in)."""

    first: float
    last: float
    visits: Mapping[str, int]

    @property
    def span(self) -> str:
        """Its first and last day."""
        days = (datetime.fromtimestamp(time, UTC).date().isoformat() for time in (self.first, self.last))
        return " to ".join(dict.fromkeys(days))


@dataclass(frozen=True)
class Reliability:
    """How long patterns hold: coverage of each later period, by `URLS` and by the tree's stages."""

    periods: list[Period]
    coverages: list[dict[str, Coverage]]

    @property
    def later_visits(self) -> dict[str, int]:
        """The visits of all periods after the first, by URL."""
        found: dict[str, int] = {}
        for period in self.periods[1:]:
            for url, visits in period.visits.items():
                found[url] = found.get(url, 0) + visits
        return found


def split(records: Iterable[Record], total: int) -> tuple[list[Period], BehaviourCounts]:
    """Return the periods of a log of ``total`` records, and the counts of the first.

    A user's way counts once a period. Some periods are empty where there are fewer records than periods.
    """
    counts = [BehaviourCounts() for _ in range(PERIODS)]
    spans: dict[int, tuple[float, float]] = {}
    for number, record in enumerate(records):
        period = min(number * PERIODS // max(total, 1), PERIODS - 1)
        counts[period].add(record.user, record.url, record.referrer)
        first, last = spans.get(period, (record.time, record.time))
        spans[period] = min(first, record.time), max(last, record.time)
    periods = [
        Period(first, last, {url: n for url, n in counts[period].snapshot().visits.items() if n})
        for period, (first, last) in spans.items()
    ]
    return periods, counts[0]


def reliability(patterns: Patterns, known: Mapping[str, int], periods: list[Period]) -> Reliability:
    """Hold the patterns mined in the first period, and its URLs ``known``, against the later ones.

    Liu 2011, section 5.2, temporal reliability.
    """
    return Reliability(periods, [_coverages(patterns, known, period.visits) for period in periods[1:]])


def _coverages(patterns: Patterns, known: Mapping[str, int], visits: Mapping[str, int]) -> dict[str, Coverage]:
    found = {URLS: coverage(visits, (url for url in visits if url in known))}
    for name, cut in patterns.cuts.items():
        found[name] = coverage(visits, matching(patterns.tree, cut, visits))
    return found


#: Which part of the log patterns were mined from.
ALL, FIRST = "all", "first period"


@dataclass(frozen=True)
class TreeFigures:
    """One row of the paper's Tables 3 and 4.

    ``approximation`` is the Jensen-Shannon divergence in bits, ``mirror`` the share of the mirror's URLs that
    match a pattern, ``layout`` the mean similarity of two pages of one pattern, ``apart`` of two patterns. They
    are None where there is no mirror, or no two such pages.
    """

    mined: str
    tree: str
    patterns: int
    height: int
    approximation: float
    mirror: float | None
    layout: float | None = None
    apart: float | None = None


def tree_figures(
    mined: str,
    patterns: Patterns,
    behaviour: Behaviour,
    mirror: Collection[str],
    layouts: Mapping[str, Layout] = MappingProxyType({}),
) -> list[TreeFigures]:
    """Return the figures of the syntax tree and of both cuts.

    ``mirror`` has the URLs of a mirror, or none; ``layouts`` those of some of its pages.
    """
    found = []
    for name, cut in patterns.cuts.items():
        covered = len(matching(patterns.tree, cut, mirror)) / len(mirror) if mirror else None
        approximation = traffic_approximation(behaviour.visits, patterns.tree, cut, patterns.figures)
        groups = {url: int(cut.of[patterns.tree.find(url)]) for url in layouts}
        similar = layout_similarity(layouts, groups)
        found.append(TreeFigures(mined, name, len(cut.patterns), cut.height, approximation, covered, *similar))
    return found


def read_layouts(pages: Iterable[tuple[str, bytes]]) -> dict[str, Layout]:
    """Return the layout of each of some pages, given as URL and HTML."""
    numbers: dict[tuple[int, str], int] = {}
    return {url: _layout(html, numbers) for url, html in pages}


def _layout(html: bytes, numbers: dict[tuple[int, str], int]) -> Layout:
    """Return the numbers of a page's tag paths; ``numbers`` has that of a path by its parent's and its tag."""
    parser = etree.HTMLParser(recover=True, no_network=True, huge_tree=False, remove_comments=True)
    try:
        root = etree.fromstring(html, parser)
    except etree.LxmlError:
        root = None
    paths: set[int] = set()
    below = [] if root is None else [(root, -1)]
    while below:
        element, parent = below.pop()
        if isinstance(element.tag, str):
            number = numbers.setdefault((parent, element.tag), len(numbers))
            paths.add(number)
            below += ((child, number) for child in element)
    return frozenset(paths)
