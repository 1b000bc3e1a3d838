"""What the learned policy keeps in memory of one predicate."""

from collections.abc import Sequence

import numpy as np

from agents.frontier.meanings import HeardMeaning
from models.learner.calibration import Calibration
from models.learner.combiner import Vector, logits
from models.learner.inputs import Input, prior_covariance, prior_mean
from models.learner.knowledge import Knowledge
from models.learner.words import Vocabulary
from models.semantic.table import SemanticTable
from streams.records import Weighting


class Known:
    """What is kept in memory of one predicate: its counts, its combiner, what pages mean to it."""

    def __init__(
        self,
        predicate: str,
        vocabulary: Vocabulary,
        topic: tuple[str, ...],
        table: SemanticTable | None,
        inputs: Sequence[Input],
    ) -> None:
        self.predicate = predicate
        self.knowledge = Knowledge(predicate, vocabulary, topic)
        self.meaning = None if table is None else HeardMeaning(table, topic)
        self.mean: Vector = prior_mean(inputs)
        self.covariance: Vector = prior_covariance(inputs)
        self.shifts = Calibration().shifts

    def hear_subject(self, subject: str, pages: int, hits: int) -> None:
        """Take in the counts of pages with a subject."""
        if self.meaning is not None:
            self.meaning.hear(subject, pages, hits)

    def take(self, weighting: Weighting) -> None:
        """Take in the combiner as the learner tells it; `ValueError` where it is one of other inputs."""
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
