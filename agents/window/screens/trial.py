"""What the screen Steer checks before it saves: a predicate's syntax, and what an exclusion leaves out.

It has no page of its own.
"""

from typing import Annotated

import msgspec

from scentline.agents.operate.requests import Known, RefusedError, resolve
from scentline.agents.window.reading import Reading
from scentline.models.frontier.steered import Steered
from scentline.models.predicate import PredicateError, parse
from scentline.models.published import MOST_EXCLUDING, Exclusion

#: Characters of a predicate that is checked: what is longer does not fit into an address.
MOST_SIGNS = 3_000


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A predicate's ``expression``, or an exclusion: a ``prefix`` or a ``pattern`` of URLs."""

    expression: Annotated[str, msgspec.Meta(max_length=MOST_SIGNS)] = ""
    prefix: Annotated[str, msgspec.Meta(max_length=MOST_EXCLUDING)] = ""
    pattern: Annotated[str, msgspec.Meta(max_length=MOST_EXCLUDING)] = ""


def view(reading: Reading, query: Query) -> object:
    """Return what is wrong with it; else, of an exclusion, how many candidates it leaves out so far."""
    try:
        if query.expression.strip():
            parse(query.expression)
            return {"read": True}
        if query.prefix or query.pattern:
            resolve(Exclusion(prefix=query.prefix, expression=query.pattern), Known({}, Steered()))
            return {"tried": reading.excluded(query.prefix, query.pattern) if reading.begun else None}
    except PredicateError as error:
        # The lines below the first are the expression and a caret; a long one is cut around it.
        lines = str(error).split("\n")[1:]
        return {"problem": error.problem, "column": error.column, "lines": [line[2:] for line in lines]}
    except RefusedError as error:
        return {"problem": str(error)}
    return {}
