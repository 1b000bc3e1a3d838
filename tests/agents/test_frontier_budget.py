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
    """Frontier workers, what each has in flight, and how many judged pages and requests the learner has told.

    Their budget is one of pages, or of ``requests``.
    """

    held: list[int]
    told: int = 0
    told_requests: int = 0
    requests: bool = False
    shards: list[Held] = field(default_factory=list)
    flights: list[Any] = field(default_factory=list)
    budgets: list[Budget] = field(default_factory=list)

    def __post_init__(self) -> None:
        for partitions in self.held:
            shards, flights = Held(dict.fromkeys(range(partitions))), SimpleNamespace(pages=0)
            candidates: Any = Known(
                settings=SimpleNamespace(
                    budget=0 if self.requests else BUDGET, requests=BUDGET if self.requests else 0
                ),
                queues=("p",),
                scorer=SimpleNamespace(judged=lambda name: self.told_requests if name == FAILED else self.told),
                shards=shards,
                flights=flights,
            )
            self.shards.append(shards)
            self.flights.append(flights)
            self.budgets.append(Budget(candidates))

    @property
    def judged(self) -> int:
        return sum(shards.judged for shards in self.shards)

    @property
    def answered(self) -> int:
        return sum(shards.requests for shards in self.shards)

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
        if self.flights[worker].pages:
            self.flights[worker].pages -= 1
            self.shards[worker].judged += 1
            self.shards[worker].requests += 1

    def fail(self, worker: int) -> None:
        """Have one of a worker's fetches fail, if one is in flight."""
        self.shards[worker].requests += bool(self.flights[worker].pages)
        self.flights[worker].pages -= bool(self.flights[worker].pages)

    def end(self) -> None:
        """Have everything told, ordered and judged that there is."""
        while self.in_flight or any(self.order(worker) for worker in range(len(self.held))):
            for worker in range(len(self.held)):
                self.land(worker)
            self.told, self.told_requests = self.judged, self.answered


@given(st.integers(0, 10_000), st.integers(0, 600))
def test_one_worker_judges_as_many_pages_as_it_may_and_no_more(seed: int, steps: int) -> None:
    random, crawl = Random(seed), Crawl([PARTITIONS])
    for _ in range(steps):
        random.choice([crawl.order, crawl.land, crawl.fail])(0)
        crawl.told = random.randint(crawl.told, crawl.judged)
        assert crawl.judged + crawl.in_flight <= BUDGET
    crawl.end()
    assert crawl.judged == BUDGET
    assert crawl.budgets[0].spent


@given(st.integers(0, 10_000), st.integers(0, 600))
def test_one_worker_makes_as_many_requests_as_it_may_and_no_more(seed: int, steps: int) -> None:
    random, crawl = Random(seed), Crawl([PARTITIONS], requests=True)
    for _ in range(steps):
        random.choice([crawl.order, crawl.land, crawl.fail])(0)
        crawl.told_requests = random.randint(crawl.told_requests, crawl.answered)
        assert crawl.answered + crawl.in_flight <= BUDGET
    crawl.end()
    assert crawl.answered == BUDGET
    assert crawl.budgets[0].spent


@given(st.sampled_from([[2, 2], [3, 1], [2, 1, 1], [1, 1, 1, 1]]), st.integers(0, 10_000), st.integers(0, 20))
def test_several_pass_requests_by_the_windows_of_the_others_and_what_was_not_told_at_most(
    held: list[int], seed: int, untold: int
) -> None:
    random, crawl = Random(seed), Crawl(held, requests=True)
    for _ in range(600):
        random.choice([crawl.order, crawl.order, crawl.land, crawl.fail])(random.randrange(len(held)))
        least = max(crawl.told_requests, crawl.answered - untold)
        crawl.told_requests = random.randint(least, crawl.answered)
    crawl.end()
    assert BUDGET <= crawl.answered <= BUDGET + (len(held) - 1) * WINDOW + untold


@given(st.sampled_from([[2, 2], [3, 1], [2, 1, 1], [1, 1, 1, 1]]), st.integers(0, 10_000), st.integers(0, 20))
def test_several_pass_it_by_the_windows_of_the_others_and_what_was_not_told_at_most(
    held: list[int], seed: int, untold: int
) -> None:
    random, crawl = Random(seed), Crawl(held)
    for _ in range(600):
        random.choice([crawl.order, crawl.order, crawl.land, crawl.fail])(random.randrange(len(held)))
        crawl.told = random.randint(max(crawl.told, crawl.judged - untold), crawl.judged)
    crawl.end()
    assert BUDGET <= crawl.judged <= BUDGET + (len(held) - 1) * WINDOW + untold


@each_case("held", [[2, 2], [3, 1], [2, 1, 1], [1, 1, 1, 1]])
def test_several_whose_pages_come_alike_pass_it_by_less_than_a_page_each(held: list[int]) -> None:
    crawl = Crawl(held)
    while crawl.judged < BUDGET:
        for worker in range(len(held)):
            while crawl.order(worker):
                pass
        for worker, partitions in enumerate(held):
            for _ in range(partitions):
                crawl.land(worker)
        crawl.told = crawl.judged
    crawl.end()
    assert BUDGET <= crawl.judged < BUDGET + len(held)
