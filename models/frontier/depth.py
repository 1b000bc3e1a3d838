"""Levels of a site's pages, and the counts that decide how deep to crawl it (Baeza-Yates and Castillo 2004).

A page's level is the least number of links within its site from an entry: a seed, the target of another site's
link, or the start of a user's session. Levels and counts are functions of the facts, whatever the order in
which pages are fetched.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from scentline.models.facts import Fetched, Found, Linked, Moved, Page, Visited
from scentline.models.frontier.keys import (
    PAGE_PREFIX,
    Rows,
    depth_of,
    page_key,
    parent_of,
    put_depth,
    targets_of,
)
from scentline.models.frontier.pages import Pages
from scentline.models.frontier.rows import Depth, PageRow
from scentline.models.papers.depth import (
    ENOUGH,
    ENOUGH_PAGES,
    FAR,
    Advice,
    DepthBy,
    Growth,
    Place,
    Visits,
    stop,
    why,
)
from scentline.models.settings import FrontierSettings
from scentline.models.url import host, prefixes_of

#: States of a URL that turned out not to be a page of its own.
_NO_PAGE = ("gone", "refused", "given up", "trapped")
#: Most sites whose depths are kept in memory.
REMEMBERED = 100_000
#: A site's depth is computed again when its counts have grown by this share.
GROWN = 0.1


class Depths:
    """Keeps the levels of pages and the counts of sites; `Book` has absorbed the rest of a fact before."""

    def __init__(self, pages: Pages, settings: FrontierSettings) -> None:
        self._levels = Levels(pages)
        self.stops = Stops(settings.depth_share, settings.depth_by)
        self._absorbers: dict[type, Callable[[Rows, Any], None]] = {
            Found: self._found,
            Visited: self._visited,
            Fetched: self._fetched,
        }

    def absorb(self, shard: Rows, sighting: Any) -> None:
        """Change levels and counts for one sighting."""
        absorber = self._absorbers.get(type(sighting))
        if absorber is not None:
            absorber(shard, sighting)

    # paths from outside

    def _found(self, shard: Rows, sighting: Found) -> None:
        row = shard.get(page_key(sighting.url))
        if isinstance(row, PageRow) and sighting.hub is None:
            self._enter(shard, row, sighting.level)

    def _enter(self, shard: Rows, row: PageRow, level: int) -> None:
        """Note a path to a page from outside its site, of ``level`` links within the site."""
        if row.place is None and row.verdict is None:
            row.place = Place(level)
            shard.put(page_key(row.url), row)
        elif level < placed(row).entered:
            site = host(row.url)
            counts = depth_of(shard, site)
            self._levels.shorten(shard, site, counts, row, level, FAR)
            put_depth(shard, site, counts)

    def _visited(self, shard: Rows, sighting: Visited) -> None:
        """Apply what a view adds to the sessions of its site."""
        row, view = shard.get(page_key(sighting.url)), sighting.view
        if view is None or not isinstance(row, PageRow):
            return
        if row.place is None or view.level < row.place.entered:
            self._enter(shard, row, view.level)
        site = host(row.url)
        counts = depth_of(shard, site)
        counts.sessions += view.begun
        for level, change in view.views:
            counts.view(level, change)
        put_depth(shard, site, counts)
        self.stops.learned(shard, site)

    # fetched pages and their links

    def linked(self, shard: Rows, sighting: Linked, targets: Iterable[PageRow]) -> None:
        """Absorb a fetched page's links to this partition: those within its site lead a level deeper."""
        site = host(sighting.url)
        prefixes = prefixes_of(site)
        within: list[PageRow] = []
        for row in targets:
            if row.url.startswith(prefixes):
                within.append(row)
            elif row.place is None:
                row.place = Place(0)
            elif row.place.entered:
                self._enter(shard, row, 0)
        key = PAGE_PREFIX + sighting.page
        page = shard.get(key)
        if isinstance(page, PageRow) and not placed(page).counted:
            shard.put(key, page)
            self._lead(shard, site, placed(page), within)

    def _lead(self, shard: Rows, site: str, place: Place, within: list[PageRow]) -> None:
        """Count a fetched page by its place, with its links to other pages of the site."""
        led, new, nearer = place.level + 1, 0, []
        for row in within:
            if row.place is None:
                row.place = Place(FAR, led, row.state == "trapped")
                new += not row.place.back
            elif led < row.place.led:
                nearer.append(row)
        counts = depth_of(shard, site)
        counts.growth.change(place.level, 1, bool(within), new, len(within) - new)
        place.counted = True
        for row in nearer:
            self._levels.shorten(shard, site, counts, row, FAR, led)
        put_depth(shard, site, counts)

    def _fetched(self, shard: Rows, end: Fetched) -> None:
        row = shard.get(page_key(end.url))
        if end.visit in ("links", "kept") or not isinstance(row, PageRow):
            return
        if isinstance(end.result, Page):
            self._judged(shard, row)
        elif end.visit == "first":
            target = end.result.target if isinstance(end.result, Moved) and row.state == "moved" else ""
            within = target and host(target) == host(row.url) and shard.get(page_key(target)) is not None
            if within or row.state in _NO_PAGE:
                self._led_back(shard, row)

    def _judged(self, shard: Rows, row: PageRow) -> None:
        """Count a judged page; one that has links is counted already."""
        site = host(row.url)
        if not placed(row).counted:
            placed(row).counted = True
            counts = depth_of(shard, site)
            counts.growth.change(placed(row).level, 1)
            shard.put(page_key(row.url), row)
            put_depth(shard, site, counts)
        self.stops.learned(shard, site)

    def _led_back(self, shard: Rows, row: PageRow) -> None:
        """Note that a URL is not a page of its own: a link to it leads back."""
        place, site = placed(row), host(row.url)
        if not place.back:
            counts = depth_of(shard, site)
            above = place.new_above
            place.back = True
            counts.growth.renew(above, None)
            shard.put(page_key(row.url), row)
            put_depth(shard, site, counts)


