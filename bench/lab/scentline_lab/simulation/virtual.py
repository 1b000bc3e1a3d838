"""A crawl without a network: pages and verdicts are known, and a policy says in which order to ask."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from heapq import heappop, heappush
from itertools import chain, count
from math import exp, inf, log
from random import Random
from statistics import NormalDist
from typing import NamedTuple, Protocol, TypeAlias

from scentline.models.duplicates import BAND_PAGES, Sketch, bands, likeness
from scentline.models.frontier.politeness import HostClocks, HostState
from scentline.models.frontier.queue import UNLIMITED
from scentline.models.frontier.turns import Pace, window
from scentline.models.page import Page
from scentline.models.predicate import ANYTHING, Sought
from scentline.models.trace import Trace
from scentline.models.url import host, origin, owner

MEDIAN_SECONDS, LONGEST_SECONDS = 0.3, 5.0
# Deviations of the logarithm of the seconds: of a host's from others', and of a page's from its host's.
_OF_HOSTS, _OF_PAGES = 0.6, 0.8
# One host of so many hangs, at least one, for longer than crawlers wait.
_HOSTS_A_HANGING, _HANGING_SECONDS = 20, 600.0


class Latency:
    """Seconds that the answer at a URL waits, log-normal by host and by URL.

    >>> late = Latency(1, ["a.example", "b.example"])
    >>> sorted(late(f"http://{host}.example/") for host in "ab")[1]
    600.0
    """

    def __init__(self, seed: int, hosts: Iterable[str]) -> None:
        self._seed = seed
        known = sorted(set(hosts), key=self._deviation)
        self._hanging = frozenset(known[: max(1, len(known) // _HOSTS_A_HANGING)])

    def __call__(self, url: str) -> float:
        name = host(url)
        if name in self._hanging:
            return _HANGING_SECONDS
        exponent = _OF_HOSTS * self._deviation(name) + _OF_PAGES * self._deviation(url)
        return min(LONGEST_SECONDS, exp(log(MEDIAN_SECONDS) + exponent))

    def _deviation(self, name: str) -> float:
        digest = blake2b(f"{self._seed} {name}".encode(), digest_size=6).digest()
        return NormalDist().inv_cdf((int.from_bytes(digest, "big") + 0.5) / 2**48)


class Clock(NamedTuple):
    """What a crawl of so many ``seconds`` is held to, as settings of like names hold a real one. An answer
    is waited for ``patience`` seconds, a page read and judged in ``reading``, one at a time. ``paced`` bounds
    the pages in flight by `Pace`.
    """

    seconds: float
    latency: Callable[[str], float]
    delay: float = 1.0
    factor: float = 2.0
    patience: float = 10.0
    connections: int = 64
    reading: float = 0.015
    paced: bool = False


def slots_used(
    requests: Iterable["Request"],
    links: Mapping[str, Iterable[str]],
    seeds: Iterable[str],
    hosts: Collection[str],
    delay: float,
    end: float,
) -> float:
    """Return the share of the ``hosts``' seconds up to ``end`` that were used, of those that might have been.
    One is used while a request to the host is not answered or less than ``delay`` seconds old; it might be
    while a URL of the host is known, from ``seeds`` or the ``links`` of a page that came, and not asked for.
    """
    known, busy, asked = dict.fromkeys(seeds, 0.0), defaultdict(list), {}
    for request in sorted(requests, key=lambda request: request.answered):
        asked[request.url] = request.came
        busy[host(request.url)].append((request.came, max(request.answered, request.came + delay)))
        for url in links.get(request.url, ()):
            known.setdefault(url, request.answered)
    might = {name: list(busy[name]) for name in hosts}
    for url, since in known.items():
        if (name := host(url)) in might:
            might[name].append((since, asked.get(url, end)))
    used = sum(_length(busy[name], end) for name in hosts)
    return used / sum(_length(found, end) for found in might.values()) if used else 0.0


def _length(intervals: Iterable[tuple[float, float]], end: float) -> float:
    length = reached = 0.0
    for start, stop in sorted(intervals):
        length += max(0.0, min(stop, end) - max(start, reached))
        reached = max(reached, min(stop, end))
    return length


Ready: TypeAlias = Callable[[str], bool]  #: Tells whether a host may be asked now.


def anywhere(host: str) -> bool:
    """Return True: any host may be asked where no time passes."""
    return True


class Choice(NamedTuple):
    """The next page, the probability of a hit where the policy gives one, and whether chance alone chose it."""

    url: str
    probability: float | None = None
    explored: bool = False


class Task(NamedTuple):
    """A predicate's ``keywords`` and what it has ``sought``, the log, and the policy's own source of chance."""

    keywords: tuple[str, ...]
    trace: Trace
    random: Random
    sought: Sought = ANYTHING


class Crawler(Protocol):
    """One policy at work for one predicate."""

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate to start from."""

    def judged(self, page: Page, holds: bool) -> None:
        """Take in a page that came, each URL once, and whether it satisfies the predicate."""

    def failed(self, url: str) -> None:
        """Take in that a request brought no page: the URL is no candidate, now or later."""

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Take the best candidate on a ``ready`` host for good; None when there is none."""


class Request(NamedTuple):
    """One request of a crawl, and its `Choice`; ``came`` and ``answered`` are in seconds after the start."""

    url: str
    page: bool
    hit: bool
    probability: float | None = None
    explored: bool = False
    came: float = 0.0
    answered: float = 0.0


class Terms(NamedTuple):
    """The limits of a crawl, as the settings of the same names; 0 is no limit. Seeds are asked first (Aggarwal
    2004, Figure 1), or, as in a real crawl and always with a ``clock``, where the policy chooses them.
    """

    budget: int
    host_budget: int = 0
    window_share: float = 0.0
    window_max: int = 1
    seeds_first: bool = True
    clock: Clock | None = None


class Texts(NamedTuple):
    """The sketches of pages by URL, where these have words enough, and the likeness of near-duplicates."""

    sketches: Mapping[str, Sketch]
    likeness: float


NO_TEXTS = Texts({}, 1.0)


class Copies:
    """Finds pages that are like an earlier one, as the judge does: of the latest that share a band."""

    def __init__(self, least: float) -> None:
        self._least = least
        self._known = defaultdict[bytes, deque[tuple[str, Sketch]]](partial(deque, maxlen=BAND_PAGES))

    def original(
        self, page: str, sketch: Sketch | None, may: Callable[[str], bool] = lambda _: True
    ) -> str | None:
        """Return the page that one is like, of those that ``may`` be; without any remember this one."""
        if sketch is None:
            return None
        found = [self._known[band] for band in bands(sketch)]
        for other, known in dict.fromkeys(chain.from_iterable(found)):
            if may(other) and likeness(sketch, known) >= self._least:
                return other
        for pages in found:
            pages.append((page, sketch))
        return None


def virtual_crawl(
    pages: Mapping[str, Page],
    hits: Collection[str],
    seeds: Sequence[str],
    crawler: Crawler,
    terms: Terms,
    barred: Collection[str] = (),
    texts: Texts = NO_TEXTS,
) -> list[Request]:
    """Return the requests that ``crawler`` makes, in the order of their answers.

    ``hits`` are the URLs of the pages that satisfy the predicate. A request for a URL without a page fails, as
    does one for a near-duplicate, by ``texts``, of an earlier page of the same owner. URLs that are ``barred``,
    or of a host whose budget is spent, cost nothing. Raises ValueError when the policy chooses a URL twice.
    """
    kind = _Crawl if terms.clock is None else _TimedCrawl
    return kind(pages, hits, crawler, terms, barred, texts.sketches, Copies(texts.likeness)).run(seeds)


@dataclass
class _Crawl:
    pages: Mapping[str, Page]
    hits: Collection[str]
    crawler: Crawler
    terms: Terms
    barred: Collection[str]
    sketches: Mapping[str, Sketch]
    copies: Copies
    end: float = inf
    ready: Ready = anywhere
    now: float = 0.0
    judged: int = 0
    seeds: deque[str] = field(default_factory=deque)
    chosen: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    flying: dict[str, Choice] = field(default_factory=dict)
    answered: list[Request] = field(default_factory=list)
    of_host: Counter[str] = field(default_factory=Counter)
    #: What is to happen, the earliest first.
    due: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    events: Iterator[int] = field(default_factory=count)

    def run(self, seeds: Sequence[str]) -> list[Request]:
        distinct = dict.fromkeys(seeds)
        for url in distinct:
            self.crawler.add_seed(url)
        self.seeds.extend(distinct if self.terms.seeds_first and self.terms.clock is None else ())
        while True:
            while (choice := self.next()) is not None:
                self.flying[choice.url] = choice
                self.ask(choice.url)
            if not self.due or self.due[0][0] > self.end:
                return self.answered
            self.now, _, happen = heappop(self.due)
            happen()

    def window(self) -> int:
        return window(self.judged, self.terms.window_share, self.terms.window_max)

    def next(self) -> Choice | None:
        if len(self.flying) >= min(self.window(), self.terms.budget - self.judged):
            return None
        while self.seeds:
            if self.may_ask(seed := self.seeds.popleft()):
                return Choice(seed)
        while (choice := self.crawler.next(self.ready)) is not None:
            if choice.url in self.chosen:
                raise ValueError(f"virtual crawl: the policy chose {choice.url} again, expected another URL")
            self.chosen.add(choice.url)
            if self.may_ask(choice.url):
                return choice
        return None

    def may_ask(self, url: str) -> bool:
        """Return whether a URL may be asked for, and count one that may as asked for."""
        name, limit = host(url), self.terms.host_budget
        if url in self.asked or url in self.barred:
            return False
        if limit and self.of_host[name] + sum(host(each) == name for each in self.flying) >= limit:
            return False
        self.asked.add(url)
        return True

    def after(self, seconds: float, happen: Callable[[], None]) -> None:
        heappush(self.due, (self.now + seconds, next(self.events), happen))

    def ask(self, url: str) -> None:
        self.after(0, partial(self.answer, url))

    def answer(self, url: str, came: float = 0.0, answered: float = 0.0) -> None:
        page, sketch, own = self.pages.get(url), self.sketches.get(url), owner(host(url))
        if page is not None and self.copies.original(url, sketch, lambda other: owner(host(other)) == own):
            page = None
        hit = page is not None and url in self.hits
        self.landed(url, page is not None, hit, came, answered)
        if page is None:
            self.crawler.failed(url)
            return
        self.judged += 1
        self.of_host[host(url)] += 1
        self.crawler.judged(page, hit)

    def landed(self, url: str, page: bool, hit: bool, came: float, answered: float) -> None:
        choice = self.flying.pop(url)
        self.answered.append(Request(url, page, hit, choice.probability, choice.explored, came, answered))


@dataclass
class _TimedCrawl(_Crawl):
    """A crawl in which time passes."""

    def __post_init__(self) -> None:
        assert self.terms.clock is not None
        self.clock = clock = self.terms.clock
        self.end = clock.seconds
        self.clocks = HostClocks(clock.delay, UNLIMITED, dict[str, HostState]().get, clock.factor)
        self.ready = lambda name: self.clocks.ready(name, self.now)
        self.known: set[str] = set()  # hosts whose robots.txt was asked for: a page comes a delay after it
        self.reads_until = 0.0
        self.pace = Pace(clock.connections)

    def window(self) -> int:
        return self.pace.window if self.clock.paced else self.clock.connections

    def ask(self, url: str) -> None:
        name, clock, began = host(url), self.clock, self.now
        if name not in self.known:
            began += max(clock.delay, min(clock.latency(f"{origin(url)}/robots.txt"), clock.patience))
        self.known.add(name)
        self.clocks.started(name, began)
        waits = clock.latency(url)
        came = partial(self.came, url, began, waits <= clock.patience)
        self.after(began - self.now + min(waits, clock.patience), came)

    def came(self, url: str, began: float, answered: bool) -> None:
        name, now = host(url), self.now

        def note(state: HostState) -> None:
            state.answered(began, now - began)
            (state.succeeded if answered else state.failed)(now)

        self.clocks.finished(name, now)
        self.clocks.told(name, note)
        self.clocks.answered(name)
        # The next choice sees that the host may be asked again.
        self.after(self.clocks.wait(name, now).until - now, lambda: None)
        if answered and url in self.pages:
            self.reads_until = max(self.reads_until, now) + self.clock.reading
            self.after(self.reads_until - now, partial(self.judge, url, began, now))
        elif answered:
            self.answer(url, began, now)
        else:  # for now, which says nothing of the page
            self.landed(url, False, False, began, now)

    def judge(self, url: str, began: float, answered: float) -> None:
        self.answer(url, began, answered)
        self.pace.judged(self.now, self.now - answered)
