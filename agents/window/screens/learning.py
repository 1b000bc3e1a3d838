"""What a crawl has learned of a predicate: weights, the paper's ratios, and the features that speak most."""

from typing import Annotated, Literal

import msgspec

from scentline.agents.window.reading import Reading
from scentline.models.lessons import lessons
from scentline.models.page import FAILED
from scentline.models.policy.speaking import Features
from scentline.streams.logging import printable

#: Features that are shown at once, and characters of one.
SHOWN, MOST_CHARACTERS = 50, 120
#: What the requests that bring no page are called, which are learned of as a predicate is.
REQUESTS = "requests that bring no page"

#: The kinds of features that a policy counts.
_LEARNED = (
    "page words", "link words", "words around links", "headings above links", "URL words",
    "sites and directories",
)  # fmt: skip
_BY_LINKS = ("words of linking pages", "URL tokens")
_BY_USERS = ("words of signatures",)


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which predicate, and features of which kind: those that speak for it or against, from ``offset`` on."""

    predicate: Annotated[str, msgspec.Meta(max_length=200)] = ""
    kind: Annotated[str, msgspec.Meta(max_length=40)] = ""
    side: Literal["for", "against"] = "for"
    offset: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 0


def view(reading: Reading, query: Query) -> object:
    """Return what was learned of a predicate."""
    if not reading.begun:
        return {"begun": False}
    rule = reading.settings.frontier.rule
    known = {name: name for name in reading.predicates()} | ({FAILED: REQUESTS} if rule == "learned" else {})
    name = query.predicate if query.predicate in known else next(iter(known), "")
    kinds = _kinds(rule)
    kind = query.kind if query.kind in kinds else next(iter(kinds), "")
    trouble = reading.opened()
    found = reading.features(name, kind, query.side) if name and trouble == "" else None
    return {
        "begun": True,
        "policy": rule,
        "predicates": known,
        "predicate": name,
        "learned": {"judged": found.judged, "weights": found.weights} if found and rule == "learned" else None,
        "kinds": kinds,
        "kind": kind,
        "side": query.side,
        "ratios": found.ratios if found and kinds else [],
        "speaking": _speaking(found, query) if found and kind else None,
        "reading": trouble is None,
        "trouble": printable(trouble or "", MOST_CHARACTERS),
    }


def _kinds(rule: str) -> list[str]:
    known = lessons(rule)
    kinds = ((known.learned, _LEARNED), (known.links, _BY_LINKS), (known.users, _BY_USERS))
    return [kind for counted, found in kinds if counted for kind in found]


def _speaking(found: Features, query: Query) -> object:
    offset = query.offset if query.offset < len(found.speaking) else 0
    rows = [
        msgspec.structs.replace(each, name=printable(each.name, MOST_CHARACTERS))
        for each in found.speaking[offset : offset + SHOWN]
    ]
    return {"rows": rows, "offset": offset, "shown": len(rows), "total": len(found.speaking)}
