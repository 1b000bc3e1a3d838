"""The virtual crawls of an evaluation: one a predicate, policy and start, and more where state is reused."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product, starmap
from random import Random
from typing import NamedTuple

from scentline.models.interest.trace import Trace
from scentline.models.predicate import Predicate
from scentline.models.url import host
from scentline_lab.reading import Web
from scentline_lab.simulation.baselines.informed import Hindsight
from scentline_lab.simulation.clock import Asked, slots_used
from scentline_lab.simulation.crawler import Crawler, Task
from scentline_lab.simulation.policies import LEARNED, LEARNING, PRINTED, Heir, Maker, Reusable, Truth
from scentline_lab.simulation.virtual import Request, Terms, virtual_crawl

#: What an earlier crawl's seeds and chance are drawn with.
FIRST = ":first"
#: What is put behind a policy's name: with the state of an earlier crawl; without the earlier crawl's pages.
REUSE, NEW_ONLY = "+reuse", ", new pages only"
#: The same where the learned policy has no log, and where each page of the log has one user and one neighbour.
NO_LOG, NO_USERS = ", no log", ", no users"


class Job(NamedTuple):
    """A crawl, with those that are to be compared with it alone: a predicate, a policy, a start from 1."""

    predicate: str
    policy: str
    start: int


class Crawl(NamedTuple):
    """One crawl as it went; ``slots`` is the share of hosts' seconds used, None where no time passes."""

    predicate: str
    policy: str
    start: int
    order: list[Request]
    slots: float | None = None


@dataclass(frozen=True)
class Evaluation:
    """What all crawls of an evaluation have in common."""

    web: Web
    #: The log.
    trace: Trace
    #: The log of an earlier crawl, whose state a later one starts with (Aggarwal 2004, section 4.1).
    first: Trace | None
    #: The log without bounds, for policies that have none.
    whole: Trace | None
    #: Traces with less, with which the learned policy runs too, each by the end of the policy's name then.
    less: Mapping[str, Trace]
    predicates: Mapping[str, Predicate]
    policies: Sequence[str]
    terms: Terms
    starts: int
    #: The seed pages of a start, drawn from ``sources``; every policy and predicate has the same.
    seeds: int
    sources: Sequence[str]
    random_seed: int
    #: They make the crawlers of a policy, without and with an earlier one's state.
    makers: Mapping[str, Maker]
    heirs: Mapping[str, Heir]

    def jobs(self) -> list[Job]:
        return list(starmap(Job, product(self.web.hits, self.policies, range(1, self.starts + 1))))

    def seeds_of(self, start: int, kind: str = "") -> list[str]:
        """Return the seed pages of a start; ``kind`` ":first" gives those of the earlier crawl."""
        return Random(f"{self.random_seed}:{start}{kind}").sample(self.sources, self.seeds)

    def run(self, job: Job) -> tuple[Job, list[Crawl]]:
        """Return a job and its crawls, which depend on the evaluation and the job alone."""
        maker, truth = self.makers[job.policy], self._truth(job)
        trace = self.whole if self.whole is not None and job.policy.endswith(PRINTED) else self.trace
        orders = {job.policy: self._crawl(job, maker(self._task(job, trace), truth))}
        for name, less in self.less.items() if job.policy == LEARNED else ():
            orders[job.policy + name] = self._crawl(job, maker(self._task(job, less), truth))
        if self.first is not None and job.policy in self.heirs:
            orders |= self._reused(job, self.first)
        return job, [
            Crawl(job.predicate, policy, job.start, order, self._slots(job, order))
            for policy, order in orders.items()
        ]

    def _slots(self, job: Job, order: Sequence[Request]) -> float | None:
        clock = self.terms.clock
        if clock is None:
            return None
        links = {each.url: [link.url for link in self.web.pages[each.url].links] for each in order if each.page}
        asked = [Asked(request.came, request.answered, request.url) for request in order]
        return slots_used(asked, links, self.seeds_of(job.start), self._hosts, clock.delay, clock.seconds)

    @cached_property
    def _hosts(self) -> frozenset[str]:
        return frozenset(map(host, self.web.pages))

    def _reused(self, job: Job, first: Trace) -> dict[str, list[Request]]:
        """Return the orders of crawls after an earlier one, with its state and without."""
        name, maker, heir, truth = job.policy, self.makers[job.policy], self.heirs[job.policy], self._truth(job)
        earlier = maker(self._task(job, first, FIRST), truth)
        assert isinstance(earlier, Reusable)
        known = {request.url for request in self._crawl(job, earlier, kind=FIRST) if request.page}
        state = earlier.export_state()
        return {
            name + REUSE: self._crawl(job, heir(self._task(job, self.trace), state)),
            name + NEW_ONLY: self._crawl(job, maker(self._task(job, self.trace), truth), known),
            name + REUSE + NEW_ONLY: self._crawl(job, heir(self._task(job, self.trace), state), known),
        }

    def _crawl(
        self, job: Job, crawler: Crawler, barred: Collection[str] = (), *, kind: str = ""
    ) -> list[Request]:
        hits, seeds = self.web.hits[job.predicate], self.seeds_of(job.start, kind)
        terms, clock = self.terms, self.terms.clock
        if clock is not None:
            terms = terms._replace(clock=clock._replace(paced=job.policy.startswith(LEARNING)))
        return virtual_crawl(self.web.pages, hits, seeds, crawler, terms, barred, self.web.texts)

    @cached_property
    def _hindsight(self) -> Hindsight:
        return Hindsight(self.web.pages)

    def _truth(self, job: Job) -> Truth:
        return Truth(self.web.hits[job.predicate], self._hindsight)

    def _task(self, job: Job, trace: Trace, kind: str = "") -> Task:
        chance = Random(f"{self.random_seed}:{job.start}{kind}:{job.predicate}")  # the same for all policies
        predicate = self.predicates[job.predicate]
        return Task(predicate.keywords, trace, chance, predicate.sought)
