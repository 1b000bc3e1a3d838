"""Now: which crawl it is, whether it finds what it seeks, and why it fetches nothing, if so."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, TypeVar

import msgspec

from scentline.agents.operate.record import totals
from scentline.agents.window.reading import Reading
from scentline.agents.window.state import MOODS, Facts, at_doors, queued, said
from scentline.models.harvest import SURE, wilson
from scentline.models.published import ACTIVE, PAUSED, HarvestPoint, PredicateDefinition, Standing

Number = TypeVar("Number", int, float)

#: Most predicates in a view, and most points of a curve.
PREDICATES, POINTS = 6, 120
#: Least pages chosen by chance before its rate is shown.
LEAST = 10
#: Seconds after which a reported rate of pages is stale.
_OLD_SECONDS = 10.0
#: The states of workers, in the order in which one decides the crawl's.
_STATES = ("paused", "starting", "running", "spent", "done", "ended")
#: How fields of workers combine: sums, also by key or where known; the largest; the least known.
_ADDED = (
    "partitions", "judged", "requests", "discovered", "failed", "refused", "moved", "trapped", "revisits",
    "in_flight", "revisits_in_flight", "window", "room", "ready", "retries", "held",
)  # fmt: skip
_COUNTERS, _RATES = ("waiting", "queued", "hosts"), ("pages_a_second", "requests_a_second")
_LARGEST, _LEAST = ("time", "of", "budget", "requests_budget"), ("next_ready", "next_retry", "left")
#: Fields of a `Standing` shown as they are, and counts that the tables have, too.
_STANDING = (
    "ready", "waiting", "window", "retries", "budget", "requests_budget", "left", "held_by", "held", "time",
)  # fmt: skip
_COUNTED = ("judged", "requests", "discovered", "refused", "moved", "trapped", "revisits")


class CrawlQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """It has no parameters."""


def crawl(reading: Reading, _: CrawlQuery) -> dict[str, Any]:
    """Return the header of every screen: which crawl it is, whether it runs, and its predicates."""
    settings, begun = reading.settings, reading.begun
    return {
        "data": reading.data.absolute().name,
        "running": reading.running(),
        "policy": settings.frontier.rule if begun else "",
        "read_only": settings.window.read_only,
        "predicates": list(reading.predicates().values()) if begun else [],
    }


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which predicates: those whose names contain ``search``, from the number ``offset`` on."""

    offset: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0
    search: Annotated[str, msgspec.Meta(max_length=64)] = ""


def now(reading: Reading, query: Query) -> dict[str, Any]:
    """Return the crawl's state and what it finds."""
    if not reading.begun:
        return {"state": _state(Facts(reading.now, begun=False, running=False))}
    running, standing, points = reading.running(), together(reading.standings()), reading.points()
    definitions = reading.predicates()
    states = [each.state for each in definitions.values()]
    newest = max((each[-1].time for each in points.values() if each), default=0.0)
    facts = Facts(reading.now, True, running, standing, newest, states.count(ACTIVE), states.count(PAUSED))
    found = [each for name, each in definitions.items() if query.search.lower() in name.lower()]
    return {
        "running": running,
        "state": _state(facts),
        "door": at_doors(reading.doors(), standing, reading.now) if running else "",
        "figures": _figures(reading, standing, points, running=running),
        "window_pages": reading.settings.harvest.window_pages,
        "predicates": [
            _predicate(each, points.get(each.name, ())) for each in found[query.offset :][:PREDICATES]
        ],
        "offset": query.offset,
        "total": len(found),
        "known": len(definitions),
    }


def _state(facts: Facts) -> dict[str, str]:
    mood, text = said(facts)
    return {"mood": mood, "word": MOODS[mood], "text": text}


# figures


