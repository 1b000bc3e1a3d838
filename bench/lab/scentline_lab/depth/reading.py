"""The sites of a log, an archive or a graph: page views, and pages fetched breadth-first."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from scentline.agents.judge.parse import parse
from scentline.agents.offline.archive import Archive
from scentline.models.depth.growth import Growth
from scentline.models.depth.site import Advice
from scentline.models.depth.surfers import Fit
from scentline.models.depth.trail import ELSEWHERE, unbrowsed
from scentline.models.duplicates import Sketch, bands, likeness, sketch
from scentline.models.ordering.rank import pagerank
from scentline.models.url import host
from scentline.streams.settings import Settings
from scentline_lab.depth.site import Site
from scentline_lab.order.graph import Graph
from scentline_lab.progress import Progress
from scentline_lab.reading import LogReader, bodies, read_graph


class Page(NamedTuple):
    """A page of a site."""

    site: str
    name: str


class Places:
    """Tells the site of a canonical URL: its host without "www.", or one given host with all beneath it.

    known by host and path, so that http, https and "www." make no difference.

    >>> Places(None).page("https://www.example.org/a")
    Page(site='example.org', name='example.org/a')
    """

    def __init__(self, only: str | None) -> None:
        self._only = None if only is None else only.lower().removeprefix("www.")

    def page(self, url: str) -> Page | None:
        """Return the page that a URL stands for; None where it is of no site that is looked at."""
        name = url.partition("://")[2].removeprefix("www.")
        found = host(url).removeprefix("www.")
        if self._only is None:
            return Page(found, name)
        beneath = found == self._only or found.endswith(f".{self._only}")
        return Page(self._only, name) if beneath else None

    def inside(self, site: str, urls: Iterable[str]) -> list[str]:
        """Return the distinct pages of a site among URLs, in their order."""
        pages = map(self.page, urls)
        return list(dict.fromkeys(page.name for page in pages if page is not None and page.site == site))

    def referrer(self, url: str | None, site: str) -> str | None:
        """Return the page of the site that a referrer names, `ELSEWHERE` for another site's."""
        page = None if url is None else self.page(url)
        return page.name if page is not None and page.site == site else None if url is None else ELSEWHERE


#: Sites that are kept; views of further ones are passed over and counted.
MOST_SITES: Final = 10_000


class Sites:
    """The sites by name, the original of each page that is a copy, and counts of what was passed over."""

    def __init__(self) -> None:
        self.known: dict[str, Site] = {}
        self.passed: Counter[str] = Counter()
        self.originals: dict[str, str] = {}

    def site(self, name: str) -> Site | None:
        """Return what is known of a site; None, and it is counted, where it is one too many."""
        found = self.known.get(name)
        if found is None:
            if len(self.known) >= MOST_SITES:
                self.passed["site beyond the first 10,000"] += 1
                return None
            found = self.known[name] = Site(home=f"{name}/")
        return found

    def finish(self) -> None:
        for site in self.known.values():
            site.finish()

    def largest(self) -> list[str]:
        """Return the names, those with the most page views, then the most fetched pages, first."""

        def size(name: str) -> tuple[int, int, str]:
            site = self.known[name]
            return -site.visits.total, -sum(site.growth.pages), name

        return sorted(self.known, key=size)


@dataclass(frozen=True)
class Result:
    """A site's figures; None where there are neither sessions nor links."""

    name: str
    site: Site
    share: float
    #: The fits of the three surfers where the site has sessions, and the best of them.
    fits: tuple[Fit, ...]
    best: Fit | None
    #: The depth that keeps the share of the observed views, and that of a surfer who follows links at random.
    depth_views: int | None
    depth_links: int | None
    advice: Advice


_Page = TypeVar("_Page", bound=Hashable)
_Links = Callable[[_Page], Collection[_Page] | None]
#: The links of each page, within its site, by site and page.
_Linked = defaultdict[str, dict[str, list[str]]]


def read_log(source: str, reader: LogReader, places: Places, sites: Sites) -> None:
    """Read a log to its end; raises what `LogReader.read` raises."""
    originals = sites.originals
    for access in reader.read(source):
        page = places.page(access.url)
        reason = unbrowsed(access.url) if page is not None else "another site"
        if reason:
            sites.passed[reason] += 1
        if reason or page is None or (site := sites.site(page.site)) is None:
            continue
        referrer = places.referrer(access.referrer, page.site)
        if referrer and access.referrer is not None and unbrowsed(access.referrer):
            referrer = ELSEWHERE
        if referrer is not None:
            referrer = originals.get(referrer, referrer)
        visitor = f"{access.user} {reader.agent}"
        site.view(visitor, access.time, originals.get(page.name, page.name), referrer)


def breadth_first(
    start: _Page, links: _Links[_Page], copy: Callable[[_Page], bool] = lambda _: False
) -> tuple[Growth, dict[_Page, int]]:
    """Fetch all that can be reached from the start page; return what its links led to, and each page's level.
    ``links`` has the distinct targets of a page within the site, None where there is no page; ``copy`` tells of
    each page in turn whether it is like one before. The link to what is no page, or a copy, led back.
    """
    growth, levels = Growth(), dict[_Page, int]()
    seen = {start}
    level, reached = 0, [start]
    while reached:
        further: list[_Page] = []
        for page in reached:
            targets = links(page)
            if targets is None or copy(page):
                growth.led_back(level)
                continue
            new = [target for target in targets if target not in seen]
            seen.update(new)
            further += new
            growth.fetched(level, len(new), len(targets) - len(new))
            levels[page] = level
        level, reached = level + 1, further
    return growth, levels


