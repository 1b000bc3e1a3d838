"""What each feature adds to a candidate's priority by links and by users (Aggarwal 2004, section 3, (14))."""

import math
from collections.abc import Iterable, Iterator

import msgspec

from scentline.models.interest.factors import region_log, union
from scentline.models.interest.features import OUTSIDE, SIGNATURE, TOKEN, USER, WORD, link, region
from scentline.models.interest.ratio import interest, significance
from scentline.models.interest.weights import Weights


class Evidence(msgspec.Struct, frozen=True):
    """What links say of a candidate for one predicate."""

    #: The word sets of its kept in-linking pages.
    parents: tuple[frozenset[str], ...] = ()
    #: Those of its URL.
    tokens: frozenset[str] = frozenset()
    #: Its judged in-linking pages, and those of them that satisfy the predicate.
    k: int = 0
    m: int = 0
    #: Its distinct visited siblings, and those of them that satisfy the predicate.
    v: int = 0
    s: int = 0


class CrowdEvidence(msgspec.Struct, frozen=True):
    """What a log says of a candidate for one predicate."""

    visitors: tuple[str, ...] = ()
    #: Those of its signature.
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
    """Yield what the known ones of some features of a kind add."""
    logs = weights.logs[kind]
    for name in names:
        cell = weights.cell(kind + name)
        if cell[0] > 0:
            deviation = weights.significance(kind, cell)
            yield Contribution(kind + name, *cell, weights.ratio(cell), deviation, logs.get(name, 0.0))


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

    Of a page of the log there are both ratios of the region, f1 / P(U) and f2 / P(U): one of them adds.
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

    Nothing where there is no rate to compare with.
    """
    base, (pages, hits) = weights.base, weights.region
    if not base.informative:
        return {}
    return {True: (pages, hits), False: (base.pages - pages, base.hits - hits)}
