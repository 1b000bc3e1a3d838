"""The collaborative priority (Aggarwal 2004, equation 14): what pages count under, what features add."""

import math
from collections.abc import Iterable, Iterator

import msgspec

from scentline.models.crowd.evidence import affinity_log, region_log, signature_log
from scentline.models.interest.features import OUTSIDE, region, signature, user
from scentline.models.interest.linkage import Contribution, events
from scentline.models.interest.ratio import Base, RatioTable, significance
from scentline.models.interest.weights import Weights


def features_of_crowd(
    visitors: Iterable[str], signature_words: Iterable[str], inside: Iterable[str]
) -> frozenset[str]:
    """Return the features that a log adds to those of a judged page (`models.interest.factors`).

    ``visitors`` are the users kept of the page, ``signature_words`` its signature, ``inside`` the predicates
    in whose temporal locality region it lies. All three may change after the page was judged: the difference
    is what its verdict is then counted under, or taken back from.
    """
    found = {user(name) for name in visitors}
    found.update(map(signature, signature_words))
    found.update(map(region, inside))
    return frozenset(found)


class CrowdEvidence(msgspec.Struct, frozen=True):
    """What a log tells of a candidate for one predicate.

    Its ``visitors``, its signature's ``words``, and whether it is ``within`` the predicate's temporal
    locality region; None where the log has no access to it.
    """

    visitors: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    within: bool | None = None


class CrowdScore(msgspec.Struct, frozen=True, array_like=True):
    """Logs of the three interest ratios and ``total``, their sum."""

    affinity: float
    signature: float
    locality: float
    total: float


def crowd_score(
    evidence: CrowdEvidence, users: RatioTable, words: RatioTable, region_counts: tuple[int, int], base: Base
) -> CrowdScore:
    """Return log I^C = log I^TL + log I^SF + log I^B, equation (14); what is missing adds nothing.

    The combined policy adds it to the linkage priority, log I^L (section 4).
    """
    logs = (
        affinity_log(evidence.visitors, users),
        signature_log(evidence.words, words),
        region_log(evidence.within, region_counts, base),
    )
    return CrowdScore(*logs, total=math.fsum(logs))


def crowd_contributions(evidence: CrowdEvidence, weights: Weights) -> Iterator[Contribution]:
    """Yield what each known feature of log I^C (Aggarwal 2004, equation 14) adds; users by their pseudonyms.

    Of a page of the log there are both ratios of the region, f1 / P(U) and f2 / P(U): one of them adds.
    """
    yield from events(weights, weights.users, {name: user(name) for name in evidence.visitors})
    yield from events(weights, weights.signatures, {name: signature(name) for name in evidence.words})
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
