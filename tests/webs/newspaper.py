"""A small news site whose front page gets new links while it is crawled; it notes what it is asked.

Its time is counted in requests, so that a crawl sees the same whatever it runs on.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import NamedTuple

from tests.webs.serving import Exchange, serving
from tests.webs.text import document

#: Articles on the front page, the newest first; and old pages that one page of the archive lists.
FRONT, LISTED = 5, 10


@dataclass(frozen=True)
class Site:
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

    def there(self, requests: int) -> int:
        """Return how many articles there are."""
        return sum(self.published(article) <= requests for article in range(self.first + self.articles))

    def changed(self, path: str, requests: int) -> int | None:
        """Return before which request a page was last changed, None where there is none."""
        if path == "/":
            return self.published(self.there(requests) - 1)
        folder, number = _parts(path)
        if folder == "news":
            return self.published(number) if number < self.there(requests) else None
        known = path == "/quiet" or number < {"archive": self.old // LISTED, "old": self.old}.get(folder, 0)
        return 0 if known else None

    def links(self, path: str, requests: int) -> list[str]:
        """Return the links of a page."""
        folder, page = _parts(path)
        if path == "/":
            newest = range(self.there(requests) - 1, -1, -1)
            return [*(f"/news/{article}" for article in newest[:FRONT]), "/archive/0", "/quiet"]
        if folder != "archive":
            return ["/"]
        further = [f"/archive/{page + 1}"] if (page + 1) * LISTED < self.old else []
        return [*(f"/old/{number}" for number in range(page * LISTED, (page + 1) * LISTED)), *further]


def _parts(path: str) -> tuple[str, int]:
    _, folder, number = (*path.split("/"), "")[:3]
    return folder, int(number) if number.isdecimal() else 10**9


class Asked(NamedTuple):
    """A request for a page, after how many others, when, and its answer; or for another version of it only."""

    path: str
    before: int
    time: float
    status: int
    conditional: bool


@dataclass
class Newspaper:
    """A site that is served, and what it was asked; there is no robots.txt.

    A page's version is said by its ETag and Last-Modified.
    """

    site: Site
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    _times: list[float] = field(default_factory=lambda: [time.time()])

    @property
    def url(self) -> str:
        """The front page."""
        return f"http://127.0.0.1:{self.port}/"

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
        self._answer(exchange, self.site.changed(exchange.path, before), before)
        self.asked.append(Asked(exchange.path, before, self._times[-1], exchange.status, exchange.conditional))

    def _answer(self, exchange: Exchange, changed: int | None, before: int) -> None:
        if changed is None:
            exchange.send(404)
            return
        tag, modified = f'"{changed}"', datetime.fromtimestamp(int(self._times[changed]), UTC)
        versions = {"ETag": tag, "Last_Modified": format_datetime(modified, usegmt=True)}
        if exchange.headers.get("if-none-match") == tag:
            exchange.send(304, b"", **versions)
        else:
            page = document(f"Page {exchange.path}", self.site.links(exchange.path, before))
            exchange.send(200, page, **versions)


@contextmanager
def newspaper(site: Site) -> Iterator[Newspaper]:
    """Serve a newspaper."""
    found = Newspaper(site)
    with serving(found.answer) as served:
        found.port = served.port
        yield found
