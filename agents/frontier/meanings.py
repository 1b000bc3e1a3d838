"""What words mean to the frontier: candidates' vectors, and what verdicts say of their like."""

from collections.abc import Iterable

from agents.frontier.keys import parent_of
from agents.frontier.rows import FrontierShard, PageRow
from models.learner.combiner import Vector
from models.learner.lessons import IN_LINKS
from models.learner.semantic import Meaning, Sense, subject
from models.semantic.table import SemanticTable
from models.url import identifier

#: Candidates whose vectors are kept in memory, about 0.6 kB each; as many are kept of each predicate.
CACHED_SENSES = 50_000


class Texts:
    """Vectors of candidates, each made anew when an in-link came that is kept."""

    def __init__(self, table: SemanticTable) -> None:
        self.table = table
        self._known: dict[str, tuple[list[bytes], Vector]] = {}

    def vector(self, shard: FrontierShard, row: PageRow) -> Vector:
        """Return the vector of what a page's URL and the kept links to it say."""
        parents = row.parents[:IN_LINKS]
        known = self._known.get(row.url)
        if known is None or known[0] != parents:
            if len(self._known) >= CACHED_SENSES:
                self._known.clear()
            known = parents, self.table.vector(subject(row.url, _anchors(shard, row, parents)))
            self._known[row.url] = known
        return known[1]


class HeardMeaning:
    """One predicate's verdicts on meanings, as its counts of subjects are learned."""

    def __init__(self, table: SemanticTable, topic: Iterable[str]) -> None:
        self._meaning = Meaning(table, topic)
        self._told: dict[str, tuple[int, int]] = {}
        self._senses: dict[str, Sense] = {}

    def hear(self, subject: str, pages: int, hits: int) -> None:
        """Learn from the pages of a subject that are more than it had before.

        Fewer mean that it was forgotten: what was learned from it stays.
        """
        known_pages, known_hits = self._told.get(subject, (0, 0))
        more_hits = max(0, hits - known_hits)
        more = max(more_hits, pages - known_pages)
        vector = self._meaning.table.vector(subject)
        for number in range(more):
            self._meaning.learn(vector, number < more_hits)
        if pages:
            self._told[subject] = pages, hits
        else:
            self._told.pop(subject, None)

    def inputs(self, texts: Iterable[tuple[str, Vector]], rate: float) -> Vector:
        """Return the inputs of distinct URLs with these vectors at the base rate ``rate``, a row for each."""
        return self._meaning.inputs([self._sense(url, vector) for url, vector in texts], rate)

    def _sense(self, url: str, vector: Vector) -> Sense:
        sense = self._senses.get(url)
        if sense is None or sense.vector is not vector:
            if len(self._senses) >= CACHED_SENSES:
                self._senses.clear()
            sense = self._senses[url] = Sense(vector)
        return sense


def _anchors(shard: FrontierShard, row: PageRow, parents: Iterable[bytes]) -> list[str]:
    page = identifier(row.url)
    linking = (parent_of(shard, name) for name in parents)
    return [" ".join(row.words_at(row.place(page)).inside) for row in linking]
