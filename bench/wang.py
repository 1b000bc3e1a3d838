"""What the figures of docs/papers/2007-wang.md are measured on, as ``python -m bench.wang`` shows.

``log DIR`` writes ``access.log.gz``, the log of a synthetic web of news, and ``labels.tsv``, what its pages
are; ``revisits`` prints how long links wait on simulated hubs; ``hubs`` prints what the crawl's bounds on
referrers and hubs leave of the news that hubs lead to.

The web publishes news under a folder or from a program, and pages of lasting use elsewhere. What tells them
apart is not always clear, nor is where they lie: see the shares below. Beside clicks the log has what a log
has: reloads, and a few users who ask for one page hundreds of times a day (after Wang 2007, figure 1).
"""

import argparse
import gzip
import math
import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import accumulate, count, takewhile
from pathlib import Path
from random import Random
from typing import NamedTuple

from scentline.models.papers.hubs import REFERRERS, Outlinks, Revisits, remember
from scentline.models.records import partition_of
from scentline.models.url import host

#: Of a news page's clicks, the shares of the days after its birth, in per cent.
DECAY = (53, 22, 8, 7, 4, 2, 2, 3)
#: 2024-01-08, a Monday, 00:00 UTC.
START = 1_704_672_000

_DAY = 86_400
#: News that lose their readers in three times the time, such as reports of events that go on.
_SLOW = 0.08
#: Lasting pages, such as announcements, that so many times as many look at in their first three days.
_LAUNCHED, _LAUNCH = 0.06, 5.0
#: News among lasting pages, and lasting pages among news.
_MISPLACED = 0.02
#: Lasting pages that are older than the log.
_OLD = 0.7
_PAGES_OF_SITE = 150
#: A site publishes as many news a day as is drawn evenly between these.
_NEWS_A_DAY = (1.0, 6.0)
#: The news that the home page shows too; the clicks that come from there, where it does, and from the hub.
_SHOWN, _FROM_HOME, _FROM_HUB = 0.3, 0.2, 0.6
_RELOADED, _USERS, _RELOADERS, _RELOADS = 0.12, 3_000, 3, 400
_WEEKEND = 0.8


class Made(NamedTuple):
    """A page: where it is listed, whether the home page shows it, the day of the log on which it was born, and
    its expected clicks on each day since.
    """

    url: str
    hub: str
    shown: bool
    news: bool
    born: int
    clicks: tuple[float, ...]


#: A click: its time, its client, the page and the referrer.
Click = tuple[int, str, str, str]


class NewsWeb:
    """``sites`` sites over ``days`` days; equal parameters give equal pages and logs.

    Every third site keeps its news in a folder by day, every third has a program for them, and every third has
    them in one folder with lasting pages.
    """

    def __init__(self, seed: int, sites: int = 10, days: int = 60) -> None:
        self._seed, self._days = seed, days
        self.pages: list[Made] = []
        for number in range(sites):
            self.pages += _site(random.Random(f"{seed}/news/{number}"), number, days)

    def labels(self) -> Iterator[tuple[str, str]]:
        """Return the URL of each page, and "news" or "other"."""
        return ((page.url, "news" if page.news else "other") for page in self.pages)

    def access_log(self) -> Iterator[str]:
        """Return the lines of a proxy's log in the combined format, in the order of their times."""
        rng = random.Random(f"{self._seed}/news/log")
        for day in range(self._days):
            asked: list[Click] = []
            for page in self.pages:
                if page.born <= day < page.born + len(page.clicks):
                    asked += _asked(rng, page, day)
            if day % 7 == 3:
                old = [page for page in self.pages if not page.born]
                for number in range(_RELOADERS):
                    page = rng.choice(old)
                    for time in accumulate(rng.randrange(60, 200) for _ in range(_RELOADS)):
                        asked.append((START + day * _DAY + time, _address(_USERS + number), page.url, "-"))
            for at, client, url, referrer in sorted(asked):
                request = f'[{datetime.fromtimestamp(at, UTC):%d/%b/%Y:%H:%M:%S} +0000] "GET {url} HTTP/1.1"'
                yield f'{client} - - {request} 200 5120 "{referrer}" "Mozilla/5.0"'


