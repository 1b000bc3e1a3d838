"""Steer: the steering records in force, and checks of a request before it is submitted."""

import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec

from scentline.agents.operate.requests import Known, RefusedError, resolve
from scentline.agents.window.reading import Reading
from scentline.models.frontier.keys import PAGE_PREFIX
from scentline.models.frontier.steered import Exclusions, Steered
from scentline.models.predicate import PredicateError, parse
from scentline.models.published import MOST_EXCLUDING, Exclusion, Limit
from scentline.streams.logging import printable
from scentline.streams.transport.journal import Journal, TableMissingError

#: Rows of a list.
ROWS = 50
#: Most characters of a predicate to check: a longer one does not fit into an address.
MOST_SIGNS = 3_000
#: Seconds of a piece of counting candidates.
PIECE_SECONDS = 0.02
_KEYS = 1 << 64

Offset = Annotated[int, msgspec.Meta(ge=0, le=10_000)]
Excluding = Annotated[str, msgspec.Meta(max_length=MOST_EXCLUDING)]


class SteerQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first row of each list."""

    predicates: Offset = 0
    exclusions: Offset = 0
    delays: Offset = 0


def steer(reading: Reading, query: SteerQuery) -> dict[str, Any]:
    """Return the steering in force."""
    steered, points = reading.steered(), reading.points()
    predicates = [
        msgspec.structs.asdict(each) | {"hits": points[each.name][-1].hits if points.get(each.name) else None}
        for each in reading.predicates().values()
    ]
    return {
        "read_only": reading.settings.window.read_only,
        "paused": steered.paused,
        "budget": _budget(reading),
        "predicates": _page(predicates, query.predicates),
        "exclusions": _page(steered.exclusions[::-1], query.exclusions),
        "delays": _page(steered.delays[::-1], query.delays),
    }


def _budget(reading: Reading) -> dict[str, int | None]:
    """Return the budget in force, 0 for no limit: the last one frontiers reported, or one requested since.

    It is None if neither is known: for a crawl long at rest, whose settings have it.
    """
    told = max(reading.standings(), key=lambda each: each.time, default=None)
    found: dict[str, int | None] = {"pages": None, "requests": None}
    if told is not None:
        found = {"pages": told.budget, "requests": told.requests_budget}
    limits = (each for each in reading.steered().in_force if isinstance(each, Limit))
    found.update({each.name: each.most for each in limits if told is None or each.time > told.time})
    return found


def _page(found: Sequence[object], offset: int) -> dict[str, Any]:
    rows = found[offset : offset + ROWS]
    return {"rows": rows, "offset": offset, "shown": len(rows), "total": len(found)}


# checks before saving


class TrialQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A predicate's ``expression``, or an exclusion: a ``prefix`` or a ``pattern`` of URLs."""

    expression: Annotated[str, msgspec.Meta(max_length=MOST_SIGNS)] = ""
    prefix: Excluding = ""
    pattern: Excluding = ""


def trial(reading: Reading, query: TrialQuery) -> dict[str, Any]:
    """Return what is wrong; else, how many candidates an exclusion would exclude, counted so far."""
    prefix, pattern = query.prefix, query.pattern
    try:
        if query.expression.strip():
            parse(query.expression)
            return {"read": True}
        if prefix or pattern:
            resolve(Exclusion(prefix=prefix, expression=pattern), Known({}, Steered()))
            make = lambda: left_out(reading.journal, prefix, pattern)  # noqa: E731
            return {"tried": reading.ahead(f"{prefix}\n{pattern}", make) if reading.begun else None}
    except PredicateError as error:
        # The lines below the first are the expression and a caret; a long one is cut around it.
        lines = [printable(line[2:], MOST_SIGNS) for line in str(error).split("\n")[1:]]
        return {"problem": error.problem, "column": error.column, "lines": lines}
    except RefusedError as error:
        return {"problem": str(error)}
    return {}


class LeftOut(NamedTuple):
    """A count so far: ``found`` of the ``read`` candidates, of ``of``, an estimate until it is ``done``."""

    found: int
    read: int
    of: int
    done: bool


class _Row(msgspec.Struct, array_like=True, gc=False, tag="page"):
    """The first fields of a `PageRow`."""

    url: str
    depth: int
    discovered: int
    state: str = "candidate"


_decode = msgspec.msgpack.Decoder(_Row).decode


def left_out(journal: Journal, prefix: str, expression: str) -> Iterator[tuple[LeftOut, bool]]:
    """Yield how many candidates an exclusion would exclude so far, and whether there is more to do.

    The keys of candidates are hashes: their number is estimated from the part of the key space read so far.
    """
    exclusions = Exclusions()
    exclusions.put("", prefix, expression)
    try:
        parts = list(journal.table("frontier").values())
    except TableMissingError:
        parts = []
    found, read, until = 0, 0, time.perf_counter() + PIECE_SECONDS
    for number, part in enumerate(parts):
        for key, raw in part.scan(PAGE_PREFIX):
            row = _decode(raw)
            if row.state == "candidate":
                read += 1
                found += exclusions.has(row.url)
            if time.perf_counter() >= until:
                done = number + int.from_bytes(key[len(PAGE_PREFIX) :][:8]) / _KEYS
                yield LeftOut(found, read, round(read * len(parts) / done) if done else read, False), True
                until = time.perf_counter() + PIECE_SECONDS
    yield LeftOut(found, read, read, True), False
