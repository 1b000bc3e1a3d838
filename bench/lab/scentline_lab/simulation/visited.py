"""What a log tells a crawl in memory: the three collaborative factors (Aggarwal 2004, equations 8 to 14)."""

from collections.abc import Iterator
from heapq import nlargest

from scentline.models.crowd.evidence import SIGNERS, WORDS, region_log
from scentline.models.crowd.evidence import region as near_pages
from scentline.models.crowd.trace import Trace
from scentline.models.interest.features import REGION, SIGNATURE, USER, region, signature, user
from scentline.models.interest.ratio import Base, Denominator
from scentline.models.page import Page
from scentline_lab.simulation.tally import NAME, Counted, OwnFeatures, Places, Tally, Unions

#: Pages near one just judged that are looked at again: those of most common accesses.
NEAREST = 30


class Visited:
    """User affinity, signature features and the temporal locality region of one predicate."""

    def __init__(self, trace: Trace, t: float, denominator: Denominator, places: Places) -> None:
        self._trace = trace
        self._users = OwnFeatures(
            Tally(t, denominator, sample="pages"), lambda url: trace.visitors.get(url, ())
        )
        self._words = Tally(t, denominator, sample="pages")
        self._signatures = Unions(self._words, SIGNERS, places)
        self._judged: dict[str, bool] = {}
        self._within: set[str] = set()
        self._region = (0, 0)
        self._logs = (0.0, 0.0)

    def start(self, counts: Counted) -> None:
        """Take up what an earlier crawl counted, as if this one were its second half."""
        self._users.start(counts.of(USER))
        self._words.start(counts.of(SIGNATURE))
        self._region = counts.of(REGION).get(NAME, (0, 0))

    def judged(self, page: Page, holds: bool, base: Base) -> None:
        """Take in a judged page; ``base`` includes it."""
        url = page.url
        self._judged[url] = holds
        self._users.judge(url, holds)
        near = list(near_pages(self._trace.keepers.get(url, {})))
        self._signatures.judge(url, holds)
        self._signatures.contribute(url, list(page.words[:WORDS]), near)
        entered = {url} & self._within
        if holds:
            fresh = set(near) - self._within
            self._within |= fresh
            entered |= fresh & self._judged.keys()
        pages, hits = self._region
        self._region = (pages + len(entered), hits + sum(self._judged[other] for other in entered))
        self._logs = region_log(False, self._region, base), region_log(True, self._region, base)

    def touched(self, url: str) -> list[str]:
        """Return the pages most often visited near one just judged, where it satisfies; not judged ones.

        Near a page that does not, candidates can only lose, which is seen when they come up.
        """
        if not self._judged[url]:
            return []
        near = self._trace.keepers.get(url, {})
        fresh = (
            (times, other) for other, (times, _) in near.items() if times > 0 and other not in self._judged
        )
        return [other for _, other in nlargest(NEAREST, fresh)]

    def work_out(self, base: Base) -> None:
        """Take the ratios of users and words anew."""
        self._signatures.work_out(base)
        self._users.work_out(base)

    def log(self, url: str) -> float:
        """Return log I^C of a candidate: 0 for one that the log does not know."""
        if url not in self._trace.accesses:
            return 0.0
        return self._users.log(url) + self._signatures.log(url) + self._logs[url in self._within]

    def counts(self, predicate: str) -> Iterator[tuple[str, int, int]]:
        """Yield (feature, pages, hits) of all that was counted."""
        self._signatures.settle()
        yield from ((user(name), pages, hits) for name, pages, hits in self._users.items())
        yield from ((signature(name), pages, hits) for name, pages, hits in self._words.items())
        yield region(predicate), *self._region