def ranks_by_level(levels: Mapping[_Page, int], links: _Links[_Page]) -> list[float]:
    """Return the share of the site's PageRank that the pages of each level have. Baeza-Yates and Castillo 2004,
    section 5, ask how much of it the first levels capture. Theirs is that of a sample of the web, this one that
    of the pages fetched by the links between them.
    """
    numbers = {page: number for number, page in enumerate(levels)}
    ends = (
        end
        for page, number in numbers.items()
        for target in links(page) or ()
        if target in numbers
        for end in (number, numbers[target])
    )
    if not numbers:
        return []
    edges = np.fromiter(ends, np.int64).reshape(-1, 2)
    ranks = pagerank(Graph.of_edges(edges[:, 0], edges[:, 1], len(numbers)).matrix)
    shares: list[float] = (np.bincount(list(levels.values()), ranks) / ranks.sum()).tolist()
    return shares


class Copies:
    """Finds pages that are like a page before, as the judge does; ``originals`` gets which page that is."""

    def __init__(self, threshold: float, least_words: int, originals: dict[str, str]) -> None:
        self._threshold, self._least, self._originals = threshold, least_words, originals
        self._bands: defaultdict[bytes, list[tuple[str, Sketch]]] = defaultdict(list)

    def take(self, name: str, text: str) -> bool:
        """Remember a page, and return whether it is like one before."""
        found = sketch(text, self._least)
        if found is None:
            return False
        keys = list(bands(found))
        for other, known in (each for key in keys for each in self._bands[key]):
            if likeness(found, known) >= self._threshold:
                self._originals[name] = other
                return True
        for key in keys:
            self._bands[key].append((name, found))
        return False


def fetch_archives(
    archives: Iterable[Path], settings: Settings, places: Places, sites: Sites, progress: Progress
) -> None:
    """Fetch each site of the archives, and note copies. Raises `ArchiveError`, and OSError."""
    texts: dict[str, str] = {}
    links: _Linked = defaultdict(dict)
    progress.phase("index the archive", 1)
    with Archive(archives) as archive:
        progress.advance()
        progress.phase("read the pages", len(archive))
        for body in bodies(archive, settings.fetch.max_bytes, progress):
            place = places.page(body.url)
            if place is not None:
                page = parse(body.url, body.content, body.content_type, settings.judge)
                texts[place.name] = f"{page.title} {page.text}"
                links[place.site][place.name] = places.inside(place.site, (link.url for link in page.links))

    def copies() -> Callable[[str], bool]:
        of_site = Copies(settings.judge.likeness, settings.judge.least_words, sites.originals)
        return lambda page: of_site.take(page, texts[page])

    _fetch_all(links, sites, copies)


def fetch_graph(path: Path, places: Places, sites: Sites, progress: Progress) -> None:
    """Fetch each site of a graph; without URLs it is one, by its file's name. Raises `GraphError`."""
    progress.phase(f"read {path.name}", 1)
    graph = read_graph(path)
    progress.advance()
    if not graph.urls:
        site = sites.site(path.name.partition(".")[0])
        if site is not None:
            _fetch_numbered(site, graph.links)
        return
    links: _Linked = defaultdict(dict)
    targets: defaultdict[int, list[str]] = defaultdict(list)
    for source, target in graph.links.tolist():
        targets[source].append(graph.urls[target])
    for number, url in graph.urls.items():
        place = places.page(url)
        if place is not None:
            links[place.site][place.name] = places.inside(place.site, targets[number])
    _fetch_all(links, sites, lambda: lambda _: False)


def home(site: str, pages: Mapping[str, Collection[str]]) -> str:
    """Return the page that a crawl of a site starts from: its root, else the page with the most links."""
    root = f"{site}/"
    return root if root in pages else max(pages, key=lambda page: (len(pages[page]), page))


def _fetch_all(links: _Linked, sites: Sites, copies: Callable[[], Callable[[str], bool]]) -> None:
    """Fetch each site from its home page on; ``copies`` makes what tells copies among a site's pages."""
    for name, pages in links.items():
        site = sites.site(name)
        if site is not None:
            site.growth, levels = breadth_first(home(name, pages), pages.get, copies())
            site.ranks = ranks_by_level(levels, pages.get)


def _fetch_numbered(site: Site, links: NDArray[np.int64]) -> None:
    """Fetch a graph of numbered pages, from the page with the most links."""
    ordered = links[np.argsort(links[:, 0], kind="stable")]
    first = np.searchsorted(ordered[:, 0], np.arange(links.max() + 2))

    def of(page: int) -> list[int]:
        found: list[int] = ordered[first[page] : first[page + 1], 1].tolist()
        return found

    site.growth, levels = breadth_first(int(np.diff(first).argmax()), of)
    site.ranks = ranks_by_level(levels, of)
