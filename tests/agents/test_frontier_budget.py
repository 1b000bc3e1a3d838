"""The budget is kept by one worker whatever happens, and by several as nearly as they know of each other."""

from dataclasses import dataclass, field
from random import Random
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.candidates import Candidates
from scentline.agents.frontier.selection import Budget
from scentline.models.verdict import FAILED
from tests.cases import each_case

BUDGET = 60
WINDOW = 16
PARTITIONS = 4


class Held(dict[int, Any]):
    """The partitions that a worker holds, and what was judged there."""

    partitions = PARTITIONS
    judged = 0
    requests = 0

    def totals(self) -> Any:
        return SimpleNamespace(judged=self.judged, requests=self.requests, revisits=0)


class Known(SimpleNamespace):
    """What candidates know of the crawl, and nothing else."""

    judged = Candidates.judged
    answered = Candidates.answered


@dataclass
class Crawl:
    """Frontier workers, what each has in flight, and how much of what is spent the learner has published.

    Their budget is one of pages, or of ``requests``.
    """

    held: list[int]
    requests: bool = False
    told: int = 0
    shards: list[Held] = field(default_factory=list)
    flights: list[Any] = field(default_factory=list)
    budgets: list[Budget] = field(default_factory=list)

    def __post_init__(self) -> None:
        pages, requests = (0, BUDGET) if self.requests else (BUDGET, 0)
        for partitions in self.held:
            shards, flights = Held(dict.fromkeys(range(partitions))), SimpleNamespace(pages=0)
            candidates: Any = Known(
                settings=SimpleNamespace(budget=pages, requests=requests),
                queues=("p",),
                scorer=SimpleNamespace(judged=lambda name: self.told * ((name == FAILED) == self.requests)),
                shards=shards,
                flights=flights,
            )
            self.shards.append(shards)
            self.flights.append(flights)
            self.budgets.append(Budget(candidates))

    @property
    def spent(self) -> int:
        return sum(shards.requests if self.requests else shards.judged for shards in self.shards)

    @property
    def in_flight(self) -> int:
        return sum(flights.pages for flights in self.flights)

    def order(self, worker: int) -> bool:
        """Have a worker order a page, if it may; return whether it did."""
        may = self.flights[worker].pages < WINDOW and self.budgets[worker].left
        self.flights[worker].pages += may
        return may

    def land(self, worker: int) -> None:
        """Have one of a worker's pages judged, if one is in flight."""
        self.shards[worker].judged += bool(self.flights[worker].pages)
        self.fail(worker)

    def fail(self, worker: int) -> None:
        """Have one of a worker's fetches fail, if one is in flight."""
        self.shards[worker].requests += bool(self.flights[worker].pages)
        self.flights[worker].pages -= bool(self.flights[worker].pages)

    def tell(self, random: Random, untold: int) -> None:
        """Publish some of what is spent: all but ``untold`` at least."""
        self.told = random.randint(max(self.told, self.spent - untold), self.spent)

    def end(self) -> None:
        """Have everything published, ordered and judged that there is."""
        while self.in_flight or any(self.order(worker) for worker in range(len(self.held))):
            for worker in range(len(self.held)):
                self.land(worker)
            self.told = self.spent


HELD = [[2, 2], [3, 1], [2, 1, 1], [1, 1, 1, 1]]


@given(st.booleans(), st.integers(0, 10_000), st.integers(0, 600))
def test_one_worker_spends_its_budget_of_pages_or_requests_and_no_more(
    requests: bool, seed: int, steps: int
) -> None:
    random, crawl = Random(seed), Crawl([PARTITIONS], requests)
    for _ in range(steps):
        random.choice([crawl.order, crawl.land, crawl.fail])(0)
        crawl.tell(random, 10_000)
        assert crawl.spent + crawl.in_flight <= BUDGET
    crawl.end()
    assert crawl.spent == BUDGET
    assert crawl.budgets[0].spent


@given(st.booleans(), st.sampled_from(HELD), st.integers(0, 10_000), st.integers(0, 20))
def test_several_pass_it_by_the_windows_of_the_others_and_what_was_not_published_at_most(
    requests: bool, held: list[int], seed: int, untold: int
) -> None:
    random, crawl = Random(seed), Crawl(held, requests)
    for _ in range(600):
        random.choice([crawl.order, crawl.order, crawl.land, crawl.fail])(random.randrange(len(held)))
        crawl.tell(random, untold)
    crawl.end()
    assert BUDGET <= crawl.spent <= BUDGET + (len(held) - 1) * WINDOW + untold


@each_case("held", HELD)
def test_several_whose_pages_come_alike_pass_it_by_less_than_a_page_each(held: list[int]) -> None:
    crawl = Crawl(held)
    while crawl.spent < BUDGET:
        for worker in range(len(held)):
            while crawl.order(worker):
                pass
        for worker, partitions in enumerate(held):
            for _ in range(partitions):
                crawl.land(worker)
        crawl.told = crawl.spent
    crawl.end()
    assert BUDGET <= crawl.spent < BUDGET + len(held)
