"""News discovery as accesses and pages come: clicks and links are gathered, and news told from them."""

from collections.abc import Mapping
from typing import NamedTuple

from models.news.clicks import DailyClicks
from models.news.concentration import Criterion, Standing, standings
from models.news.outlinks import Hub, Outlinks
from models.news.prefixes import NewsPrefix, PrefixTree


class News(NamedTuple):
    """What was found: each page's standing, the URLs of the news among them, the hubs and the prefixes."""

    standings: Mapping[str, Standing]
    pages: frozenset[str]
    hubs: list[Hub]
    prefixes: list[NewsPrefix]


class NewsDiscovery:
    """Gathers accesses and links, within the bounds of its parts, and tells what is news at any time.

    >>> discovery = NewsDiscovery(DailyClicks(), Outlinks())
    >>> for day, clicks in enumerate([40, 20, 10, 5, 0, 0, 1, 1]):
    ...     for user in range(clicks):
    ...         for page in "http://a.org/news/1", "http://a.org/news/2":
    ...             discovery.visit(page, f"{user}", day * 86_400.0, "http://a.org/")
    >>> found = discovery.find(Criterion(), hubs=1)
    >>> sorted(found.pages), found.hubs[0].url, found.prefixes[0].prefix
    (['http://a.org/news/1', 'http://a.org/news/2'], 'http://a.org/', 'a.org/')
    """

    def __init__(self, clicks: DailyClicks, outlinks: Outlinks) -> None:
        self.clicks = clicks
        self.outlinks = outlinks

    def visit(self, url: str, user: str, time: float, referrer: str | None) -> None:
        """Take in an access; what is no click of its own still tells that the referrer leads to the page."""
        counted = self.clicks.add(url, user, time)
        if referrer is not None:
            self.outlinks.add(referrer, url, clicks=int(counted))

    def link(self, source: str, target: str) -> None:
        """Take in that a page was read and links to another."""
        self.outlinks.add(source, target)

    def find(self, criterion: Criterion, *, hubs: int, share: float = 0.8, least: int = 1) -> News:
        """Return what is news at the end of the newest day, the top ``hubs`` and the prefixes.

        ``share`` and ``least`` are those of `PrefixTree.news_prefixes`.
        """
        last = self.clicks.newest
        judged = {} if last is None else standings(self.clicks.histories, last, criterion)
        pages = frozenset(url for url, found in judged.items() if found.kind == "news")
        return News(judged, pages, self.outlinks.hubs(pages, hubs), prefixes(judged, share, least))


def prefixes(judged: Mapping[str, Standing], share: float = 0.8, least: int = 1) -> list[NewsPrefix]:
    """Return the news prefixes of the pages that could be judged."""
    tree = PrefixTree()
    for url, found in judged.items():
        if found.judged:
            tree.add(url, found.kind == "news")
    return tree.news_prefixes(share, least)
