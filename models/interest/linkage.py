"""The priority of a candidate from links alone (Aggarwal 2004, section 3, PriorityValue)."""

import math
from collections.abc import Iterable, Iterator

import msgspec

from scentline.models.interest.factors import union
from scentline.models.interest.features import link, token, word
from scentline.models.interest.ratio import RatioTable, interest, ratio, significance
from scentline.models.interest.weights import Weights

#: Weights of the logs of content, URL tokens, links and siblings in the sum.
Factors = tuple[float, float, float, float]

EQUAL: Factors = (1.0, 1.0, 1.0, 1.0)


class Evidence(msgspec.Struct, frozen=True):
    """What is known of a candidate for one predicate.

    ``parents`` are the word sets of its kept in-linking pages, whole or cut down to those that are significant,
    and ``tokens`` the tokens of its URL. Of its ``k`` judged in-linking pages ``m`` satisfy the predicate,
    and of its ``v`` distinct visited siblings ``s`` do.
    """

    parents: tuple[frozenset[str], ...] = ()
    tokens: frozenset[str] = frozenset()
    k: int = 0
    m: int = 0
    v: int = 0
    s: int = 0


class Score(msgspec.Struct, frozen=True, array_like=True):
    """Logs of the four interest ratios (not weighted) and ``total``, their weighted sum: the priority."""

    content: float
    tokens: float
    links: float
    siblings: float
    total: float


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


def score(evidence: Evidence, weights: Weights, factors: Factors = EQUAL) -> Score:
    """Return PriorityValue = log I_c(C) + log I_u(C) + log I_l(C) + log I_s(C), weighted by ``factors``."""
    logs = (
        weights.content_log(evidence.parents),
        weights.token_log(evidence.tokens),
        weights.link_log(evidence.k, evidence.m),
        weights.sibling_log(evidence.v, evidence.s),
    )
    return Score(*logs, total=math.fsum(factor * log for factor, log in zip(factors, logs, strict=True)))


def contributions(evidence: Evidence, weights: Weights) -> list[Contribution]:
    """Return what each known feature of a candidate adds to its priority, the largest effect first.

    Here ``evidence.parents`` are whole, or words that are not significant are missing.
    """
    found = [
        *events(weights, weights.words, {name: word(name) for name in union(evidence.parents)}),
        *events(weights, weights.tokens, {name: token(name) for name in evidence.tokens}),
        *_links(evidence, weights),
        *_siblings(evidence, weights),
    ]
    return ordered(found)


def ordered(found: Iterable[Contribution]) -> list[Contribution]:
    """Return contributions with the largest effect first."""
    return sorted(found, key=lambda entry: (-abs(entry.log), -entry.significance, entry.feature))


def events(weights: Weights, table: RatioTable, names: dict[str, str]) -> Iterator[Contribution]:
    """Yield what the known ones of some events add: ``names`` maps names in the table to features."""
    for name, feature in names.items():
        pages, hits = weights.cell(feature)
        if pages > 0:
            deviation = table.significance((pages, hits))
            factor = ratio(pages, hits, table.base)
            yield Contribution(feature, pages, hits, factor, deviation, table.logs.get(name, 0.0))


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
