"""What each feature of the crowd adds to a candidate's priority, for people who ask why."""

import math
from collections.abc import Iterator

from models.crowd.collaborative import CrowdEvidence
from models.crowd.locality import region_log
from models.interest.features import region, signature, user
from models.interest.linkage import Contribution, events
from models.interest.ratio import significance
from models.interest.weights import Weights


def crowd_contributions(evidence: CrowdEvidence, weights: Weights) -> Iterator[Contribution]:
    """Yield what each known feature of log I^C (Aggarwal 2004, equation 14) adds; users by their pseudonyms."""
    yield from events(weights, weights.users, {name: user(name) for name in evidence.visitors})
    yield from events(weights, weights.signatures, {name: signature(name) for name in evidence.words})
    base, (pages, hits) = weights.base, weights.region
    if evidence.within is None or not base.informative:
        return
    if not evidence.within:
        pages, hits = base.pages - pages, base.hits - hits
    log = region_log(evidence.within, weights.region, base)
    name = f"{region(weights.predicate)}{'' if evidence.within else ' (outside)'}"
    deviation = significance(pages, hits, base, weights.denominator, "pages")
    yield Contribution(name, pages, hits, math.exp(log), deviation, log)
