"""What an importance estimate is: something that is told of crawled pages and asked for the value of any."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


@dataclass(frozen=True, slots=True)
class Crawled(Generic[K]):
    """A crawled page, known by a URL or a number, and what was read of it.

    ``targets`` are the distinct pages that it links to, itself not among them, ``anchors`` the words of the
    link to each, or empty where links have no words. ``title`` has the words of its title, ``words`` how often
    each word is in its text.
    """

    page: K
    targets: Sequence[K] = ()
    anchors: Sequence[Sequence[str]] = ()
    title: Sequence[str] = ()
    words: Mapping[str, int] = field(default_factory=dict)

    def links(self) -> Iterator[tuple[K, Sequence[str]]]:
        """Return each target with the words of the link to it."""
        return zip(self.targets, self.anchors or ((),) * len(self.targets), strict=True)


class Values(Protocol[K_contra]):
    """Has a number for each page."""

    def value(self, page: K_contra) -> float:
        """Return the value of a page, known or not."""


class Estimate(Protocol[K]):
    """I'(P), an importance as far as the crawled pages tell it (Cho 1998, section 2).

    Each page is crawled once. All memory is bounded: what does not fit is forgotten, the least first.
    """

    def crawled(self, found: Crawled[K]) -> Iterable[K]:
        """Take in a crawled page; return the pages whose value that changed."""

    def sweep(self) -> bool:
        """Do what is only worth doing now and then; return whether any value may have changed."""

    def value(self, page: K) -> float:
        """Return the estimate for a page, crawled or not."""
