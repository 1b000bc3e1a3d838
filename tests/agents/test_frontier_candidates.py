"""The candidates in memory: what is offered, what waits, what is chosen, and that nothing is lost."""

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.agent import FrontierAgent
from scentline.agents.frontier.book import Book
from scentline.agents.frontier.candidates import STARTED, Candidates
from scentline.agents.frontier.hosts import LOST, host_of, state_of
from scentline.agents.frontier.keys import (
    EARLIER_PREFIXES,
    LEASED_KEY,
    START_KEY,
    host_key,
    leased_of,
    page_key,
    start_of,
)
from scentline.agents.frontier.retries import Retries
from scentline.agents.frontier.rows import (
    Choice,
    FrontierRow,
    FrontierShard,
    HostRow,
    LeasedRow,
    PageRow,
    StartRow,
)
from scentline.agents.frontier.scorer import scorer
from scentline.agents.frontier.sweep import FIRST
from scentline.models.frontier.queue import SWEPT
from scentline.models.interest.features import BASE, token
from scentline.models.learner.inputs import INPUTS
from scentline.models.learner.requests import usual_chance_of_page
from scentline.models.learner.semantic import inputs_with
from scentline.models.ledger import Change
from scentline.models.page import Link
from scentline.models.url import host, identifier
from scentline.models.verdict import FAILED
from scentline.streams.configuration import ConfigurationError
from scentline.streams.crawl_settings import LearnSettings
from scentline.streams.facts import Beside, Failed, Inherited, Judged, Linked, Seeded, Together, Visited
from scentline.streams.published import PredicateDefinition
from scentline.streams.settings import Settings
from scentline.streams.topics import SIGHTINGS, partition_of
from tests.agents.cells import a_cells, teach
from tests.agents.shards import Disk, a_runtime, disk, put, take_in, write

NOW = 1000.0


class Front:
    """Candidates of one or more shards on disk, and what the agent does between inbox and choice."""

    def __init__(
        self, rows: Disk, partitions: int = 1, delay: float = 0.0, *, taken_up: bool = True, **changed: Any
    ) -> None:
        self.rows = rows
        settings = Settings.model_validate(
            {
                "frontier": {"policy": "linkage", "explore": 0.0} | changed,
                "fetch": {"delay_seconds": delay},
            }
        )
        self.settings = settings.frontier
        printed = self.settings.candidates == "paper"
        self.scorer = scorer(self.settings.policy, LearnSettings(), printed=printed)
        self.candidates = Candidates(settings, self.scorer, Random(1))
        self.book = Book(self.settings, 1, partitions, redirects=5)
        self.shards: list[FrontierShard] = [
            rows.shard(FrontierRow, SIGHTINGS, number) for number in range(partitions)
        ]
        for shard in self.shards:
            self.candidates.open(shard, partitions, NOW)
        if taken_up:
            self.take_up()

    def take_up(self) -> None:
        """Take up all that is left."""
        while self.candidates.opening:
            self.candidates.take_up(NOW)

    def note_start(self) -> int:
        """Note what to start with, and write it; return in how many shards it changed."""
        changed = self.candidates.note_start()
        for shard in changed:
            write(shard)
        return len(changed)

    def follow(self, *predicates: str) -> None:
        for predicate in predicates:
            self.candidates.add_predicate(predicate, ())

    def shard(self, url: str) -> FrontierShard:
        return self.shards[partition_of(host(url), len(self.shards))]

    def sight(self, *facts: Any, now: float = NOW) -> None:
        """Absorb facts, write them and score what they touched."""
        for shard in self.shards:
            take_in(shard, self.book, *(fact for fact in facts if self.shard(fact.url) is shard))
            touched = self.book.touched.pop(shard.partition, set())
            write(shard)
            self.candidates.refresh(shard, touched, now)

    def page(self, url: str) -> PageRow:
        row = self.shard(url).get(page_key(url))
        assert isinstance(row, PageRow)
        return row

    def choose(self, predicate: str = "p", now: float = NOW, lease: float = 60.0) -> str | None:
        """Choose and order a fetch; return its URL."""
        picked = self.candidates.pick(predicate, now)
        if picked is None:
            return None
        shard, row, explored, probability = picked
        row.state, row.lease = "leased", now + lease
        row.choice = Choice(predicate, self.settings.policy, explored, probability, 0.0, now)
        row.attempts += 1
        shard.put(page_key(row.url), row)
        self.candidates.take(shard, row, row.choice, now)
        return row.url

    def choices(self, predicate: str = "p", now: float = NOW) -> list[str]:
        """Choose until there is nothing to choose."""
        found: list[str] = []
        while (url := self.choose(predicate, now)) is not None:
            found.append(url)
        return found

    def sweep(self, steps: int = 100, now: float = NOW) -> int:
        """Sweep a round; return its steps."""
        return next(step for step in range(1, steps) if self.candidates.sweep.step(now))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    with disk(tmp_path_factory.mktemp("place")) as opened:
        yield opened


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path / "data") as opened:
        yield opened


