"""News pages, by the concentration of their clicks on the first days, and news prefixes (Wang 2007).

A news prefix is a folder or program whose pages are mostly news. Sections 4.1, 4.3, 5.2 and 6.1.
"""

from collections.abc import Iterable
from itertools import accumulate
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from scentline.models.url import canonical

DAY = 86_400


def day_of(time: float) -> int:
    """Return the UTC day, counted from 1970-01-01, of a time in seconds since the epoch.

    >>> day_of(86_399.9), day_of(86_400.0)
    (0, 1)
    """
    return int(time // DAY)


class History(msgspec.Struct, array_like=True):
    """A page's clicks day by day: ``clicks[i]`` on day ``first + i``, from the first day with a click on."""

    first: int
    clicks: list[int]

    @property
    def total(self) -> int:
        """The clicks of all days."""
        return sum(self.clicks)

    def count(self, day: int) -> None:
        """Count a click on ``day``, which may lie before the first."""
        if day < self.first:
            self.clicks[:0] = [0] * (self.first - day)
            self.first = day
        missing = day - self.first + 1 - len(self.clicks)
        self.clicks.extend([0] * missing)
        self.clicks[day - self.first] += 1

    def drop_before(self, day: int) -> None:
        """Forget the days before ``day``; the first day is then the next with a click."""
        kept = self.clicks[max(0, day - self.first) :]
        start = next((place for place, clicks in enumerate(kept) if clicks), len(kept))
        self.first = max(day, self.first) + start
        self.clicks = kept[start:]

    def until(self, day: int) -> "History":
        """Return the history up to ``day``, that day included."""
        return History(self.first, self.clicks[: max(0, day - self.first + 1)])


#: The judgement on a page; "young" and "rare" pages are not judged.
Kind: TypeAlias = Literal["news", "other", "young", "rare"]


def concentration(history: History, last: int, first_days: int) -> float:
    """Return ClickThroughConcentration, equation (1), of a page with clicks, at the end of day ``last``.

    It is the share of the clicks on the first m = ``first_days`` days of the page's life, over the share
    m / (n - a) of these days in it: 1 for a page with even clicks, and at most (n - a) / m. The sums of
    equation (1) run from a to a + m and to n, both ends included, which are m + 1 and n - a + 1 days; an even
    page would then be above 1, which the text says it is not. Here they are m and n - a days.

    >>> concentration(History(0, [53, 22, 8, 7, 4, 2, 2, 2]), last=7, first_days=2)
    3.0
    >>> concentration(History(3, [5, 5, 5, 5]), last=6, first_days=2)
    1.0
    """
    days = last - history.first + 1
    return sum(history.clicks[:first_days]) / history.total / (first_days / days)


class Criterion(msgspec.Struct, frozen=True):
    """The criterion for news: ``first_days``, m of equation (1), and ``threshold``.

    ``least`` is the number of clicks a day of its life below which a page is too rare to be judged; the paper
    has 1. It does not give m: docs/papers/2007-wang.md says why it is 3 here.

    Raises ValueError if a number is out of its range.
    """

    first_days: int = 3
    threshold: float = 1.91
    least: float = 1.0

    def __post_init__(self) -> None:
        if self.first_days < 1 or self.threshold <= 0 or self.least < 0:
            raise ValueError(
                f"news: {self.first_days} first days, threshold {self.threshold}, {self.least} clicks a day; "
                "expected 1 at least, more than 0, and 0 at least"
            )


class Standing(NamedTuple):
    """The clicks of a page, and the judgement on it."""

    #: The day of its first click, and the days since.
    birth: int
    days: int
    clicks: int
    concentration: float
    kind: Kind

    @property
    def average(self) -> float:
        """Clicks per day of its life."""
        return self.clicks / self.days

    @property
    def judged(self) -> bool:
        """Whether the page was judged news or not news."""
        return self.kind in ("news", "other")


def standing(history: History, last: int, criterion: Criterion) -> Standing:
    """Judge a page with clicks at the end of day ``last``.

    A news page is *above* the threshold, as in section 6.1; section 5.1 has the inequality reversed. A page too
    young to be above it with all its clicks on the first days is not judged: it would count against each prefix
    with fresh news.
    """
    days, clicks = last - history.first + 1, history.total
    found = concentration(history, last, criterion.first_days)
    kind: Kind = "news" if found > criterion.threshold else "other"
    if clicks / days < criterion.least:
        kind = "rare"
    elif days / criterion.first_days <= criterion.threshold:
        kind = "young"
    return Standing(history.first, days, clicks, found, kind)


#: Levels of folders; deeper pages count for the last of them.
DEPTH = 20


def nodes(url: str) -> list[str]:
    """Return the names of the nodes above a page in the prefix tree, its site first.

    A folder ends with "/"; a program, whose pages differ in their query, with "?". Joined, they are a
    prefix of the URL without its scheme.
    """
    path, program, _ = url.partition("://")[2].partition("?")
    *folders, name = path.split("/")
    found = [f"{folder}/" for folder in folders]
    if program:
        found.append(f"{name}?")
    return found[:DEPTH]


def news_prefix(text: str) -> str:
    """Return a news prefix that people wrote, with or without its scheme, in the form of `NewsPrefixes`.

    Raises ValueError if it is neither a folder nor a program.

    >>> news_prefix("https://Example.org/news/"), news_prefix("example.org/view.asp?")
    ('example.org/news/', 'example.org/view.asp?')
    """
    url = canonical(text if "://" in text else f"http://{text}")
    found = "".join(nodes(f"{url.rstrip('?')}?" if text.endswith("?") else url)) if url is not None else ""
    if not found or not text.endswith(("/", "?")):
        raise ValueError(
            f"{text!r} is no news prefix; expected a folder such as example.org/news/ or a program such as "
            "example.org/view?"
        )
    return found


class NewsPrefix(NamedTuple):
    """A prefix of URLs, without the scheme, that are mostly news, with the known pages under it."""

    prefix: str
    news: int
    pages: int


class _Node:
    __slots__ = ("children", "news", "pages")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.news = self.pages = 0


class PrefixTree:
    """The URL prefix trees of all sites; each node has the number of news and of all pages anywhere under it.

    Memory is bounded by the pages: at most 20 nodes each. The paper's figure 3 has an example.
    """

    def __init__(self) -> None:
        self._root = _Node()

    def add(self, url: str, news: bool) -> None:
        """Add a page that is not in the tree yet."""
        node = self._root
        for name in nodes(url):
            node = node.children.setdefault(name, _Node())
            node.pages += 1
            node.news += news

    def news_prefixes(self, threshold: float = 0.8, least: int = 1) -> list[NewsPrefix]:
        """Return the topmost nodes whose share of news is above ``threshold``, sorted (FindNewsNode).

        ``least`` is the fewest news pages of a prefix; one in the paper.
        """
        found = []
        waiting = list(self._root.children.items())
        while waiting:
            prefix, node = waiting.pop()
            if node.news < least:  # no node below it has more
                continue
            if node.news > threshold * node.pages:
                found.append(NewsPrefix(prefix, node.news, node.pages))
            else:
                waiting.extend((prefix + name, child) for name, child in node.children.items())
        return sorted(found)


class NewsPrefixes:
    """Predicts whether an unseen URL is news: whether it begins with a news prefix.

    >>> prefixes = NewsPrefixes(["website.com/news.jsp?"])
    >>> prefixes.match("https://website.com/news.jsp?p=3"), prefixes.match("http://website.com/news.jspx")
    ('website.com/news.jsp?', None)
    """

    def __init__(self, prefixes: Iterable[str]) -> None:
        self._prefixes = frozenset(prefixes)

    def match(self, url: str) -> str | None:
        """Return the prefix of a canonical URL, None if it has none."""
        return next((prefix for prefix in accumulate(nodes(url)) if prefix in self._prefixes), None)
