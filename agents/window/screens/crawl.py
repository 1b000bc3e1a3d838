"""What stands above every screen: which crawl it is, whether it runs, and its predicates."""

import msgspec

from scentline.agents.window.reading import Reading
from scentline.streams.logging import printable

#: Characters that are shown of an expression.
_SHOWN = 300


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing can be asked."""


def view(reading: Reading, _: Query) -> object:
    """Return what the crawl is."""
    settings, begun = reading.settings, reading.begun
    predicates = reading.predicates().values() if begun else ()
    return {
        "data": printable(reading.data.absolute().name),
        "begun": begun,
        "running": reading.running(),
        "policy": settings.frontier.rule if begun else "",
        "read_only": settings.window.read_only,
        "predicates": [
            msgspec.structs.replace(each, expression=printable(each.expression, _SHOWN)) for each in predicates
        ],
    }