def urls(count: int, hosts: int = 1) -> list[str]:
    return [f"http://h{number % hosts}.org/{number}" for number in range(count)]


def like(front: Front, *tokens: str, predicate: str = "p") -> None:
    """Teach that pages with these URL tokens satisfy the predicate, each more than the one before."""
    counts = {token(name): {predicate: (100, 40 + 20 * place)} for place, name in enumerate(tokens)}
    teach(front.scorer, a_cells({BASE: {predicate: (1000, 100)}} | counts))
    front.candidates.learned()


# offers


def test_a_sighted_url_is_a_candidate_for_every_predicate(rows: Disk) -> None:
    front = Front(rows)
    front.follow("p", "q")
    front.sight(Seeded("http://a.org/"), Visited("http://b.org/", "u", 1.0))
    assert [set(queue) for queue in front.candidates.queues.values()] == [
        {"http://a.org/", "http://b.org/"}
    ] * 2


def test_the_best_candidate_is_chosen_first_each_predicate_by_its_own_scores(rows: Disk) -> None:
    front = Front(rows)
    front.follow("p", "q")
    like(front, "good", "better")
    like(front, "better", "good", predicate="q")
    front.sight(
        *(Visited(f"http://a.org/{name}/{n}", "u", 1.0) for name in ("x", "good", "better") for n in "12")
    )
    chosen = [front.choose(predicate) for predicate in "pqpqpq"]
    assert chosen == [
        f"http://a.org/{path}" for path in ("better/1", "good/1", "better/2", "good/2", "x/1", "x/2")
    ]
    assert front.choose("p") is None
    assert [flight.predicate for flight in front.candidates.flights.values()] == list("pqpqpq")


def test_what_was_learned_since_a_candidate_was_offered_counts_at_the_choice(rows: Disk) -> None:
    front = Front(rows)
    front.follow("p")
    front.sight(Visited("http://a.org/x", "u", 1.0), Visited("http://a.org/good", "u", 1.0))
    like(front, "good")
    assert front.choose() == "http://a.org/good"


def test_breadth_first_takes_the_least_depth_and_then_the_first_discovered(rows: Disk) -> None:
    front = Front(rows, policy="breadth-first")
    front.follow("p")
    like(front, "good")
    front.sight(Visited("http://a.org/good", "u", 1.0), Seeded("http://a.org/2"), Seeded("http://a.org/1"))
    assert front.choices() == ["http://a.org/2", "http://a.org/1", "http://a.org/good"]


def test_breadth_first_takes_what_a_fetched_url_redirects_to_before_what_the_log_alone_knows(
    rows: Disk,
) -> None:
    front = Front(rows, policy="breadth-first")
    front.follow("p")
    front.sight(Visited("http://a.org/x", "u", 1.0), Inherited("http://a.org/y", 2, {"p": -2.0}))
    assert front.choices() == ["http://a.org/y", "http://a.org/x"]


def test_candidates_below_the_threshold_are_set_aside_until_more_is_known_and_seeds_are_not(rows: Disk) -> None:
    front = Front(rows, threshold=0.5)
    front.follow("p")
    like(front, "good")
    front.sight(
        Seeded("http://a.org/seed"), *(Visited(f"http://a.org/{path}", "u", 1.0) for path in ("good", "x"))
    )
    assert front.page("http://a.org/x").state == "candidate"
    assert front.choices() == ["http://a.org/good", "http://a.org/seed"]
    like(front, "good", "x")
    front.sweep()
    assert front.choices() == ["http://a.org/x"]


def test_a_host_gets_no_more_fetches_than_its_budget(rows: Disk) -> None:
    front = Front(rows, host_budget=3)
    front.follow("p")
    front.sight(*map(Seeded, urls(20, hosts=2)))
    chosen = front.choices()
    front.sweep()
    chosen += front.choices()
    assert sorted(map(host, chosen)) == ["h0.org"] * 3 + ["h1.org"] * 3