def _site(rng: random.Random, number: int, days: int) -> list[Made]:
    root = f"http://www.site{number}.example/"
    hub, guide = (f"{root}news/", f"{root}latest.html", f"{root}articles/")[number % 3], f"{root}guide/"
    made = [Made(url, root, True, False, 0, _flat(rng, 40.0, 0, days)) for url in (root, hub, guide)]
    for index in range(_PAGES_OF_SITE):
        born = 0 if rng.random() < _OLD else rng.randrange(days)
        clicks = _flat(rng, rng.lognormvariate(0.7, 0.6), born, days, launched=rng.random() < _LAUNCHED)
        if number % 3 == 2 or rng.random() < _MISPLACED:
            made.append(Made(_news_url(root, number, born, 10_000 + index), hub, False, False, born, clicks))
        else:
            made.append(Made(f"{guide}{index}.html", guide, False, False, born, clicks))
    news_a_day = rng.uniform(*_NEWS_A_DAY)
    for day in range(days):
        for index in range(_poisson(rng, news_a_day)):
            url = _news_url(root, number, day, 100 * day + index)
            if rng.random() < _MISPLACED:
                url = f"{guide}{100 * day + index}-today.html"
            made.append(Made(url, hub, rng.random() < _SHOWN, True, day, _decaying(rng)))
    return made


def _news_url(root: str, number: int, day: int, index: int) -> str:
    if number % 3 == 0:
        return f"{root}news/{datetime.fromtimestamp(START + day * _DAY, UTC):%Y%m%d}/{index}.html"
    return f"{root}view.asp?id={index}" if number % 3 == 1 else f"{root}articles/{index}.html"


def _flat(
    rng: random.Random, mean: float, born: int, days: int, *, launched: bool = False
) -> tuple[float, ...]:
    """Return even clicks, fewer at weekends; more or less of them on a day, by a third or so, by chance."""
    found = []
    for day in range(born, days):
        clicks = mean * rng.gammavariate(10, 0.1) * (_WEEKEND if day % 7 > 4 else 1.0)
        found.append(clicks * (_LAUNCH if launched and day < born + 3 else 1.0))
    return tuple(found)


def _decaying(rng: random.Random) -> tuple[float, ...]:
    total = 10 + rng.lognormvariate(3.3, 0.8)
    stretch = 3 if rng.random() < _SLOW else 1
    return tuple(total * share / sum(DECAY) / stretch for share in DECAY for _ in range(stretch))


def _asked(rng: random.Random, page: Made, day: int) -> Iterator[Click]:
    for _ in range(_poisson(rng, page.clicks[day - page.born])):
        user = _address(rng.randrange(_USERS))
        time = START + day * _DAY + rng.randrange(_DAY)
        point, referrer = rng.random(), "-"
        if point < _FROM_HUB:
            referrer = page.hub
        elif page.shown and point < _FROM_HUB + _FROM_HOME:
            referrer = "/".join(page.url.split("/", 3)[:3]) + "/"
        yield time, user, page.url, referrer
        if rng.random() < _RELOADED:
            yield min(START + (day + 1) * _DAY - 1, time + rng.randrange(5, 3_000)), user, page.url, referrer


def _poisson(rng: random.Random, mean: float) -> int:
    """Return a number of events from the Poisson distribution: arrivals in a time of ``mean``, one by one."""
    arrivals = accumulate(rng.expovariate(1.0) for _ in count())
    return sum(1 for _ in takewhile(lambda time: time < mean, arrivals))


def _address(number: int) -> str:
    return f"10.30.{number // 250}.{number % 250 + 1}"


# what is measured

_HUBS, _VISITS_AN_HOUR, _WEEKS = 50, 100, 4
_BEST = 10
_HOUR, _WEEK = 3_600.0, 604_800.0


def simulate(
    revisits: Revisits, rates: Mapping[str, float], start: float, end: float, rng: Random
) -> tuple[int, float]:
    """Visit the hubs of ``revisits`` when they are due; return the visits, and a link's mean wait.

    Each gets links as a Poisson process of its rate in links a second, more than 0; those of before ``start``
    are none.
    """
    coming = {hub: start + rng.expovariate(rate) for hub, rate in rates.items()}
    visits = links = 0
    wait = 0.0
    while (now := revisits.next_due) is not None and now < end:
        hub = revisits.due(now)[0]
        found = 0
        while coming[hub] <= now:
            wait += now - coming[hub]
            found += 1
            coming[hub] += rng.expovariate(rates[hub])
        revisits.visited(hub, found, now)
        visits, links = visits + 1, links + found
    return visits, wait / links if links else 0.0


def expected(rates: Mapping[str, float], budget: float) -> tuple[float, float]:
    """Return how long a link waits with equal intervals, and with the best ones (`models.papers.hubs`).

    >>> expected({"busy": 9.0, "quiet": 1.0}, budget=1.0)
    (1.0, 0.8)
    """
    roots = sum(math.sqrt(rate) for rate in rates.values())
    return (len(rates) / budget / 2, roots**2 / budget / 2 / sum(rates.values()))


