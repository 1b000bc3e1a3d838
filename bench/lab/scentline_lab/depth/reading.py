"""The sites of a log, an archive or a graph: page views, and pages fetched breadth-first."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from scentline.models.depth.growth import Growth
from scentline.models.depth.trail import ELSEWHERE, unbrowsed
from scentline.models.duplicates import sketch
from scentline.models.ordering.rank import pagerank
from scentline.models.page import Page
from scentline.models.url import host
from scentline.streams.settings import Settings
from scentline_lab.depth.site import Site
from scentline_lab.order.reading import Graph
from scentline_lab.progress import Progress
from scentline_lab.reading import LogReader, each_page, read_graph
from scentline_lab.simulation.virtual import Copies

_Page = TypeVar("_Page", bound=Hashable)
_Links = Callable[[_Page], Collection[_Page] | None]


class Place(NamedTuple):
    """A page of a site."""

    site: str
    page: str


class Sites:
    """The sites by name, the original of each page that is a copy, and counts of what was passed over.

    A site is a host without "www.", or one given host with all beneath it; its pages are known by host and
    path, so that http, https and "www." make no difference.

    >>> Sites(None).place("https://www.example.org/a")
    Place(site='example.org', page='example.org/a')
    """

    def __init__(self, only: str | None) -> None:
        self.known: dict[str, Site] = {}
        self.passed: Counter[str] = Counter()
        self._originals: dict[str, str] = {}
        self._only = None if only is None else only.lower().removeprefix("www.")

    def site(self, name: str) -> Site:
        if name not in self.known:
            self.known[name] = Site(home=f"{name}/")
        return self.known[name]

    def place(self, url: str) -> Place | None:
        """Return the page that a canonical URL stands for; None where it is of no site that is looked at."""
        page = url.partition("://")[2].removeprefix("www.")
        found = host(url).removeprefix("www.")
        if self._only is None:
            return Place(found, page)
        beneath = found == self._only or found.endswith(f".{self._only}")
        return Place(self._only, page) if beneath else None

    def _inside(self, site: str, urls: Iterable[str]) -> list[str]:
        """Return the distinct pages of a site among URLs, in their order."""
        places = map(self.place, urls)
        return list(dict.fromkeys(each.page for each in places if each is not None and each.site == site))

    def _referrer(self, url: str | None, site: str) -> str | None:
        """Return the page of the site that a referrer names, `ELSEWHERE` for another site's."""
        if url is None:
            return None
        place = self.place(url)
        return ELSEWHERE if place is None or place.site != site or unbrowsed(url) else place.page

    def read_log(self, source: str, reader: LogReader) -> None:
        """Read a log to its end; raises what `LogReader.read` raises."""
        originals = self._originals
        for access in reader.read(source):
            place = self.place(access.url)
            reason = unbrowsed(access.url) if place is not None else "another site"
            if reason or place is None:
                self.passed[reason] += 1
                continue
            referrer = self._referrer(access.referrer, place.site)
            if referrer is not None:
                referrer = originals.get(referrer, referrer)
            visitor, page = f"{access.user} {reader.agent}", originals.get(place.page, place.page)
            self.site(place.site).view(visitor, access.time, page, referrer)

    def fetch_archives(self, archives: Iterable[Path], settings: Settings, progress: Progress) -> None:
        """Fetch each site of the archives, and note copies. Raises `ArchiveError`, and OSError."""
        least = settings.judge.least_words

        def read(page: Page) -> tuple[Place, list[str], bytes | None] | None:
            place = self.place(page.url)
            if place is None:
                return None
            inside = self._inside(place.site, (link.url for link in page.links))
            return place, inside, sketch(f"{page.title} {page.text}", least)

        sketches: dict[str, bytes | None] = {}
        links: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
        for place, inside, found in each_page(archives, read, settings, 1, progress):
            links[place.site][place.page], sketches[place.page] = inside, found
        for name, pages in links.items():
            copies = Copies(settings.judge.likeness)

            def copied(page: str, copies: Copies = copies) -> bool:
                original = copies.original(page, sketches[page])
                self._originals |= {} if original is None else {page: original}
                return original is not None

            _fetch(self.site(name), home(name, pages), pages.get, copied)

    def fetch_graph(self, path: Path) -> None:
        """Fetch each site of a graph; without URLs it is one, by its file's name. Raises `GraphError`."""
        graph, targets = read_graph(path), defaultdict[int, list[int]](list)
        for source, target in graph.links.tolist():
            targets[source].append(target)
        if not graph.urls:
            most = max(sorted(targets), key=lambda page: len(targets[page]))
            _fetch(self.site(path.name.partition(".")[0]), most, lambda page: targets.get(page, []))
        links: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
        for number, url in graph.urls.items():
            place = self.place(url)
            if place is not None:
                urls = (graph.urls[target] for target in targets[number])
                links[place.site][place.page] = self._inside(place.site, urls)
        for name, pages in links.items():
            _fetch(self.site(name), home(name, pages), pages.get)


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
    if not levels:
        return []
    ranks = pagerank(Graph.of_links({page: links(page) or () for page in levels}).matrix)
    shares: list[float] = (np.bincount(list(levels.values()), ranks) / ranks.sum()).tolist()
    return shares


def home(site: str, pages: Mapping[str, Collection[str]]) -> str:
    """Return the page that a crawl of a site starts from: its root, else the page with the most links."""
    root = f"{site}/"
    return root if root in pages else max(pages, key=lambda page: (len(pages[page]), page))


def _fetch(
    site: Site, start: _Page, links: _Links[_Page], copy: Callable[[_Page], bool] = lambda _: False
) -> None:
    site.growth, levels = breadth_first(start, links, copy)
    site.ranks = ranks_by_level(levels, links)
