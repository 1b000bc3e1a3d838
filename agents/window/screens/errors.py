"""Errors: why fetches brought no page, on which hosts and for which URLs, and what could not be read."""

from typing import Annotated

import msgspec

from scentline.agents.window.hosts import SHOWN, CauseTotal, HostRows
from scentline.agents.window.reading import Reading
from scentline.agents.window.recent import MOST_LETTERS
from scentline.models.records import Natural
from scentline.streams.logging import printable

#: Rows of a list at most.
ROWS = 50


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which causes and hosts are listed, and where each list begins."""

    #: Only causes that have this text are listed.
    reason: Annotated[str, msgspec.Meta(max_length=100)] = ""
    #: The hosts of this cause are listed, those from ``offset`` on.
    cause: Annotated[str, msgspec.Meta(max_length=100)] = ""
    offset: Natural = 0
    #: So many causes, and kinds of dead letters, are passed over.
    causes: Natural = 0
    letters: Natural = 0


def view(reading: Reading, query: Query) -> object:
    """Return causes, the hosts of one, and dead letters that are alike."""
    if not reading.begun:
        return {"begun": False}
    scan, lists = reading.lists.hosts, reading.lists
    scan.look()
    rows = HostRows(reading.journal)
    causes = [each for each in scan.causes() if query.reason.casefold() in each.cause.casefold()]
    letters = lists.letters.alike()[query.letters :]
    names = scan.hosts_of(query.cause) if query.cause else []
    return {
        "begun": True,
        "causes": [_cause(rows, total) for total in causes[query.causes :][:ROWS]],
        "of": len(causes),
        "fetches": sum(total.fetches for total in causes),
        "hosts": [
            {"host": printable(name, SHOWN)} | found
            for name in names[query.offset :][:ROWS]
            if (found := rows.cause(name, query.cause)) is not None
        ],
        "hosts_of": len(names),
        "letters": [each._asdict() for each in letters[:ROWS]],
        "more_letters": len(letters) > ROWS,
        "kept": lists.letters.total(),
        "grouped": MOST_LETTERS,
        "known": len(scan),
        "more": scan.more,
        "as_of": scan.as_of,
    }


def _cause(rows: HostRows, total: CauseTotal) -> dict[str, object]:
    example = rows.cause(total.host, total.cause) or {"url": "", "reason": ""}
    texts = {"cause": printable(total.cause, SHOWN), "host": printable(total.host, SHOWN)}
    return {**total._asdict(), **texts, "url": example["url"], "reason": example["reason"]}
