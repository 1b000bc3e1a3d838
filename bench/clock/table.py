"""What a crawl came to by the clock, read from the server's record of it, and the tables."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from bench.clock.webs import Pages
from scentline.models.url import canonical, host
from scentline_lab.simulation.virtual import Request, slots_used

#: Seconds after which pages and hits are counted.
TIMES = (10, 20, 30, 60, 75, 300)


@dataclass(frozen=True)
class Crawl:
    """The record of a crawl: its requests in the order of their answers, on what web, for how long.

    Times are in seconds since the crawler's start. ``served`` are the URLs that brought a page.
    """

    asked: Sequence[Request]
    served: Set[str]
    web: Pages
    seeds: Sequence[str]
    seconds: float

    @property
    def first_request(self) -> float:
        """Seconds until the first request came; all of the crawl where none was answered."""
        return min((request.came for request in self.asked), default=self.seconds)

    def pages(self) -> list[tuple[float, int]]:
        """Return of each page that was served when it was, and how many predicates it satisfies."""
        found: dict[str, tuple[float, int]] = {}
        for request in self.asked:
            if request.url in self.served and request.url in self.web.links and request.url not in found:
                hits = sum(request.url in urls for urls in self.web.hits.values())
                found[request.url] = (request.answered, hits)
        return list(found.values())

    def until(self, seconds: float) -> tuple[int, int]:
        """Return the pages and the hits that were served until then."""
        hits = [hits for answered, hits in self.pages() if answered <= seconds]
        return len(hits), sum(hits)

    def page(self, number: int) -> float | None:
        """Return when so many pages were served, None where so many never were."""
        pages = self.pages()
        return pages[number - 1][0] if len(pages) >= number else None

    def requests(self, seconds: float) -> int:
        """Return the answers of the web's hosts within so many seconds of the first request."""
        end = self.first_request + seconds
        return sum(len([None for one in each if one.answered <= end]) for each in self._by_host().values())

    def slots(self, seconds: float, delay: float) -> float:
        """Return the share of the web's hosts' seconds that were used, within so many of the first request."""
        first = self.first_request
        asked = [one._replace(came=one.came - first, answered=one.answered - first) for one in self.asked]
        return slots_used(asked, self.web.links, self.seeds, self.web.hosts, delay, seconds)

    def gaps(self) -> tuple[float, float]:
        """Return the median seconds between two requests to a host, and from an answer to the next request."""
        apart, idle = [0.0], [0.0]
        for requests in self._by_host().values():
            for before, after in pairwise(sorted(requests, key=lambda request: request.came)):
                apart.append(after.came - before.came)
                idle.append(after.came - before.answered)
        return median(apart), median(idle)

    def _by_host(self) -> Mapping[str, list[Request]]:
        found: dict[str, list[Request]] = defaultdict(list)
        hosts = self.web.hosts
        for request in self.asked:
            if (name := host(request.url)) in hosts:
                found[name].append(request)
        return found

    def hosts(self) -> int:
        """Return how many of the web's hosts answered."""
        return len(self._by_host())


def read(log: Path, started: float, web: Pages, seeds: Sequence[str], seconds: float) -> Crawl:
    """Read a record in Squid's format; ``started`` is the crawler's start in seconds since the epoch."""
    asked, served = [], set()
    for line in log.read_text(encoding="ascii").splitlines():
        time, elapsed, _, status, _, _, url, *_ = line.split()
        answered = float(time) - started
        page, name = status.endswith("/200"), canonical(url) or url
        asked.append(Request(name, page, False, came=answered - float(elapsed) / 1000, answered=answered))
        if page:
            served.add(name)
    return Crawl(asked, served, web, seeds, seconds)


def table(crawls: Mapping[str, Crawl], delay: float) -> str:
    """Return the table of a web's crawls, a row each, as Markdown."""
    seconds = min(crawl.seconds for crawl in crawls.values())
    times = [time for time in TIMES if time <= seconds]
    head = (
        "crawler", "first request", "first page", "tenth page", *(f"{time} s" for time in times),
        *(f"{time} s of asking" for time in times), "requests", "slots", "hosts", "apart", "idle",
    )  # fmt: skip
    rows = [_row(name, crawl, times, delay) for name, crawl in crawls.items()]
    return "\n".join(_lines([head, ["---"] * len(head), *rows]))


def _row(name: str, crawl: Crawl, times: Sequence[int], delay: float) -> list[str]:
    first, last = crawl.first_request, times[-1]
    apart, idle = crawl.gaps()
    return [
        name, f"{first:.1f}", _seconds(crawl.page(1)), _seconds(crawl.page(10)),
        *(_hits(crawl.until(time)) for time in times), *(_hits(crawl.until(first + time)) for time in times),
        str(crawl.requests(last)), f"{crawl.slots(last, delay):.2f}", str(crawl.hosts()),
        f"{apart:.2f}", f"{idle:.2f}",
    ]  # fmt: skip


def ratios(crawls: Mapping[str, Crawl], one: str, other: str) -> str:
    """Return the hits of a crawler over those of another, at each time, and the same of its requests."""
    seconds = min(crawl.seconds for crawl in crawls.values())
    times = [time for time in TIMES if time <= seconds]
    first, second = crawls[one], crawls[other]
    parts = [
        f"{time} s {_ratio(first.until(time)[1], second.until(time)[1])}"
        f" ({_ratio(first.until(first.first_request + time)[1], second.until(second.first_request + time)[1])})"
        for time in times
    ]
    requests = _ratio(first.requests(times[-1]), second.requests(times[-1]))
    return f"{one} over {other}, hits: {', '.join(parts)}; requests {requests}"


def _ratio(first: int, second: int) -> str:
    return f"{first / second:.2f}" if second else f"{first}/0"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _hits(found: tuple[int, int]) -> str:
    pages, hits = found
    return f"{hits} of {pages}"


def _lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    return (f"| {' | '.join(row)} |" for row in rows)
