"""Who had more than a share of the latest fetches stands back, and gets what no other needs."""

import math
from collections import Counter
from typing import Any

import pytest

from scentline.agents.frontier.fairness import NEAR_SECONDS
from scentline.models.domain import owner
from scentline.models.url import host
from scentline.streams.facts import Failed, Linked, Seeded
from scentline.streams.records import FetchOrder
from tests.agents.scenarios import NO, YES, Frontiers, Scenario, linked, orders_in
from tests.cases import each_case

DELAY = 1.0
FARM = [f"192.0.2.{number}" for number in range(60)]


def a_front(frontier: Frontiers, delay: float = DELAY, **changed: Any) -> Scenario:
    scarce = {"budget": 1_000_000}  # beside those that `like` teaches
    section = {"window_max": 8, "window_share": 1.0} | scarce | changed
    return frontier(frontier=section, fetch={"delay_seconds": delay})


def in_time(frontier: Frontiers) -> Scenario:
    """Return a frontier for which time is scarce, and pages are not."""
    return a_front(frontier, budget=0, window_max=64)


def choose(front: Scenario) -> list[FetchOrder]:
    """Return what is ordered now, by scores as they are: no sweep renews them."""
    front.agent.leases.end(front.now)
    front.agent.selection.choose(front.now)
    return orders_in(front.commit())


def crawl(front: Scenario, fetches: int, tick: float = 0.05) -> Counter[str]:
    """Fetch so many pages; return how many of each owner."""
    asked: Counter[str] = Counter()
    while asked.total() < fetches:
        ordered = choose(front)
        assert ordered or front.agent.candidates.queued, "nothing is left"
        for order in ordered:
            asked[owner(host(order.url))] += 1
            front.answer(order, verdict=NO if "poor" in order.url else YES)
        front.now += tick
    return asked


def pages(name: str, kind: str, count: int = 100) -> list[Seeded]:
    return [Seeded(f"http://{name}/{kind}/{number}") for number in range(count)]


def found(name: str, kind: str, count: int = 100, hub: str = "hub.org") -> Linked:
    """Return the links of a page by which pages that no seed names are found."""
    return linked(f"http://{hub}/", [f"http://{name}/{kind}/{number}" for number in range(count)])


def farm(kind: str) -> Linked:
    targets = [f"http://{address}/{kind}/{number}" for number in range(8) for address in FARM]
    return linked("http://192.0.2.61/", targets)


def with_farm(front: Scenario) -> Scenario:
    """Have six honest sites, and a farm that promises more."""
    front.like(good=40, great=70)
    front.hear(*(seed for number in range(6) for seed in pages(f"honest{number}.org", "good")))
    front.hear(farm("great"))
    return front


def test_a_farm_of_many_addresses_gets_little_though_its_hosts_are_always_ready(frontier: Frontiers) -> None:
    assert crawl(with_farm(a_front(frontier)), 200)["192.0.2.0/24"] < 0.1 * 200
    assert crawl(with_farm(a_front(frontier, domain_share=1.0)), 200)["192.0.2.0/24"] > 0.8 * 200, "no limit"


def test_while_time_is_scarce_it_gets_its_share_of_the_hosts_and_takes_no_others_second(
    frontier: Frontiers,
) -> None:
    front = with_farm(in_time(frontier))
    begun = front.now
    asked = crawl(front, 200)
    seconds = (front.now - begun) / DELAY
    assert asked["192.0.2.0/24"] <= 1 + 0.03 * 66 * (seconds + 1), asked
    assert sum(asked[f"honest{number}.org"] for number in range(6)) >= 6 * (seconds - 1), asked


def test_while_time_is_scarce_no_host_waits_for_that_of_another_owner(frontier: Frontiers) -> None:
    front = in_time(frontier)
    front.like(good=40, great=70)
    front.hear(*(seed for number in range(10) for seed in pages(f"plain{number}.org", "good")))
    front.hear(*(seed for number in range(10) for seed in pages(f"{number}.many.org", "great")))
    begun = front.now
    asked = crawl(front, 200)
    assert front.now - begun <= 11 * DELAY, asked


