"""The audit's figures, and the recount of how deep sites are browsed and linked.

Depths are recounted from `accesses`, and from the links of judged pages.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scentline.agents.browse.agent import Sessions, UserRow
from scentline.models.depth.growth import FAR, Place
from scentline.models.facts import Access
from scentline.models.frontier.rows import DepthRow, PageRow
from scentline.models.published import Outcome
from scentline.models.records import partition_of
from scentline.models.url import host


@dataclass
class AuditReport:
    """What the audit found: of ``judged`` pages, ``judged_twice`` too many were counted; of ``rows``, some
    differ.

    ``lost`` are pages, candidates and users that the state lacks, ``examples`` the first few differences.
    ``forgotten`` features left the bounded store. Where ``behind`` messages wait, nothing was compared. The
    recount leaves out what was ``quarantined``, except for the ``uncounted``, whose effect shows as
    differences.
    """

    judged: int = 0
    judged_twice: int = 0
    lost: int = 0
    rows: int = 0
    differences: int = 0
    forgotten: int = 0
    behind: int = 0
    quarantined: int = 0
    uncounted: int = 0
    examples: list[str] = field(default_factory=list)

    def compare(self, what: str, found: object, expected: object) -> None:
        """Count one compared row."""
        self.rows += 1
        if found != expected:
            self.differences += 1
            self._note(f"{what}: the state has {found}, the recount {expected}")

    def lose(self, what: str) -> None:
        """Count one thing that the state does not know of."""
        self.lost += 1
        self._note(f"lost: {what}")

    def _note(self, text: str) -> None:
        if len(self.examples) < 10:
            self.examples.append(text)

    @property
    def clean(self) -> bool:
        """Whether all was compared and nothing was found."""
        return not (self.judged_twice or self.lost or self.differences or self.behind)

    def as_dict(self) -> dict[str, int]:
        """Return the figures for JSON."""
        shown = ("judged", "judged_twice", "lost", "rows", "differences", "behind", "quarantined")
        return {name: getattr(self, name) for name in shown}


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

        Levels are those of the pages' rows; each is checked to be as near as a link, or a user, makes it.
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
