"""The sites of logs, archives and graphs (Baeza-Yates and Castillo 2004): sessions, fits and links."""

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec
import numpy as np

from scentline.models.duplicates import sketch
from scentline.models.ordering import pagerank
from scentline.models.page import Page
from scentline.models.papers import depth
from scentline.models.papers.depth import ENOUGH, Advice, Growth, Surfer, Visits, by_links, by_views
from scentline.models.papers.trail import ELSEWHERE, PAUSE, Trail, unbrowsed
from scentline.models.url import host
from scentline.streams.settings import Settings
from scentline_lab.experiment import Progress
from scentline_lab.order.reading import Graph
from scentline_lab.reading import LogReader, each_page, read_graph
from scentline_lab.simulation.virtual import Copies


class Session(NamedTuple):
    """The level of each view of a finished session, its first page, and how many views the log lacks."""

    levels: tuple[int, ...]
    start: str
    put_back: int


class Move(StrEnum):
    """What a user does next, in the paper's words; "jump" leaves the site."""

    NEXT = "next"
    START = "start"
    JUMP = "jump"
    BACK = "back"
    STAY = "stay"
    PREVIOUS = "previous"
    FORWARD = "forward"


def move(before: int, after: int) -> Move:
    """Return the move from one level to another; from level 1 to the start page it is "back"."""
    near = {1: Move.NEXT, 0: Move.STAY, -1: Move.BACK}.get(after - before)
    return near or (Move.FORWARD if after > before else Move.START if after == 0 else Move.PREVIOUS)


def moves(levels: Sequence[int]) -> Iterator[tuple[int, Move]]:
    """Yield the level of each view of a session and the move made from there; the last one is "jump"."""
    for before, after in pairwise(levels):
        yield before, move(before, after)
    yield levels[-1], Move.JUMP


class Counted(Visits):
    """Counts of a site's sessions."""

    moves: list[dict[Move, int]] = msgspec.field(default_factory=list)  #: By level.
    homes: int = 0  #: Sessions that began with the home page.
    singles: int = 0  #: Sessions of one view.
    put_back: int = 0  #: Views that the log lacks.
    #: (sum n^2, sum n d, sum d^2) over sessions of n views whose levels sum to d.
    squares: tuple[int, int, int] = (0, 0, 0)

    def add(self, session: Session, home: bool) -> None:
        levels = session.levels
        while len(self.views) <= max(levels):
            self.views.append(0)
            self.moves.append({})
        for level, made in moves(levels):
            self.views[level] += 1
            self.moves[level][made] = self.moves[level].get(made, 0) + 1
        views, depths = len(levels), sum(levels)
        first, mixed, second = self.squares
        self.squares = (first + views * views, mixed + views * depths, second + depths * depths)
        self.sessions += 1
        self.homes += home
        self.singles += views == 1
        self.put_back += session.put_back


_CHI2 = 3.841  # The 95 % point of chi-squared with one degree of freedom.
_STEPS = 60
_MOST = 1 - 1e-6  # At a ratio of 1 a surfer would never come back.


class Fit(NamedTuple):
    """A surfer's q, between ``low`` and ``high`` with 95 % confidence, and the error of `depth.Fit`."""

    surfer: Surfer
    q: float
    low: float
    high: float
    error: float


def fit(visits: Counted, surfer: Surfer) -> Fit:
    """Return the fit of a surfer with its interval; raises ValueError without views.

    -2 log of the likelihood ratio is multiplied by H / J, as views come in sessions (Chandler and Bate,
    Inference for clustered data using the independence loglikelihood, Biometrika 2007).
    """
    found = depth.fit(visits, surfer)
    low, high = map(surfer.probability, _interval(visits, surfer.trials, surfer.ratio(found.q)))
    return Fit(surfer, found.q, low, high, found.error)


def best(visits: Counted) -> Fit:
    """Return the fit of least error; A where from level 2 on more moves are "back" than "start" and "jump"."""
    made = sum(map(Counter, visits.moves[2:]), Counter[Move]())
    stepped = made[Move.BACK] > made[Move.START] + made[Move.JUMP]
    return fit(visits, depth.best(visits, Surfer.A if stepped else Surfer.B).surfer)


