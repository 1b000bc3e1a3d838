"""Now: whether the crawl finds what it looks for, and where nothing is fetched, why."""

import msgspec

from agents.window.reading import Reading


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing can be asked."""


def view(reading: Reading, _: Query) -> object:
    """Return where the crawl stands."""
    return {"begun": reading.begun}
