"""Counts of one predicate put into a ledger, and what is made of them told of it."""

from collections.abc import Mapping

import numpy as np

from scentline.models.interest.weights import Weights
from scentline.models.learner.knowledge import Knowledge
from scentline.models.learner.words import Numbers
from scentline.models.ledger import INT32, Ledger

Cell = tuple[int, int]


def put(ledger: Ledger, counts: Mapping[str, Cell], predicate: str = "p") -> Numbers:
    """Set the pages and hits of features; return their slots."""
    slots = ledger.slots_of(counts)
    before = [ledger.get(name, predicate) for name in counts]
    steps = np.array(list(counts.values()), INT32).reshape(-1, 2) - np.array(before, INT32).reshape(-1, 2)
    ledger.add(slots, {predicate: True}, steps[:, 1])
    ledger.add(slots, {predicate: False}, steps[:, 0] - steps[:, 1])
    return slots


def teach(knowledge: Knowledge, counts: Mapping[str, Cell], predicate: str = "p") -> None:
    """Set the pages and hits of features, and have what knows of the predicate learn them."""
    vocabulary = knowledge.words.vocabulary
    knowledge.learn(vocabulary.places_in(put(vocabulary.ledger, counts, predicate)))


def weigh(weights: Weights, counts: Mapping[str, Cell]) -> None:
    """Set the pages and hits of features, and have the weights of the predicate learn them."""
    put(weights.ledger, counts, weights.predicate)
    weights.learn(counts)
