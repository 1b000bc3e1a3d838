"""The sites of a log, an archive or a graph: sessions of users, and pages fetched breadth-first."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import numpy as np

from scentline.models.duplicates import sketch
from scentline.models.ordering import pagerank
from scentline.models.page import Page
from scentline.models.papers.depth import ENOUGH, Advice, Growth, Surfer, by_links, by_views
from scentline.models.papers.trail import ELSEWHERE, PAUSE, Trail, unbrowsed
from scentline.models.url import host
from scentline.streams.settings import Settings
from scentline_lab.depth.sessions import Counted, Session, best, fit
from scentline_lab.experiment import Progress
from scentline_lab.order.reading import Graph
from scentline_lab.reading import LogReader, each_page, read_graph
from scentline_lab.simulation.virtual import Copies

_Page = TypeVar("_Page", bound=Hashable)
_Links = Callable[[_Page], Collection[_Page] | None]
#: Sessions that may be open at a time; beyond them the one longest without an access is ended.
OPEN: Final = 10_000


class _Open:
    """A session that goes on: its trail, and the number of each page viewed."""

    def __init__(self, time: float, page: str, referrer: str | None) -> None:
        came_from = referrer if referrer and referrer != page else None
        self.start = came_from or page
        self.trail = Trail.begin(time, page.encode(), came_from.encode() if came_from else None, [])
        self.order = [0] if came_from is None else [0, 1]
        self.put_back = len(self.order) - 1

    def view(self, time: float, page: str, referrer: str | None) -> None:
        trail, before = self.trail, self.trail.seen
        came_from = referrer.encode() if referrer and referrer != page else None
        trail.view(time, page.encode(), came_from, [])
        if came_from is not None and trail.seen - before == 2:
            self.order.append(trail.numbers[came_from])
            self.put_back += 1
        if trail.seen > before:
            self.order.append(trail.at)

    def end(self) -> Session:
        return Session(tuple(self.trail.levels[number] for number in self.order), self.start, self.put_back)


class Sessions:
    """Groups the accesses of a site into sessions, as Baeza-Yates and Castillo 2004, section 4, do.

    A session (`models.papers.trail.Trail`) is what one visitor (user and agent) views with pauses of 30 minutes
    at most. Until a referrer was seen, a log is taken to have none, and each view to follow the one before. A
    duplicate counts as the page that it is like (section 5): visiting it is a move back, so the caller gives
    all copies of a page one name. Memory is bounded: 10,000 open sessions of 500 views at most.
    """

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._referrers = False

    def view(self, visitor: str, time: float, page: str, referrer: str | None) -> list[Session]:
        """Add a page view, and return the sessions that have ended by then. ``time`` is in seconds; accesses
        may come out of order by less than a pause. ``referrer`` is a page of the site,
        `models.papers.trail.ELSEWHERE`, or None where none was sent.
        """
        self._referrers = self._referrers or referrer is not None
        known, ended = self._open.pop(visitor, None), []
        from_page = referrer.encode() if referrer else referrer
        if known is not None and known.trail.goes_on(time, page.encode(), from_page, self._referrers):
            known.view(time, page, referrer)
        else:
            ended += [] if known is None else [known.end()]
            known = _Open(time, page, referrer)
        self._open[visitor] = known
        # Either way: a line with a wrong time, far ahead, must not end all sessions that come after it.
        while len(self._open) > OPEN or abs(time - next(iter(self._open.values())).trail.last) > PAUSE:
            ended.append(self._oldest())
        return ended

    def finish(self) -> list[Session]:
        return [self._oldest() for _ in range(len(self._open))]

    def _oldest(self) -> Session:
        return self._open.pop(next(iter(self._open))).end()


class Site:
    """What is known of a site: its users' sessions, and how many of its links lead to new URLs."""

    def __init__(self, home: str) -> None:
        self.visits = Counted()
        self.growth = Growth()
        #: The share of the site's PageRank on each level, where it was fetched whole.
        self.ranks: list[float] = []
        self._home = home
        self._sessions = Sessions()
        #: Whether users enter the site by a page, of the pages seen.
        self._entered: dict[str, bool] = {}

    def view(self, visitor: str, time: float, page: str, referrer: str | None) -> None:
        self._entered.setdefault(page, False)
        self._add(self._sessions.view(visitor, time, page, referrer))

    def finish(self) -> None:
        self._add(self._sessions.finish())

    def _add(self, ended: list[Session]) -> None:
        for session in ended:
            self.visits.add(session, session.start == self._home)
            self._entered[session.start] = True

    def fetch(
        self, start: _Page, links: _Links[_Page], copy: Callable[[_Page], bool] = lambda _: False
    ) -> None:
        """Fetch the site breadth-first (`breadth_first`)."""
        self.growth, levels = breadth_first(start, links, copy)
        self.ranks = ranks_by_level(levels, links)

    def directories(self) -> list[tuple[int, int]]:
        """Return the distinct pages, and the entry pages among them, by the number of their directories.

        Baeza-Yates and Castillo 2004, section 5, "considering only the directory structure". A page is known by
        host and path; "/a.html" lies in no directory, "/a/" and "/a/b.html" in one.
        """
        found, entries = Counter[int](), Counter[int]()
        for page, entered in self._entered.items():
            depth = page.partition("?")[0].count("/") - 1
            found[depth] += 1
            entries[depth] += entered
        return [(found[depth], entries[depth]) for depth in range(max(found, default=-1) + 1)]

    def advice(self, share: float = 0.9) -> Advice:
        """Return the depth that keeps a share of the page views, from 0 up to below 1, and why.

        From 100 sessions on it is the depth that kept it so far. With fewer, it is what new URLs against seen
        ones say (`Growth`); before a page was fetched, the depth of the surfer that fits best, with the highest
        q that the sessions allow for.
        """
        visits, growth = self.visits, self.growth
        if visits.sessions >= ENOUGH:
            return by_views(visits, share)
        if growth.pages:
            return by_links(growth, share)
        if visits.sessions < 2:
            return Advice(None, "", f"{visits.sessions} sessions, and no page was fetched")
        found = best(visits)
        why = f"model {found.surfer} with q up to {found.high:.2f}, from {visits.sessions} sessions only"
        return Advice(found.surfer.depth(found.high, share), "model", why)


