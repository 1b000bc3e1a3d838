"""News discovery as accesses and pages come: clicks and links are gathered, and news told from them.

The threshold is the one that tells labelled pages apart best (Wang 2007, section 6.1).
"""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import NamedTuple

from scentline.models.news.clicks import Criterion, Standing
from scentline.models.news.outlinks import Hub, Outlinks
from scentline.models.news.prefixes import NewsPrefix, PrefixTree
from scentline_lab.news.clicks import DailyClicks, standings


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


class Cut(NamedTuple):
    """A threshold, and how many pages are on their right side of it: news above, the others not."""

    threshold: float
    right: int


def best_cut(labelled: Iterable[tuple[float, bool]]) -> Cut | None:
    """Return the lowest threshold that puts the most pages right; None without pages.

    ``labelled`` are a concentration and whether the page is news. The threshold is 0 or one of the values:
    nothing changes in between.

    >>> best_cut([(1.0, False), (1.2, False), (1.5, True), (1.4, True), (3.0, False)])
    Cut(threshold=1.2, right=4)
    """
    pages = sorted(labelled)
    if not pages:
        return None
    right = sum(news for _, news in pages)  # all are above 0
    best = Cut(0.0, right)
    for value, group in groupby(pages, key=lambda page: page[0]):
        right += sum(-1 if news else 1 for _, news in group)
        if right > best.right:
            best = Cut(value, right)
    return best
