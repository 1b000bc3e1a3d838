"""The near-duplicates among the judged pages: an index of their sketches, in the judge's own rows.

Found by bands, each of which leads to the few pages last judged that have the same; then compared slot by slot.
A page that was judged is never a duplicate, of itself least of all.

Who copies a site may be asked first. So a page is the duplicate of another owner's only where that owner is
vouched for more (`models.frontier.trust`), or where that is not told: whoever is trusted less silences nobody.
"""

from typing import TypeAlias

import msgspec

from scentline.agents.judge.rows import LaterRow
from scentline.models.domain import owner
from scentline.models.duplicates import BAND_PAGES, Fingerprint, Sketch, bands, likeness
from scentline.models.traps import space
from scentline.models.url import host, identifier
from scentline.streams.crawl_settings import JudgeSettings
from scentline.streams.inbox import Shard

SKETCH_PREFIX = b"s"
BAND_PREFIX = b"b"
SPACE_PREFIX = b"n"
#: Texts kept of a space: a calendar has one for each month's name.
SPACE_TEXTS = 16


class SketchRow(msgspec.Struct, array_like=True, frozen=True, tag="sketch"):
    """A judged page, the sketch of its text, and the part of all trust that its owner had."""

    url: str
    sketch: Sketch
    vouched: float | None = None


class BandRow(msgspec.Struct, array_like=True, tag="band"):
    """The pages whose sketches have a band, by their identifiers, the last judged at the end."""

    pages: list[bytes] = []


class SpaceRow(msgspec.Struct, array_like=True, tag="space"):
    """The texts of a space of URLs that differ in numbers only, as hashes of what is there beside digits."""

    texts: list[bytes] = []


#: All rows of the judge's one table.
DuplicateRow: TypeAlias = SketchRow | BandRow | SpaceRow | LaterRow


def same_owner(first: str, second: str) -> bool:
    """Tell whether two URLs are of one owner, as far as their hosts tell."""
    return owner(host(first)) == owner(host(second))


def _outweighs(judged: SketchRow, arrived: SketchRow) -> bool:
    if judged.vouched is None or arrived.vouched is None:
        return True
    return judged.vouched > arrived.vouched or same_owner(judged.url, arrived.url)


def _rows(shard: Shard[DuplicateRow], found: Sketch) -> dict[bytes, DuplicateRow | None]:
    """Return the rows of a sketch's bands, by their keys."""
    keys = (BAND_PREFIX + band for band in bands(found))
    return {key: shard.get(key) for key in keys}


def _enter(shard: Shard[DuplicateRow], judged: SketchRow, rows: dict[bytes, DuplicateRow | None]) -> None:
    page = identifier(judged.url)
    shard.put(SKETCH_PREFIX + page, judged)
    for key, row in rows.items():
        before = row.pages if isinstance(row, BandRow) else []
        pages = [*(other for other in before if other != page), page]
        shard.put(key, BandRow(pages[-BAND_PAGES:]))


class Duplicates:
    """Looks pages up among those judged before in a shard, and enters them."""

    def __init__(self, settings: JudgeSettings) -> None:
        self._settings = settings

    def original(
        self, shard: Shard[DuplicateRow], url: str, fingerprint: Fingerprint, vouched: float | None = None
    ) -> str | None:
        """Return the URL of a judged page that this one is like; None, and it is entered, where there is none.

        Pages of few words are like none: what they share is their template. ``vouched`` is the part of all
        trust that the page's owner has, None where that is not told.
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
        """Enter a judged page with the text that it has now: of its old one no page is a copy any more."""
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
        """Tell whether another page, whose URL differs in numbers only, had this text but for its digits.

        That holds for the shortest pages too, because of their URLs: days of a calendar without events.
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
