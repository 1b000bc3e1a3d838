"""What a site's trees came to, and how long the patterns of a log's first part hold in the later ones. The
accesses of a log that concern the site are records of who came to which URL from which.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

from lxml import etree

from scentline.agents.observe.observer import Site as Host
from scentline.agents.observe.observer import base_url, site_named
from scentline.models.facts import Access
from scentline.models.patterns.counts import Behaviour
from scentline.models.patterns.mine import Patterns
from scentline.models.url import canonical, host
from scentline.streams.settings import ObserveSettings
from scentline_lab.patterns import quality
from scentline_lab.progress import Progress
from scentline_lab.reading import LogReader


class Record(NamedTuple):
    """One access; ``referrer`` is None where it is not of the site."""

    user: str
    url: str
    referrer: str | None
    time: float = 0.0


class Site:
    """A host ``name`` and those beneath it; without one the host of ``base``, without either all of a log.
    ``base`` is the site of a log whose lines hold paths only, by default that of ``name``. To its pages people
    come from its other name as well, with or without "www.": that is the same page.
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
        """Return the record of an access, None of one to another site."""
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
        """Yield the records of a log in the order of its lines; robots are left out as the settings say. Raises
        what `LogReader.read` raises.
        """
        reader = LogReader(settings.model_copy(update={"base_url": self._base}), progress, everywhere=True)
        found = map(self.record, reader.read(source, "read the log"))
        return (record for record in found if record is not None)


def counted(records: Iterable[Record]) -> Behaviour:
    """Return F_in, F_out and F_trans of a site's URLs. The same user going the same way counts once."""
    visits, referrals, transitions = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for _, url, referrer in dict.fromkeys(record[:3] for record in records):
        visits[url] += 1
        if referrer is not None:
            visits.setdefault(referrer, 0)
            referrals[referrer] += 1
            transitions[referrer, url] += 1
    return Behaviour(visits, referrals, transitions)


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
        days = (datetime.fromtimestamp(time, UTC).date().isoformat() for time in (self.first, self.last))
        return " to ".join(dict.fromkeys(days))


@dataclass(frozen=True)
class Reliability:
    """How long patterns hold: coverage of each later period, by `URLS` and by the tree's stages."""

    periods: list[Period]
    coverages: list[dict[str, quality.Coverage]]

    @property
    def later_visits(self) -> dict[str, int]:
        """The visits of all periods after the first, by URL."""
        found: Counter[str] = Counter()
        for period in self.periods[1:]:
            found.update(period.visits)
        return found


def split(records: Sequence[Record]) -> tuple[list[Period], Behaviour]:
    """Return the periods that there are records in, and the counts of the first."""
    bounds = pairwise(-(-part * len(records) // PERIODS) for part in range(PERIODS + 1))
    found = [(records[start:end], counted(records[start:end])) for start, end in bounds if start < end]
    periods = []
    for part, counts in found:
        times = [record.time for record in part]
        periods.append(Period(min(times), max(times), {url: n for url, n in counts.visits.items() if n}))
    return periods, found[0][1]


def reliability(patterns: Patterns, periods: list[Period]) -> Reliability:
    """Hold the first period's patterns and URLs against the later ones (Liu 2011, section 5.2)."""
    known = periods[0].visits

    def coverages(visits: Mapping[str, int]) -> dict[str, quality.Coverage]:
        found = {URLS: quality.coverage(visits, (url for url in visits if url in known))}
        for name, cut in patterns.cuts.items():
            found[name] = quality.coverage(visits, quality.matching(patterns.tree, cut, visits))
        return found

    return Reliability(periods, [coverages(period.visits) for period in periods[1:]])


#: Which part of the log patterns were mined from.
ALL, FIRST = "all", "first period"


class TreeFigures(NamedTuple):
    """One row of the paper's Tables 3 and 4. ``approximation`` is the Jensen-Shannon divergence in bits,
    ``mirror`` the share of the mirror's URLs that match a pattern, ``layout`` the mean similarity of two pages
    of one pattern, ``apart`` of two patterns. They are None where there is no mirror, or no two such pages.
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
    mined: str,
    patterns: Patterns,
    behaviour: Behaviour,
    mirror: Collection[str],
    layouts: Mapping[str, quality.Layout],
) -> list[TreeFigures]:
    """Return the figures of the syntax tree and of both cuts; ``layouts`` are of some of the mirror's pages."""
    found = []
    for name, cut in patterns.cuts.items():
        covered = len(quality.matching(patterns.tree, cut, mirror)) / len(mirror) if mirror else None
        approximation = quality.traffic_approximation(behaviour.visits, patterns.tree, cut, patterns.figures)
        groups = {url: int(cut.of[patterns.tree.find(url)]) for url in layouts}
        similar = quality.layout_similarity(layouts, groups)
        found.append(TreeFigures(mined, name, len(cut.patterns), cut.height, approximation, covered, *similar))
    return found


def read_layouts(pages: Iterable[tuple[str, bytes]]) -> dict[str, quality.Layout]:
    """Return the layout of each of some pages, given as URL and HTML."""
    numbers: dict[tuple[int, str], int] = {}
    return {url: _layout(html, numbers) for url, html in pages}


def _layout(html: bytes, numbers: dict[tuple[int, str], int]) -> quality.Layout:
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
