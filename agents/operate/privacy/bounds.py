"""Where a new pseudonym must lie so that every page keeps the same visitors.

A page keeps the visitors whose pseudonyms come first. Where it has had more than it keeps, the new pseudonym
must be on the same side of the line as the old one.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from agents.frontier.keys import PAGE_PREFIX
from agents.frontier.rows import FrontierRow, PageRow
from agents.operate.inspect.record import accesses
from agents.operate.privacy.plan import Bounds
from streams.records import Access
from streams.settings import Settings
from streams.transport.database import TableMissingError
from streams.transport.journal import Journal


def bounds_of(old: str, settings: Settings, journal: Journal) -> Bounds:
    """Return the bounds of what may take the place of the pseudonym ``old`` in a data directory."""
    visitors = visitors_of(pages_of(old, accesses(journal)), accesses(journal))
    return bounds(old, visitors, _pages(journal), settings.frontier.visitors)


def pages_of(old: str, found: Iterable[Access]) -> frozenset[str]:
    """Return the URLs of a user's accesses among those found."""
    return frozenset(access.url for access in found if access.user == old)


def visitors_of(pages: Collection[str], found: Iterable[Access]) -> dict[str, set[str]]:
    """Return who visited each of the pages, by their URLs."""
    visitors: dict[str, set[str]] = {url: set() for url in pages}
    for access in found:
        if access.url in visitors:
            visitors[access.url].add(access.user)
    return visitors


def bounds(old: str, visitors: Mapping[str, set[str]], rows: Iterable[PageRow], most: int) -> Bounds:
    """Return the bounds, given the visitors of each page of ``old``, and rows with all these pages among them.

    A page keeps ``most`` visitors.
    """
    above, below = -1, Bounds().below
    for row in rows:
        if len(row.visitors) < most:
            continue
        if old in row.visitors:
            left_out = visitors.get(row.url, set()).difference(row.visitors)
            below = min([below, *(int(user, 16) for user in left_out if user > old)])
        elif row.url in visitors and old > max(row.visitors):
            above = max(above, int(max(row.visitors), 16))
    return Bounds(above, below)


def _pages(journal: Journal) -> Iterator[PageRow]:
    try:
        parts = journal.table("frontier")
    except TableMissingError:
        return
    decode = msgspec.msgpack.Decoder(FrontierRow).decode
    for part in parts.values():
        for _, raw in part.scan(PAGE_PREFIX):
            row = decode(raw)
            if isinstance(row, PageRow):
                yield row
