"""Orderings of candidates in place of a policy: by the importance of their pages (Cho 1998).

Each importance is estimated from what its partition has absorbed. Its state in memory is rebuilt from the rows
when a partition is opened.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence

from scentline.models.frontier.keys import PARENT_PREFIX, Rows, is_first, parents_of
from scentline.models.frontier.linking import ParentRow, identifiers_in, links_to
from scentline.models.frontier.rows import PageRow
from scentline.models.ordering import Crawled, Idf, Location, Rank, Similarity
from scentline.models.policy.candidate import url_words
from scentline.models.predicate import EVERY_PAGE
from scentline.models.url import identifier
from scentline.models.words import words

#: A sweep ends when the ranks moved by less than this a page.
TOLERANCE = 1e-4
#: The idf factors have moved once linking pages have grown by this share since they last did.
GROWTH = 0.1


class Informed:
    """State in memory, beside the rows, of what a partition has absorbed: here none."""

    def open(self, shard: Rows) -> None:
        """Open a partition."""

    def close(self, shard: Rows) -> None:
        """Forget a partition that another worker has now."""

    def absorb(self, shard: Rows, sighting: object) -> None:
        """Absorb a sighting, before the rows do."""

    def sweep(self, shard: Rows) -> bool:
        """Do periodic work; return whether values may have changed without a sighting."""
        return False


class Ordering(Informed, ABC):
    """An importance of pages."""

    @abstractmethod
    def value(self, shard: Rows, row: PageRow, topic: tuple[str, ...]) -> float:
        """Return the importance of a candidate's page; ``topic`` are the words of its predicate."""


class BacklinkOrder(Ordering):
    """IB'(P), the judged pages that link to a page (Cho 1998, section 2, 2): exact."""

    def value(self, shard: Rows, row: PageRow, topic: tuple[str, ...]) -> float:
        """Return the number of known links to a page."""
        return float(backlinks(row))


class LocationOrder(Ordering):
    """IL(P): the fewer slashes the better, and the more of what is ``wanted`` (Cho 1998, section 2, 5)."""

    def __init__(self, wanted: Iterable[str] = ()) -> None:
        self._location = Location[str](str, dict.fromkeys(wanted, 1.0))

    def value(self, shard: Rows, row: PageRow, topic: tuple[str, ...]) -> float:
        """Return how many of the parts wanted the URL has, less the slashes of its path."""
        return self._location.value(row.url)


def backlinks(row: PageRow) -> int:
    """Return how many judged pages link to a page: the most that any predicate has judged."""
    return max((links for links, _ in row.links.values()), default=0)


#: Linking pages between two sweeps: at least so many, and `GROWTH` of those at the last sweep.
EVERY = 10


class Ranks(Ordering):
    """IR'(P), by sweeps now and then, and by the links found since (Cho 1998, section 2, 3).

    A partition has only those links of a linking page that lead to its own hosts: its rank is passed on to
    these. A linking page whose own host is elsewhere has the rank that every page has.
    """

    def __init__(self) -> None:
        self._ranks: dict[int, Rank[bytes]] = {}

    def open(self, shard: Rows) -> None:
        """Load the links of a partition."""
        rank = self._ranks[shard.partition] = Rank[bytes](every=EVERY, growth=GROWTH, tolerance=TOLERANCE)
        for key, row in shard.scan(PARENT_PREFIX):
            if isinstance(row, ParentRow) and row.linked:
                rank.crawled(Crawled(key[len(PARENT_PREFIX) :], tuple(identifiers_in(row.targets))))
        rank.sweep()

    def close(self, shard: Rows) -> None:
        """Forget the links of a partition."""
        self._ranks.pop(shard.partition, None)

    def absorb(self, shard: Rows, sighting: object) -> None:
        """Absorb the links of a judged page, once."""
        if is_first(sighting, shard):
            targets = dict.fromkeys(identifier(link.url) for link in sighting.links)
            targets.pop(sighting.page, None)
            self._ranks[shard.partition].crawled(Crawled(sighting.page, tuple(targets)))

    def sweep(self, shard: Rows) -> bool:
        """Recompute all ranks if due, and return whether they were."""
        return self._ranks[shard.partition].sweep()

    def value(self, shard: Rows, row: PageRow, topic: tuple[str, ...] = ()) -> float:
        """Return the rank of a page; the mean over all is 1."""
        return self._ranks[shard.partition].value(identifier(row.url))


