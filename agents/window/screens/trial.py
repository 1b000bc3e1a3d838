"""What the screen Steer asks before anything is saved: whether a predicate can be read, and what it would find.

It has no page of its own.
"""

from typing import Annotated

import msgspec

from scentline.agents.frontier.steered import Steered
from scentline.agents.operate.control.requests import Exclude, RefusedError, steering
from scentline.agents.window.reading import Reading
from scentline.models.predicate import PredicateError, parse
from scentline.streams.published import MOST_EXCLUDING

#: Characters of a predicate that is tried: what is longer does not fit into an address.
MOST_SIGNS = 3_000


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A predicate's ``expression``, or what is to be excluded: a ``prefix`` or a ``pattern`` of URLs."""

    expression: Annotated[str, msgspec.Meta(max_length=MOST_SIGNS)] = ""
    prefix: Annotated[str, msgspec.Meta(max_length=MOST_EXCLUDING)] = ""
    pattern: Annotated[str, msgspec.Meta(max_length=MOST_EXCLUDING)] = ""


def view(reading: Reading, query: Query) -> object:
    """Return what is wrong with it, or how much of what is there it concerns, as far as that was counted."""
    if query.expression.strip():
        return _predicate(reading, query.expression)
    if query.prefix or query.pattern:
        return _exclusion(reading, query)
    return {}


def _predicate(reading: Reading, expression: str) -> object:
    try:
        predicate = parse(expression)
    except PredicateError as error:
        # The lines below the first are the expression and a caret; a long one is cut around it.
        lines = str(error).split("\n")[1:]
        return {"problem": error.problem, "column": error.column, "lines": [line[2:] for line in lines]}
    return {"tried": reading.trials.hits(predicate)._asdict() if reading.begun else None}


def _exclusion(reading: Reading, query: Query) -> object:
    try:
        steering(Exclude(query.prefix, query.pattern), Steered(), reading.now)
    except RefusedError as error:
        return {"problem": str(error)}
    return {"tried": reading.trials.excluded(query.prefix, query.pattern)._asdict() if reading.begun else None}
