"""What the figures of docs/papers/2007-wang.md are measured on, as ``python -m bench.wang`` shows.

``log DIR`` writes ``access.log.gz``, the log of a synthetic web of news, and ``labels.tsv``, what its pages
are; ``revisits`` prints how long links wait on simulated hubs; ``hubs`` prints what the crawl's bounds on
referrers and hubs leave of the news that hubs lead to.
"""

import argparse
import gzip
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from random import Random

from scentline.models.news.outlinks import REFERRERS, Outlinks, remember
from scentline.models.news.revisits import Revisits
from scentline.models.url import host
from scentline.streams.topics import partition_of
from tests.webs.news import NewsWeb

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
    """Return how long a link waits with equal intervals, and with the best ones (`models.news.revisits`).

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
            for referrer, count in referrers.items():
                likely.add(referrer, url, count)
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