class Result:
    """A site's figures; None where there are neither sessions nor links: the fits of the three surfers and the
    best of them, the depth that keeps the share of the views, and that of a surfer who follows links at random.
    """

    def __init__(self, name: str, site: Site, share: float) -> None:
        self.name, self.site, self.share, self.advice = name, site, share, site.advice(share)
        visits, growth = site.visits, site.growth
        self.fits = tuple(fit(visits, surfer) for surfer in Surfer) if visits.sessions else ()
        self.best = best(visits) if visits.sessions else None
        self.depth_views = visits.depth(share) if visits.sessions else None
        self.depth_links = growth.depth(share) if growth.pages else None


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

        def original(page: str) -> str:
            return self._originals.get(page, page)

        for access in reader.read(source):
            place = self.place(access.url)
            reason = unbrowsed(access.url) if place is not None else "another site"
            if reason or place is None:
                self.passed[reason] += 1
                continue
            referrer, visitor = self._referrer(access.referrer, place.site), f"{access.user} {reader.agent}"
            seen = None if referrer is None else original(referrer)
            self.site(place.site).view(visitor, access.time, original(place.page), seen)

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

            self.site(name).fetch(home(name, pages), pages.get, copied)

    def fetch_graph(self, path: Path) -> None:
        """Fetch each site of a graph; without URLs it is one, by its file's name. Raises `GraphError`."""
        graph, targets = read_graph(path), defaultdict[int, list[int]](list)
        for source, target in graph.links.tolist():
            targets[source].append(target)
        if not graph.urls:
            most = max(sorted(targets), key=lambda page: len(targets[page]))
            self.site(path.name.partition(".")[0]).fetch(most, lambda page: targets.get(page, []))
        links: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
        for number, url in graph.urls.items():
            if (place := self.place(url)) is not None:
                urls = (graph.urls[target] for target in targets[number])
                links[place.site][place.page] = self._inside(place.site, urls)
        for name, pages in links.items():
            self.site(name).fetch(home(name, pages), pages.get)


def breadth_first(
    start: _Page, links: _Links[_Page], copy: Callable[[_Page], bool] = lambda _: False
) -> tuple[Growth, dict[_Page, int]]:
    """Fetch all that can be reached from the start page; return what its links led to, and each page's level.
    ``links`` has the distinct targets of a page within the site, None where there is no page; ``copy`` tells of
    each page in turn whether it is like one before. The link to what is no page, or a copy, led back.
    """
    growth, levels, seen = Growth(), dict[_Page, int](), {start: 0}
    waiting = deque([start])
    while waiting:
        page = waiting.popleft()
        level, targets = seen[page], links(page)
        if targets is None or copy(page):
            growth.led_back(level)
            continue
        new = [target for target in targets if target not in seen]
        seen |= dict.fromkeys(new, level + 1)
        waiting += new
        growth.fetched(level, len(new), len(targets) - len(new))
        levels[page] = level
    return growth, levels


def ranks_by_level(levels: Mapping[_Page, int], links: _Links[_Page]) -> list[float]:
    """Return the share of the site's PageRank that the pages of each level have. Baeza-Yates and Castillo 2004,
    section 5, ask how much of it the first levels capture. Theirs is that of a sample of the web, this one that
    of the pages fetched by the links between them.
    """
    if not levels:
        return []
    ranks = pagerank(Graph.of_links({page: links(page) or () for page in levels}).matrix)
    return [*map(float, np.bincount(list(levels.values()), ranks) / ranks.sum())]


def home(site: str, pages: Mapping[str, Collection[str]]) -> str:
    """Return the page that a crawl of a site starts from: its root, else the page with the most links."""
    root = f"{site}/"
    return root if root in pages else max(pages, key=lambda page: (len(pages[page]), page))
