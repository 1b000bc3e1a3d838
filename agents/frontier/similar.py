"""How much what is known of a page is like the words that the crawl looks for."""

from collections import Counter
from collections.abc import Iterable

from agents.frontier.keys import PARENT_PREFIX, parent_of
from agents.frontier.rows import FrontierShard, PageRow, ParentRow
from models.learner.address import url_words
from models.ordering.similarity import Idf, Similarity
from models.url import identifier
from models.words import words
from streams.records import Linked

#: The idf factors have moved when there are this part more linking pages than when all was last worked out.
GROWTH = 0.1


class SimilarityOrder:
    """IS(A, Q): A being the words of a page's URL and of the kept links to it (Cho 1998, sections 2, 1, and 4).

    The idf of a word is one over the number of linking pages that have it among those of their words that are
    used, of the pages that link into the partition. ``query`` is Q; without one it is what the candidate's
    predicate is about.
    """

    def __init__(self, query: str) -> None:
        self._query = tuple(words(query))
        self._idf: dict[int, Idf] = {}
        self._pages: Counter[int] = Counter()
        self._due: Counter[int] = Counter()

    def open(self, shard: FrontierShard) -> None:
        """Count the words of the pages that link into a partition."""
        self._idf[shard.partition] = Idf()
        for _, row in shard.scan(PARENT_PREFIX):
            if isinstance(row, ParentRow) and row.linked:
                self._count(shard, row.words)

    def close(self, shard: FrontierShard) -> None:
        """Forget the words of a partition."""
        for known in (self._idf, self._pages, self._due):
            known.pop(shard.partition, None)

    def absorb(self, shard: FrontierShard, sighting: object) -> None:
        """Count the words of a judged page, once."""
        if isinstance(sighting, Linked) and not parent_of(shard, sighting.page).linked:
            self._count(shard, sighting.words)

    def _count(self, shard: FrontierShard, found: Iterable[str]) -> None:
        self._idf[shard.partition].add(dict.fromkeys(found, 1))
        self._pages[shard.partition] += 1

    def sweep(self, shard: FrontierShard) -> bool:
        """Return whether the idf factors have moved since they last had."""
        pages = self._pages[shard.partition]
        if pages <= self._due[shard.partition]:
            return False
        self._due[shard.partition] = int(pages * (1 + GROWTH))
        return True

    def value(self, shard: FrontierShard, row: PageRow, topic: tuple[str, ...]) -> float:
        """Return the cosine, from 0 to 1."""
        page = identifier(row.url)
        found = Counter(url_words(row.url))
        for parent in row.parents:
            found.update(parent_of(shard, parent).targets[page].inside)
        return Similarity(self._query or topic, self._idf[shard.partition]).of(found)
