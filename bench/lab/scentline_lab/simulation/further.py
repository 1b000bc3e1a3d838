"""Inputs that the learned policy was tried with beside its own; no crawl has them (`docs/learning.md`)."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection
from typing import Protocol

from scentline.models.crowd.evidence import region_log
from scentline.models.crowd.trace import SIXTHS, Trace
from scentline.models.interest.ratio import Base, significant_log
from scentline.models.learner.inputs import Input
from scentline.models.learner.knowledge import Knowledge
from scentline.models.patterns.counts import Behaviour
from scentline.models.patterns.mine import mine
from scentline.models.url import host


class Further(Protocol):
    """Some inputs, and what they are of a candidate."""

    inputs: tuple[Input, ...]

    def judged(self, url: str, holds: bool) -> None:
        """Take in a verdict."""

    def values(self, url: str, knowledge: Knowledge) -> list[float]:
        """Return the inputs of a candidate, by what is known of the predicate."""


class Significance:
    """User affinity of the users with T >= 2, and the region of temporal locality (Aggarwal 2004, 8 to 13). The
    learned policy has the same counts for inputs already, shrunk and not tested.
    """

    inputs = (Input("significant users", 0.0, 0.3), Input("region of locality", 0.0, 0.3))

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._judged: dict[str, bool] = {}
        #: The pages in TL(U); those of them that were judged, and the hits among these.
        self._inside: set[str] = set()
        self._pages = self._hits = 0

    def judged(self, url: str, holds: bool) -> None:
        self._judged[url] = holds
        if url in self._inside:
            self._count(holds)
        for other, (times, _) in self._trace.keepers.get(url, {}).items() if holds else ():
            if times and other not in self._inside:
                self._inside.add(other)
                if other in self._judged:
                    self._count(self._judged[other])

    def _count(self, holds: bool) -> None:
        self._pages += 1
        self._hits += holds

    def values(self, url: str, knowledge: Knowledge) -> list[float]:
        """Return log I^B, equation (9), and log I^TL, (12) and (13)."""
        base = Base(int(knowledge.pages), int(knowledge.hits))
        cells = map(knowledge.users.cell, self._trace.visitors.get(url, ()))
        users = math.fsum(
            significant_log(int(cell[0]), int(cell[1]), base) for cell in cells if cell is not None
        )
        within = url in self._inside if url in self._trace.accesses else None
        return [users, region_log(within, (self._pages, self._hits), base)]


class ExpectedVisits:
    """The log of a page's visits, shrunk to those of its pattern and site (`docs/papers/2011-liu.md`)."""

    inputs = (Input("expected visits", 0.0, 0.3),)

    def __init__(self, trace: Trace) -> None:
        self._visits = trace.accesses
        sites: defaultdict[str, list[str]] = defaultdict(list)
        for url in trace.accesses:
            sites[host(url)].append(url)
        self._patterns = {site: mine(_behaviour(trace, urls)) for site, urls in sites.items()}

    def judged(self, url: str, holds: bool) -> None:
        """Learn nothing: who visits a page is known from the start."""

    def values(self, url: str, knowledge: Knowledge) -> list[float]:
        """Return the log of the visits that a page is worth; 0 where the log has none of its site."""
        patterns = self._patterns.get(host(url))
        expected = 0.0 if patterns is None else patterns.expected_visits(url, self._visits.get(url, 0))
        return [math.log1p(expected) / 3]


def _behaviour(trace: Trace, urls: Collection[str]) -> Behaviour:
    """Return what users did on a site: co-visits there stand for ways, in either direction."""
    visits = {url: trace.accesses[url] for url in urls}
    ways = {
        (url, other): sixths // SIXTHS
        for url in urls
        for other, (_, sixths) in trace.together.get(url, {}).items()
        if sixths >= SIXTHS and other in visits
    }
    referrals: Counter[str] = Counter()
    for (url, _), times in ways.items():
        referrals[url] += times
    return Behaviour(visits, referrals, ways)
