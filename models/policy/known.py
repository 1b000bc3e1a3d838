"""What the learned policy keeps in memory of one predicate, and what words mean to it.

Meanings are candidates' vectors, and what verdicts say of their like.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from scentline.models.frontier.keys import Rows, parent_of
from scentline.models.frontier.rows import PageRow
from scentline.models.learner.candidate import IN_LINKS
from scentline.models.learner.combiner import Calibration, Vector, logits
from scentline.models.learner.inputs import Input, prior_covariance, prior_mean
from scentline.models.learner.knowledge import Knowledge
from scentline.models.learner.semantic import Meaning, Sense, subject
from scentline.models.learner.words import Vocabulary
from scentline.models.predicate import Sought
from scentline.models.records import Weighting
from scentline.models.semantic.table import SemanticTable
from scentline.models.url import identifier

#: Candidates whose vectors are kept in memory, about 0.6 kB each; as many are kept of each predicate.
CACHED_SENSES = 50_000


class Texts:
    """Vectors of candidates, each made again when an in-link came that is kept."""

    def __init__(self, table: SemanticTable) -> None:
        self.table = table
        self._known: dict[str, tuple[list[bytes], Vector]] = {}

    def vector(self, shard: Rows, row: PageRow) -> Vector:
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


def _anchors(shard: Rows, row: PageRow, parents: Iterable[bytes]) -> list[str]:
    page = identifier(row.url)
    linking = (parent_of(shard, name) for name in parents)
    return [" ".join(row.words_at(row.place(page)).inside) for row in linking]


class Known:
    """What is kept in memory of one predicate: its counts, its combiner, what pages mean to it."""

    def __init__(
        self,
        predicate: str,
        vocabulary: Vocabulary,
        sought: Sought,
        table: SemanticTable | None,
        inputs: Sequence[Input],
    ) -> None:
        self.predicate = predicate
        self.knowledge = Knowledge(predicate, vocabulary, sought.topic, sought.phrases)
        self.meaning = None if table is None else HeardMeaning(table, sought.topic)
        self.mean: Vector = prior_mean(inputs)
        self.covariance: Vector = prior_covariance(inputs)
        self.shifts = Calibration().shifts

    def hear_subject(self, subject: str, pages: int, hits: int) -> None:
        """Absorb the counts of pages with a subject."""
        if self.meaning is not None:
            self.meaning.hear(subject, pages, hits)

    def take(self, weighting: Weighting) -> None:
        """Absorb the combiner as the learner tells it; `ValueError` where it is one of other inputs."""
        mean = np.frombuffer(weighting.mean)
        if len(mean) != len(self.mean):
            raise ValueError(
                f"combiner of {self.predicate}: it has {len(mean)} weights, expected {len(self.mean)}"
            )
        covariance = np.frombuffer(weighting.covariance).reshape(len(mean), len(mean))
        if not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
            raise ValueError(f"combiner of {self.predicate}: a weight is not finite, expected numbers")
        self.mean, self.covariance = mean, covariance
        self.shifts = weighting.shifts

    def logit(self, inputs: Sequence[float]) -> tuple[float, float]:
        """Return m'x and sqrt(x'Px) of the inputs x."""
        means, deviations = logits(np.array(inputs)[np.newaxis], self.mean, self.covariance)
        return float(means[0]), float(deviations[0])
