"""The harvest curves of a crawl, with what chance finds beside them."""

from collections.abc import Sequence

from scentline.models.harvest import RANDOM, SURE, lift_if_sure
from scentline.models.reliability import wilson
from scentline.streams.records import HarvestPoint

#: Points of a curve that are shown.
SHOWN = 120
#: Pages that chance has to choose before its rate says anything.
LEAST = 10


def curve(points: Sequence[HarvestPoint]) -> dict[str, list[float | None]]:
    """Return columns of a predicate's curve: pages, its rates, and that of explored pages with its bounds."""
    apart = -(-len(points) // SHOWN)
    shown = points if apart <= 1 else [*points[:-1][::apart], points[-1]]
    chances = [chance(point) for point in shown]
    return {
        "pages": [point.pages for point in shown],
        "rate": [round(point.harvest_rate, 4) for point in shown],
        "lately": [round(point.rate_by_pages, 4) for point in shown],
        "chance": [None if each is None else each["rate"] for each in chances],
        "low": [None if each is None else each["low"] for each in chances],
        "high": [None if each is None else each["high"] for each in chances],
    }


def chance(point: HarvestPoint) -> dict[str, float] | None:
    """Return what chance finds, with its bounds: the rate of explored pages; None while they are few.

    Chance takes each candidate alike, and so does, in the long run, a crawl that goes by no more than depth.
    """
    pages, hits = point.policies.get(RANDOM, (0, 0))
    if pages < LEAST:
        return None
    low, high = wilson(hits / pages, pages, SURE)
    return {
        "pages": pages,
        "hits": hits,
        "rate": round(hits / pages, 4),
        "low": round(low, 4),
        "high": round(high, 4),
    }


def lift(point: HarvestPoint) -> list[float] | None:
    """Return lower bound, lift and upper bound; None while chance might find as much."""
    found = lift_if_sure(point.pages, point.hits, *point.policies.get(RANDOM, (0, 0)))
    return None if found is None else [round(each, 2) for each in found]
