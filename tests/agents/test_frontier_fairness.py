"""Who had more than a share of the latest fetches stands back, and gets what nobody else needs."""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from scentline.agents.frontier.agent import FrontierAgent
from scentline.agents.frontier.fairness import NEAR_SECONDS
from scentline.agents.frontier.rows import FrontierRow
from scentline.models.domain import owner
from scentline.models.interest.features import BASE, token
from scentline.models.url import host
from scentline.streams.facts import Failed, Judged, Seeded
from scentline.streams.published import PredicateDefinition
from scentline.streams.settings import Settings
from scentline.streams.topics import SIGHTINGS
from tests.agents.books import YES, fail, linked
from tests.agents.cells import a_cells, teach
from tests.agents.shards import Disk, a_runtime, disk, write

NOW = 1000.0
DELAY = 1.0
FARM = [f"192.0.2.{number}" for number in range(60)]


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path / "data") as found:
        yield found


class Front:
    """A frontier agent on one shard: each fetch is answered at once, on a clock that the test turns."""

    def __init__(self, agent: FrontierAgent, rows: Disk) -> None:
        self.agent = agent
        self.now = NOW
        self.shard = rows.shard(FrontierRow, SIGHTINGS, 0)
        agent.runtime.clock = lambda: self.now
        agent.heard_predicate(PredicateDefinition(name="p", expression='"ski"'))
        self.open()

    def open(self) -> None:
        self.agent.inbox.shards[0] = self.shard
        self.agent.opened(self.shard)
        while self.agent.candidates.opening:
            self.agent.candidates.take_up(self.now)

    def sight(self, *facts: object) -> None:
        for fact in facts:
            self.agent.absorb(self.shard, fact)
        write(self.shard)
        self.agent.committed(self.shard)

    def crawl(self, fetches: int, tick: float = 0.05) -> Counter[str]:
        """Fetch so many pages, and return how many of each owner."""
        asked: Counter[str] = Counter()
        while asked.total() < fetches:
            self.agent.leases.end(self.now)
            self.agent.selection.choose(self.now)
            flying = list(self.agent.candidates.flights)
            assert flying or self.agent.candidates.queued, "nothing is left"
            for url in flying:
                asked[owner(host(url))] += 1
                self.sight(Judged(url, {"p": "poor" not in url}, self.now))
            self.now += tick
        return asked

    def like(self, **hits: int) -> None:
        """Teach how many of a hundred pages with a token in their URL satisfy the predicate, where 10 do."""
        scorer = self.agent.candidates.scorer
        counts = {token(name): {"p": (1_000, 10 * number)} for name, number in hits.items()}
        teach(scorer, a_cells({BASE: {"p": (10_000, 1_000)}} | counts))


def fronts(rows: Disk, tmp_path: Path, delay: float = DELAY, **frontier: object) -> Iterator[Front]:
    scarce = {"budget": 1_000_000}  # beside those that `like` teaches
    settings = {"policy": "linkage", "explore": 0.0, "window_max": 8, "window_share": 1.0} | scarce | frontier
    values = {"data": tmp_path / "data", "fetch": {"delay_seconds": delay}, "frontier": settings}
    with a_runtime(Settings.model_validate(values), NOW) as runtime:
        yield Front(FrontierAgent(runtime), rows)


@pytest.fixture
def front(rows: Disk, tmp_path: Path) -> Iterator[Front]:
    yield from fronts(rows, tmp_path)


@pytest.fixture
def in_time(rows: Disk, tmp_path: Path) -> Iterator[Front]:
    yield from fronts(rows, tmp_path, budget=0, window_max=64)


@pytest.fixture
def undelayed(rows: Disk, tmp_path: Path) -> Iterator[Front]:
    yield from fronts(rows, tmp_path, delay=0.0)


@pytest.fixture
def unlimited(rows: Disk, tmp_path: Path) -> Iterator[Front]:
    yield from fronts(rows, tmp_path, domain_share=1.0)


