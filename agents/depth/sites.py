"""What is known of each site of a log, an archive or a graph."""

from collections import Counter
from typing import Final

from models.depth.site import Site

#: Sites that are kept; views of further ones are passed over and counted.
MOST_SITES: Final = 10_000


class Sites:
    """The sites by name, the original of each page that is a copy, and counts of what was passed over."""

    def __init__(self) -> None:
        self.known: dict[str, Site] = {}
        self.passed: Counter[str] = Counter()
        self.originals: dict[str, str] = {}

    def site(self, name: str) -> Site | None:
        """Return what is known of a site; None, and it is counted, where it is one too many."""
        found = self.known.get(name)
        if found is None:
            if len(self.known) >= MOST_SITES:
                self.passed["site beyond the first 10,000"] += 1
                return None
            found = self.known[name] = Site(home=f"{name}/")
        return found

    def finish(self) -> None:
        """Count the sessions that are still open."""
        for site in self.known.values():
            site.finish()

    def largest(self) -> list[str]:
        """Return the names, those with the most page views, then the most fetched pages, first."""

        def size(name: str) -> tuple[int, int, str]:
            site = self.known[name]
            return -site.visits.total, -sum(site.growth.pages), name

        return sorted(self.known, key=size)
