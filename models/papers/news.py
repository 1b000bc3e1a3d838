"""Which pages are news, by how their clicks gather in the first days, and the prefixes of news (Wang 2007).

The prefixes are the folders and programs whose pages are mostly news. Sections 4.1, 4.3, 5.2 and 6.1.
"""

from collections.abc import Iterable
from itertools import accumulate
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from scentline.models.url import canonical

DAY = 86_400


def day_of(time: float) -> int:
    """Return the number of the day, in UTC and from 1970-01-01 on, of a time in seconds since the epoch.

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
        """Forget what was before ``day``; the first day is then the first with a click again."""
        kept = self.clicks[max(0, day - self.first) :]
        start = next((place for place, clicks in enumerate(kept) if clicks), len(kept))
        self.first = max(day, self.first) + start
        self.clicks = kept[start:]

    def until(self, day: int) -> "History":
        """Return the history up to ``day``, that day included."""
        return History(self.first, self.clicks[: max(0, day - self.first + 1)])


#: What a page is taken for; "young" and "rare" pages are not judged.
Kind: TypeAlias = Literal["news", "other", "young", "rare"]


def concentration(history: History, last: int, first_days: int) -> float:
    """Return ClickThroughConcentration, equation (1), of a page with clicks, at the end of day ``last``.

    It is the share of the clicks that fell on the first m = ``first_days`` days of the page's life, over the
    share m / (n - a) that these days have in it: 1 for a page whose clicks are even, and (n - a) / m at most.
    Equation (1) has its sums run from a to a + m and to n, both ends included, which are m + 1 and n - a + 1
    days; an even page would then be above 1, which the text says it is not. Here they are m and n - a days.

    >>> concentration(History(0, [53, 22, 8, 7, 4, 2, 2, 2]), last=7, first_days=2)
    3.0
    >>> concentration(History(3, [5, 5, 5, 5]), last=6, first_days=2)
    1.0
    """
    days = last - history.first + 1
    return sum(history.clicks[:first_days]) / history.total / (first_days / days)


class Criterion(msgspec.Struct, frozen=True):
    """When a page is news: by ``first_days``, m of equation (1), and by ``threshold``.

    ``least`` is the number of clicks a day of its life below which a page is too rare to be judged; the paper
    has 1. It does not say what m is: docs/papers/2007-wang.md has why it is 3 here.

    Raises ValueError where a number is out of its range.
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
    """What is known of a page."""

    #: The day of its first click, and the days since.
    birth: int
    days: int
    clicks: int
    concentration: float
    kind: Kind

    @property
    def average(self) -> float:
        """Clicks a day of its life."""
        return self.clicks / self.days

    @property
    def judged(self) -> bool:
        """Whether the page was taken for news or for another."""
        return self.kind in ("news", "other")


def standing(history: History, last: int, criterion: Criterion) -> Standing:
    """Judge a page with clicks at the end of day ``last``.

    News is a page *above* the threshold, as section 6.1 has it; section 5.1 has the inequality the wrong way
    round. A page too young to be above with all its clicks on the first days is not judged: it would count
    against each prefix where news keep coming.
    """
    days, clicks = last - history.first + 1, history.total
    found = concentration(history, last, criterion.first_days)
    kind: Kind = "news" if found > criterion.threshold else "other"
    if clicks / days < criterion.least:
        kind = "rare"
    elif days / criterion.first_days <= criterion.threshold:
        kind = "young"
    return Standing(history.first, days, clicks, found, kind)


#: Levels of folders; what lies deeper counts for the last of them.
DEPTH = 20


def nodes(url: str) -> list[str]:
    """Return the names of the nodes above a page in the prefix tree, its site first.

    A folder ends with "/"; a program, whose pages differ in their query, with "?". Together they are the
    beginning of the URL without its scheme.
    """
    path, program, _ = url.partition("://")[2].partition("?")
    *folders, name = path.split("/")
    found = [f"{folder}/" for folder in folders]
    if program:
        found.append(f"{name}?")
    return found[:DEPTH]


def news_prefix(text: str) -> str:
    """Return a news prefix that people wrote, with or without its scheme, as `NewsPrefixes` has it.

    Raises ValueError where it is neither a folder nor a program.

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
    """The beginning of URLs, without the scheme, that are mostly news, with the known pages under it."""

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

    Memory is bounded by the pages: 20 nodes each at most. The paper's example (figure 3):
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
        """Return the topmost nodes whose share of news is above ``threshold``, in their order (FindNewsNode).

        ``least`` is how many news pages a prefix must have; one in the paper.
        """
        found = []
        waiting = list(self._root.children.items())
        while waiting:
            prefix, node = waiting.pop()
            if node.news < least:  # nor has any below it as many
                continue
            if node.news > threshold * node.pages:
                found.append(NewsPrefix(prefix, node.news, node.pages))
            else:
                waiting.extend((prefix + name, child) for name, child in node.children.items())
        return sorted(found)


class NewsPrefixes:
    """Predicts whether a URL never seen is news: whether it begins with a news prefix.

    >>> prefixes = NewsPrefixes(["website.com/news.jsp?"])
    >>> prefixes.match("https://website.com/news.jsp?p=3"), prefixes.match("http://website.com/news.jspx")
    ('website.com/news.jsp?', None)
    """

    def __init__(self, prefixes: Iterable[str]) -> None:
        self._prefixes = frozenset(prefixes)

    def match(self, url: str) -> str | None:
        """Return the prefix that a canonical URL is under, None where there is none."""
        return next((prefix for prefix in accumulate(nodes(url)) if prefix in self._prefixes), None)
