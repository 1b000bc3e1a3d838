"""Who had more than a share of the latest fetches stands back, and gets what no other needs; budgets are kept.

By one worker whatever happens, and by several as nearly as they know of each other.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.facts import Found, Linked, Missing
from scentline.models.frontier.candidates import Candidates
from scentline.models.frontier.fairness import NEAR_SECONDS
from scentline.models.frontier.selection import Budget
from scentline.models.page import FAILED
from scentline.models.records import FetchOrder
from scentline.models.url import host, owner
from tests.agents.forms import links, relinked
from tests.agents.scenarios import NO, YES, Frontiers, Scenario, ended, linked, orders_in, seeded
from tests.cases import each_case

DELAY = 1.0
FARM = [f"192.0.2.{number}" for number in range(60)]
HONEST = [f"honest{number}.org" for number in range(6)]


def a_front(frontier: Frontiers, delay: float = DELAY, **changed: Any) -> Scenario:
    scarce = {"budget": 1_000_000}  # beside those that `like` teaches
    section = {"window_max": 8, "window_share": 1.0} | scarce | changed
    return frontier(frontier=section, fetch={"delay_seconds": delay})


def in_time(frontier: Frontiers) -> Scenario:
    return a_front(frontier, budget=0, window_max=64)


def choose(front: Scenario) -> list[FetchOrder]:
    """Return what is ordered now, by scores as they are: no sweep renews them."""
    front.agent.core.leases.end(front.now)
    front.agent.core.selection.choose(front.now)
    return orders_in(front.commit())


def crawl(front: Scenario, fetches: int, tick: float = 0.05) -> Counter[str]:
    """Fetch so many pages; return how many of each owner."""
    asked: Counter[str] = Counter()
    while asked.total() < fetches:
        ordered = choose(front)
        assert ordered or front.agent.core.candidates.queued, "nothing is left"
        for order in ordered:
            asked[owner(host(order.url))] += 1
            front.answer(order, verdict=NO if "poor" in order.url else YES)
        front.now += tick
    return asked


def pages(*names: str, kind: str = "good", count: int = 100) -> Iterator[Found]:
    return (seeded(f"http://{name}/{kind}/{number}") for name in names for number in range(count))


def found(name: str, kind: str, count: int = 100, hub: str = "hub.org") -> Linked:
    """Return the links of a page by which pages that no seed names are found."""
    return linked(f"http://{hub}/", [f"http://{name}/{kind}/{number}" for number in range(count)])


def farm(kind: str, hosts: Sequence[str] = FARM) -> Linked:
    targets = [f"http://{name}/{kind}/{number}" for number in range(10) for name in hosts]
    return linked("http://192.0.2.61/", targets)


def with_farm(front: Scenario, hosts: Sequence[str] = FARM) -> Scenario:
    front.like(good=40, great=70)
    front.hear(*pages(*HONEST), farm("great", hosts))
    return front


@each_case(
    ("hosts", "delay", "name"),
    [(FARM, DELAY, "192.0.2.0/24"), ([f"h{number}.farm.net" for number in range(60)], 0.0, "farm.net")],
)
def test_a_farm_of_many_hosts_gets_little_though_one_of_them_is_always_ready(
    frontier: Frontiers, hosts: list[str], delay: float, name: str
) -> None:
    assert crawl(with_farm(a_front(frontier, delay), hosts), 200)[name] < 0.1 * 200
    front = with_farm(a_front(frontier, delay, domain_share=1.0), hosts)
    assert crawl(front, 200)[name] > 0.8 * 200, "no limit"


def test_while_time_is_scarce_it_gets_its_share_and_takes_no_others_second(frontier: Frontiers) -> None:
    front = with_farm(in_time(frontier))
    begun = front.now
    asked = crawl(front, 200)
    seconds = (front.now - begun) / DELAY
    assert asked["192.0.2.0/24"] <= 1 + 0.03 * 66 * (seconds + 1), asked
    assert sum(asked[name] for name in HONEST) >= 6 * (seconds - 1), asked


def test_while_time_is_scarce_no_host_waits_for_that_of_another_owner(frontier: Frontiers) -> None:
    front = in_time(frontier)
    front.like(good=40, great=70)
    front.hear(*pages(*(f"plain{number}.org" for number in range(10))))
    front.hear(*pages(*(f"{number}.many.org" for number in range(10)), kind="great"))
    begun = front.now
    asked = crawl(front, 200)
    assert front.now - begun <= 11 * DELAY, asked


def test_one_site_alone_gets_all_at_its_own_pace_and_most_among_junk(frontier: Frontiers) -> None:
    front = a_front(frontier)
    front.hear(*pages("only.org"))
    begun = front.now
    crawl(front, 100, tick=DELAY)
    assert front.now - begun <= 101 * DELAY
    junk = a_front(frontier)
    junk.like(good=60, junk=1)
    junk.hear(found("only.org", "good"))
    for number in range(20):
        junk.hear(found(f"junk{number}.org", "junk", 50, hub=f"hub{number}.org"))
    begun = junk.now
    asked = crawl(junk, 120, tick=DELAY / 20)
    # While the only good host waits for its delay, places are free, as ever.
    assert asked["only.org"] >= min(100, (junk.now - begun) / DELAY) - 1, asked


def test_a_host_that_backs_off_is_not_waited_for(frontier: Frontiers) -> None:
    front = a_front(frontier)
    front.like(good=40, great=70)
    front.hear(*pages("overloaded.org", kind="great"), found("only.org", "good"), farm("good"))
    crawl(front, 100)
    front.host_fails("overloaded.org", front.now, 3600.0, overloaded=True)
    before = front.now
    assert "overloaded.org" not in crawl(front, 100)
    assert front.now - before < 100 * NEAR_SECONDS


def test_no_choice_hangs_on_a_host_that_never_answers(frontier: Frontiers) -> None:
    front = a_front(frontier)
    front.like(good=40, great=70)
    front.hear(*pages("silent.org", kind="great"), farm("good"))
    for _ in range(100):
        front.now += 0.5
        for order in choose(front):
            if host(order.url) != "silent.org":
                front.hear(ended(order.url, Missing("gone", "HTTP 404"), front.now))
    assert front.totals().gone > 80


# after a restart


def vouched(front: Scenario, *names: str) -> list[float]:
    return [front.agent.core.candidates.fairness.shares.vouched(name) for name in names]


def test_who_was_vouched_for_is_known_before_anything_is_taken_up(frontier: Frontiers) -> None:
    front = a_front(frontier)
    front.hear(seeded("http://honest0.org/"), found("honest1.org", "x", 3))
    assert front.agent.core.candidates.note_start() == front.shards
    front.commit()
    again = front.restart(taken_up=False)
    assert vouched(again, "honest0.org") == vouched(front, "honest0.org") == [1.0]


def test_nobody_is_vouched_for_by_the_links_of_a_visit_or_by_later_verdicts(frontier: Frontiers) -> None:
    front = a_front(frontier)
    hub, other = "http://hub.org/", "other.org"
    front.hear(seeded(hub), links(hub, [f"http://{other}/1"], 1.0, 0.0), relinked(hub, YES, 1.0))
    assert vouched(front, "hub.org", other) == [1.0, 0.0]
    front.hear(linked(hub, [f"http://{other}/1"]))
    assert vouched(front, other)[0] > 0.0


def test_who_is_vouched_for_is_known_again_after_a_restart(frontier: Frontiers) -> None:
    front = a_front(frontier)
    front.hear(*pages(*HONEST))
    for number, name in enumerate(HONEST):
        others = [f"http://{other}/good/{number}" for other in HONEST]
        for place in range(10):
            comments = ["http://192.0.2.1/great/1"] if not place else []
            front.hear(linked(f"http://{name}/good/{place}", [*others, *comments]))
    before = vouched(front, "honest0.org", "192.0.2.1")
    assert before[0] > 3 * before[1] > 0
    assert vouched(front.restart(), "honest0.org", "192.0.2.1") == pytest.approx(before, rel=0.3)


# what is scarce: pages or time


def scarce(frontier: Frontiers, **changed: Any) -> Scenario:
    """Return a frontier that knows a site of great pages, twenty of poor ones, and 10,000 judged pages."""
    front = a_front(frontier, **changed)
    front.like(great=70, poor=1)
    front.hear(*pages("great.org", kind="great", count=20))
    front.hear(*pages(*(f"poor{number}.org" for number in range(20)), kind="poor", count=5))
    assert front.agent.core.candidates.judged == 10_000
    return front


def test_while_pages_are_scarce_better_ones_are_waited_for(frontier: Frontiers) -> None:
    assert crawl(scarce(frontier, budget=10_010), 10, tick=DELAY / 2)["great.org"] >= 9


def test_while_time_is_scarce_every_host_is_asked_each_second(frontier: Frontiers) -> None:
    front = scarce(frontier, budget=0, window_max=64)
    begun = front.now
    asked = crawl(front, 21 * 4, tick=DELAY / 2)
    assert front.now - begun <= 5 * DELAY
    assert set(asked.values()) == {4}


@each_case("time", [0.0, 3.5])
def test_a_budget_that_the_time_does_not_suffice_for_costs_nothing(frontier: Frontiers, time: float) -> None:
    front = scarce(frontier, budget=10_100, time=time, window_max=64)
    choose(front)
    assert (front.agent.core.candidates.prices["p"] > -math.inf) == (time == 0)


def test_a_run_ends_when_its_time_is_over(frontier: Frontiers) -> None:
    front = scarce(frontier, budget=0, time=2.5, window_max=64)
    begun = front.now
    crawl(front, 40, tick=DELAY / 2)
    before = front.agent.core.finished
    front.now = begun + 2.5
    assert choose(front) == []
    assert (before, front.agent.core.finished) == (False, True)


# budgets of pages or requests

BUDGET, WINDOW, PARTITIONS = 60, 16, 4


class Held(dict[int, Any]):
    """The partitions that a worker holds, and what was judged there."""

    partitions = PARTITIONS

    def __init__(self, partitions: int) -> None:
        super().__init__(dict.fromkeys(range(partitions)))
        self.spent = SimpleNamespace(judged=0, requests=0, revisits=0)

    def totals(self) -> Any:
        return self.spent


class Known(SimpleNamespace):
    """What candidates know of the crawl, and nothing else."""

    judged = Candidates.judged
    answered = Candidates.answered


class Crawl:
    """Frontier workers, what each has in flight, and how much of what is spent the learner has told."""

    def __init__(self, held: Sequence[int], requests: bool = False) -> None:
        self.requests, self.told = requests, 0
        self.shards = [Held(partitions) for partitions in held]
        self.flights = [SimpleNamespace(pages=0) for _ in held]
        pages, asked = (99 * BUDGET, BUDGET) if requests else (BUDGET, 99 * BUDGET)  # the lesser one ends it
        settings = SimpleNamespace(budget=pages, requests=asked)
        scorer = SimpleNamespace(judged=lambda name: self.told * ((name == FAILED) == requests))
        known: list[Any] = [
            Known(settings=settings, queues=("p",), scorer=scorer, shards=shards, flights=flights)
            for shards, flights in zip(self.shards, self.flights, strict=True)
        ]
        self.budgets = [Budget(candidates) for candidates in known]

    @property
    def spent(self) -> int:
        found = [shards.spent for shards in self.shards]
        return sum(spent.requests if self.requests else spent.judged for spent in found)

    @property
    def in_flight(self) -> int:
        return sum(flights.pages for flights in self.flights)

    def order(self, worker: int) -> bool:
        """Have a worker order a page, if it may; return whether it did."""
        may = self.flights[worker].pages < WINDOW and self.budgets[worker].left
        self.flights[worker].pages += may
        return may

    def land(self, worker: int, *, judged: bool = True) -> None:
        """Have one of a worker's fetches end, if one is in flight: its page is judged, or it has failed."""
        spent, flies = self.shards[worker].spent, bool(self.flights[worker].pages)
        spent.judged += flies and judged
        spent.requests += flies
        self.flights[worker].pages -= flies

    def step(self, random: Random, untold: int) -> None:
        """Have a worker order or end a page, and all but ``untold`` of what is spent be told, at least."""
        worker, what = random.randrange(len(self.shards)), random.random()
        if what < 0.5:
            self.order(worker)
        else:
            self.land(worker, judged=what < 0.75)
        self.told = random.randint(max(self.told, self.spent - untold), self.spent)

    def end(self) -> None:
        """Have every worker order what it may, and all of it land, until nobody may order more."""
        every = [worker for worker in range(len(self.shards)) for _ in range(WINDOW)]
        while sum(self.order(worker) for worker in every) or self.in_flight:
            for worker in every:
                self.land(worker)
            self.told = self.spent


HELD = [[2, 2], [3, 1], [2, 1, 1], [1, 1, 1, 1]]
SEEDS = st.integers(0, 10_000)


@given(st.booleans(), SEEDS, st.integers(0, 600))
def test_one_worker_spends_its_budget_and_no_more(requests: bool, seed: int, steps: int) -> None:
    random, crawl = Random(seed), Crawl([PARTITIONS], requests)
    for _ in range(steps):
        crawl.step(random, 10_000)
        assert crawl.spent + crawl.in_flight <= BUDGET
    crawl.end()
    assert crawl.spent == BUDGET
    assert crawl.budgets[0].spent


@given(st.booleans(), st.sampled_from(HELD), SEEDS, st.integers(0, 20))
def test_several_pass_it_by_the_windows_of_the_others_and_what_was_not_told_at_most(
    requests: bool, held: list[int], seed: int, untold: int
) -> None:
    together = Crawl(held, requests)
    together.end()
    assert BUDGET <= together.spent < BUDGET + len(held), "with answers at the same rate"
    random, crawl = Random(seed), Crawl(held, requests)
    for _ in range(600):
        crawl.step(random, untold)
    crawl.end()
    assert BUDGET <= crawl.spent <= BUDGET + (len(held) - 1) * WINDOW + untold