def test_judged_pages_count_against_the_budget_of_their_host_and_failed_ones_do_not(rows: Disk) -> None:
    front = Front(rows, host_budget=2)
    front.follow("p")
    front.shards[0].put(host_key("h0.org"), HostRow(1))
    front.sight(*map(Seeded, urls(3)))
    first = front.choose()
    assert first is not None
    front.sight(Failed(first, 1, "gone", "404", NOW))
    front.candidates.flights.land(first, NOW)
    front.sweep()
    second = front.choose()
    assert second is not None
    front.sight(Judged(second, {"p": True}, NOW))
    front.candidates.flights.land(second, NOW)
    front.sweep()
    assert front.choices() == []


def test_a_page_deeper_than_the_limit_is_no_candidate_until_a_shorter_way_is_found(rows: Disk) -> None:
    front = Front(rows, max_depth=1)
    front.follow("p")
    front.sight(Visited("http://a.org/", "u", 1.0))
    row = front.page("http://a.org/")
    row.depth = 2
    front.candidates.offer(front.shards[0], [row], NOW)
    assert front.choices() == []
    row.depth = 1
    front.candidates.offer(front.shards[0], [row], NOW)
    assert front.choices() == ["http://a.org/"]


# waiting and flying


def test_a_url_waits_for_its_retry_and_is_then_chosen_again(rows: Disk) -> None:
    front = Front(rows, retry_seconds=10.0)
    front.follow("p")
    front.sight(Seeded("http://a.org/"))
    assert front.choose() == "http://a.org/"
    front.sight(Failed("http://a.org/", 1, "retry", "timeout", NOW))
    front.candidates.flights.land("http://a.org/", NOW)
    assert front.choose() is None
    wakes = [front.candidates.retries.next]
    front.candidates.wake(NOW + 9.9)
    assert front.choose(now=NOW + 9.9) is None
    front.candidates.wake(NOW + 10.0)
    wakes.append(front.candidates.retries.next)
    assert wakes == [NOW + 10.0, None]
    assert front.choose(now=NOW + 10.0) == "http://a.org/"


def test_a_url_that_waits_waits_once_however_often_it_is_looked_at(rows: Disk) -> None:
    front = Front(rows)
    front.follow("p")
    front.sight(Seeded("http://a.org/"))
    front.choose()
    front.sight(Failed("http://a.org/", 1, "retry", "timeout", NOW))
    front.candidates.flights.land("http://a.org/", NOW)
    for _ in range(5):
        front.sweep()
    assert len(front.candidates) == 1


def test_a_host_with_a_delay_is_asked_for_one_page_at_a_time(rows: Disk) -> None:
    front = Front(rows, delay=1.0)
    front.follow("p")
    front.sight(*map(Seeded, urls(4, hosts=2)))
    assert sorted(map(host, front.choices())) == ["h0.org", "h1.org"]
    for url in list(front.candidates.flights):
        front.candidates.flights.land(url, NOW + 0.5)
    assert front.choices(now=NOW + 0.9) == []
    assert len(front.choices(now=NOW + 1.0)) == 2


def test_a_lease_that_ran_out_is_overdue(rows: Disk) -> None:
    front = Front(rows)
    front.follow("p")
    front.sight(*map(Seeded, urls(2)))
    first = front.choose(lease=10.0)
    front.choose(lease=20.0)
    assert front.candidates.flights.overdue(NOW + 9.9) == []
    assert front.candidates.flights.overdue(NOW + 10.0) == [first]


def test_a_page_whose_verdict_came_while_it_was_queued_is_not_chosen(rows: Disk) -> None:
    front = Front(rows)
    front.follow("p")
    front.sight(*map(Seeded, urls(2)))
    front.sight(Judged(urls(2)[0], {"p": True}, NOW))
    assert front.choices() == [urls(2)[1]]


def test_reopened_shards_offer_what_is_open_and_wait_for_what_is_in_flight(rows: Disk) -> None:
    front = Front(rows)
    front.follow("p")
    front.sight(*map(Seeded, urls(3)), Judged(urls(4)[3], {"p": True}, NOW))
    flying = front.choose()
    write(front.shards[0])
    again = reopened(front)
    again.take_up()
    assert set(again.candidates.flights) == {flying}
    assert [flight.predicate for flight in again.candidates.flights.values()] == ["p"]
    assert set(again.choices()) == set(urls(3)) - {flying}


def reopened(front: Front, **changed: Any) -> Front:
    """Return a front of whose shards nothing is taken up yet, with the rows as they are on disk."""
    again = Front(front.rows, len(front.shards), taken_up=False, **changed)
    again.follow(*front.candidates.queues)
    return again


def waits(front: Front) -> bool:
    return front.candidates.unknown


