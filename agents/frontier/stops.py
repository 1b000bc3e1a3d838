"""Where the frontier's sites are stopped: worked out from their counts, and remembered."""

from dataclasses import dataclass

from agents.frontier.keys import depth_of
from agents.frontier.rows import DepthRow, FrontierShard, PageRow
from models.depth.site import ENOUGH
from models.depth.stop import ENOUGH_PAGES, stop, why
from models.depth.visits import Visits
from models.url import host

#: Sites of which it is remembered where to stop.
REMEMBERED = 100_000
#: A site's depth is worked out anew when its counts have grown by this part.
GROWN = 0.1


@dataclass(slots=True)
class _Stop:
    """The deepest level of a site to fetch, None for all, and how many facts make it worth another look."""

    shard: FrontierShard
    depth: int | None
    left: int
    stale: bool = False


class Stops:
    """Says which pages lie too deep; ``share`` is that of the page views to be kept."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._known: dict[str, _Stop] = {}

    def beyond(self, shard: FrontierShard, row: PageRow) -> bool:
        """Tell whether a page lies deeper than its site is worth crawling."""
        depth = self._of(shard, host(row.url)).depth
        return depth is not None and level_of(row) > depth

    def learned(self, shard: FrontierShard, site: str) -> None:
        """Note that a view or a page of a site was counted."""
        known = self._known.get(site) or self._of(shard, site)
        known.stale = True
        known.left -= 1
        if known.left <= 0:
            self._known[site] = self._worked_out(shard, site)

    def catch_up(self) -> None:
        """Work out anew where to stop, for every site of which anything was learned since."""
        for site, known in self._known.items():
            if known.stale:
                self._known[site] = self._worked_out(known.shard, site)

    def forget(self) -> None:
        """Forget what follows from rows: a shard has another owner now."""
        self._known.clear()

    def _of(self, shard: FrontierShard, site: str) -> _Stop:
        known = self._known.get(site)
        if known is None:
            if len(self._known) >= REMEMBERED:
                del self._known[next(iter(self._known))]
            known = self._known[site] = self._worked_out(shard, site)
        return known

    def _worked_out(self, shard: FrontierShard, site: str) -> _Stop:
        row = depth_of(shard, site)
        pages, depth = sum(row.growth.pages), stop(_visits(row), row.growth, self._share)
        if depth is None:
            return _Stop(shard, None, min(ENOUGH - row.sessions, ENOUGH_PAGES - pages))
        return _Stop(shard, depth, max(1, int(GROWN * (pages + sum(row.views)))))


def level_of(row: PageRow) -> int:
    """Return a page's level; where it was never told, its links from a seed, which are as many at least."""
    return row.depth if row.place is None else row.place.level


def why_beyond(row: PageRow, counts: DepthRow, share: float) -> str:
    """Return why a page lies deeper than its site is worth crawling; empty where it does not."""
    found = why(_visits(counts), counts.growth, share)
    if found.depth is None or level_of(row) <= found.depth:
        return ""
    return (
        f"it is on level {level_of(row)} of {host(row.url)}, which is crawled to level {found.depth} "
        f"(frontier.depth): that keeps {found.why}"
    )


def _visits(row: DepthRow) -> Visits:
    return Visits(views=row.views, sessions=row.sessions)
