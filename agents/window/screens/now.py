"""Now: whether the crawl finds what it looks for, and where nothing is fetched, why."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from scentline.agents.operate.inspect.record import totals
from scentline.agents.window.curves import chance, curve, lift
from scentline.agents.window.reading import Reading
from scentline.agents.window.standings import together
from scentline.agents.window.state import MOODS, Facts, queued, said
from scentline.streams.logging import printable
from scentline.streams.records import ACTIVE, PAUSED, HarvestPoint, PredicateDefinition, Standing

#: Predicates with their curves in one view.
PREDICATES = 6
#: Characters that are shown of an expression.
_SHOWN = 300
#: Seconds after which what was told of pages a second is old.
_OLD_SECONDS = 10.0


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which predicates: those whose names contain ``search``, from the number ``offset`` on."""

    offset: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0
    search: Annotated[str, msgspec.Meta(max_length=64)] = ""


def view(reading: Reading, query: Query) -> object:
    """Return where the crawl stands and what it finds."""
    if not reading.begun:
        return {"begun": False, "state": _state(Facts(reading.now, begun=False, running=False))}
    running, standing = reading.running(), together(reading.standings())
    points = reading.points()
    definitions = reading.predicates()
    found = [each for name, each in definitions.items() if query.search.lower() in name.lower()]
    shown = found[query.offset : query.offset + PREDICATES]
    return {
        "begun": True,
        "running": running,
        "state": _state(_facts(reading, standing, points, definitions, running=running)),
        "figures": _figures(reading, standing, points, running=running),
        "window_pages": reading.settings.harvest.window_pages,
        "predicates": [_predicate(each, points.get(each.name, ())) for each in shown],
        "offset": query.offset,
        "total": len(found),
        "known": len(definitions),
    }


def _state(facts: Facts) -> dict[str, str]:
    state = said(facts)
    return {"mood": state.mood, "word": MOODS[state.mood], "text": state.text}


def _facts(
    reading: Reading,
    standing: Standing | None,
    points: dict[str, list[HarvestPoint]],
    definitions: dict[str, PredicateDefinition],
    *,
    running: bool,
) -> Facts:
    return Facts(
        now=reading.now,
        begun=True,
        running=running,
        standing=standing,
        newest=max((each[-1].time for each in points.values() if each), default=0.0),
        asked=reading.watching.since,
        predicates=sum(each.state == ACTIVE for each in definitions.values()),
        paused=sum(each.state == PAUSED for each in definitions.values()),
    )


# figures


def _figures(
    reading: Reading, standing: Standing | None, points: dict[str, list[HarvestPoint]], *, running: bool
) -> dict[str, Any]:
    """Return counts: as frontiers told them or, of a crawl at rest, as its tables have them."""
    kept = totals(reading.journal) if standing is None or not running else None
    told = standing or Standing(worker="", time=0.0, state="", partitions=0, of=0)
    judged, requests = (told.judged, told.requests) if kept is None else (kept.judged, kept.requests)
    fresh = running and reading.now - told.time < _OLD_SECONDS
    return {
        "pages_a_second": told.pages_a_second if fresh else None,
        "on_average": _on_average(told, judged, points),
        "judged": judged,
        "requests": requests,
        "nothing": max(0, requests - judged),
        "discovered": told.discovered if kept is None else kept.discovered,
        "failed": told.failed if kept is None else kept.gone + kept.given_up,
        "refused": told.refused if kept is None else kept.refused,
        "moved": told.moved if kept is None else kept.moved,
        "trapped": told.trapped if kept is None else kept.trapped,
        "revisits": told.revisits if kept is None else kept.revisits,
        "queued": queued(told) if standing else None,
        "hosts": told.ready + sum(told.waiting.values()) if standing else None,
        "ready": told.ready,
        "waiting": told.waiting,
        "seen": round(told.seen, 2),
        "in_flight": told.in_flight if running else 0,
        "window": told.window,
        "retries": told.retries,
        "budget": told.budget,
        "requests_budget": told.requests_budget,
        "left": told.left,
        "slots": told.slots if fresh else None,
        "held_by": told.held_by,
        "held": told.held,
        "time": told.time,
    }


def _on_average(told: Standing, judged: int, points: dict[str, list[HarvestPoint]]) -> float | None:
    """Return the pages a second since the newest run began, as far as it is known when that was."""
    curve = max(points.values(), key=lambda each: each[-1].pages if each else 0, default=None)
    if not curve:
        return None
    began = told.began or curve[0].time
    before = max((point.pages for point in curve if point.time < began), default=0)
    seconds = max(told.time, curve[-1].time) - began
    return max(0, judged - before) / seconds if seconds > 0 else None


# predicates


def _predicate(definition: PredicateDefinition, points: Sequence[HarvestPoint]) -> dict[str, Any]:
    """Return what is shown of a predicate."""
    told: dict[str, Any] = {
        "name": definition.name,
        "expression": printable(definition.expression, _SHOWN),
        "state": definition.state,
        "pages": 0,
    }
    if not points:
        return told
    point = points[-1]
    return told | {
        "pages": point.pages,
        "hits": point.hits,
        "rate": round(point.harvest_rate, 4),
        "lately": round(point.rate_by_pages, 4),
        "hits_per_request": round(point.hits_per_request, 4),
        "hits_a_minute": _a_minute(points),
        "chance": chance(point),
        "lift": lift(point),
        "matches": point.matches,
        "freshness": None if point.freshness is None else round(point.freshness, 3),
        "curve": curve(points),
    }


def _a_minute(points: Sequence[HarvestPoint]) -> float | None:
    """Return the hits of the last minute that is known, or of a shorter time as if it went on for one."""
    last = points[-1]
    first = next(point for point in points if point.time >= last.time - 60.0)
    seconds = last.time - first.time
    return round(60.0 * (last.hits - first.hits) / seconds, 1) if seconds > 0 else None