def test_what_is_in_flight_is_known_as_soon_as_a_shard_is_opened(rows: Disk) -> None:
    front = Front(rows)
    front.follow("p")
    front.sight(*map(Seeded, urls(3)))
    landed, flying = front.choose(), front.choose()
    assert landed and flying
    front.sight(Judged(landed, {"p": True}, NOW))
    assert len(leased_of(front.shards[0]).pages) == 2
    assert set(reopened(front).candidates.flights) == {flying}


def test_the_best_are_chosen_before_all_is_taken_up(rows: Disk) -> None:
    found = [f"http://h{number}.org/{'good' if number % 50 == 0 else 'x'}" for number in range(10 * FIRST)]
    front = Front(rows)
    front.follow("p")
    like(front, "good")
    front.sight(*map(Seeded, found))
    front.note_start()
    again = reopened(front)
    like(again, "good")
    assert waits(again)
    again.candidates.take_up(NOW)
    assert not waits(again)
    assert again.candidates.opening
    assert [again.choose() for _ in found[::50]] == found[::50]
    again.take_up()
    assert sorted(again.choices()) == sorted(set(found) - set(found[::50]))


def test_of_each_host_there_is_a_candidate_to_start_with(rows: Disk) -> None:
    front = Front(rows)
    front.follow("p")
    like(front, "good")
    rich = [f"http://rich.org/good/{number}" for number in range(STARTED)]
    poor = [f"http://h{number}.org/" for number in range(20)]
    front.sight(*map(Seeded, (*rich, *poor)))
    front.note_start()
    start = start_of(front.shards[0])
    assert start is not None and {page_key(url)[1:] for url in poor} <= set(start.best)
    assert len(start.best) <= STARTED


def test_where_nothing_was_noted_all_is_taken_up_before_the_first_choice(rows: Disk) -> None:
    front = Front(rows, partitions=3)
    front.follow("p")
    front.sight(*map(Seeded, urls(300, hosts=10)))
    again = reopened(front)
    while again.candidates.opening:
        assert waits(again)
        again.candidates.take_up(NOW)
    assert not waits(again)
    assert len(again.candidates) == 300


def test_chance_draws_from_all_candidates_or_not_at_all(rows: Disk) -> None:
    front = Front(rows)
    front.follow("p")
    front.sight(*map(Seeded, urls(300, hosts=10)))
    front.note_start()
    by_chance, by_policy = reopened(front, policy="random"), reopened(front, explore=1.0)
    for again in (by_chance, by_policy):
        again.candidates.take_up(NOW)
    assert waits(by_chance)
    picked = by_policy.candidates.pick("p", NOW)
    assert picked is not None and picked[2:] == (False, 1.0)
    by_policy.take_up()
    picked = by_policy.candidates.pick("p", NOW)
    assert picked is not None and picked[2:] == (True, 1 / 300)


def test_nothing_is_noted_until_what_was_noted_is_taken_up_nor_what_stands_there(rows: Disk) -> None:
    front = Front(rows)
    front.follow("p")
    front.sight(*map(Seeded, urls(3 * FIRST, hosts=10)))
    assert front.note_start() == 1
    assert front.note_start() == 0
    again = reopened(front)
    again.candidates.take_up(NOW)
    assert again.note_start() == 0
    again.take_up()
    assert again.note_start() == 0
    again.choose()
    assert again.note_start() == 1


IDENTIFIERS = st.one_of(
    st.sampled_from([page_key(url)[1:] for url in urls(40, hosts=7)]), st.binary(min_size=12, max_size=12)
)


@given(
    noted=st.lists(IDENTIFIERS, max_size=200),
    leased=st.lists(IDENTIFIERS, max_size=10),
    judged=st.sets(st.integers(0, 39), max_size=20),
    ordered=st.integers(0, 5),
)
def test_whatever_a_shard_starts_with_is_harmless(
    place: Disk, noted: list[bytes], leased: list[bytes], judged: set[int], ordered: int
) -> None:
    """What is noted may be of another time, another predicate, or rubbish: only the rows count."""
    place.clear()
    front = Front(place)
    front.follow("p")
    front.sight(*map(Seeded, urls(40, hosts=7)))
    for _ in range(ordered):
        front.choose()
    flying = set(front.candidates.flights)
    front.sight(*(Judged(url, {"p": True}, NOW) for n, url in enumerate(urls(40, hosts=7)) if n in judged))
    plain = reopened(front)
    plain.take_up()
    expected = plain.choices()
    shard = front.shards[0]
    shard.put(START_KEY, StartRow(noted))
    shard.put(LEASED_KEY, LeasedRow(leased))
    write(shard)
    left = {url for n, url in enumerate(urls(40, hosts=7)) if n not in judged}
    again = reopened(front)
    again.take_up()
    assert set(again.candidates.flights) == flying & left
    assert set(again.candidates.queues["p"]) == left - flying
    assert again.choices() == expected