def test_names_of_one_domain_get_as_little_where_no_host_has_a_delay(frontier: Frontiers) -> None:
    front = a_front(frontier, delay=0.0)
    front.like(good=40, great=70)
    front.hear(*(seed for number in range(6) for seed in pages(f"honest{number}.org", "good")))
    targets = [f"http://h{number % 60}.farm.net/great/{number}" for number in range(600)]
    front.hear(linked("http://farm.net/", targets))
    assert crawl(front, 200)["farm.net"] < 0.1 * 200


def test_one_site_alone_gets_all_at_its_own_pace_and_among_junk_what_the_others_are_not_worth(
    frontier: Frontiers,
) -> None:
    front = a_front(frontier)
    front.hear(*pages("only.org", "good"))
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
    front.hear(*pages("overloaded.org", "great"), found("only.org", "good"))
    front.hear(farm("good"))
    crawl(front, 100)
    front.host_fails("overloaded.org", front.now, 3600.0, overloaded=True)
    before = front.now
    assert "overloaded.org" not in crawl(front, 100)
    assert front.now - before < 100 * NEAR_SECONDS


def test_no_choice_hangs_on_a_host_that_never_answers(frontier: Frontiers) -> None:
    front = a_front(frontier)
    front.like(good=40, great=70)
    front.hear(*pages("silent.org", "great"))
    front.hear(farm("good"))
    for _ in range(100):
        front.now += 0.5
        for order in choose(front):
            if host(order.url) != "silent.org":
                front.hear(Failed(order.url, 1, "gone", "HTTP 404", front.now))
    assert front.totals().gone > 80


# after a restart


def vouched(front: Scenario, *names: str) -> list[float]:
    return [front.agent.candidates.fairness.shares.vouched(name) for name in names]


def test_who_was_vouched_for_is_known_before_anything_is_taken_up(frontier: Frontiers) -> None:
    front = a_front(frontier)
    front.hear(Seeded("http://honest0.org/"), found("honest1.org", "x", 3))
    assert front.agent.candidates.note_start() == front.shards
    front.commit()
    again = front.restart(taken_up=False)
    assert vouched(again, "honest0.org") == vouched(front, "honest0.org") == [1.0]


def test_who_is_vouched_for_is_known_again_after_a_restart(frontier: Frontiers) -> None:
    front = a_front(frontier)
    front.hear(*(seed for number in range(6) for seed in pages(f"honest{number}.org", "good")))
    for number in range(6):
        others = [f"http://honest{other}.org/good/{number}" for other in range(6)]
        for place in range(10):
            comments = ["http://192.0.2.1/great/1"] if not place else []
            front.hear(linked(f"http://honest{number}.org/good/{place}", [*others, *comments]))
    before = vouched(front, "honest0.org", "192.0.2.1")
    assert before[0] > 3 * before[1] > 0
    again = front.restart()
    assert vouched(again, "honest0.org", "192.0.2.1") == pytest.approx(before, rel=0.3)


# what is scarce: pages or time


def scarce(frontier: Frontiers, **changed: Any) -> Scenario:
    """Return a frontier that knows a site of great pages, twenty of poor ones, and 10,000 judged pages."""
    front = a_front(frontier, **changed)
    front.like(great=70, poor=1)
    front.hear(*pages("great.org", "great", 20))
    front.hear(*(seed for number in range(20) for seed in pages(f"poor{number}.org", "poor", 5)))
    assert front.agent.candidates.judged == 10_000
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
    assert (front.agent.candidates.prices["p"] > -math.inf) == (time == 0)


def test_a_run_ends_when_its_time_is_over(frontier: Frontiers) -> None:
    front = scarce(frontier, budget=0, time=2.5, window_max=64)
    begun = front.now
    crawl(front, 40, tick=DELAY / 2)
    before = front.agent.finished
    front.now = begun + 2.5
    assert choose(front) == []
    assert (before, front.agent.finished) == (False, True)
