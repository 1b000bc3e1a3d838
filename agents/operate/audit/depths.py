"""Recounting how deep sites are browsed and linked: from `accesses`, and from the links of judged pages."""

from collections.abc import Iterator, Mapping

from agents.browse.agent import Sessions, UserRow
from agents.frontier.rows import DepthRow, PageRow
from agents.operate.audit.report import AuditReport
from models.depth.growth import FAR, Place
from models.url import host
from streams.records import Access, Outcome
from streams.topics import partition_of


class RecountedDepths:
    """The counts of ``sites`` as they should be; ``partitions`` are those of `accesses`."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._sessions = Sessions()
        self.sites: dict[str, DepthRow] = {}
        self._entered: dict[str, int] = {}

    def view(self, row: UserRow, access: Access) -> None:
        """Take in an access, those of a partition of `accesses` in their order."""
        browsed = self._sessions.view(partition_of(access.user, self._partitions), row, access)
        if browsed is None:
            return
        site = self._site(host(access.url))
        site.sessions += browsed.begun
        for level, change in browsed.views:
            site.view(level, change)
        self._entered[access.url] = min(browsed.level, self._entered.get(access.url, FAR))

    def check(
        self,
        report: AuditReport,
        judged: Mapping[str, Outcome],
        pages: Mapping[str, PageRow],
        found: Mapping[str, DepthRow],
    ) -> None:
        """Compare with the state: the rows of ``pages`` by URL, those ``found`` of sites by host.

        What links count for depends on levels, which are those of the pages' rows; that each level is as near
        as a link to the page, or a user, makes it, is checked too.
        """
        places = {url: row.place for url, row in pages.items() if row.place is not None}
        led: dict[str, int] = {}
        for url, outcome in judged.items():
            level = places.get(url, Place()).level
            within = list(_within(outcome))
            self._site(host(url)).growth.change(level, 1, bool(within), 0, len(within))
            for target in within:
                led[target] = min(level + 1, led.get(target, FAR))
        for url in led.keys() | self._entered.keys():
            place, entered = places.get(url, Place()), self._entered.get(url, FAR)
            state = (place.led, min(place.entered, entered))
            report.compare(f"way to {url}", state, (led.get(url, FAR), place.entered))
        for url, place in places.items():
            if place.new_above is not None:
                self._site(host(url)).growth.change(place.new_above, 0, 0, 1, -1)
        for site in found.keys() | self.sites.keys():
            report.compare(f"depth of {site}", found.get(site, DepthRow()), self._site(site))

    def _site(self, name: str) -> DepthRow:
        return self.sites.setdefault(name, DepthRow())


def _within(outcome: Outcome) -> Iterator[str]:
    """Yield the distinct link targets of a page within its site, but for itself."""
    site = host(outcome.url)
    return (url for url in {link.url for link in outcome.links} - {outcome.url} if host(url) == site)
