"""Steer: the records in force of what people asked of the crawl; of each list a page at a time."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

import msgspec

from scentline.agents.window.reading import Reading
from scentline.models.published import Exclusion, Limit, PredicateDefinition
from scentline.streams.logging import printable

#: Rows of a list, and characters of a text.
ROWS, SHOWN = 50, 300

T = TypeVar("T")
Told = TypeVar("Told", Exclusion, PredicateDefinition)
Offset = Annotated[int, msgspec.Meta(ge=0, le=10_000)]


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From which row on the lists are shown."""

    predicates: Offset = 0
    exclusions: Offset = 0
    delays: Offset = 0


def view(reading: Reading, query: Query) -> object:
    """Return what is in force."""
    if not reading.begun:
        return {"begun": False}
    steered = reading.steered()
    points = reading.points()

    def predicate(each: PredicateDefinition) -> object:
        newest = points.get(each.name, [])[-1:]
        return msgspec.structs.asdict(_shown(each)) | {"hits": newest[0].hits if newest else None}

    return {
        "begun": True,
        "read_only": reading.settings.window.read_only,
        "paused": steered.paused,
        "budget": _budget(reading),
        "predicates": _page([*reading.predicates().values()], query.predicates, predicate),
        "exclusions": _page(steered.exclusions[::-1], query.exclusions, _shown),
        "delays": _page(steered.delays[::-1], query.delays, lambda each: each),
    }


def _budget(reading: Reading) -> dict[str, int | None]:
    """Return the budget in force, 0 for no limit: what frontiers told last, or what was asked for since.

    It is None where neither is known: of a crawl at rest for long, whose settings have it.
    """
    told = max(reading.standings(), key=lambda each: each.time, default=None)
    found: dict[str, int | None] = {"pages": None, "requests": None}
    if told is not None:
        found = {"pages": told.budget, "requests": told.requests_budget}
    limits = (each for each in reading.steered().in_force if isinstance(each, Limit))
    found.update({each.name: each.most for each in limits if told is None or each.time > told.time})
    return found


def _page(found: Sequence[T], offset: int, row: Callable[[T], object]) -> object:
    rows = [row(each) for each in found[offset : offset + ROWS]]
    return {"rows": rows, "offset": offset, "shown": len(rows), "total": len(found)}


def _shown(each: Told) -> Told:
    """Return a record with its texts as they are shown."""
    texts = {name: text for name in ("prefix", "expression") if (text := getattr(each, name, ""))}
    return msgspec.structs.replace(each, **{name: printable(text, SHOWN) for name, text in texts.items()})
