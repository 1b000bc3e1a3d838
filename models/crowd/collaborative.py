"""The collaborative priority, and what a judged page counts under for it (Aggarwal 2004, equation 14)."""

import math
from collections.abc import Iterable

import msgspec

from models.crowd.affinity import affinity_log
from models.crowd.locality import region_log
from models.crowd.signature import signature_log
from models.interest.features import region, signature, user
from models.interest.ratio import Base
from models.interest.table import RatioTable


def features_of_crowd(
    visitors: Iterable[str], signature_words: Iterable[str], inside: Iterable[str]
) -> frozenset[str]:
    """Return the features that a log adds to those of a judged page (`models.interest.contribution`).

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
