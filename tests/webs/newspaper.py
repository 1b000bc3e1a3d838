"""A small news site whose front page gets new links while it is crawled; it notes what it is asked.

Its time is counted in requests, so that a crawl sees the same whatever it runs on.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from typing import NamedTuple

from tests.webs.serving import Exchange, serving

#: Articles on the front page, the newest first; and old pages that one page of the archive lists.
FRONT, LISTED = 5, 10


class Site(NamedTuple):
    """A front page, an archive of ``old`` pages, and a quiet page that never changes.

    It has ``first`` articles when it opens; another ``articles`` appear, each ``every`` requests after the one
    before. Articles are news and lie under /news/; the rest does not.
    """

    old: int = 30
    first: int = 3
    articles: int = 10
    every: int = 5

    @property
    def pages(self) -> int:
        """How many pages there are in the end."""
        return 2 + self.old // LISTED + self.old + self.first + self.articles

    @property
    def new(self) -> dict[int, str]:
        """The paths of the articles that appear, by their numbers."""
        return {number: f"/news/{number}" for number in range(self.first, self.first + self.articles)}

    def published(self, article: int) -> int:
        """Return before which request an article is published; those that were there at the opening at 0."""
        return max(0, (article - self.first + 1) * self.every)

    def at(self, requests: int) -> dict[str, tuple[int, list[str]]]:
        """Return the pages at that time: before which request each was last changed, and its links."""
        published = [self.published(article) for article in range(self.first + self.articles)]
        there = [at for at in published if at <= requests]
        front = [f"/news/{article}" for article in range(len(there))][: -FRONT - 1 : -1]
        archive = [range(start, start + LISTED) for start in range(0, self.old, LISTED)]
        lists = {f"/archive/{page}": [f"/old/{number}" for number in of] for page, of in enumerate(archive)}
        for page, of in enumerate([*lists.values()][:-1]):
            of.append(f"/archive/{page + 1}")
        others = {path: (0, ["/"]) for path in ("/quiet", *(f"/old/{number}" for number in range(self.old)))}
        return {
            "/": (there[-1], [*front, "/archive/0", "/quiet"]), **others,
            **{f"/news/{article}": (at, ["/"]) for article, at in enumerate(there)},
            **{path: (0, links) for path, links in lists.items()},
        }  # fmt: skip


class Asked(NamedTuple):
    """A request for a page, after how many others, when, and its answer; or for another version of it only."""

    path: str
    before: int
    time: float
    status: int
    conditional: bool


class Newspaper:
    """A site that is served, and what it was asked; there is no robots.txt.

    A page's version is said by its ETag and Last-Modified.
    """

    def __init__(self, site: Site) -> None:
        self.site, self.url = site, ""
        self.asked: list[Asked] = []
        self._times = [time.time()]

    def of(self, path: str) -> list[Asked]:
        """Return the requests for a page."""
        return [asked for asked in self.asked if asked.path == path]

    def looks(self, article: int) -> int:
        """Return how often the front page was asked for between an article's appearance and its fetch."""
        fetched, published = self.of(f"/news/{article}")[0].before, self.site.published(article)
        return sum(published <= asked.before < fetched for asked in self.of("/"))

    async def answer(self, exchange: Exchange) -> None:
        """Answer, and note it."""
        if exchange.path == "/robots.txt":
            exchange.send(404)
            return
        before = len(self.asked)
        self._times.append(time.time())
        changed, links = self.site.at(before).get(exchange.path, (None, []))
        if changed is None:
            exchange.send(404)
        else:
            tag, modified = f'"{changed}"', formatdate(int(self._times[changed]), usegmt=True)
            if exchange.headers.get("if-none-match") == tag:
                exchange.send(304, b"", ETag=tag, Last_Modified=modified)
            else:
                exchange.page(f"Page {exchange.path}", links, ETag=tag, Last_Modified=modified)
        conditional = not {"if-none-match", "if-modified-since"}.isdisjoint(exchange.headers)
        self.asked.append(Asked(exchange.path, before, self._times[-1], exchange.status, conditional))


@contextmanager
def newspaper(site: Site) -> Iterator[Newspaper]:
    """Serve a newspaper."""
    found = Newspaper(site)
    with serving(found.answer) as served:
        found.url = f"{served.origin}/"
        yield found