def _interval(visits: Counted, trials: int, ratio: float) -> tuple[float, float]:
    """Return the bounds of the ratio; everything for a single session."""
    views, levels = visits.total, visits.levels
    if visits.sessions < 2:
        return 0.0, _MOST
    weight = _weight(visits, trials, ratio)

    def inside(other: float) -> bool:
        lost = trials * views * math.log((1 - ratio) / (1 - other))
        if levels:
            lost += levels * math.log(ratio / other)
        return 2 * weight * lost <= _CHI2

    def bound(beyond: float) -> float:
        """Return the end of the interval by halving."""
        within = ratio
        for _ in range(_STEPS):
            middle = (within + beyond) / 2
            within, beyond = (middle, beyond) if inside(middle) else (within, middle)
        return within

    return bound(0.0) if levels else 0.0, bound(_MOST)


def _weight(visits: Counted, trials: int, ratio: float) -> float:
    """Return H / J, the information of independent views by the sessions' squared scores, at most 1."""
    if not visits.levels:  # each session counts as one view
        return visits.sessions / visits.total
    rest = 1 - ratio
    views, mixed, levels = visits.squares
    squared = levels / ratio**2 - 2 * trials * mixed / (ratio * rest) + trials**2 * views / rest**2
    information = visits.levels / ratio**2 + trials * visits.total / rest**2
    return min(1.0, information / squared) if squared > 0 else 1.0


_Page = TypeVar("_Page", bound=Hashable)
_Links = Callable[[_Page], Collection[_Page] | None]
_Copy = Callable[[_Page], bool]
#: Sessions open at a time; beyond them the one longest without an access ends.
OPEN: Final = 10_000


