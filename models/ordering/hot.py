"""Which pages are on a topic, and which links look as if they led to one."""

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from models.ordering.bounded import PAGES, BoundedCounts
from models.ordering.estimate import Crawled

K = TypeVar("K", bound=Hashable)

#: Occurrences in the text that make a page hot. Figure 5 has "10 or more", where section 7 says "more than 10".
OCCURRENCES = 10


def is_hot(found: Crawled[K], word: str) -> bool:
    """Return whether a page has ``word`` in its title, or 10 times in its text (Cho 1998, section 7).

    >>> is_hot(Crawled("a", title=["computer", "science"]), "computer")
    True
    >>> is_hot(Crawled("a", words={"computer": 9}), "computer")
    False
    """
    return word in found.title or found.words.get(word, 0) >= OCCURRENCES


class Mentions(Generic[K]):
    """Links that have the word in their anchor or anywhere in their URL (Cho 1998, Figure 4).

    ``url`` gives a page's canonical URL.

    >>> mentions = Mentions[str]("computer", str)
    >>> page = Crawled("a", ("b", "/computers", "c"), (["the", "computer"], [], ["computers"]))
    >>> mentions.leads(page)
    [True, True, False]
    """

    def __init__(self, word: str, url: Callable[[K], str]) -> None:
        self._word = word
        self._url = url

    def leads(self, found: Crawled[K]) -> Sequence[bool]:
        """Return of each target of a page whether it looks hot."""
        return [
            self._word in anchor or self._word in self._url(target).lower() for target, anchor in found.links()
        ]


class NearHot(Generic[K]):
    """Links that mention the word, and those within three links of a hot page (Cho 1998, Figure 5).

    The figure asks for a distance below 3 at the moment when a URL is found. Its distance is 1 if the page that
    it is found on is hot, and 2 if a hot page, crawled by then, links to that one: nobody else links to it yet.
    Of what hot pages link to, ``limit`` pages are kept.

    >>> near = NearHot[str]("computer", str)
    >>> [near.leads(Crawled(page, links, title=title)) for page, links, title in (
    ...     ("a", "b", ["computer"]), ("b", "c", []), ("c", "d", []))]
    [[True], [True], [False]]
    """

    def __init__(self, word: str, url: Callable[[K], str], limit: int = PAGES) -> None:
        self._word = word
        self._mentions = Mentions(word, url)
        self._beside = BoundedCounts[K](limit)  # what hot pages link to

    def leads(self, found: Crawled[K]) -> Sequence[bool]:
        """Take in a crawled page; return of each of its targets whether it looks hot."""
        hot = is_hot(found, self._word)
        if hot:
            for target in found.targets:
                self._beside.add(target)
        if hot or self._beside[found.page]:
            return [True] * len(found.targets)
        return self._mentions.leads(found)
