"""What the learned policy keeps in memory of one predicate."""

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from agents.frontier.meanings import HeardMeaning
from agents.frontier.rows import ChildrenRow, ParentRow
from models.interest.features import SUBJECT
from models.learner.calibration import Calibration
from models.learner.candidate import Parent
from models.learner.combiner import Vector
from models.learner.inputs import Input, prior_covariance, prior_mean
from models.learner.knowledge import Knowledge
from models.learner.words import LinkingWords, Vocabulary
from models.semantic.table import SemanticTable
from streams.records import Weighting

#: A linking page's partition and identifier: each partition has a row of its own, with its own link targets.
Place: TypeAlias = tuple[int, bytes]


class Known:
    """What is kept in memory of one predicate: its counts, its combiner, its view of linking pages."""

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
        self.parents: dict[Place, Parent] = {}

    def put(self, feature: str, pages: int, hits: int) -> None:
        """Set a feature's counts."""
        if self.meaning is not None and feature.startswith(SUBJECT):
            self.meaning.hear(feature[len(SUBJECT) :], pages, hits)
        else:
            self.knowledge.put(feature, pages, hits)

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
        found = np.array(inputs)
        spread = float(found.dot(self.covariance.dot(found)))
        return float(found.dot(self.mean)), math.sqrt(max(0.0, spread))

    def parent(self, place: Place, row: ParentRow, children: ChildrenRow, words: LinkingWords) -> Parent:
        """Return the predicate's view of a linking page, brought up to its rows."""
        view = self.parents.get(place)
        if view is None or view.words is not words:
            view = self.parents[place] = Parent(row.verdict.get(self.predicate, False), words)
        noted = children.noted + row.revised
        if view.noted < noted:
            view.noted = noted
            view.satisfies = row.verdict.get(self.predicate, False)
            for verdict, position in children.judged.values():
                if self.predicate in verdict:
                    view.judged(position, verdict[self.predicate])
        return view
