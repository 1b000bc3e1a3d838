"""The paper's weights of one predicate, and what each feature adds to a candidate's priority.

They are those of links and of users (Aggarwal 2004, section 3, and equation 14).
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import msgspec
import numpy as np

from scentline.models.ledger import Ledger
from scentline.models.policy.factors import LinkTable, region_log, union
from scentline.models.policy.features import (
    BASE,
    DRIFT,
    OUTSIDE,
    PAPER,
    SIGNATURE,
    TOKEN,
    USER,
    WORD,
    Base,
    Cell,
    Denominator,
    Sample,
    Significant,
    Weighed,
    interest,
    link,
    ratio,
    region,
    significance,
)
from scentline.models.policy.vocabulary import LogRatios, Numbers, Vocabulary
from scentline.models.reuse import whole

#: What the paper's denominator counts for each kind of feature.
SAMPLES: Mapping[str, Sample] = {WORD: "hits", TOKEN: "hits", SIGNATURE: "pages", USER: "pages"}


class Weights:
    """The paper's weights of one predicate: ``words`` are the logs of significant ratios.

    The counts are in the vocabulary's ledger; report their changes by `learn`. Once the base has moved by more
    than ``drift``, the ratios of words, tokens and users are recomputed at their next use.
    """

    def __init__(
        self,
        predicate: str,
        vocabulary: Vocabulary,
        t: float = 2.0,
        denominator: Denominator = "binomial",
        drift: float = DRIFT,
    ) -> None:
        self.predicate = predicate
        self.vocabulary = vocabulary
        self.ledger = vocabulary.ledger
        self._words = LogRatios(vocabulary, predicate, Significant(Base(), t, denominator, drift))
        self.denominator: Denominator = denominator
        self.base = Base()
        self.links = LinkTable()
        self.region = (0, 0)
        self._stale = False
        self._earlier: dict[str, Cell] = {}
        self._alone = (link(predicate, True), link(predicate, False), region(predicate), BASE)

    @property
    def words(self) -> LogRatios[Significant]:
        """The logs of the ratios of words, tokens and users, against a base that has not moved far."""
        if self._stale:
            self._stale = False
            self._words.rebase(replace(self._words.rule, base=self.base))
        return self._words

    def learn(self, places: Numbers) -> None:
        """Apply changed counts, among them those of words in distinct ``places``."""
        self._words.take(places)
        satisfying, failing, near, base = map(self.cell, self._alone)
        self.links, self.region, self.base = LinkTable(satisfying, failing), near, Base(*base)
        self._stale = True

    def inherit(self, counted: Mapping[str, Mapping[str, Weighed]]) -> None:
        """Add the counts of earlier crawls, by feature and predicate, in whole pages."""
        self._earlier |= {
            feature: whole(*cells[self.predicate])
            for feature, cells in counted.items()
            if self.predicate in cells
        }
        kept = self._earlier.items()
        self._words.inherit((feature, *cell) for feature, cell in kept if feature[:2] in PAPER)
        self.learn(np.zeros(0, np.intp))

    def renumber(self, before: Numbers) -> None:
        """Apply new places of words, as `models.policy.vocabulary.LogRatios.renumber` does."""
        self._words.renumber(before)

    @property
    def beside(self) -> Numbers:
        """The places of words that are kept without counts."""
        return self._words.beside

    def cell(self, feature: str) -> Cell:
        """Return the pages and hits of a feature; negative counts, of a forgotten one, are 0."""
        pages, hits = self.ledger.get(feature, self.predicate)
        more, more_hits = self._earlier.get(feature, (0, 0))
        return max(0, pages) + more, max(0, hits) + more_hits

    def sum(self, kind: str, names: Iterable[str]) -> float:
        """Return the sum of the logs of distinct features of a kind that are significant.

        Of tokens it is log I_u(C), equations (5) to (7); of a page's visitors log I^B, equations (8) and (9).
        """
        return self.words.of_any([self.vocabulary.known(names, PAPER[kind])])


def weights_of(
    predicate: str,
    ledger: Ledger,
    features: Iterable[str],
    t: float = 2.0,
    denominator: Denominator = "binomial",
) -> Weights:
    """Return exact weights of a few features, from the ledger of a crawl that keeps none."""
    few = Ledger()
    names = [name for name in dict.fromkeys(features) if name in ledger]
    slots = few.slots_of(names)
    few.put(slots, ledger.take(ledger.slots_of(names)))
    weights = Weights(predicate, Vocabulary(few, PAPER), t, denominator)
    weights.learn(weights.vocabulary.places_in(slots))
    return weights


class Evidence(msgspec.Struct, frozen=True):
    """The link evidence of a candidate for one predicate."""

    #: The word sets of its kept in-linking pages.
    parents: tuple[frozenset[str], ...] = ()
    #: The tokens of its URL.
    tokens: frozenset[str] = frozenset()
    #: Its judged in-linking pages, and those of them that satisfy the predicate.
    k: int = 0
    m: int = 0
    #: Its distinct visited siblings, and those of them that satisfy the predicate.
    v: int = 0
    s: int = 0


class CrowdEvidence(msgspec.Struct, frozen=True):
    """The log's evidence of a candidate for one predicate."""

    visitors: tuple[str, ...] = ()
    #: The words of its signature.
    words: frozenset[str] = frozenset()
    #: Whether it lies in the predicate's region of temporal locality; None without an access to it.
    within: bool | None = None