class _Open:
    """An open session: its trail, and the number of each page viewed."""

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
    """Groups the accesses of a site into sessions (Baeza-Yates and Castillo 2004, section 4): the `Trail` of
    one visitor (user and agent). Until a referrer is seen, each view follows the one before. The caller gives
    all copies of a page one name: viewing a duplicate is a move back (section 5).
    """

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}
        self._referrers = False

    def view(self, visitor: str, time: float, page: str, referrer: str | None) -> list[Session]:
        """Add a view at ``time`` in seconds, out of order by less than a pause; return the ended sessions.
        ``referrer`` is a page of the site, `ELSEWHERE`, or None where none was sent.
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
        # Either way: a line with a wrong time, far ahead, must not end all sessions after it.
        while len(self._open) > OPEN or abs(time - next(iter(self._open.values())).trail.last) > PAUSE:
            ended.append(self._oldest())
        return ended

    def finish(self) -> list[Session]:
        return [self._oldest() for _ in range(len(self._open))]

    def _oldest(self) -> Session:
        return self._open.pop(next(iter(self._open))).end()


class Site:
    """A site's sessions, how many of its links lead to new URLs, and its PageRank by level once fetched."""

    def __init__(self, home: str) -> None:
        self.visits, self.growth, self.ranks = Counted(), Growth(), list[float]()
        self._home, self._sessions = home, Sessions()
        self._entered: dict[str, bool] = {}  # Whether users enter the site by a seen page.

    def view(self, visitor: str, time: float, page: str, referrer: str | None) -> None:
        self._entered.setdefault(page, False)
        self._add(self._sessions.view(visitor, time, page, referrer))

    def finish(self) -> None:
        self._add(self._sessions.finish())

    def _add(self, ended: list[Session]) -> None:
        for session in ended:
            self.visits.add(session, session.start == self._home)
            self._entered[session.start] = True

    def fetch(self, start: _Page, links: _Links[_Page], copy: _Copy[_Page] = lambda _: False) -> None:
        self.growth, levels = breadth_first(start, links, copy)
        self.ranks = ranks_by_level(levels, links)

    def directories(self) -> list[tuple[int, int]]:
        """Return the pages, and entry pages among them, by their number of directories (section 5)."""
        found, entries = Counter[int](), Counter[int]()
        for page, entered in self._entered.items():
            depth = page.partition("?")[0].count("/") - 1
            found[depth] += 1
            entries[depth] += entered
        return [(found[depth], entries[depth]) for depth in range(max(found, default=-1) + 1)]

    def advice(self, share: float = 0.9) -> Advice:
        """Return the depth that keeps a share of the views, from 0 up to below 1, and why: by 100 sessions or
        more, else by the links of fetched pages, else by the best-fitting surfer with the highest likely q.
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
    """A site's figures: surfers' fits, and depths that keep ``share`` of the views, None if unknown."""

    def __init__(self, name: str, site: Site, share: float) -> None:
        self.name, self.site, self.share, self.advice = name, site, share, site.advice(share)
        visits, growth = site.visits, site.growth
        self.fits = tuple(fit(visits, surfer) for surfer in Surfer) if visits.sessions else ()
        self.best = best(visits) if visits.sessions else None
        self.depth_views = visits.depth(share) if visits.sessions else None
        self.depth_links = growth.depth(share) if growth.pages else None


class Sites:
    """The sites by name, a host without "www." or, with ``only``, that host with all beneath it, and counts of
    accesses passed over. A page is its URL without scheme and "www.".
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

    def _place(self, url: str) -> tuple[str, str]:
        """Return the site and page of a canonical URL; the site is empty where another is looked at."""
        page, name = url.partition("://")[2].removeprefix("www."), host(url).removeprefix("www.")
        if self._only is None:
            return name, page
        return self._only if name == self._only or name.endswith(f".{self._only}") else "", page

    def _inside(self, site: str, urls: Iterable[str]) -> list[str]:
        """Return the distinct pages of a site among URLs, in their order."""
        return list(dict.fromkeys(page for name, page in map(self._place, urls) if name == site))

    def read_log(self, source: str, reader: LogReader) -> None:
        """Read a log to its end; raises what `LogReader.read` raises."""
        for access in reader.read(source):
            name, page = self._place(access.url)
            if reason := unbrowsed(access.url) if name else "another site":
                self.passed[reason] += 1
                continue
            referrer = access.referrer
            if referrer is not None:
                site, before = self._place(referrer)
                referrer = ELSEWHERE if site != name or unbrowsed(referrer) else self._original(before)
            visitor = f"{access.user} {reader.agent}"
            self.site(name).view(visitor, access.time, self._original(page), referrer)

    def _original(self, page: str) -> str:
        return self._originals.get(page, page)

    def fetch_archives(self, archives: Iterable[Path], settings: Settings, progress: Progress) -> None:
        """Fetch each site of the archives, and note copies. Raises `ArchiveError`, and OSError."""

        def read(page: Page) -> tuple[str, str, list[str], bytes | None] | None:
            name, known = self._place(page.url)
            if not name:
                return None
            inside = self._inside(name, (link.url for link in page.links))
            return name, known, inside, sketch(f"{page.title} {page.text}", settings.judge.least_words)

        sketches: dict[str, bytes | None] = {}
        links: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
        for name, page, inside, found in each_page(archives, read, settings, 1, progress):
            links[name][page], sketches[page] = inside, found
        for name, pages in links.items():
            copies = Copies(settings.judge.likeness)

            def copied(page: str, copies: Copies = copies) -> bool:
                original = copies.original(page, sketches[page])
                self._originals |= {} if original is None else {page: original}
                return original is not None

            self.site(name).fetch(_home(name, pages), pages.get, copied)

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
            name, page = self._place(url)
            links[name][page] = self._inside(name, (graph.urls[target] for target in targets[number]))
        links.pop("", None)
        for name, pages in links.items():
            self.site(name).fetch(_home(name, pages), pages.get)


def breadth_first(
    start: _Page, links: _Links[_Page], copy: _Copy[_Page] = lambda _: False
) -> tuple[Growth, dict[_Page, int]]:
    """Fetch all that can be reached; return what the links led to, and each page's level. ``links`` returns a
    page's distinct targets, None for no page; a link to no page or a ``copy`` leads back.
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
    """Return each level's share of the PageRank of the fetched pages (section 5)."""
    if not levels:
        return []
    ranks = pagerank(Graph.of_links({page: links(page) or () for page in levels}).matrix)
    return [*map(float, np.bincount(list(levels.values()), ranks) / ranks.sum())]


def _home(site: str, pages: Mapping[str, Collection[str]]) -> str:
    root = f"{site}/"
    return root if root in pages else max(pages, key=lambda page: (len(pages[page]), page))
