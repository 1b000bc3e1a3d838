"""Inputs that the learned policy was tried with beside its own; no crawl has them (`docs/learning.md`)."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import Protocol

import numpy as np

from scentline.agents.frontier.known import Known
from scentline.agents.frontier.learned import LearnedScorer
from scentline.agents.frontier.rows import FrontierShard, PageRow
from scentline.agents.frontier.scoring import crowd_of
from scentline.models.interest.factors import region_log
from scentline.models.interest.features import BASE, region, user
from scentline.models.interest.ratio import Base, significant_log
from scentline.models.interest.trace import SIXTHS, Trace
from scentline.models.learner.combiner import Vector
from scentline.models.learner.inputs import MOST, Input
from scentline.models.ledger import Ledger
from scentline.models.patterns.counts import Behaviour
from scentline.models.patterns.mine import mine
from scentline.models.semantic.table import SemanticTable
from scentline.models.url import host


class Further(Protocol):
    """Some inputs, and what they are of a candidate, by what is counted of a predicate."""

    inputs: tuple[Input, ...]

    def values(self, shard: FrontierShard, row: PageRow, ledger: Ledger, predicate: str) -> list[float]:
        """Return the inputs of a candidate."""


class Significance:
    """User affinity of the users with T >= 2, and the region of temporal locality (Aggarwal 2004, 8 to 13).

    The learned policy has the same counts for inputs already, shrunk and not tested.
    """

    inputs: tuple[Input, ...] = (Input("significant users", 0.0, 0.3), Input("region of locality", 0.0, 0.3))

    def __init__(self, trace: Trace) -> None:
        """Go by the counts of the crawl alone."""

    def values(self, shard: FrontierShard, row: PageRow, ledger: Ledger, predicate: str) -> list[float]:
        """Return log I^B, equation (9), and log I^TL, (12) and (13)."""
        base, crowd = Base(*ledger.get(BASE, predicate)), crowd_of(shard, row, predicate)
        cells = (ledger.get(user(name), predicate) for name in crowd.visitors)
        users = math.fsum(significant_log(*cell, base) for cell in cells if cell[0])
        within = crowd.within if row.visits else None
        return [users, region_log(within, ledger.get(region(predicate), predicate), base)]


class ExpectedVisits:
    """The log of a page's visits, shrunk to those of its pattern and site (`docs/papers/2011-liu.md`)."""

    inputs: tuple[Input, ...] = (Input("expected visits", 0.0, 0.3),)

    def __init__(self, trace: Trace) -> None:
        sites: defaultdict[str, list[str]] = defaultdict(list)
        for url in trace.accesses:
            sites[host(url)].append(url)
        self._patterns = {site: mine(_behaviour(trace, urls)) for site, urls in sites.items()}

    def values(self, shard: FrontierShard, row: PageRow, ledger: Ledger, predicate: str) -> list[float]:
        """Return the log of the visits that a page is worth; 0 where the log has none of its site."""
        patterns = self._patterns.get(host(row.url))
        expected = 0.0 if patterns is None else patterns.expected_visits(row.url, row.visits)
        return [math.log1p(expected) / 3]


class FurtherScorer(LearnedScorer):
    """The learned policy with inputs more."""

    def __init__(self, table: SemanticTable | None, further: Further) -> None:
        self._more = further
        super().__init__(table)

    def all_inputs(self) -> tuple[Input, ...]:
        """Return the inputs, those that are tried last."""
        return (*super().all_inputs(), *self._more.inputs)

    def further(self, shard: FrontierShard, rows: Sequence[PageRow], known: Sequence[Known]) -> list[Vector]:
        """Return the inputs beside `INPUTS`; of requests those that are tried say nothing."""
        names = [each.predicate for each in known]
        values = [[self._more.values(shard, row, self.ledger, name) for row in rows] for name in names]
        return [*super().further(shard, rows, known), np.clip(np.array(values, float), -MOST, MOST)]


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