def together(told: Sequence[Standing]) -> Standing | None:
    """Combine the standings of workers into one; None if there are none."""
    if not told:
        return None

    def each(name: str) -> list[Any]:
        return [value for standing in told if (value := getattr(standing, name)) is not None]

    fields: dict[str, Any] = {
        **{name: sum(each(name)) for name in _ADDED},
        **{name: dict(sum(map(Counter, each(name)), Counter[str]())) for name in _COUNTERS},
        **{name: sum(each(name)) if each(name) else None for name in _RATES},
        **{name: max(each(name)) for name in _LARGEST},
        **{name: min(each(name), default=None) for name in _LEAST},
    }
    return Standing(
        worker="",
        began=min(each("began")),
        state=next(state for state in (*_STATES, told[0].state) if state in each("state")),
        final=all(each("final")),
        seen=min(each("seen")),
        opening=any(each("opening")),
        filling=any(each("filling")),
        taken_up=sum(worker.taken_up * worker.partitions for worker in told) / max(1, fields["partitions"]),
        slots=_mean([(worker.slots, worker.ready + sum(worker.waiting.values())) for worker in told]),
        held_by=max(told, key=lambda worker: worker.held).held_by,
        **fields,
    )


def _mean(parts: Iterable[tuple[float | None, int]]) -> float | None:
    known = [(part, hosts) for part, hosts in parts if part is not None]
    hosts = sum(hosts for _, hosts in known)
    return sum(part * hosts for part, hosts in known) / hosts if hosts else None


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
    """Return the pages a second since the newest run began, or since the first known point."""
    curve = max(points.values(), key=lambda each: each[-1].pages if each else 0, default=None)
    if not curve:
        return None
    began = known.began or curve[0].time
    before = max((point.pages for point in curve if point.time < began), default=0)
    seconds = max(known.time, curve[-1].time) - began
    return max(0, judged - before) / seconds if seconds > 0 else None


# predicates


def _predicate(definition: PredicateDefinition, points: Sequence[HarvestPoint]) -> dict[str, Any]:
    found = {name: getattr(definition, name) for name in ("name", "expression", "state")}
    if not points:
        return found | {"pages": 0}
    point = points[-1]
    lift = point.lift_if_sure
    return found | {
        "pages": point.pages,
        "hits": point.hits,
        "rate": round(point.harvest_rate, 4),
        "lately": round(point.rate_by_pages, 4),
        "hits_per_request": round(point.hits_per_request, 4),
        "hits_a_minute": _a_minute(points),
        "chance": _chance(point),
        # Lower bound, lift and upper bound; None while chance might find as much.
        "lift": None if lift is None else [round(each, 2) for each in lift],
        "matches": point.matches,
        "freshness": None if point.freshness is None else round(point.freshness, 3),
        "curve": _curve(points),
    }


def _a_minute(points: Sequence[HarvestPoint]) -> float | None:
    """Return the hits of the last known minute, or of a shorter time, scaled to one."""
    last = points[-1]
    first = next(point for point in points if point.time >= last.time - 60.0)
    seconds = last.time - first.time
    return round(60.0 * (last.hits - first.hits) / seconds, 1) if seconds > 0 else None


def _chance(point: HarvestPoint) -> dict[str, float] | None:
    """Return the rate of explored pages, with its bounds; None while they are few.

    Exploration takes each candidate alike, as, in the long run, a crawl by depth alone does.
    """
    pages, hits = point.by_chance
    if pages < LEAST:
        return None
    low, high = wilson(hits / pages, pages, SURE)
    rates = {"rate": hits / pages, "low": low, "high": high}
    return {"pages": pages, "hits": hits, **{name: round(rate, 4) for name, rate in rates.items()}}


def _curve(points: Sequence[HarvestPoint]) -> dict[str, list[float | None]]:
    """Return columns of a predicate's curve: pages, its rates, and that of explored pages with its bounds."""
    apart = -(-len(points) // POINTS)
    shown = points if apart <= 1 else [*points[:-1][::apart], points[-1]]
    chances = [_chance(point) or {} for point in shown]
    return {
        "pages": [point.pages for point in shown],
        "rate": [round(point.harvest_rate, 4) for point in shown],
        "lately": [round(point.rate_by_pages, 4) for point in shown],
        "chance": [each.get("rate") for each in chances],
        "low": [each.get("low") for each in chances],
        "high": [each.get("high") for each in chances],
    }
