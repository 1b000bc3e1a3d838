"""What a site's trees came to, and how long the patterns of a log's first part hold in the later ones. The
accesses of a log that concern the site are records of who came to which URL from which.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

from lxml import etree

from scentline.agents.observe.site import Site as Host
from scentline.agents.observe.site import base_url, site_named
from scentline.models.patterns.counts import Behaviour
from scentline.models.patterns.mine import Patterns
from scentline.models.url import canonical, host
from scentline.streams.facts import Access
from scentline.streams.settings import ObserveSettings
from scentline_lab.patterns import quality
from scentline_lab.progress import Progress
from scentline_lab.reading import LogReader


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
        return self._host is None or self._host.holds(url)

    def record(self, access: Access) -> Record | None:
        """Return the record of an access, None of one to another site."""
        if not self.holds(access.url):
            return None
        referrer = access.referrer
        if referrer is not None and self.base is not None and access.url.startswith(f"{self.base}/"):
            names = (host(each).removeprefix("www.") for each in (referrer, f"{self.base}/"))
            if len({*names}) == 1:
                referrer = f"{self.base}/{referrer.split('/', 3)[3]}"
        if referrer is not None and not self.holds(referrer):
            referrer = None
        return Record(access.user, access.url, referrer, access.time)


def records(
    source: str, settings: ObserveSettings, site: Site, progress: Progress, name: str
) -> Iterator[Record]:
    """Yield the records of a log file in the order of its lines; robots are left out as the settings say.
    ``name`` is what the reading is called. Raises what `LogReader.read` raises.
    """
    reader = LogReader(settings.model_copy(update={"base_url": site.base}), progress, everywhere=True)
    found = map(site.record, reader.read(source, name))
    return (record for record in found if record is not None)


#: Part of the URLs, or transitions, that is forgotten at once when there are too many.
_FORGOTTEN = 4
#: Records of which it is known at least whether they were there before.
_RECORDS = 200_000


class BehaviourCounts:
    """F_in, F_out and F_trans of one site's URLs, from records (URL, referrer, user) in any order.

    A record that was there before changes nothing: the same user going the same way counts once. Memory is
    bounded. Beyond ``urls`` URLs the quarter with the fewest visits and referrals is forgotten, and their
    transitions with them; beyond ``transitions`` the rarest quarter; ``forgotten`` says how many URLs. Within
    these bounds the counts do not depend on the order of the records.
    """

    def __init__(self, urls: int = 100_000, transitions: int = 200_000) -> None:
        self.forgotten = 0
        self._urls, self._most_transitions = urls, transitions
        self._seen, self._seen_before = set[bytes](), set[bytes]()
        self._visits: dict[str, int] = {}
        self._referrals: dict[str, int] = {}
        self._transitions: dict[tuple[str, str], int] = {}

    def __len__(self) -> int:
        return len(self._visits)

    def add(self, user: str, url: str, referrer: str | None) -> bool:
        """Count a record and return whether it is new; ``referrer`` is None where it is not of the site."""
        digest = blake2b(f"{user}\0{referrer}\0{url}".encode(), digest_size=8).digest()
        if digest in self._seen or digest in self._seen_before:
            return False
        if len(self._seen) >= _RECORDS:
            self._seen_before, self._seen = self._seen, set()
        self._seen.add(digest)
        visits = self._visits
        visits[url] = visits.get(url, 0) + 1
        if referrer is not None:
            visits.setdefault(referrer, 0)
            self._referrals[referrer] = self._referrals.get(referrer, 0) + 1
            way = (referrer, url)
            self._transitions[way] = self._transitions.get(way, 0) + 1
            if len(self._transitions) > self._most_transitions:
                gone = _rarest({" ".join(way): count for way, count in self._transitions.items()})
                kept = {way: n for way, n in self._transitions.items() if " ".join(way) not in gone}
                self._transitions = kept
        if len(visits) > self._urls:
            self._forget_urls()
        return True

    def snapshot(self) -> Behaviour:
        return Behaviour(dict(self._visits), dict(self._referrals), dict(self._transitions))

    def _forget_urls(self) -> None:
        gone = _rarest({url: visits + self._referrals.get(url, 0) for url, visits in self._visits.items()})
        self.forgotten += len(gone)
        self._visits = {url: count for url, count in self._visits.items() if url not in gone}
        self._referrals = {url: count for url, count in self._referrals.items() if url not in gone}
        self._transitions = {way: count for way, count in self._transitions.items() if gone.isdisjoint(way)}


def _rarest(weights: Mapping[str, int]) -> set[str]:
    """Return the quarter of least weight; among equals a checksum decides, so that none is favoured."""
    number = len(weights) // _FORGOTTEN + 1
    return set(sorted(weights, key=lambda name: (weights[name], crc32(name.encode()), name))[:number])


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


def split(records: Iterable[Record], total: int) -> tuple[list[Period], BehaviourCounts]:
    """Return the periods of ``total`` records, some maybe empty, and the counts of the first."""
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
    """Hold the first period's patterns and ``known`` URLs against the later ones (Liu 2011, section 5.2)."""

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
