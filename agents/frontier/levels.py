"""How many links within its site lead to a page, brought up to date as shorter ways are found."""

from collections.abc import Iterator

from agents.frontier.keys import PAGE_PREFIX, page_key, parent_of
from agents.frontier.pages import Pages
from agents.frontier.rows import DepthRow, FrontierShard, PageRow, ParentRow
from models.depth.growth import Growth
from models.depth.place import FAR, Place


class Levels:
    """Keeps the places of pages, and the counts of their site with them."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def shorten(
        self, shard: FrontierShard, site: str, counts: DepthRow, row: PageRow, entered: int, led: int
    ) -> None:
        """Take in a shorter way to a page, and what that makes shorter: breadth-first, so each page once."""
        growth = counts.growth
        reached = self._nearer(shard, growth, page_key(row.url), row, entered, led)
        for key, page, before in reached:
            place = placed(page)
            if not place.counted:
                continue
            prefixes = prefixes_of(site)
            within, led = 0, place.level + 1
            for target, found in _targets(shard, parent_of(shard, key[len(PAGE_PREFIX) :])):
                if found.url.startswith(prefixes):
                    within += 1
                    if found.place is None or led < found.place.led:
                        reached += self._nearer(shard, growth, target, found, FAR, led)
            growth.change(led - 1, 1, bool(within), 0, within)
            growth.change(before, -1, -bool(within), 0, -within)

    def _nearer(
        self, shard: FrontierShard, growth: Growth, key: bytes, row: PageRow, entered: int, led: int
    ) -> list[tuple[bytes, PageRow, int]]:
        """Note a shorter way to a page; return it with the level that it had, if it is nearer now."""
        place = placed(row)
        before, above = place.level, place.new_above
        place.entered, place.led = min(place.entered, entered), min(place.led, led)
        after = place.new_above
        if after != above:
            growth.renew(above, after)
        self._pages.keep(shard, key, row)
        return [(key, row, before)] if place.level < before else []


def placed(row: PageRow) -> Place:
    """Return the place of a page; where none was told, its links from a seed are a way as long at least."""
    if row.place is None:
        row.place = Place(row.depth)
    return row.place


def prefixes_of(site: str) -> tuple[str, str]:
    """Return what the URLs of a site begin with."""
    return f"http://{site}/", f"https://{site}/"


def _targets(shard: FrontierShard, parent: ParentRow) -> Iterator[tuple[bytes, PageRow]]:
    for target in parent.targets:
        key = PAGE_PREFIX + target
        row = shard.get(key)
        if isinstance(row, PageRow):
            yield key, row