@pytest.mark.parametrize("whole", [True, False])
def test_what_full_queues_have_no_room_for_is_not_scored_again_but_what_is_new(
    rows: Disk, *, whole: bool
) -> None:
    front = Front(rows, queue=100, policy="breadth-first")
    front.follow("p")
    front.sight(*map(Seeded, urls(400, hosts=10)))
    queued = set(front.candidates.queues["p"])
    front.candidates.note_start(whole=whole)
    write(front.shards[0])
    fresh = [f"http://fresh.org/{number}" for number in range(3)]
    front.sight(*map(Seeded, fresh))
    again = reopened(front, queue=100, policy="breadth-first")
    offered: list[str] = []
    offer = again.candidates.offer

    def noted(shard: FrontierShard, rows: Iterable[PageRow], now: float) -> None:
        found = list(rows)
        offered.extend(row.url for row in found)
        offer(shard, found, now)

    again.candidates.offer = noted  # type: ignore[method-assign]
    again.take_up()
    assert len(offered) <= 150
    assert {*queued, *fresh} <= set(offered)


def test_of_shards_that_were_reopened_all_candidates_are_fetched_in_the_end(rows: Disk) -> None:
    front = Front(rows, partitions=2, queue=5)
    front.follow("p", "q")
    front.sight(*map(Seeded, urls(60, hosts=7)))
    front.note_start()
    chosen = [front.choose() for _ in range(3)]
    for shard in front.shards:
        write(shard)
    again = reopened(front, queue=5)
    again.take_up()
    for _ in range(60):
        chosen += again.choices("p")
        again.sweep()
        chosen += again.choices("q")
        again.sweep()
    assert sorted(filter(None, chosen)) == sorted(urls(60, hosts=7))


def test_a_predicate_that_comes_while_pages_are_in_flight_holds_no_host_back(rows: Disk) -> None:
    front = Front(rows, delay=1.0)
    front.follow("p")
    front.sight(*map(Seeded, urls(2)))
    flying = front.choose()
    assert flying is not None
    front.follow("q")
    front.candidates.open(front.shards[0], 1, NOW)
    front.take_up()
    front.sweep()
    front.candidates.flights.land(flying, NOW)
    assert front.choose("q", now=NOW + 2.0) is not None


def test_a_shard_that_is_given_away_leaves_nothing_behind(rows: Disk) -> None:
    front = Front(rows, partitions=3)
    front.follow("p")
    front.sight(*map(Seeded, urls(30, hosts=10)))
    front.choose()
    gone = front.shards[0]
    front.candidates.close(gone)
    left = {url for url in urls(30, hosts=10) if front.shard(url) is not gone}
    assert set(front.candidates.flights) | set(front.choices()) <= left
    assert front.candidates.shards.find(next(iter(set(urls(30, hosts=10)) - left))) is None


SITE = urls(6)
PLACES = st.sampled_from(SITE)
ACCESSES = st.one_of(
    st.builds(Visited, PLACES, st.sampled_from("uvw"), st.just(1.0)),
    st.builds(
        lambda url, others: Together(url, tuple(Beside(page_key(other)[1:], 0, 1, 6) for other in others)),
        PLACES,
        st.sets(PLACES, min_size=1, max_size=4),
    ),
    st.builds(lambda url, hit: Judged(url, {"p": hit}, 1.0, words=("ski",)), PLACES, st.booleans()),
)


@pytest.mark.parametrize("policy", ["learned", "collaborative"])
@given(facts=st.lists(ACCESSES, max_size=25), together=st.integers(1, 4))
def test_what_users_did_leaves_every_candidate_with_the_score_that_it_has_now(
    place: Disk, policy: str, facts: list[Any], together: int
) -> None:
    place.clear()
    front = Front(place, policy=policy, threshold=-1e9, together=together)
    front.follow("p")
    teach(
        front.scorer,
        a_cells(
            {
                BASE: {"p": (1000, 100)},
                "r:p": {"p": (100, 60)},
                "s:ski": {"p": (100, 50)},
                "u:u": {"p": (100, 5)},
            }
        ),
    )
    for fact in facts:
        front.sight(fact)
    queue, shard = front.candidates.queues["p"], front.shards[0]
    found = [row for row in map(front.page, queue) if row.state == "candidate"]
    now = front.candidates.priorities.of(shard, found, ["p"])
    assert [queue.priority(row.url) for row in found] == [pytest.approx(each["p"]) for each in now]


