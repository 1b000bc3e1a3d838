"""The scope of the crawl: which of the URLs known may be fetched at all, whatever their priority."""

from collections.abc import Callable, Collection

from scentline.models.frontier.depth import Stops
from scentline.models.frontier.exclusions import Exclusions
from scentline.models.frontier.keys import Rows, host_of
from scentline.models.frontier.rows import PageRow
from scentline.models.lessons import Lessons, lessons
from scentline.models.settings import FrontierSettings
from scentline.models.traps import space
from scentline.models.url import host


class Scope:
    """Leaves out what is excluded, too deep, in a space or on a host that is spent, or where no user was.

    With ``frontier.candidates = "paper"`` it leaves out what is none by the paper's letter (`descends`).

    A seed was asked for by name: it is left out where it is excluded, too deep, or its host's budget is spent.
    ``flying`` are the URLs in flight.
    """

    def __init__(self, settings: FrontierSettings, flying: Collection[str]) -> None:
        self._lessons = lessons(settings.rule) if settings.candidates == "paper" else None
        self._max_depth = settings.max_depth
        self._host_budget = settings.host_budget
        self._flying = flying
        #: What people excluded.
        self.exclusions = Exclusions()
        #: Spaces of URLs that are worth no more fetches (`models.frontier.pages`).
        self.spent: set[bytes] = set()
        #: Tells whether a page is a new link to news, in the mode "instant" (`models.frontier.news`).
        self.news: Callable[[PageRow], bool] | None = None
        #: Tells of a URL which pattern it has, if that has no visits, where such URLs are left out.
        self.unvisited: Callable[[str], str] | None = None
        #: Tells which pages lie too deep in their sites, where these are stopped (`models.frontier.depth`).
        self.stops: Stops | None = None

    def has(self, shard: Rows, row: PageRow) -> bool:
        """Return whether a URL may be fetched."""
        if self.exclusions and self.exclusions.has(row.url):
            return False
        if not row.seed and not self._is_free(row):
            return False
        if self._max_depth and row.depth > self._max_depth:
            return False
        if self.stops is not None and self.stops.beyond(shard, row):
            return False
        return not self._host_budget or self._fetches(shard, host(row.url)) < self._host_budget

    def why_stopped(self, shard: Rows, name: str) -> str:
        """Return why no page of a host is fetched, or none that is deeper; empty where any may be."""
        if self._host_budget and self._fetches(shard, name) >= self._host_budget:
            return f"its {self._host_budget} pages are spent (frontier.host_budget)"
        depth = None if self.stops is None else self.stops.depth(shard, name)
        return "" if depth is None else f"it is crawled to level {depth} (frontier.depth)"

    def _is_free(self, row: PageRow) -> bool:
        if self._is_spent(row) or (self.unvisited is not None and self.unvisited(row.url)):
            return False
        return self._lessons is None or descends(row, self._lessons)

    def _is_spent(self, row: PageRow) -> bool:
        if not self.spent or space(row.url) not in self.spent:
            return False
        return self.news is None or not self.news(row)  # an endless space has no hub that tells of it

    def _fetches(self, shard: Rows, name: str) -> int:
        return host_of(shard, name).judged + sum(host(url) == name for url in self._flying)


def descends(row: PageRow, policy: Lessons) -> bool:
    """Return whether a URL is a descendant of a judged page as a policy of the paper has it.

    Those of linkage are link targets, those of collaborative the pages of the log, "instead of using the set of
    hyperlinks", those of combined these and the links of pages that satisfy any predicate (Aggarwal 2004,
    Figure 1, sections 2 and 4). What such a URL redirects to takes its place.
    """
    if row.inherited or (policy.users and row.visits):
        return True
    if policy.users:
        return policy.links and any(satisfying for _, satisfying in row.links.values())
    return bool(row.links)
