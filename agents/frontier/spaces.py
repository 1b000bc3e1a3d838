"""Spaces of URLs that differ in numbers only: how many of their pages, in a row, brought nothing.

A function of the pages that were judged and refused, in their order; what is left of a spent space is not
chosen.
"""

from collections.abc import Callable

from agents.frontier.keys import SPACE_PREFIX, space_key
from agents.frontier.rows import FrontierShard, SpaceRow
from models.traps.barren import Barren, dated, pattern
from models.url import identifier
from streams.settings import FrontierSettings


class Spaces:
    """Counts the pages of spaces. ``spent`` has the identifiers of those that are worth no more fetches."""

    def __init__(self, settings: FrontierSettings) -> None:
        self._settings = settings
        self.spent: set[bytes] = set()

    def open(self, shard: FrontierShard) -> None:
        """Take up the spent spaces of a shard."""
        for key, row in shard.scan(SPACE_PREFIX):
            if isinstance(row, SpaceRow) and why_spent(row, self._settings):
                self.spent.add(key[len(SPACE_PREFIX) :])

    def judged(self, shard: FrontierShard, url: str, *, hit: bool, repeated: bool = False) -> None:
        """Count a judged page: whether it satisfied any predicate, and whether only numbers were new in it."""
        self._count(shard, url, lambda barren: barren.judged(hit, repeated))

    def barren(self, shard: FrontierShard, url: str) -> None:
        """Count a page that was none of its own: a near-duplicate, a soft 404."""
        self._count(shard, url, Barren.copied)

    def _count(self, shard: FrontierShard, url: str, count: Callable[[Barren], None]) -> None:
        name = pattern(url) if self._settings.traps else None
        if name is None:
            return
        space = identifier(name)
        found = shard.get(space_key(space))
        row = found if isinstance(found, SpaceRow) else SpaceRow(name)
        count(row.barren)
        shard.put(space_key(space), row)
        if why_spent(row, self._settings):
            self.spent.add(space)
        else:
            self.spent.discard(space)


def why_spent(row: SpaceRow, settings: FrontierSettings) -> str:
    """Return why a space is worth no more fetches; empty where it is."""
    misses = settings.barren_dates if dated(row.pattern) else settings.barren_misses
    for number, most, what in (
        (row.barren.copies, settings.barren_copies, "were copies of others or soft 404s"),
        (row.barren.misses, misses, "satisfied no predicate"),
    ):
        if number >= most:
            return f"the last {number} pages like {row.pattern} {what}"
    return ""
