"""The crawlers beside each other: ours, one that is a client of our door, and the same one alone."""

import json
import os
import re
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

from bench.clock.webs import Web
from bench.crawl.crawlers import Crawlee, Crawler, Scentline, Scrapy
from bench.crawl.measure import CrawlerError, started, whole
from bench.crawl.server import Nginx

#: Where the clients of the door lie.
CLIENTS = Path(__file__).parents[2] / "clients"
_OPENED = re.compile(r"The door: (\S+), with the token in (.+)")
_PATIENCE, _LOOK_SECONDS = 60.0, 0.05
#: What makes a crawl open its door.
OPEN = "door.address=127.0.0.1:0"
#: Of each predicate the pages that satisfy it.
Hits: TypeAlias = Mapping[str, Collection[str]]


class Found(NamedTuple):
    """What a crawl came to: its pages, hits among the first of them, and CPU seconds.

    ``cpu`` is of the crawler that fetches, ``frontier`` of the crawl behind its door, 0 without one.
    """

    pages: int
    hits: Mapping[str, int]
    cpu: float
    frontier: float = 0.0


@dataclass(frozen=True)
class ScrapyAtDoor(Scrapy):
    """Scrapy with the add-on, at the door that its settings name."""

    def environment(self, proxy: str) -> dict[str, str]:
        """Return an environment that has the client."""
        return {**super().environment(proxy), "PYTHONPATH": str(CLIENTS)}


@dataclass(frozen=True)
class CrawleeAtDoor(Crawlee):
    """Crawlee on the frontier behind the door that ``door`` names."""

    door: Mapping[str, str]

    def environment(self, proxy: str) -> dict[str, str]:
        """Return an environment that has the client, and names the door."""
        return {**super().environment(proxy), **self.door, "PYTHONPATH": str(CLIENTS)}


def client(of: Crawler, url: str, token: str) -> Crawler:
    """Return a crawler that asks a door for the pages that it would choose itself."""
    where = {"SCENTLINE_URL": url, "SCENTLINE_TOKEN_FILE": token}
    if isinstance(of, Scrapy):
        kept = {name: value for name, value in of.settings.items() if not name.startswith("CLOSESPIDER_")}
        settings = {**kept, **where, "ADDONS": json.dumps({"scentline_client.scrapy.Addon": 500})}
        return ScrapyAtDoor(of.seeds, None, f"{of.name} + door", of.python, settings, of.within)
    if isinstance(of, Crawlee):
        return CrawleeAtDoor(of.seeds, None, f"{of.name} + door", of.python, where)
    raise NotImplementedError(of.name)


@contextmanager
def opened(
    ours: Scentline, proxy: str, directory: Path
) -> Iterator[tuple["subprocess.Popen[bytes]", str, str]]:
    """Start a crawl with a door; yield its process, the door's URL and its token's file."""
    ours = replace(ours, settings=(*ours.settings, OPEN))
    log = directory / "output.log"
    with started(ours, proxy, directory) as process:
        end = time.monotonic() + _PATIENCE
        while process.poll() is None and time.monotonic() < end:
            if found := _OPENED.search(log.read_text()):
                yield process, found[1], str(directory / found[2])
                return
            time.sleep(_LOOK_SECONDS)
    raise CrawlerError(f"no door; see {log}")


def alone(crawler: Crawler, nginx: Nginx, place: Path, hits: Hits, pages: int) -> Found:
    """Crawl to the end; return what it came to, with the hits of so many pages."""
    run = whole(crawler, nginx, place / crawler.name.replace(" ", "-"), hits)
    first = {name: sum(number <= pages for number in numbers) for name, numbers in run.hits.items()}
    return Found(run.pages, first, run.cpu)


def together(ours: Scentline, other: Crawler, nginx: Nginx, place: Path, hits: Hits, pages: int) -> Found:
    """Have another crawler fetch for ours, to the end; return what the two came to."""
    with opened(ours, nginx.url, place / "door") as (process, url, token):
        found = alone(client(other, url, token), nginx, place, hits, pages)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise CrawlerError(f"the crawl ended with status {process.returncode}; see {place / 'door'}")
    return found._replace(frontier=used.ru_utime + used.ru_stime)


def by_the_clock(crawler: Crawler, nginx: Nginx, directory: Path, hits: Hits, seconds: float) -> Found:
    """Crawl for so many seconds from the first page on; return what was served by then."""
    nginx.forget()
    with started(crawler, nginx.url, directory) as process:
        end = time.monotonic() + _PATIENCE
        while process.poll() is None and nginx.count() == 0 and time.monotonic() < end:
            time.sleep(_LOOK_SECONDS)
        time.sleep(seconds)
        served = set(nginx.served())
        if not served or process.poll() is not None:
            raise CrawlerError(f"{crawler.name} ended within {seconds:g} s; see {directory / 'output.log'}")
    return Found(len(served), {name: len(served.intersection(urls)) for name, urls in hits.items()}, 0.0)


def both_by_the_clock(
    ours: Scentline, other: Crawler, nginx: Nginx, place: Path, hits: Hits, seconds: float
) -> Found:
    """Do the same with another crawler that fetches for ours."""
    with opened(ours, nginx.url, place / "door") as (_, url, token):
        return by_the_clock(client(other, url, token), nginx, place / "client", hits, seconds)


def crawlers(kind: str, of: Web, python: Path, pages: int | None, delay: float) -> tuple[Scentline, Crawler]:
    """Return our crawler and the other for a web, ending after so many pages, at a delay a host."""
    seeds, within = of.seeds.absolute(), f"{of.name}.test"
    labels = None if of.labels is None else of.labels.absolute()
    ours = Scentline(seeds, pages, "Scentline", labels, "learned", of.predicates, delay)
    if kind == "crawlee":
        return ours, Crawlee(seeds, pages, "Crawlee", python)
    polite = {"DOWNLOAD_DELAY": f"{delay:g}", "RANDOMIZE_DOWNLOAD_DELAY": "False"} if delay else {}
    # Its own count of pages has those in it that are not there.
    most = {} if pages is None else {"CLOSESPIDER_ITEMCOUNT": f"{pages}"}
    return ours, Scrapy(seeds, None, "Scrapy", python, {**polite, **most}, within)