class Contribution(msgspec.Struct, frozen=True, array_like=True):
    """What one feature adds to a priority: its counts, ratio, significance and the log that enters the sum.

    ``log`` is 0 for a word or token that is not significant. Of links it covers all in-links of the kind;
    ``pages`` and ``hits`` of the feature ``siblings:PREDICATE`` are the visited siblings and those that hit.
    """

    feature: str
    pages: int
    hits: int
    ratio: float
    significance: float
    log: float


def contributions(evidence: Evidence, weights: Weights) -> list[Contribution]:
    """Return what each known feature of a candidate adds to its priority, the largest effect first."""
    found = [
        *events(weights, WORD, union(evidence.parents)),
        *events(weights, TOKEN, evidence.tokens),
        *_links(evidence, weights),
        *_siblings(evidence, weights),
    ]
    return ordered(found)


def ordered(found: Iterable[Contribution]) -> list[Contribution]:
    """Return contributions with the largest effect first."""
    return sorted(found, key=lambda entry: (-abs(entry.log), -entry.significance, entry.feature))


def events(weights: Weights, kind: str, names: Iterable[str]) -> Iterator[Contribution]:
    """Yield what each known feature of a kind adds."""
    words = weights.words
    base = words.rule.base
    for name in names:
        cell = weights.cell(kind + name)
        if cell[0] > 0:
            deviation = significance(*cell, base, weights.denominator, SAMPLES[kind])
            yield Contribution(kind + name, *cell, ratio(*cell, base), deviation, weights.sum(kind, [name]))


def _links(evidence: Evidence, weights: Weights) -> Iterator[Contribution]:
    base, table = weights.base, weights.links
    rows = (
        (True, evidence.m, table.satisfying, table.p(base)),
        (False, evidence.k - evidence.m, table.failing, table.q(base)),
    )
    for holds, number, row, factor in rows:
        if number:
            deviation = significance(*row, base, weights.denominator)
            name = link(weights.predicate, holds)
            yield Contribution(name, *row, factor, deviation, number * math.log(factor))


def _siblings(evidence: Evidence, weights: Weights) -> Iterator[Contribution]:
    base = weights.base
    if evidence.v and base.informative:
        factor = interest(evidence.s, evidence.v * base.rate)
        deviation = significance(evidence.v, evidence.s, base, weights.denominator)
        name = f"siblings:{weights.predicate}"
        yield Contribution(name, evidence.v, evidence.s, factor, deviation, math.log(factor))


def crowd_contributions(evidence: CrowdEvidence, weights: Weights) -> Iterator[Contribution]:
    """Yield what each known feature of log I^C (Aggarwal 2004, equation 14) adds; users by their pseudonyms.

    A page of the log has both ratios of the region, f1 / P(U) and f2 / P(U): one of them adds.
    """
    yield from events(weights, USER, evidence.visitors)
    yield from events(weights, SIGNATURE, evidence.words)
    for inside, (pages, hits) in region_cells(weights).items():
        if evidence.within is not None and (pages or inside == evidence.within):
            log = region_log(inside, weights.region, weights.base)
            deviation = significance(pages, hits, weights.base, weights.denominator, "pages")
            name = f"{region(weights.predicate)}{'' if inside else OUTSIDE}"
            adds = log if inside == evidence.within else 0.0
            yield Contribution(name, pages, hits, math.exp(log), deviation, adds)


def region_cells(weights: Weights) -> dict[bool, tuple[int, int]]:
    """Return the judged pages and hits in the region of temporal locality (12), and outside (13).

    Empty if there is no rate to compare with.
    """
    base, (pages, hits) = weights.base, weights.region
    if not base.informative:
        return {}
    return {True: (pages, hits), False: (base.pages - pages, base.hits - hits)}
