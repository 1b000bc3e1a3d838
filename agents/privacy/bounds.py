"""Where a new pseudonym must lie so that every page keeps the same visitors.

A page keeps the visitors whose pseudonyms come first. Where it has had more than it keeps, the new pseudonym
must be on the same side of the line as the old one.
"""

from collections.abc import Iterator

import msgspec

from agents.frontier.rows import PAGE_PREFIX, FrontierRow, PageRow
from agents.inspect.record import accesses
from agents.privacy.plan import Bounds
from streams.settings import Settings
from streams.tables import TableMissingError, open_read_only
from streams.transport.journal import Journal


def bounds_of(old: str, settings: Settings, journal: Journal) -> Bounds:
    """Return the bounds of what may take the place of the pseudonym ``old``."""
    pages = {access.url for access in accesses(journal) if access.user == old}
    visitors: dict[str, set[str]] = {url: set() for url in pages}
    for access in accesses(journal):
        if access.url in visitors:
            visitors[access.url].add(access.user)
    above, below = -1, Bounds().below
    for row in _full_pages(settings):
        if old in row.visitors:
            left_out = visitors.get(row.url, set()).difference(row.visitors)
            below = min([below, *(int(user, 16) for user in left_out if user > old)])
        elif row.url in pages and old > max(row.visitors):
            above = max(above, int(max(row.visitors), 16))
    return Bounds(above, below)


def _full_pages(settings: Settings) -> Iterator[PageRow]:
    """Yield the pages that keep as many visitors as a page may."""
    try:
        parts = open_read_only(settings.data, "frontier")
    except TableMissingError:
        return
    decode = msgspec.msgpack.Decoder(FrontierRow).decode
    for part in parts.values():
        for _, raw in part.scan(PAGE_PREFIX):
            row = decode(raw)
            if isinstance(row, PageRow) and len(row.visitors) >= settings.frontier.visitors:
                yield row
