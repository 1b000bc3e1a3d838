"""Now: whether the crawl finds what it looks for, and where nothing is fetched, why."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, TypeVar

import msgspec

from scentline.agents.operate.record import totals
from scentline.agents.window.reading import Reading
from scentline.agents.window.state import MOODS, Facts, queued, said
from scentline.models.harvest import RANDOM, SURE, lift_if_sure, wilson
from scentline.models.published import ACTIVE, PAUSED, HarvestPoint, PredicateDefinition, Standing
from scentline.streams.logging import printable

Number = TypeVar("Number", int, float)

#: The states of workers, the one that says most of the whole crawl first.
_STATES = ("paused", "starting", "running", "spent", "done", "ended")
_ADDED = (
    "partitions", "judged", "requests", "discovered", "failed", "refused", "moved", "trapped", "revisits",
    "in_flight", "revisits_in_flight", "window", "room", "ready", "retries",
)  # fmt: skip
#: What is shown of a `Standing` as it is, and counts that the tables have as well.
_STANDING = (
    "ready", "waiting", "window", "retries", "budget", "requests_budget", "left", "held_by", "held", "time",
)  # fmt: skip
_COUNTED = ("judged", "requests", "discovered", "refused", "moved", "trapped", "revisits")


def together(told: Sequence[Standing]) -> Standing | None:
    """Return how workers stand together, as if they were one; None where there is none."""
    if not told:
        return None
    partitions = sum(each.partitions for each in told)
    return Standing(
        worker="",
        time=max(each.time for each in told),
        began=min(each.began for each in told),
        state=next(state for state in (*_STATES, told[0].state) if any(each.state == state for each in told)),
        final=all(each.final for each in told),
        of=max(each.of for each in told),
        waiting=_added(each.waiting for each in told),
        queued=_added(each.queued for each in told),
        hosts=_added(each.hosts for each in told),
        pages_a_second=_sum(each.pages_a_second for each in told),
        requests_a_second=_sum(each.requests_a_second for each in told),
        next_ready=_least(each.next_ready for each in told),
        next_retry=_least(each.next_retry for each in told),
        seen=min(each.seen for each in told),
        opening=any(each.opening for each in told),
        taken_up=sum(each.taken_up * each.partitions for each in told) / max(1, partitions),
        filling=any(each.filling for each in told),
        budget=max(each.budget for each in told),
        requests_budget=max(each.requests_budget for each in told),
        left=_least(each.left for each in told),
        slots=_mean([(each.slots, each.ready + sum(each.waiting.values())) for each in told]),
        held_by=max(told, key=lambda each: each.held).held_by,
        held=sum(each.held for each in told),
        **{name: sum(getattr(each, name) for each in told) for name in _ADDED},
    )


def _added(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    return dict(sum(map(Counter, counts), Counter[str]()))


def _least(values: Iterable[Number | None]) -> Number | None:
    return min((value for value in values if value is not None), default=None)


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mean(parts: Sequence[tuple[float | None, int]]) -> float | None:
    known = [(part, hosts) for part, hosts in parts if part is not None]
    hosts = sum(hosts for _, hosts in known)
    return sum(part * hosts for part, hosts in known) / hosts if hosts else None


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
        "chance": [each["rate"] if each else None for each in chances],
        "low": [each["low"] if each else None for each in chances],
        "high": [each["high"] if each else None for each in chances],
    }


def chance(point: HarvestPoint) -> dict[str, float] | None:
    """Return what chance finds, with its bounds: the rate of explored pages; None while they are few.

    Chance takes each candidate alike, and so does, in the long run, a crawl that goes by no more than depth.
    """
    pages, hits = point.policies.get(RANDOM, (0, 0))
    if pages < LEAST:
        return None
    rate = hits / pages
    low, high = (round(bound, 4) for bound in wilson(rate, pages, SURE))
    return {"pages": pages, "hits": hits, "rate": round(rate, 4), "low": low, "high": high}


def lift(point: HarvestPoint) -> list[float] | None:
    """Return lower bound, lift and upper bound; None while chance might find as much."""
    found = lift_if_sure(point.pages, point.hits, *point.policies.get(RANDOM, (0, 0)))
    return None if found is None else [round(each, 2) for each in found]


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
    states = [each.state for each in definitions.values()]
    newest = max((each[-1].time for each in points.values() if each), default=0.0)
    active, paused = states.count(ACTIVE), states.count(PAUSED)
    facts = Facts(reading.now, True, running, standing, newest, active, paused)
    found = [each for name, each in definitions.items() if query.search.lower() in name.lower()]
    shown = found[query.offset : query.offset + PREDICATES]
    return {
        "begun": True,
        "running": running,
        "state": _state(facts),
        "figures": _figures(reading, standing, points, running=running),
        "window_pages": reading.settings.harvest.window_pages,
        "predicates": [_predicate(each, points.get(each.name, ())) for each in shown],
        "offset": query.offset,
        "total": len(found),
        "known": len(definitions),
    }


def _state(facts: Facts) -> dict[str, str]:
    mood, text = said(facts)
    return {"mood": mood, "word": MOODS[mood], "text": text}


# figures


def _figures(
    reading: Reading, standing: Standing | None, points: dict[str, list[HarvestPoint]], *, running: bool
) -> dict[str, Any]:
    kept = totals(reading.journal) if standing is None or not running else None
    known = standing or Standing(worker="", time=0.0, state="", partitions=0, of=0)
    counts = kept or known
    fresh = running and reading.now - known.time < _OLD_SECONDS
    return {
        **{name: getattr(known, name) for name in _STANDING},
        **{name: getattr(counts, name) for name in _COUNTED},
        "pages_a_second": known.pages_a_second if fresh else None,
        "on_average": _on_average(known, counts.judged, points),
        "nothing": max(0, counts.requests - counts.judged),
        "failed": known.failed if kept is None else kept.gone + kept.given_up,
        "queued": queued(known) if standing else None,
        "hosts": known.ready + sum(known.waiting.values()) if standing else None,
        "seen": round(known.seen, 2),
        "in_flight": known.in_flight if running else 0,
        "slots": known.slots if fresh else None,
    }


def _on_average(known: Standing, judged: int, points: dict[str, list[HarvestPoint]]) -> float | None:
    """Return the pages a second since the newest run began, as far as it is known when that was."""
    curve = max(points.values(), key=lambda each: each[-1].pages if each else 0, default=None)
    if not curve:
        return None
    began = known.began or curve[0].time
    before = max((point.pages for point in curve if point.time < began), default=0)
    seconds = max(known.time, curve[-1].time) - began
    return max(0, judged - before) / seconds if seconds > 0 else None


# predicates


def _predicate(definition: PredicateDefinition, points: Sequence[HarvestPoint]) -> dict[str, Any]:
    expression = printable(definition.expression, _SHOWN)
    found: dict[str, Any] = {"name": definition.name, "expression": expression, "state": definition.state}
    if not points:
        return found | {"pages": 0}
    point = points[-1]
    return found | {
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
