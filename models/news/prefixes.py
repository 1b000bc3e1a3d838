"""News prefixes: the folders and programs whose pages are mostly news (Wang 2007, sections 4.3 and 5.2)."""

from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from scentline.models.url import canonical

#: Levels of folders; what lies deeper counts for the last of them.
DEPTH = 20


def nodes(url: str) -> list[str]:
    """Return the names of the nodes above a page in the prefix tree, its site first.

    A folder ends with "/"; a program, whose pages differ in their query, with "?". Together they are the
    beginning of the URL without its scheme.

    >>> nodes("http://website.com/folder/page.htm")
    ['website.com/', 'folder/']
    >>> nodes("http://website.com/news.jsp?p=1/2")
    ['website.com/', 'news.jsp?']
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

    >>> tree = PrefixTree()
    >>> for path, news in ("index.html", 0), ("folder/page.htm", 0), ("news.jsp?p=1", 1), ("news.jsp?p=2", 1):
    ...     tree.add(f"http://website.com/{path}", bool(news))
    >>> tree.news_prefixes()
    [NewsPrefix(prefix='website.com/news.jsp?', news=2, pages=2)]
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
