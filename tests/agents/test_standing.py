"""What a frontier tells of how it stands: nothing unless somebody looks, then what queues and rows say."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier import standing
from scentline.agents.frontier.keys import host_key, page_key
from scentline.agents.frontier.rows import HostRow, PageRow
from scentline.agents.frontier.standing import HostCounts, Rates, speaking
from scentline.agents.operate.inspect.record import entries, read_standing
from scentline.models.frontier.politeness import HostClocks, HostState
from scentline.models.frontier.queue import CandidateQueue
from scentline.models.page import Link
from scentline.models.url import identifier
from scentline.models.verdict import FAILED
from scentline.streams.facts import Linked, Missing, Seeded, Visited
from scentline.streams.published import HostStanding, Standing, Watch
from scentline.streams.records import RecordError
from scentline.streams.topics import STANDING
from tests.agents.scenarios import NO, NOW, YES, Scenario, ended, frontiers
from tests.agents.shards import journal_of

HOSTS = ("a.org", "b.org", "c.org")
URLS = [f"http://{host}/{number}" for host in HOSTS for number in range(3)]


@pytest.fixture(params=["learned", "combined", "breadth-first"])
def policy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def front(tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scenario]:
    monkeypatch.setattr(standing, "TELL_SECONDS", 0.01)
    monkeypatch.setattr(standing, "RESTS", 0)
    with frontiers(tmp_path) as start:
        scenario = start(policy=policy, budget=5, window_max=1, fetch={"delay_seconds": 1.0})
        scenario.follow("q")
        yield scenario


def watch(front: Scenario, seconds: float = 10.0, **asked: Any) -> None:
    front.agent.standing.hear(b"window", msgspec.json.encode(Watch(front.now + seconds, **asked)))


def told(front: Scenario) -> list[Standing]:
    """Return what the topic has, by key."""
    found = entries(journal_of(front.runtime), STANDING.name, 0)
    return [read_standing(entry.value or b"") for entry in found]


def turn(front: Scenario, later: float = 0.0) -> list[Standing]:
    """Let the teller begin, and run on when it is ``later``; return what stands on the topic then."""

    async def run() -> None:
        task = asyncio.create_task(front.agent.standing.run())
        await asyncio.sleep(0.1)
        front.now += later
        await asyncio.sleep(0.1 if later else 0)
        task.cancel()

    asyncio.run(run())
    return told(front)


def end(front: Scenario) -> list[Standing]:
    asyncio.run(front.agent.standing.finish())
    return told(front)


def test_without_a_watch_nothing_is_told_but_how_things_stand_at_first(front: Scenario) -> None:
    front.hear(*map(Seeded, URLS))
    [first] = turn(front, later=5)
    assert (first.worker, first.time, first.best, first.final) == ("0", NOW, (), False)
    watch(front, seconds=-1)
    for value in (None, b"", b"\xff", b'{"type": "watch"}', b'{"type": "watch", "until": 9, "version": 2}'):
        with pytest.raises(RecordError, match=r"not a Watch|unknown version 2"):
            front.agent.standing.hear(b"window", value)
    assert [each.time for each in turn(front, later=5)] == [NOW + 5]


def test_a_watch_holds_until_its_end_and_a_minute_at_most(front: Scenario) -> None:
    front.hear(*map(Seeded, URLS))
    for seconds, holds, over in ((10, 9, 2), (1e9, 59, 2)):
        now = front.now
        watch(front, seconds)
        assert turn(front, later=holds)[0].time == now + holds
        assert turn(front, later=over)[0].time == now + holds


def test_it_tells_what_totals_queues_and_flights_say(front: Scenario) -> None:
    front.hear(*map(Seeded, URLS))
    front.hear(*(ended(url, YES, NOW) for url in URLS[:2]))
    front.agent.selection.choose(front.now)
    [ordered] = front.agent.candidates.flights
    front.hear(ended(ordered, Missing("gone", "status 404"), NOW, elapsed=1))
    front.agent.selection.choose(front.now)
    watch(front, predicate="p")
    found = {each.best_of: each for each in turn(front)}["p"]
    candidates, totals = front.agent.candidates, front.agent.totals()
    assert (found.judged, found.requests, found.discovered) == (2, totals.requests, 9)
    assert (found.failed, found.refused, found.moved, found.trapped) == (1, 0, 0, 0)
    assert found.queued == {name: len(queue) for name, queue in candidates.queues.items()}
    assert found.hosts == {name: len(queue.hosts()) for name, queue in candidates.queues.items()}
    assert found.in_flight == len(candidates.flights) == 1
    assert (found.window, found.room) == (1, 0)
    assert (found.partitions, found.of, found.seen, found.taken_up) == (1, 1, 1.0, 1.0)
    assert found.budget == 5
    assert found.left == 3
    assert found.state == "running"
    assert [each.url for each in found.best] == candidates.queues["p"].best(50)
    assert [each.priority for each in found.best] == [
        candidates.queues["p"].priority(each.url) for each in found.best
    ]
    assert found.ready + sum(found.waiting.values()) == len(candidates.queues["p"].hosts())


def test_best_candidates_are_told_with_their_chances_and_what_speaks(front: Scenario, policy: str) -> None:
    yes, no = YES | {"q": False}, NO | {"q": False}
    front.hear(Seeded(URLS[0]), Visited(URLS[1], "0123456789abcdef", NOW))
    links = tuple(Link(url, ("ski",), ("snow",), number) for number, url in enumerate(URLS[1:5]))
    front.hear(
        Linked(identifier(URLS[0]), URLS[0], 0, yes, ("ski",), links, (0,)),
        *(ended(url, yes, NOW, words=("ski",)) for url in (URLS[0], *URLS[2:5])),
        *(ended(url, no, NOW, words=("golf",)) for url in URLS[5:]),
    )
    watch(front, predicate="p")
    [best] = {each.best_of: each for each in turn(front)}["p"].best
    assert best.url == URLS[1]
    assert best.waits == 0
    assert "0123456789abcdef" not in str(best.speaks)
    if policy == "learned":
        scorer: Any = front.agent.candidates.scorer
        row = front.shards[0].get(page_key(URLS[1]))
        assert isinstance(row, PageRow)
        inputs = scorer.inputs(front.shards[0], row, "p")
        comes = scorer.comes(scorer.inputs(front.shards[0], row, FAILED))
        assert best.comes == pytest.approx(comes)
        assert best.probability == pytest.approx(comes * scorer.expected(inputs, "p"))
        adds = dict(zip(scorer.names, inputs * scorer.known("p").mean, strict=True))
        named = {name: each for name, each in best.speaks if name in adds}
        assert named == {name: pytest.approx(adds[name], abs=5e-4) for name in named}
        assert len(named) > 2
    else:
        assert (best.probability, best.comes) == (None, None)
        assert bool(best.speaks) == (policy == "combined")


@pytest.mark.parametrize("policy", ["learned"])
def test_hosts_that_are_asked_for_are_told_as_they_stand(front: Scenario) -> None:
    front.hear(*map(Seeded, URLS[:6]), Seeded("http://d.org/"), Seeded("http://e.org/"))
    front.hear(ended("http://d.org/", NO, NOW, elapsed=0.5))
    state = HostState(NOW, until=NOW + 90, failures=1, retry_after=NOW + 90)
    front.shards[0].put(host_key("b.org"), HostRow(1, state))
    front.agent.candidates.clocks.started("e.org", NOW)
    watch(front, hosts=("a.org", "b.org", "d.org", "e.org", "nowhere.org"))
    found = turn(front)[0].looked_at
    assert found == (
        HostStanding("a.org", "ready", candidates=3),
        HostStanding("b.org", "waits", "retry-after", NOW + 90, 3),
        HostStanding("d.org", "exhausted"),
        HostStanding("e.org", "busy", "busy", NOW + 1, 1),
        HostStanding("nowhere.org", "unknown"),
    )


@pytest.mark.parametrize("policy", ["learned"])
def test_a_clean_end_tells_each_predicates_best_under_a_key_of_its_own(front: Scenario) -> None:
    front.hear(*map(Seeded, URLS))
    turn(front)
    found = {each.best_of: each for each in end(front)}
    assert {name: len(each.best) for name, each in found.items()} == {"": 0, "p": 9, "q": 9}
    assert {name: each.final for name, each in found.items()} == {"": False, "p": True, "q": True}
    assert {found[name].state for name in "pq"} == {"ended"}
    front.hear(*(ended(url, YES, NOW) for url in URLS[:5]))
    assert {each.state for each in end(front) if each.final} == {"spent"}


def test_of_no_partition_nothing_is_told(front: Scenario) -> None:
    front.agent.closed(front.shards[0])
    assert end(front) == []


# hosts


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans(), st.booleans()), min_size=1, max_size=30),
    st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 100)),
    st.integers(1, 9),
)
def test_hosts_are_counted_as_one_by_one(
    given_candidates: list[tuple[str, bool, bool]], until: dict[str, float], at_once: int
) -> None:
    clocks = HostClocks(1.0, 100, {host: HostState(until=end) for host, end in until.items()}.get)
    queues = {"p": CandidateQueue(100), "q": CandidateQueue(100)}
    for number, (host, first, starts) in enumerate(given_candidates):
        queues["p" if first else "q"].put(f"http://{host}/{number}", host, 1.0, number)
        if starts and clocks.ready(host, 50.0):
            clocks.started(host, 49.5)
    hosts = {host for host, _, _ in given_candidates}
    known: Any = SimpleNamespace(clocks=clocks, queues=queues)  # all that host counts know of candidates
    counts: Any = HostCounts(known, at_once)
    for _ in range(-(-len(hosts) // at_once)):
        assert counts.told()[3] in (1.0, pytest.approx(counts._open.looked_at / len(hosts)))
        counts.look(50.0)
    ready, waiting, opens, seen = counts.told()
    expected = Counter(clocks.wait(host, 50.0).why for host in hosts if not clocks.ready(host, 50.0))
    assert (ready, waiting, seen) == (sum(clocks.ready(host, 50.0) for host in hosts), expected, 1.0)
    times = [clocks.next_ready([host], 50.0) for host in hosts if not clocks.ready(host, 50.0)]
    assert opens == min((time for time in times if time is not None), default=None)


def test_rates_are_those_of_the_last_seconds_and_of_the_same_partitions() -> None:
    rates = Rates()
    rates.take(frozenset({0}), 100.0, 50, 60)
    assert rates.told() == (None, None)
    for second in range(1, 30):
        rates.take(frozenset({0}), 100.0 + second, 50 + 2 * second, 60 + 3 * second)
    assert rates.told() == (2.0, 3.0)
    rates.take(frozenset({0, 1}), 131.0, 500, 600)
    assert rates.told() == (None, None)


@given(st.lists(st.tuples(st.text(max_size=2), st.floats(-9, 9)), max_size=9))
def test_three_inputs_speak_for_and_three_against(adds: list[tuple[str, float]]) -> None:
    found = [each for _, each in speaking(adds)]
    above = sorted((round(each, 3) for _, each in adds if each > 0), reverse=True)
    below = sorted(round(each, 3) for _, each in adds if each < 0)
    assert found == above[:3] + below[:3]