def pages(name: str, kind: str, count: int = 100) -> list[Seeded]:
    return [Seeded(f"http://{name}/{kind}/{number}") for number in range(count)]


def found(name: str, kind: str, count: int = 100) -> list[object]:
    """Return the links of a page by which pages that nobody named are found."""
    targets = [f"http://{name}/{kind}/{number}" for number in range(count)]
    return [linked("http://hub.org/", targets, YES)]


def farm(kind: str) -> object:
    targets = [f"http://{address}/{kind}/{number}" for number in range(8) for address in FARM]
    return linked("http://192.0.2.61/", targets, YES)


def honest(front: Front, kind: str = "good") -> None:
    front.sight(*(seed for number in range(6) for seed in pages(f"honest{number}.org", kind)))


def test_a_farm_of_many_addresses_gets_little_though_its_hosts_are_always_ready(front: Front) -> None:
    front.like(good=40, great=70)
    honest(front)
    front.sight(farm("great"))
    asked = front.crawl(200)
    assert asked["192.0.2.0/24"] < 0.1 * 200, asked


def test_while_time_is_scarce_it_gets_its_share_of_the_hosts_and_takes_nobodys_second(in_time: Front) -> None:
    in_time.like(good=40, great=70)
    honest(in_time)
    in_time.sight(farm("great"))
    asked = in_time.crawl(200)
    seconds = (in_time.now - NOW) / DELAY
    assert asked["192.0.2.0/24"] <= 1 + 0.03 * 66 * (seconds + 1), asked
    assert sum(asked[f"honest{number}.org"] for number in range(6)) >= 6 * (seconds - 1), asked


def test_while_time_is_scarce_no_host_waits_for_that_of_another_owner(in_time: Front) -> None:
    in_time.like(good=40, great=70)
    in_time.sight(*(seed for number in range(10) for seed in pages(f"plain{number}.org", "good")))
    in_time.sight(*(seed for number in range(10) for seed in pages(f"{number}.many.org", "great")))
    asked = in_time.crawl(200)
    assert in_time.now - NOW <= 11 * DELAY, asked


def test_without_the_limit_it_gets_all(unlimited: Front) -> None:
    unlimited.like(good=40, great=70)
    honest(unlimited)
    unlimited.sight(farm("great"))
    assert unlimited.crawl(200)["192.0.2.0/24"] > 0.8 * 200


def test_names_of_one_domain_get_as_little_where_nobody_has_a_delay(undelayed: Front) -> None:
    undelayed.like(good=40, great=70)
    honest(undelayed)
    targets = [f"http://h{number % 60}.farm.net/great/{number}" for number in range(600)]
    undelayed.sight(linked("http://farm.net/", targets, YES))
    asked = undelayed.crawl(200)
    assert asked["farm.net"] < 0.1 * 200, asked


def test_one_site_alone_gets_all_at_its_own_pace(front: Front) -> None:
    front.sight(*pages("only.org", "good"))
    front.crawl(100, tick=DELAY)
    assert front.now - NOW <= 101 * DELAY


def test_one_good_site_among_junk_gets_what_the_others_are_not_worth(front: Front) -> None:
    front.like(good=60, junk=1)
    front.sight(*found("only.org", "good"))
    for number in range(20):
        front.sight(
            linked(f"http://hub{number}.org/", [f"http://junk{number}.org/junk/{n}" for n in range(50)], YES)
        )
    asked = front.crawl(120, tick=DELAY / 20)
    # While the only good host waits for its delay, places are free, as ever.
    seconds = front.now - NOW
    assert asked["only.org"] >= min(100, seconds / DELAY) - 1, asked


def test_a_host_that_backs_off_is_not_waited_for(front: Front) -> None:
    front.like(good=40, great=70)
    front.sight(*pages("overloaded.org", "great"), *found("only.org", "good"))
    front.sight(farm("good"))
    front.crawl(100)
    fail(front.agent, front.shard, "overloaded.org", front.now, 3600.0, overloaded=True)
    before = front.now
    asked = front.crawl(100)
    assert "overloaded.org" not in asked
    assert front.now - before < 100 * NEAR_SECONDS


