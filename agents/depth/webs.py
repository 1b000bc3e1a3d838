"""Fetching the sites of an archive or a graph breadth-first, without a network."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agents.depth.copies import Copies
from agents.depth.places import Places
from agents.depth.sites import Sites
from agents.lab.archives import bodies
from agents.lab.progress import Progress
from agents.offline.archive import Archive
from agents.offline.linkgraph import read_graph
from agents.web.parse import parse
from models.depth.breadth import breadth_first
from models.depth.growth import Growth
from streams.settings import Settings


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
            site.growth = _fetched(home(name, pages), pages, texts, copies)


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
            site.growth = _numbered(graph.links)
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
            site.growth = breadth_first(home(name, pages), pages.get)


def home(site: str, pages: Mapping[str, Collection[str]]) -> str:
    """Return the page that a crawl of a site starts from: its root, else the page with the most links.

    >>> home("example.org", {"example.org/a": [], "example.org/": []})
    'example.org/'
    """
    root = f"{site}/"
    return root if root in pages else max(pages, key=lambda page: (len(pages[page]), page))


def _fetched(
    start: str, links: Mapping[str, Collection[str]], texts: Mapping[str, str], copies: Copies
) -> Growth:
    return breadth_first(start, links.get, lambda page: copies.take(page, texts[page]))


def _numbered(links: NDArray[np.int64]) -> Growth:
    """Fetch a graph of numbered pages, from the page with the most links."""
    ordered = links[np.argsort(links[:, 0], kind="stable")]
    first = np.searchsorted(ordered[:, 0], np.arange(links.max() + 2))
    targets = ordered[:, 1]

    def of(page: int) -> list[int]:
        found: list[int] = targets[first[page] : first[page + 1]].tolist()
        return found

    return breadth_first(int(np.diff(first).argmax()), of)