def handed_on(row: PageRow, target: str) -> int:
    """Return the level at which a redirect enters its target's site: its own within a site, else 0."""
    return placed(row).level if host(row.url) == host(target) else 0


class Levels:
    """Keeps the places of pages, and the counts of their site in step with them."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def shorten(self, shard: Rows, site: str, counts: Depth, row: PageRow, entered: int, led: int) -> None:
        """Apply a shorter path to a page, and to pages behind it: breadth-first, so each page once."""
        growth = counts.growth
        reached = self._nearer(shard, growth, page_key(row.url), row, entered, led)
        for key, page, before in reached:
            place = placed(page)
            if not place.counted:
                continue
            prefixes = prefixes_of(site)
            within, led = 0, place.level + 1
            for target, found in targets_of(shard, parent_of(shard, key[len(PAGE_PREFIX) :])).items():
                if found.url.startswith(prefixes):
                    within += 1
                    if found.place is None or led < found.place.led:
                        reached += self._nearer(shard, growth, target, found, FAR, led)
            growth.change(led - 1, 1, bool(within), 0, within)
            growth.change(before, -1, -bool(within), 0, -within)

    def _nearer(
        self, shard: Rows, growth: Growth, key: bytes, row: PageRow, entered: int, led: int
    ) -> list[tuple[bytes, PageRow, int]]:
        """Note a shorter path to a page; return the page with its former level, if it is nearer now."""
        place = placed(row)
        before, above = place.level, place.new_above
        place.entered, place.led = min(place.entered, entered), min(place.led, led)
        after = place.new_above
        if after != above:
            growth.renew(above, after)
        self._pages.keep(shard, {key: row})
        return [(key, row, before)] if place.level < before else []


def placed(row: PageRow) -> Place:
    """Return the place of a page; where unknown, it is set by its links from a seed, an upper bound."""
    if row.place is None:
        row.place = Place(row.depth)
    return row.place


@dataclass(slots=True)
class _Stop:
    """The deepest level of a site to fetch, None for all, and how many facts are left until it is renewed."""

    shard: Rows
    depth: int | None
    left: int
    stale: bool = False


class Stops:
    """Decides which pages lie too deep: a ``share`` of the page views is kept, estimated as ``by`` says."""

    def __init__(self, share: float, by: DepthBy = "views") -> None:
        self._share = share
        self._by: DepthBy = by
        self._known: dict[str, _Stop] = {}

    def beyond(self, shard: Rows, row: PageRow) -> bool:
        """Return whether a page lies deeper than its site is worth crawling."""
        depth = self._of(shard, host(row.url)).depth
        return depth is not None and level_of(row) > depth

    def depth(self, shard: Rows, site: str) -> int | None:
        """Return the deepest level of a site to fetch, None for all, without keeping it in memory."""
        return (self._known.get(site) or self._worked_out(shard, site)).depth

    def learned(self, shard: Rows, site: str) -> None:
        """Note that a view or a page of a site was counted."""
        known = self._known.get(site) or self._of(shard, site)
        known.stale = True
        known.left -= 1
        if known.left <= 0:
            self._known[site] = self._worked_out(shard, site)

    def catch_up(self) -> None:
        """Compute the depth again of every site whose counts changed since."""
        for site, known in self._known.items():
            if known.stale:
                self._known[site] = self._worked_out(known.shard, site)

    def forget(self) -> None:
        """Forget all depths: rows changed, as a shard was closed or restored."""
        self._known.clear()

    def _of(self, shard: Rows, site: str) -> _Stop:
        known = self._known.get(site)
        if known is None:
            if len(self._known) >= REMEMBERED:
                del self._known[next(iter(self._known))]
            known = self._known[site] = self._worked_out(shard, site)
        return known

    def _worked_out(self, shard: Rows, site: str) -> _Stop:
        row = depth_of(shard, site)
        pages, depth = sum(row.growth.pages), stop(_visits(row), row.growth, self._share, self._by)
        if depth is None:
            return _Stop(shard, None, min(ENOUGH - row.sessions, ENOUGH_PAGES - pages))
        return _Stop(shard, depth, max(1, int(GROWN * (pages + sum(row.views)))))


def level_of(row: PageRow) -> int:
    """Return a page's level; where unknown, its links from a seed, an upper bound."""
    return row.depth if row.place is None else row.place.level


def advised(counts: Depth, settings: FrontierSettings) -> Advice:
    """Return how deep a site is worth crawling, and why."""
    return why(_visits(counts), counts.growth, settings.depth_share, settings.depth_by)


def why_beyond(row: PageRow, counts: Depth, settings: FrontierSettings) -> str:
    """Return why a page lies deeper than its site is worth crawling; empty where it does not."""
    found = advised(counts, settings)
    if found.depth is None or level_of(row) <= found.depth:
        return ""
    return (
        f"it is on level {level_of(row)} of {host(row.url)}, which is crawled to level {found.depth} "
        f"(frontier.depth): that keeps {found.why}"
    )


def _visits(row: Depth) -> Visits:
    return Visits(views=row.views, sessions=row.sessions)