def test_no_choice_hangs_on_a_host_that_never_answers(front: Front) -> None:
    front.like(good=40, great=70)
    front.sight(*pages("silent.org", "great"))
    front.sight(farm("good"))
    front.crawl(1)
    for _ in range(100):
        front.agent.selection.choose(front.now)
        for url in list(front.agent.candidates.flights):
            if host(url) != "silent.org":
                front.sight(Failed(url, 1, "gone", "HTTP 404", front.now))
        front.now += 0.5
    assert front.agent.totals().gone > 80


def test_who_was_vouched_for_is_known_before_anything_is_taken_up(front: Front) -> None:
    front.sight(Seeded("http://honest0.org/"), *found("honest1.org", "x", 3))
    fairness = front.agent.candidates.fairness
    assert front.agent.candidates.note_start() == [front.shard]
    again = type(fairness)(0.03, front.agent.candidates.clocks, lambda priority: priority)
    again.open(front.shard)
    assert again.shares.vouched("honest0.org") == fairness.shares.vouched("honest0.org") == 1.0


def test_who_is_vouched_for_is_known_again_after_a_restart(front: Front) -> None:
    honest(front)
    for number in range(6):
        others = [f"http://honest{other}.org/good/{number}" for other in range(6)]
        for place in range(10):
            comments = ["http://192.0.2.1/great/1"] if not place else []
            front.sight(linked(f"http://honest{number}.org/good/{place}", [*others, *comments], YES))
    shares = front.agent.candidates.fairness.shares
    before = [shares.vouched(name) for name in ("honest0.org", "192.0.2.1")]
    assert before[0] > 3 * before[1] > 0
    again = type(front.agent.candidates.fairness)(
        0.03, front.agent.candidates.clocks, lambda priority: priority
    )
    front.agent.candidates.fairness = again
    front.open()
    again.settle()
    assert [again.shares.vouched(name) for name in ("honest0.org", "192.0.2.1")] == pytest.approx(
        before, rel=0.3
    )


def taught(front: Front) -> int:
    """Give one site with great pages and twenty with poor ones; return how many pages seem to be judged."""
    front.like(great=70, poor=1)
    front.sight(*pages("great.org", "great", 20))
    front.sight(*(seed for number in range(20) for seed in pages(f"poor{number}.org", "poor", 5)))
    return front.agent.candidates.judged


def test_while_pages_are_scarce_better_ones_are_waited_for(rows: Disk, tmp_path: Path) -> None:
    for front in fronts(rows, tmp_path, budget=10_010):
        assert taught(front) == 10_000
        asked = front.crawl(10, tick=DELAY / 2)
        assert asked["great.org"] >= 9, asked


def test_while_time_is_scarce_every_host_is_asked_each_second(in_time: Front) -> None:
    taught(in_time)
    asked = in_time.crawl(21 * 4, tick=DELAY / 2)
    assert in_time.now - NOW <= 5 * DELAY
    assert set(asked.values()) == {4}


@pytest.mark.parametrize("time", [0.0, 3.5])
def test_a_budget_that_the_time_does_not_suffice_for_costs_nothing(
    rows: Disk, tmp_path: Path, time: float
) -> None:
    for front in fronts(rows, tmp_path, budget=10_100, time=time, window_max=64):
        taught(front)
        front.agent.selection.choose(front.now)
        assert (front.agent.candidates.prices["p"] > -math.inf) == (time == 0)


def test_a_run_ends_when_its_time_is_over(rows: Disk, tmp_path: Path) -> None:
    for front in fronts(rows, tmp_path, budget=0, time=2.5, window_max=64):
        taught(front)
        front.crawl(40, tick=DELAY / 2)
        before = front.agent.finished
        front.now = NOW + 2.5
        assert front.agent.selection.choose(front.now) == []
        assert (before, front.agent.finished) == (False, True)
