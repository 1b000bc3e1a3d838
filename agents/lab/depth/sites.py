"""The sites of a log, an archive or a graph: which pages are theirs, and what is known of each."""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from models.depth.sessions import ELSEWHERE
from models.depth.site import Site
from models.url import host


class Page(NamedTuple):
    """A page of a site."""

    site: str
    name: str


class Places:
    """Tells the site of a canonical URL: its host without "www.", or one given host with all beneath it.

    A page is known by host and path, so that http, https and "www." make no difference.

    >>> Places(None).page("https://www.example.org/a")
    Page(site='example.org', name='example.org/a')
    >>> Places("example.org").page("http://news.example.org/a")
    Page(site='example.org', name='news.example.org/a')
    >>> Places("example.org").page("http://example.com/") is None
    True
    """

    def __init__(self, only: str | None) -> None:
        self._only = None if only is None else only.lower().removeprefix("www.")

    def page(self, url: str) -> Page | None:
        """Return the page that a URL stands for; None where it is of no site that is looked at."""
        name = url.partition("://")[2].removeprefix("www.")
        found = host(url).removeprefix("www.")
        if self._only is None:
            return Page(found, name)
        beneath = found == self._only or found.endswith(f".{self._only}")
        return Page(self._only, name) if beneath else None

    def inside(self, site: str, urls: Iterable[str]) -> list[str]:
        """Return the distinct pages of a site among URLs, in their order."""
        pages = (self.page(url) for url in urls)
        return list(dict.fromkeys(page.name for page in pages if page is not None and page.site == site))

    def referrer(self, url: str | None, site: str) -> str | None:
        """Return the page of the site that a referrer names, `ELSEWHERE` for another site's."""
        if url is None:
            return None
        page = self.page(url)
        return page.name if page is not None and page.site == site else ELSEWHERE


#: Sites that are kept; views of further ones are passed over and counted.
MOST_SITES: Final = 10_000


class Sites:
    """The sites by name, the original of each page that is a copy, and counts of what was passed over."""

    def __init__(self) -> None:
        self.known: dict[str, Site] = {}
        self.passed: Counter[str] = Counter()
        self.originals: dict[str, str] = {}

    def site(self, name: str) -> Site | None:
        """Return what is known of a site; None, and it is counted, where it is one too many."""
        found = self.known.get(name)
        if found is None:
            if len(self.known) >= MOST_SITES:
                self.passed["site beyond the first 10,000"] += 1
                return None
            found = self.known[name] = Site(home=f"{name}/")
        return found

    def finish(self) -> None:
        """Count the sessions that are still open."""
        for site in self.known.values():
            site.finish()

    def largest(self) -> list[str]:
        """Return the names, those with the most page views, then the most fetched pages, first."""

        def size(name: str) -> tuple[int, int, str]:
            site = self.known[name]
            return -site.visits.total, -sum(site.growth.pages), name

        return sorted(self.known, key=size)
