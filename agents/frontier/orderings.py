"""Which ordering a crawl has, and what it goes by."""

from agents.frontier.behaviour import BehaviourOrder, SitePatterns
from agents.frontier.ordering import BacklinkOrder, LocationOrder, Ordering
from agents.frontier.ranks import Ranks
from agents.frontier.similar import SimilarityOrder
from streams.settings import FrontierSettings

#: The orderings that the depth of a page is enough for.
BY_DEPTH = ("predicates", "breadth-first")


def ordering(settings: FrontierSettings, patterns: SitePatterns | None) -> Ordering | None:
    """Return what orders the candidates, None where their depth does or a policy."""
    name = settings.ordering
    if name in BY_DEPTH:
        return None
    if patterns is not None and name in ("behaviour-fetch", "behaviour-discovery"):
        return BehaviourOrder(name, patterns)
    if name == "backlink":
        return BacklinkOrder()
    if name == "location":
        return LocationOrder()
    return SimilarityOrder(settings.query) if name == "similarity" else Ranks()