def main() -> None:
    """Parse the command line and do what it asks for."""
    parser = argparse.ArgumentParser(prog="bench.wang", description="What figures are measured on.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("part", choices=("log", "revisits", "hubs"))
    parser.add_argument("directory", type=Path, metavar="DIR", nargs="?", default=Path("synthetic"))
    given = parser.parse_args()
    if given.part == "log":
        _write_log(given.directory, NewsWeb(given.seed))
    elif given.part == "revisits":
        _print_revisits(Random(given.seed))
    else:
        _print_hubs(NewsWeb(given.seed), Random(given.seed))


def _write_log(directory: Path, web: NewsWeb) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with gzip.open(directory / "access.log.gz", "wt", encoding="ascii", compresslevel=6) as log:
        log.writelines(f"{line}\n" for line in web.access_log())
    labels = "".join(f"{url}\t{label}\n" for url, label in web.labels())
    (directory / "labels.tsv").write_text(labels, encoding="ascii")


def _print_revisits(rng: Random) -> None:
    """Print the waits for hubs of which the k-th gets 1/k as many links as the first, twelve an hour."""
    rates = {f"hub{rank}": 12 / rank / _HOUR for rank in range(1, _HUBS + 1)}
    equal, square_root = expected(rates, _VISITS_AN_HOUR / _HOUR)
    print(f"{_HUBS} hubs, {_VISITS_AN_HOUR} visits an hour; minutes that a link waits on average")
    print(f"equal intervals          {equal / 60:6.2f}")
    print(f"square root, rates known {square_root / 60:6.2f}")
    revisits = Revisits(_VISITS_AN_HOUR / _HOUR, shortest=30.0)
    for hub in rates:
        revisits.add(hub, 1 / _HOUR, 0.0)
    for week in range(_WEEKS):
        visits, wait = simulate(revisits, rates, week * _WEEK, (week + 1) * _WEEK, rng)
        print(f"learned, week {week + 1}          {wait / 60:6.2f}   ({visits} visits)")


def _print_hubs(web: NewsWeb, rng: Random) -> None:
    """Print the news that the best ten hubs lead to: as all clicks tell, and within the bounds of the crawl."""
    news = {page.url for page in web.pages if page.news}
    print(f"{len(news)} news pages; those that the best {_BEST} hubs are known to lead to")
    for searched in (0.0, 0.5, 0.9, 0.97):
        clicks = list(_clicks(web, searched, rng))
        every, first, likely = Outlinks(), Outlinks(), Outlinks()
        kept: dict[str, dict[str, int]] = {}
        before: dict[str, dict[str, None]] = {}
        for referrer, url in clicks:
            every.add(referrer, url, 1)
            remember(kept.setdefault(url, {}), referrer, url)
            if len(before.setdefault(url, {})) < REFERRERS:
                before[url][referrer] = None
        for url, referrers in kept.items():
            for referrer, clicked in referrers.items():
                likely.add(referrer, url, clicked)
            for referrer in before[url]:
                first.add(referrer, url, 1)
        told = [sum(hub.news for hub in links.hubs(news, _BEST)) for links in (every, first, likely)]
        print(
            f"{searched:.0%} of the clicks from searches: all {told[0]}, the first 16 {told[1]}, kept {told[2]}"
        )
    clicks = list(_clicks(web, 0.0, rng))
    every = _of_partition(clicks, news, 0, 1)
    for partitions in (1, 2, 4, 8):
        most = math.ceil(_BEST / partitions)
        parts = [_of_partition(clicks, news, held, partitions) for held in range(partitions)]
        named = {hub.url for part in parts for hub in part.hubs(news, most)}
        print(f"{partitions} partitions: {len(named)} hubs lead to {every.reached(named, news)}")


def _clicks(web: NewsWeb, searched: float, rng: Random) -> Iterator[tuple[str, str]]:
    """Yield referrer and page of the log's lines that have one; a part of all come from searches instead."""
    for number, line in enumerate(web.access_log()):
        fields = line.split('"')
        referrer, url = fields[3], fields[1].split()[1]
        if rng.random() < searched:
            referrer = f"http://search.test/?q={number}"
        if referrer != "-":
            yield referrer, url


def _of_partition(
    clicks: Iterable[tuple[str, str]], news: Collection[str], held: int, partitions: int
) -> Outlinks:
    """Return the clicks on the news of one partition."""
    found = Outlinks()
    for source, target in clicks:
        if target in news and partition_of(host(target), partitions) == held:
            found.add(source, target, 1)
    return found


if __name__ == "__main__":
    main()
