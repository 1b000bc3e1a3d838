"""The sites of a log, an archive or a graph: page views, and pages fetched breadth-first."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from scentline.agents.judge.parse import parse
from scentline.agents.offline.archive import Archive
from scentline.agents.progress import Progress
from scentline.models.depth.trail import ELSEWHERE, unbrowsed
from scentline.models.duplicates import Sketch, bands, likeness, sketch
from scentline.models.url import host
from scentline.streams.settings import Settings
from scentline_lab.depth.breadth import breadth_first, ranks_by_level
from scentline_lab.depth.linkgraph import read_graph
from scentline_lab.depth.site import Site
from scentline_lab.reading import LogReader, bodies


class Page(NamedTuple):
    """A page of a site."""

    site: str
    name: str


class Places:
    """Tells the site of a canonical URL: its host without "www.", or one given host with all beneath it.

    A page is known by host and path, so that http, https and "www." make no difference.

    >>> Places(None).page("https://www.example.org/a")
    Page(site='example.org', name='example.org/a')
    >>> Places("example.org").page("http://news.example.org/a")
    Page(site='example.org', name='news.example.org/a')
    >>> Places("example.org").page("http://example.com/") is None
    True
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
        pages = (self.page(url) for url in urls)
        return list(dict.fromkeys(page.name for page in pages if page is not None and page.site == site))

    def referrer(self, url: str | None, site: str) -> str | None:
        """Return the page of the site that a referrer names, `ELSEWHERE` for another site's."""
        if url is None:
            return None
        page = self.page(url)
        return page.name if page is not None and page.site == site else ELSEWHERE


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
        """Count the sessions that are still open."""
        for site in self.known.values():
            site.finish()

    def largest(self) -> list[str]:
        """Return the names, those with the most page views, then the most fetched pages, first."""

        def size(name: str) -> tuple[int, int, str]:
            site = self.known[name]
            return -site.visits.total, -sum(site.growth.pages), name

        return sorted(self.known, key=size)


_Page = TypeVar("_Page", bound=Hashable)


def read_log(source: str, reader: LogReader, places: Places, sites: Sites) -> None:
    """Read a log to its end; raises what `LogReader.read` raises."""
    originals = sites.originals
    for access in reader.read(source):
        page = places.page(access.url)
        reason = unbrowsed(access.url) if page is not None else "another site"
        if reason:
            sites.passed[reason] += 1
        if reason or page is None:
            continue
        site = sites.site(page.site)
        if site is None:
            continue
        referrer = places.referrer(access.referrer, page.site)
        if referrer and access.referrer is not None and unbrowsed(access.referrer):
            referrer = ELSEWHERE
        if referrer is not None:
            referrer = originals.get(referrer, referrer)
        visitor = f"{access.user} {reader.agent}"
        site.view(visitor, access.time, originals.get(page.name, page.name), referrer)


class Copies:
    """Finds pages that are like a page before, as the judge does; ``originals`` gets which page that is."""

    def __init__(self, threshold: float, least_words: int, originals: dict[str, str]) -> None:
        self._threshold = threshold
        self._least = least_words
        self._bands: defaultdict[bytes, list[tuple[str, Sketch]]] = defaultdict(list)
        self._originals = originals

    def take(self, name: str, text: str) -> bool:
        """Take in a page, and tell whether it is like one before."""
        found = sketch(text, self._least)
        if found is None:
            return False
        keys = list(bands(found))
        for key in keys:
            for other, known in self._bands[key]:
                if likeness(found, known) >= self._threshold:
                    self._originals[name] = other
                    return True
        for key in keys:
            self._bands[key].append((name, found))
        return False


def fetch_archives(
    archives: Iterable[Path], settings: Settings, places: Places, sites: Sites, progress: Progress
) -> None:
    """Fetch each site of the archives from its home page on, and note which pages are copies of others.

    Raises `ArchiveError` for what is no archive, OSError for what can't be opened.
    """
    texts: dict[str, str] = {}
    links: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    progress.phase("index the archive", 1)
    with Archive(archives) as archive:
        progress.advance()
        progress.phase("read the pages", len(archive))
        for body in bodies(archive, settings.fetch.max_bytes, progress):
            place = places.page(body.url)
            if place is None:
                continue
            page = parse(body.url, body.content, body.content_type, settings.judge)
            texts[place.name] = f"{page.title} {page.text}"
            links[place.site][place.name] = places.inside(place.site, (link.url for link in page.links))
    for name, pages in links.items():
        site = sites.site(name)
        if site is not None:
            copies = Copies(settings.judge.likeness, settings.judge.least_words, sites.originals)
            _fetch(site, home(name, pages), pages.get, partial(_copied, copies, texts))


def fetch_graph(path: Path, places: Places, sites: Sites, progress: Progress) -> None:
    """Fetch each site of a graph from its home page on; without URLs the graph is one site, by its file's name.

    Raises `GraphError`.
    """
    progress.phase(f"read {path.name}", 1)
    graph = read_graph(path)
    progress.advance()
    if not graph.urls:
        site = sites.site(path.name.partition(".")[0])
        if site is not None:
            _fetch_numbered(site, graph.links)
        return
    links: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    targets: defaultdict[int, list[str]] = defaultdict(list)
    for source, target in graph.links.tolist():
        targets[source].append(graph.urls[target])
    for number, url in graph.urls.items():
        place = places.page(url)
        if place is not None:
            links[place.site][place.name] = places.inside(place.site, targets[number])
    for name, pages in links.items():
        site = sites.site(name)
        if site is not None:
            _fetch(site, home(name, pages), pages.get)


def home(site: str, pages: Mapping[str, Collection[str]]) -> str:
    """Return the page that a crawl of a site starts from: its root, else the page with the most links.

    >>> home("example.org", {"example.org/a": [], "example.org/": []})
    'example.org/'
    """
    root = f"{site}/"
    return root if root in pages else max(pages, key=lambda page: (len(pages[page]), page))


def _copied(copies: Copies, texts: Mapping[str, str], page: str) -> bool:
    return copies.take(page, texts[page])


def _fetch(
    site: Site,
    start: _Page,
    links: Callable[[_Page], Collection[_Page] | None],
    copy: Callable[[_Page], bool] = lambda _: False,
) -> None:
    """Fetch a site from its start page on, and note what that tells of it."""
    site.growth, levels = breadth_first(start, links, copy)
    site.ranks = ranks_by_level(levels, links)


def _fetch_numbered(site: Site, links: NDArray[np.int64]) -> None:
    """Fetch a graph of numbered pages, from the page with the most links."""
    ordered = links[np.argsort(links[:, 0], kind="stable")]
    first = np.searchsorted(ordered[:, 0], np.arange(links.max() + 2))
    targets = ordered[:, 1]

    def of(page: int) -> list[int]:
        found: list[int] = targets[first[page] : first[page + 1]].tolist()
        return found

    _fetch(site, int(np.diff(first).argmax()), of)
