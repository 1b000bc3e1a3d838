"""The rows of hubs: pages that are revisited for their links, and what came of it (Wang 2007, section 1).

What a hub brings is a function of the revisits and of the pages known: a crash changes nothing of it. A revisit
teaches nothing: its links are no links of a judged page, and count for no verdict.
"""

from collections.abc import Callable
from email.utils import parsedate_to_datetime

from scentline.models.facts import (
    SIGHTINGS,
    Early,
    Fetched,
    Found,
    Hub,
    Linked,
    Moved,
    Neighbour,
    Page,
    Same,
)
from scentline.models.frontier.keys import HUB_PREFIX, Rows, hub_key, hub_of, news_of, page_key, put_news
from scentline.models.frontier.pages import Pages
from scentline.models.frontier.rows import DAY, Brought, HubRow, PageRow, failed
from scentline.models.papers.hubs import DELAYS, ArrivalRate
from scentline.models.records import Pack, Version, encode, partition_of
from scentline.models.url import host, identifier

#: Seconds in which what was seen of a hub loses half its weight.
HALF_LIFE = 3 * DAY
#: The prior rate weighs as much as a link seen, or as a day without one where that is less.
_WEIGHT = 1.0


class Hubs:
    """Keeps the rows of hubs and of the links that they bring.

    ``news`` tells the news prefix of a URL. ``retry_seconds`` is the wait after a failure; it doubles with
    each. ``changed`` gathers the hubs whose rows changed, ``delays`` the URLs of new links to news that were
    fetched, each with the seconds since it was published.
    """

    def __init__(
        self, pages: Pages, partitions: int, retry_seconds: float, news: Callable[[str], str | None]
    ) -> None:
        self._pages = pages
        self._partitions = partitions
        self._retry_seconds = retry_seconds
        self._news = news
        self.changed: set[str] = set()
        self.delays: list[tuple[str, float]] = []

    def named(self, shard: Rows, url: str, hub: Hub) -> None:
        """Note that a page is a hub, or for how long it is one; it is a seed too."""
        row = hub_of(shard, url)
        if row is None:
            rate = ArrivalRate.expecting(hub.rate, min(_WEIGHT, hub.rate * DAY))
            row = HubRow(url, rate, hub.until)
            key, page = self._pages.find(shard, url, 0)
            self._pages.free(shard, page)
            self._pages.keep(shard, key, page)
            if page.verdict is not None:
                _visited(row, page.judged_at)
        elif hub.until <= row.until:
            return
        row.until = hub.until
        if row.moved:
            name_hub(shard, row.moved, hub, self._partitions)
        self._keep(shard, row)

    def _keep(self, shard: Rows, row: HubRow) -> None:
        shard.put(hub_key(row.url), row)
        self.changed.add(row.url)

    # what hubs bring

    def listed(self, shard: Rows, sighting: Linked) -> None:
        """Absorb the links of a revisited hub to this partition, and tell the hub's how many were new."""
        by = Brought(sighting.url, sighting.time, sighting.since) if sighting.since else None
        new = 0
        for link in sighting.links:
            if shard.get(page_key(link.url)) is None:
                key, row = self._pages.find(shard, link.url, sighting.depth + 1)
                row.found = by
                self._pages.keep(shard, key, row)
                new += row.state != "trapped"
        if not new:
            return
        brought = Neighbour(identifier(sighting.url), new=new)
        partition = partition_of(host(sighting.url), self._partitions)
        if partition == shard.partition:
            self.brought(shard, brought)
        else:
            shard.emit(SIGHTINGS, partition, brought)

    def brought(self, shard: Rows, sighting: Neighbour) -> None:
        """Count new links of a hub; those to other partitions may count for the visit that follows."""
        row = shard.get(HUB_PREFIX + sighting.page)
        if isinstance(row, HubRow):
            row.brought += sighting.new
            row.links += sighting.new
            shard.put(hub_key(row.url), row)

    # what comes of visits

    def came(self, shard: Rows, end: Fetched) -> bool:
        """Apply what came of a revisit; return whether it was waited for."""
        row = hub_of(shard, end.url)
        if row is None or not row.lease or row.orders != end.order:
            return False  # the order was taken back, and perhaps given again
        row.lease = 0.0
        match end.result:
            case Page(version=version):
                row.version = version
                _visited(row, end.time)
            case Same():
                _visited(row, end.time)
            case Early(wait=wait):
                row.not_before = end.time + wait
            case Moved(target=target, permanent=True):
                self._move(shard, row, target)
            case _:
                failed(row, self._retry_seconds, end.time, end.host.retry_after or 0.0)
        self._keep(shard, row)
        return True

    def moved(self, shard: Rows, url: str, target: str) -> None:
        """Note that a page redirects; if it is a hub, the target takes its place."""
        row = hub_of(shard, url)
        if row is not None:
            self._move(shard, row, target)
            self._keep(shard, row)

    def _move(self, shard: Rows, row: HubRow, target: str) -> None:
        row.moved = target
        # Without an origin: whether there is such a row depends on the clock; to be told twice does no harm.
        name_hub(shard, target, Hub(row.rate.mean, row.until), self._partitions)

    def judged(self, shard: Rows, page: PageRow, time: float, version: Version | None) -> None:
        """Absorb the first verdict on a page: for a hub it is a visit, for a new link the end of a wait."""
        row = hub_of(shard, page.url)
        if row is not None and not row.visited:
            row.version = version
            _visited(row, time)
            self._keep(shard, row)
        if page.found is not None and self._news(page.url):
            delay = max(0.0, time - published(page.found, version))
            self._count(shard, delay)
            self.delays.append((page.url, delay))

    def _count(self, shard: Rows, delay: float) -> None:
        news = news_of(shard)
        news.pages += 1
        news.delay += delay
        news.delays = news.delays or [0] * (len(DELAYS) + 1)
        news.delays[sum(delay > bound for bound in DELAYS)] += 1
        put_news(shard, news)


def name_hub(shard: Rows, url: str, hub: Hub, partitions: int) -> None:
    """Tell the partition of a page that it is a hub; that it is told again does no harm."""
    pack: Pack[Found] = Pack(facts=[(0, 0, Found(url, hub=hub))])
    shard.send(SIGHTINGS, partition_of(host(url), partitions), None, encode(pack))


def published(found: Brought, version: Version | None) -> float:
    """Return when a page was published: its Last-Modified, or else when the visit was that had no link to it.

    A Last-Modified that is later than the link does not tell: it is that of an answer made for each request, or
    of a page that was changed since.
    """
    try:
        modified = parsedate_to_datetime((version and version.last_modified) or "").timestamp()
    except (ValueError, OverflowError):
        return found.since
    return modified if 0 < modified <= found.time else found.since


def _visited(row: HubRow, time: float) -> None:
    """Learn from a visit how often the hub gets links; at the first all are new, which tells of no rate."""
    if row.visited and time > row.visited:
        row.rate.observe(row.brought, time - row.visited, HALF_LIFE)
    row.brought = 0
    row.visited = max(row.visited, time)
    row.visits += 1
    row.failures, row.not_before = 0, 0.0
