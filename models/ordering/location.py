"""What a URL alone says of its page."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from models.ordering.estimate import Crawled

K = TypeVar("K", bound=Hashable)

_NOTHING: Mapping[str, float] = MappingProxyType({})


class Location(Generic[K]):
    """IL(P): fewer slashes are better, and so are URLs that contain what is wanted (Cho 1998, section 2, 5).

    The value is the sum of the weights of what the URL contains of ``wanted``, less one for each slash of its
    path. ``url`` gives a page's canonical URL.

    >>> location = Location[str](str, {".com/": 1.5, "home": 1.0})
    >>> [location.value(url) for url in ("http://a.org/", "http://a.org/b/c", "http://a.com/home")]
    [-1.0, -2.0, 1.5]
    """

    def __init__(self, url: Callable[[K], str], wanted: Mapping[str, float] = _NOTHING) -> None:
        self._url = url
        self._wanted = wanted

    def crawled(self, found: Crawled[K]) -> Iterable[K]:
        """Return nothing: no page tells of another's URL."""
        return ()

    def sweep(self) -> bool:
        """Return False: a URL does not change."""
        return False

    def value(self, page: K) -> float:
        """Return what the URL of a page is worth."""
        url = self._url(page)
        path = url.partition("://")[2].partition("?")[0]
        return float(sum(weight for part, weight in self._wanted.items() if part in url) - path.count("/"))