class SimilarityOrder(Ordering):
    """IS(A, Q): A is the words of a page's URL and of the kept links to it (Cho 1998, sections 2, 1, and 4).

    The idf of a word is one over the number of pages that link into the partition and have it among their used
    words. ``query`` is Q; without one it is the topic of the candidate's predicate.
    """

    def __init__(self, query: str) -> None:
        self._query = tuple(words(query))
        self._idf: dict[int, Idf] = {}
        self._pages: Counter[int] = Counter()
        self._due: Counter[int] = Counter()

    def open(self, shard: Rows) -> None:
        """Count the words of the pages that link into a partition."""
        self._idf[shard.partition] = Idf()
        for _, row in shard.scan(PARENT_PREFIX):
            if isinstance(row, ParentRow) and row.linked:
                self._count(shard, row.words)

    def close(self, shard: Rows) -> None:
        """Forget the words of a partition."""
        for known in (self._idf, self._pages, self._due):
            known.pop(shard.partition, None)

    def absorb(self, shard: Rows, sighting: object) -> None:
        """Count the words of a judged page, once."""
        if is_first(sighting, shard):
            self._count(shard, sighting.words)

    def _count(self, shard: Rows, found: Iterable[str]) -> None:
        self._idf[shard.partition].add(dict.fromkeys(found, 1))
        self._pages[shard.partition] += 1

    def sweep(self, shard: Rows) -> bool:
        """Return whether the idf factors have moved since they last did."""
        pages = self._pages[shard.partition]
        if pages <= self._due[shard.partition]:
            return False
        self._due[shard.partition] = int(pages * (1 + GROWTH))
        return True

    def value(self, shard: Rows, row: PageRow, topic: tuple[str, ...]) -> float:
        """Return the cosine, from 0 to 1."""
        found = Counter([*url_words(row.url), *_anchors(shard, row)])
        return Similarity(self._query or topic, self._idf[shard.partition]).of(found)


def _anchors(shard: Rows, row: PageRow) -> list[str]:
    links = links_to(parents_of(shard, row.parents), identifier(row.url))
    return [word for link in links for word in link.inside]


class WeightedOrder(Ordering):
    """IC(P) = k1 I1(P) + k2 I2(P) + ... (Cho 1998, section 2): ``parts`` are pairs of weight and importance."""

    def __init__(self, parts: Sequence[tuple[float, Ordering]]) -> None:
        self._parts = tuple(parts)

    def open(self, shard: Rows) -> None:
        """Open a partition."""
        for _, part in self._parts:
            part.open(shard)

    def close(self, shard: Rows) -> None:
        """Forget a partition that another worker has now."""
        for _, part in self._parts:
            part.close(shard)

    def absorb(self, shard: Rows, sighting: object) -> None:
        """Absorb a sighting, before the rows do."""
        for _, part in self._parts:
            part.absorb(shard, sighting)

    def sweep(self, shard: Rows) -> bool:
        """Sweep each part; return whether any value may have changed."""
        swept = [part.sweep(shard) for _, part in self._parts]  # all must sweep: no short circuit
        return any(swept)

    def value(self, shard: Rows, row: PageRow, topic: tuple[str, ...]) -> float:
        """Return the weighted sum."""
        return sum(weight * part.value(shard, row, topic) for weight, part in self._parts)


#: What is added for a hot candidate: more than any importance.
HOT = 1e6


class HotOrder(WeightedOrder):
    """The hot queue before the others, both in the order of an importance (Cho 1998, Figures 4 and 5).

    A candidate is hot if its URL or an anchor of its kept in-links has a word of ``query``, or else of its
    predicate's topic, or if a page satisfying a predicate links to it. Figure 5 goes two links further; here
    the pages that link to a linking page are in other partitions. A candidate may become hot at any time.
    """

    def __init__(self, query: str, importance: Ordering) -> None:
        super().__init__([(1.0, importance)])
        self._query = frozenset(words(query))

    def value(self, shard: Rows, row: PageRow, topic: tuple[str, ...]) -> float:
        """Return the importance, and `HOT` more for a hot candidate."""
        hot = self._hot(shard, row, self._query or frozenset(topic))
        return super().value(shard, row, topic) + HOT * hot

    def _hot(self, shard: Rows, row: PageRow, query: frozenset[str]) -> bool:
        if any(hits for name, (_, hits) in row.links.items() if name != EVERY_PAGE):
            return True
        url = row.url.lower()
        return any(word in url for word in query) or not query.isdisjoint(_anchors(shard, row))
