"""Counts of one predicate put into a ledger and learned, and what their lifts are, by the formulas."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from scentline.models.ledger import INT32, Ledger
from scentline.models.policy import features
from scentline.models.policy.candidate import CoVisits, Crowd
from scentline.models.policy.features import (
    ANCHOR,
    BASE,
    CONTEXT,
    HEADING,
    PAGE_WORD,
    PAPER,
    URL_WORD,
    USER,
    Base,
    Denominator,
    Sample,
    link,
    ratio,
    significance,
)
from scentline.models.policy.knowledge import TOPIC_PAGES, Knowledge
from scentline.models.policy.vocabulary import Numbers, Vocabulary
from scentline.models.policy.weights import Weights

Cell = tuple[int, int]

WORDS = [f"word{number}" for number in range(7)]
SOME_WORDS = st.lists(st.sampled_from(WORDS), unique=True, max_size=5)
CELLS = st.integers(0, 30).flatmap(lambda pages: st.tuples(st.just(pages), st.integers(0, pages)))
#: What names of words begin with, by their kinds.
KIND_NAMES = (PAGE_WORD, ANCHOR, CONTEXT, HEADING, URL_WORD)


def lift(pages: float, hits: float, rate: float, prior: float = 2.0) -> float:
    return math.log((hits + prior * rate) / (pages + prior) / rate)


def clipped(value: float, most: float) -> float:
    return max(-most, min(most, value))


def word_lift(cell: tuple[float, float], rate: float) -> float:
    return clipped(lift(*cell, rate), 3.0)


def put(ledger: Ledger, counts: Mapping[str, Cell], predicate: str = "p") -> Numbers:
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


def weighed(
    base: Base, kind: str, counts: Mapping[str, Cell], denominator: Denominator = "binomial", t: float = 2.0
) -> Weights:
    """Return weights of a base, and of features of one kind by their names."""
    weights = paper_weights(denominator, t=t)
    weigh(weights, {BASE: (base.pages, base.hits), **{kind + name: cell for name, cell in counts.items()}})
    return weights


def paper_weights(denominator: Denominator = "binomial", drift: float = 0.02, t: float = 2.0) -> Weights:
    return Weights("p", Vocabulary(Ledger(), PAPER), t, denominator, drift)


def weigh(weights: Weights, counts: Mapping[str, Cell]) -> None:
    """Set the pages and hits of features, and have the weights of the predicate learn them."""
    weights.learn(weights.vocabulary.places_in(put(weights.ledger, counts, weights.predicate)))


def significant_log(
    pages: int, hits: int, base: Base, t: float = 2.0, denominator: Denominator = "binomial",
    sample: Sample = "hits",
) -> float:  # fmt: skip
    """Return log I(C, E) where S(C, E) >= t, else 0, of one feature."""
    sure = significance(pages, hits, base, denominator, sample) >= t
    return math.log(ratio(pages, hits, base)) if sure else 0.0


# the learned policy's inputs, spelled out


class PlainLink(NamedTuple):
    """An in-link as plain data; ``children`` are the verdicts on the page's judged links by position."""

    satisfies: bool
    page: list[str]
    anchor: list[str]
    context: list[str]
    heading: list[str]
    children: dict[int, bool]
    position: int


class PlainKnowledge:
    """The inputs, spelled out."""

    def __init__(self, counts: dict[str, Cell], base: Cell, topic: Sequence[str]) -> None:
        self.counts = dict(counts)
        self.rate = min(0.9, (base[1] + 0.5) / (base[0] + 5))
        for word in topic:
            for kind in KIND_NAMES:
                pages, hits = self.counts.get(kind + word, (0, 0))
                self.counts[kind + word] = pages + TOPIC_PAGES, hits + TOPIC_PAGES

    def total(self, kind: str, names: Sequence[str]) -> float:
        return sum(word_lift(self.counts.get(kind + name, (0, 0)), self.rate) for name in names)

    def by_root(self, kind: str, names: Sequence[str]) -> float:
        return self.total(kind, names) / math.sqrt(len(names)) if names else 0.0

    def of_link(self, found: PlainLink) -> list[float]:
        near = [
            (1 / abs(place - found.position), hit)
            for place, hit in found.children.items()
            if 0 < abs(place - found.position) <= 4
        ]
        return [
            lift(*self.counts.get(link("p", found.satisfies), (0, 0)), self.rate),
            lift(len(found.children), sum(found.children.values()), self.rate),
            lift(sum(worth for worth, _ in near), sum(worth * hit for worth, hit in near), self.rate, 1.0),
            self.by_root(ANCHOR, found.anchor), self.by_root(PAGE_WORD, found.anchor),
            self.by_root(CONTEXT, found.context), self.by_root(PAGE_WORD, found.context),
            self.by_root(HEADING, found.heading), self.by_root(PAGE_WORD, found.heading),
            self.total(PAGE_WORD, found.page) / max(1, len(found.page)),
        ]  # fmt: skip

    def prefix(self, prefixes: Sequence[str]) -> float:
        rate = self.rate
        for prefix in prefixes:
            pages, hits = self.counts.get(features.PREFIX + prefix, (0, 0))
            rate = (hits + 2 * rate) / (pages + 2)
        return math.log(rate / self.rate)

    def inputs(
        self, url_words: Sequence[str], prefixes: Sequence[str], links: Sequence[PlainLink], parents: Cell,
        crowd: Crowd, beside: CoVisits, place: tuple[int, bool],
    ) -> list[float]:  # fmt: skip
        rows = [self.of_link(found) for found in links]
        found = [sum(row[place] for row in rows) / math.sqrt(max(1, len(rows))) for place in range(10)]
        found += [
            self.by_root(URL_WORD, url_words), self.by_root(PAGE_WORD, url_words),
            self.by_root(USER, crowd.visitors), lift(beside.covisits, beside.covisit_hits, self.rate, 1.0),
            lift(beside.near, beside.near_hits, self.rate, 1.0), lift(*parents, self.rate, 1.0),
            self.prefix(prefixes), math.log(1 + parents[0]) / 3, math.log(1 + crowd.accesses) / 3,
            float(parents[0] == 0), float(crowd.accesses == 0), math.log(1 + place[0]), float(place[1]), 1.0,
        ]  # fmt: skip
        return [clipped(value, 4.0) for value in found]