# bounds


def test_candidates_that_a_full_queue_evicted_are_all_fetched_in_the_end(rows: Disk) -> None:
    front = Front(rows, queue=5)
    front.follow("p", "q")
    front.sight(*map(Seeded, urls(50, hosts=7)))
    assert max(len(queue) for queue in front.candidates.queues.values()) <= 5
    chosen: list[str] = []
    for _ in range(50):
        chosen += front.choices("p")
        front.sweep()
        chosen += front.choices("q")
        front.sweep()
    assert sorted(chosen) == sorted(urls(50, hosts=7))


def test_urls_that_wait_are_all_fetched_though_few_of_them_are_in_memory(rows: Disk) -> None:
    """Each URL is answered with a failure first, and must come again. The end is that of the agent."""
    front = Front(rows, queue=5)
    front.follow("p")
    found = urls(40, hosts=7)
    front.sight(*map(Seeded, found))
    candidates, now = front.candidates, NOW
    asked, answered = list[str](), list[str]()
    while True:
        candidates.wake(now)
        if candidates.sweep.filling or not candidates.queued:
            front.sweep(now=now)
        url = front.choose(now=now)
        if url is None:
            if not candidates.retries:
                break
            assert candidates.retries.next is not None
            now = max(now + 1.0, candidates.retries.next)
            continue
        order, wait = front.page(url).attempts, 1e4 + 7.0 * (len(asked) // 3)
        failed = Failed(url, order, "retry", "503", now, wait)
        front.sight(Judged(url, {"p": False}, now) if url in asked else failed, now=now)
        candidates.flights.land(url, now)
        (answered if url in asked else asked).append(url)
        assert candidates.retries.urls <= 5
    assert sorted(answered) == sorted(found)


WAITS = st.lists(st.tuples(st.sampled_from("abcdefghij"), st.integers(1, 9), st.integers(0, 2)), max_size=80)


@given(st.integers(1, 6), WAITS)
def test_what_waits_is_in_memory_or_known_to_be_on_disk(most: int, steps: list[tuple[str, int, int]]) -> None:
    """The twin are the rows: who waits until when. Rows are looked through whenever it is said to be time."""
    retries, rows, now = Retries(most), dict[str, float](), 0.0
    for url, wait, elapsed in steps:
        now += elapsed
        taken = set(retries.due(now))
        if retries.passed(now):
            retries.look_again()
            for name, until in rows.items():
                if until > now:
                    retries.put(name, until)
            taken.update(name for name, until in rows.items() if until <= now)
        assert {name for name, until in rows.items() if until <= now} <= taken
        rows = {name: until for name, until in rows.items() if until > now}
        if rows.get(url, 0.0) < now + wait:
            rows[url] = now + wait
            retries.put(url, now + wait)
        assert retries.urls <= most
        assert bool(retries) or not rows
        assert retries.next is not None
        assert retries.next <= min(rows.values())


def test_a_sweep_ends_when_each_shard_was_gone_through_once(rows: Disk) -> None:
    front = Front(rows, partitions=3)
    front.follow("p")
    found = [f"http://h{number % 40}.org/{number}" for number in range(2500)]
    front.sight(*map(Seeded, found))
    assert front.sweep(steps=1000) <= len(found) // SWEPT + 1


@pytest.mark.parametrize("prefix", EARLIER_PREFIXES)
def test_rows_of_an_earlier_release_are_refused_with_a_sentence(
    rows: Disk, tmp_path: Path, prefix: bytes
) -> None:
    shard: FrontierShard = rows.shard(FrontierRow, SIGHTINGS)
    put(shard.store, {prefix + b"page": b"row"})
    refused = pytest.raises(ConfigurationError, match="table frontier: an earlier release wrote it")
    with a_runtime(Settings(data=tmp_path / "data")) as runtime, refused:
        FrontierAgent(runtime).opened(shard)


# chance


def test_the_probability_of_an_explored_choice_is_recorded(rows: Disk) -> None:
    front = Front(rows, policy="random")
    front.follow("p")
    front.sight(*map(Seeded, urls(8)))
    picked = front.candidates.pick("p", NOW)
    assert picked is not None
    assert picked[2:] == (True, 1 / 8)


def test_an_explored_choice_is_as_likely_as_those_of_the_hosts_that_may_be_asked_make_it(rows: Disk) -> None:
    front = Front(rows, delay=1.0, policy="random")
    front.follow("p")
    front.sight(*map(Seeded, urls(8, hosts=2)))
    front.choose()
    picked = front.candidates.pick("p", NOW)
    assert picked is not None
    assert picked[2:] == (True, 1 / 4)


def test_about_the_set_share_of_the_choices_is_left_to_chance(rows: Disk) -> None:
    front = Front(rows, explore=0.25)
    front.follow("p")
    front.sight(*map(Seeded, urls(100)))
    picks = [front.candidates.pick("p", NOW) for _ in range(1000)]
    explored = [picked[3] for picked in picks if picked is not None and picked[2]]
    best = {picked[1].url for picked in picks if picked is not None and not picked[2]}
    assert 200 < len(explored) < 300
    assert set(explored) == {0.25 / 100}
    assert best == {urls(1)[0]}


# the agent, which keeps several shards


@pytest.fixture
def agent(rows: Disk, tmp_path: Path) -> Iterator[FrontierAgent]:
    values = {
        "data": tmp_path / "data",
        "streams": {"partitions": 3, "group_seconds": 60.0},
        "frontier": {"attempts": 4},
    }
    with a_runtime(Settings.model_validate(values), NOW) as runtime:
        agent = FrontierAgent(runtime)
        agent.heard_predicate(PredicateDefinition(name="p", expression='"ski"'))
        for partition in range(3):
            shard = rows.shard(FrontierRow, SIGHTINGS, partition)
            agent.inbox.shards[partition] = shard
            agent.opened(shard)
        yield agent


def sight(agent: FrontierAgent, *facts: Any) -> None:
    """Have the agent absorb facts in several shards, whose groups then end one after the other."""
    for fact in facts:
        agent.absorb(agent.candidates.shards[partition_of(host(fact.url), 3)], fact)
    for shard in agent.candidates.shards.values():
        write(shard)
        agent.committed(shard)


def end_leases(agent: FrontierAgent, now: float) -> None:
    async def end() -> None:
        agent.leases.end(now)

    asyncio.run(end())


def test_what_one_shards_group_touched_is_offered_when_another_shards_group_ends_first(
    agent: FrontierAgent,
) -> None:
    found = urls(30, hosts=10)
    sight(agent, *map(Seeded, found))
    assert set(agent.candidates.queues["p"]) == set(found)


def test_a_late_answer_to_an_order_leaves_the_next_one_in_flight(agent: FrontierAgent) -> None:
    (url,) = urls(1)
    sight(agent, Seeded(url))
    assert agent.selection.choose(NOW)
    end_leases(agent, NOW + 1000.0)
    assert not agent.candidates.flights
    assert agent.selection.choose(NOW + 1000.0)
    sight(agent, Failed(url, 1, "retry", "timeout", NOW))
    assert set(agent.candidates.flights) == {url}, "the second order's lease must still run out"
    assert not agent.finished


def test_a_page_answered_after_its_lease_ran_out_is_not_ordered_again(agent: FrontierAgent) -> None:
    (url,) = urls(1)
    sight(agent, Seeded(url))
    assert agent.selection.choose(NOW)
    end_leases(agent, NOW + 1000.0)
    sight(agent, Judged(url, {"p": True}, NOW))
    assert not agent.selection.choose(NOW + 1000.0)


def test_an_order_without_an_answer_counts_with_its_host_and_says_nothing_of_it(agent: FrontierAgent) -> None:
    (url,) = urls(1)
    sight(agent, Seeded(url))
    assert agent.selection.choose(NOW)
    end_leases(agent, NOW + 1000.0)
    found = agent.candidates.shards.find(url)
    assert found is not None
    row = host_of(found[0], host(url))
    assert {cause: known.count for cause, known in row.causes.items()} == {LOST: 1}
    assert row.requests == 0
    assert state_of(found[0], host(url)) is None


def visited_and_chosen(agent: FrontierAgent) -> PageRow:
    """Return the row of a page that a user visited, when it has been chosen."""
    (url,) = urls(1)
    sight(agent, Visited(url, "u", NOW))
    assert agent.selection.choose(NOW)
    found = agent.candidates.shards.find(url)
    assert found is not None
    return found[1]


def test_a_choice_by_the_learned_policy_notes_the_inputs_for_every_predicate_and_what_is_expected(
    agent: FrontierAgent,
) -> None:
    agent.heard_predicate(PredicateDefinition(name="q", expression='"sea"'))
    row = visited_and_chosen(agent)
    assert row.choice is not None
    assert row.choice.expected is not None
    assert 0 < row.choice.expected < 1
    assert row.choice.comes is not None
    assert 0 < row.choice.comes < 1
    assert set(row.inputs) == {"p", "q", FAILED}
    assert {len(inputs) for inputs in row.inputs.values()} == {len(inputs_with(meaning=True))}


def test_a_page_chosen_for_what_redirects_to_it_keeps_the_inputs_handed_on(agent: FrontierAgent) -> None:
    better, worse = urls(2, hosts=2)
    handed = {"p": (0.25,) * len(INPUTS)}
    sight(
        agent, Inherited(better, 1, {"p": 9.0}, False, handed), Inherited(worse, 1, {"p": -99.0}, False, handed)
    )
    assert agent.selection.choose(NOW)
    rows = [found[1] for url in (better, worse) if (found := agent.candidates.shards.find(url))]
    assert [row.inputs["p"] == handed["p"] for row in rows] == [True, False]


def test_where_next_to_no_request_fails_a_choice_notes_no_inputs_by_which_that_is_foretold(
    agent: FrontierAgent,
) -> None:
    scorer = agent.candidates.scorer
    scorer.ledger.count([Change([BASE], {FAILED: False}, np.array([1000], np.int32))])
    scorer.learn(scorer.ledger.slots_of([BASE]))
    row = visited_and_chosen(agent)
    assert row.choice is not None
    assert row.choice.comes == usual_chance_of_page(1000, 0)
    assert set(row.inputs) == {"p"}


def linked(url: str, *links: Link, holds: bool = False, time: float = 1.0) -> Linked:
    """Return what is told of a linking page when it is judged; at a later time, again."""
    return Linked(identifier(url), url, 0, {"p": holds}, (), links, (0,), time, again=time > 1)


@pytest.mark.parametrize("policy", ["linkage", "collaborative", "combined"])
def test_by_the_papers_letter_seeds_come_first_and_candidates_are_those_of_the_policy(
    rows: Disk, policy: str
) -> None:
    seed, target, visited = "http://a.org/", "http://b.org/target", "http://b.org/visited"
    front = Front(rows, policy=policy, candidates="paper")
    front.follow("p")
    front.sight(linked("http://c.org/", Link(target), Link(seed)), Visited(visited, "ann", 1.0))
    front.sight(Seeded(seed), linked("http://d.org/", Link("http://b.org/other"), holds=True))
    expected = {
        "linkage": {target, "http://b.org/other"},
        "collaborative": {visited},
        "combined": {visited, "http://b.org/other"},
    }
    again = Front(rows, policy=policy, candidates="paper", taken_up=False)
    again.follow("p")
    again.take_up()
    first, *others = again.choices()
    assert (first, set(others)) == (seed, expected[policy])


def test_by_the_papers_letter_a_page_that_comes_to_satisfy_opens_its_links_until_it_does_not(
    rows: Disk,
) -> None:
    page, target = "http://a.org/", "http://a.org/target"
    front = Front(rows, policy="combined", candidates="paper")
    front.follow("p")
    for time, holds in ((1.0, False), (2.0, True), (3.0, False), (4.0, True)):
        front.sight(linked(page, Link(target), holds=holds, time=time))
        assert front.candidates.queued == holds
        assert (front.candidates.choosable(target) is not None) == holds
    front.sight(Inherited("http://b.org/", 1, {"p": 0.5}))
    assert front.choices() == ["http://b.org/", target], "what a candidate redirects to takes its place"


@pytest.mark.parametrize("policy", ["linkage", "collaborative", "combined"])
def test_before_its_first_hit_a_predicate_goes_by_its_words_and_then_by_the_paper_alone(
    rows: Disk, policy: str
) -> None:
    urls = [f"http://a.org/{name}" for name in ("first", "said", "around", "jazz", "last")]
    said = Link(urls[1], anchor=("jazz", "music")), Link(urls[2], context=("more", "jazz"))
    facts = [*(Visited(url, "ann", 1.0) for url in urls), linked("http://b.org/", *said)]
    front = Front(rows, policy=policy)
    front.candidates.add_predicate("p", ("jazz",))
    front.sight(*facts)
    assert front.choices() == [urls[1], urls[3], urls[2], urls[0], urls[4]]
    rows.clear()
    front = Front(rows, policy=policy)
    front.candidates.add_predicate("p", ("jazz",))
    front.sight(*facts)
    teach(front.scorer, a_cells({BASE: {"p": (10, 1)}}))
    front.candidates.learned()
    assert front.choices() == urls, "ratios that say nothing leave the order of discovery"
    rows.clear()
    printed = Front(rows, policy=policy, candidates="paper")
    printed.candidates.add_predicate("p", ("jazz",))
    printed.sight(*facts[:-1], linked("http://b.org/", *map(Link, urls)))
    assert printed.choices() == urls, "by the letter words say nothing"
