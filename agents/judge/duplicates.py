"""Near-duplicates among the judged pages: an index of their sketches, in the judge's own rows.

Each band of a sketch leads to the few pages last judged with the same band; these are compared slot by slot. A
judged page is never a duplicate.

A copied site may be fetched before the original. So a page duplicates another owner's page only where that
owner has more trust (`models.frontier.fairness`), or where trust is unknown.
"""

from typing import Any, TypeAlias

import msgspec

from scentline.models.duplicates import BAND_PAGES, Fingerprint, Sketch, bands, likeness
from scentline.models.published import PredicateDefinition
from scentline.models.settings import JudgeSettings
from scentline.models.traps import space
from scentline.models.url import host, identifier, owner
from scentline.streams.inbox import Shard

SKETCH_PREFIX = b"s"
BAND_PREFIX = b"b"
SPACE_PREFIX = b"n"
LATER_PREFIX = b"l"
#: Texts kept per space: a calendar has one for each month's name.
SPACE_TEXTS = 16


class SketchRow(msgspec.Struct, array_like=True, frozen=True, tag="sketch"):
    """A judged page, the sketch of its text, and its owner's share of all trust."""

    url: str
    sketch: Sketch
    vouched: float | None = None


class BandRow(msgspec.Struct, array_like=True, tag="band"):
    """The identifiers of the pages whose sketches have a band, the last judged at the end."""

    pages: list[bytes] = []


class SpaceRow(msgspec.Struct, array_like=True, tag="space"):
    """The texts of a space of URLs that differ in numbers only, as hashes without their digits."""

    texts: list[bytes] = []


class LaterRow(msgspec.Struct, array_like=True, tag="later"):
    """A predicate defined after some pages."""

    #: For the partition's next owner, which may not have read the predicate yet.
    definition: PredicateDefinition
    #: The pages before the predicate have smaller offsets.
    end: int
    #: The pages that it has judged have smaller offsets.
    at: int = 0

    @property
    def done(self) -> bool:
        """Whether it has judged all pages before the end."""
        return self.at >= self.end


#: All rows of the judge's one table.
DuplicateRow: TypeAlias = SketchRow | BandRow | SpaceRow | LaterRow


def later_key(predicate: str) -> bytes:
    """Return the key of a predicate's row."""
    return LATER_PREFIX + predicate.encode()


def later_row(shard: Shard[Any], predicate: str) -> LaterRow | None:
    """Return a predicate's row in a shard, None where there is none yet."""
    row = shard.get(later_key(predicate))
    return row if isinstance(row, LaterRow) else None


def same_owner(first: str, second: str) -> bool:
    """Return whether two URLs have the same owner, by their hosts."""
    return owner(host(first)) == owner(host(second))


def _outweighs(judged: SketchRow, arrived: SketchRow) -> bool:
    if judged.vouched is None or arrived.vouched is None:
        return True
    return judged.vouched > arrived.vouched or same_owner(judged.url, arrived.url)


def _rows(shard: Shard[DuplicateRow], found: Sketch) -> dict[bytes, DuplicateRow | None]:
    """Return the rows of a sketch's bands, by their keys."""
    keys = [BAND_PREFIX + band for band in bands(found)]
    return dict(zip(keys, shard.get_all(keys), strict=True))


def _enter(shard: Shard[DuplicateRow], judged: SketchRow, rows: dict[bytes, DuplicateRow | None]) -> None:
    page = identifier(judged.url)
    changed: dict[bytes, DuplicateRow] = {SKETCH_PREFIX + page: judged}
    for key, row in rows.items():
        before = row.pages if isinstance(row, BandRow) else []
        changed[key] = BandRow([*(other for other in before if other != page), page][-BAND_PAGES:])
    shard.put_all(changed)


class Duplicates:
    """Looks up pages among those judged in a shard, and enters them."""

    def __init__(self, settings: JudgeSettings) -> None:
        self._settings = settings

    def original(
        self, shard: Shard[DuplicateRow], url: str, fingerprint: Fingerprint, vouched: float | None = None
    ) -> str | None:
        """Return the URL of the judged page that this one duplicates; without one, enter it and return None.

        Pages of few words share only their template and duplicate none. ``vouched`` is the owner's share of all
        trust, None where unknown.
        """
        found = fingerprint.sketch
        if found is None or not self._settings.duplicates:
            return None
        if shard.get(SKETCH_PREFIX + identifier(url)) is not None:
            return None
        arrived, rows = SketchRow(url, found, vouched), _rows(shard, found)
        nearest = self._nearest(shard, list(rows.values()), arrived)
        if nearest is None:
            _enter(shard, arrived, rows)
        return nearest

    def renew(
        self, shard: Shard[DuplicateRow], url: str, fingerprint: Fingerprint, vouched: float | None = None
    ) -> None:
        """Enter a judged page with its new text in place of the old one."""
        key = SKETCH_PREFIX + identifier(url)
        row = shard.get(key)
        known = row.sketch if isinstance(row, SketchRow) else None
        if fingerprint.sketch == known or not self._settings.duplicates:
            return
        if fingerprint.sketch is None:
            shard.delete(key)
        else:
            found = fingerprint.sketch
            _enter(shard, SketchRow(url, found, vouched), _rows(shard, found))

    def repeated(self, shard: Shard[DuplicateRow], url: str, fingerprint: Fingerprint) -> bool:
        """Return whether a page whose URL differs only in numbers had the same text, digits aside.

        That includes the shortest pages, such as days of a calendar without events.
        """
        found = fingerprint.plain
        name = space(url) if found and self._settings.duplicates else None
        if name is None:
            return False
        row = shard.get(SPACE_PREFIX + name)
        texts = row.texts if isinstance(row, SpaceRow) else []
        if found in texts:
            return True
        shard.put(SPACE_PREFIX + name, SpaceRow([*texts, found][-SPACE_TEXTS:]))
        return False

    def _nearest(
        self, shard: Shard[DuplicateRow], rows: list[DuplicateRow | None], arrived: SketchRow
    ) -> str | None:
        pages = dict.fromkeys(page for row in rows if isinstance(row, BandRow) for page in row.pages)
        best, nearest = self._settings.likeness, None
        for page in pages:
            row = shard.get(SKETCH_PREFIX + page)
            if not isinstance(row, SketchRow) or not _outweighs(row, arrived):
                continue
            alike = likeness(arrived.sketch, row.sketch)
            if alike > best or (alike == best and nearest is None):
                best, nearest = alike, row.url
        return nearest
