"""What a frontier says of how it stands, to who asks and on its topic, and how its answers are throttled."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier import agent
from scentline.agents.frontier.answers import Answers
from scentline.agents.operate.control import Running
from scentline.agents.operate.record import entries, read_standing
from scentline.agents.owners import ADDRESS, Address, answering
from scentline.agents.worker.directory import WINDOW
from scentline.models.facts import Linked, Missing, Visited
from scentline.models.frontier.keys import host_key, page_key
from scentline.models.frontier.politeness import HostClocks, HostState
from scentline.models.frontier.queue import CandidateQueue
from scentline.models.frontier.rows import HostRow, PageRow
from scentline.models.frontier.standing import HostCounts, Rates, speaking
from scentline.models.page import FAILED, Link
from scentline.models.policy.explain import Explanation
from scentline.models.policy.speaking import Features
from scentline.models.published import HostStanding, Pausing, Standing
from scentline.models.url import identifier
from scentline.streams.topics import STANDING
from tests.agents.scenarios import NO, NOW, YES, Scenario, ended, frontiers, seeded
from tests.agents.shards import journal_of
from tests.patience import PATIENCE

HOSTS = ("a.org", "b.org", "c.org")
URLS = [f"http://{host}/{number}" for host in HOSTS for number in range(3)]


@pytest.fixture(params=["learned", "combined", "breadth-first"])
def policy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def front(tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scenario]:
    monkeypatch.setattr(agent, "PUBLISH_SECONDS", 0.01)
    with frontiers(tmp_path) as start:
        scenario = start(policy=policy, budget=5, window_max=1, fetch={"delay_seconds": 1.0})
        scenario.follow("q")
        yield scenario


def asked(front: Scenario, path: str = "/standing", **query: str | list[str]) -> bytes:
    values = {name: [each] if isinstance(each, str) else each for name, each in query.items()}
    return asyncio.run(front.agent.answers.answer(path, values))


def stands(front: Scenario, **query: Any) -> Standing:
    front.agent.answers = Answers(front.agent.core, lambda: front.now)  # it is asked anew
    return msgspec.msgpack.decode(asked(front, **query), type=Standing)


def told(front: Scenario) -> list[Standing]:
    found = entries(journal_of(front.runtime), STANDING.name, 0)
    return [read_standing(entry.value or b"") for entry in found]


def end(front: Scenario) -> list[Standing]:
    asyncio.run(front.agent.report())
    return told(front)


def test_it_publishes_how_things_stand_now_and_then(front: Scenario) -> None:
    async def run() -> None:
        task = asyncio.create_task(front.agent.publish())
        await asyncio.sleep(0.1)
        front.now += 5
        await asyncio.sleep(0.1)
        task.cancel()

    front.hear(*map(seeded, URLS))
    asyncio.run(run())
    [last] = told(front)
    assert (last.worker, last.time, last.best, last.final) == ("0", NOW + 5, (), False)


def test_it_publishes_at_once_that_it_is_paused(front: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "PUBLISH_SECONDS", PATIENCE)
    monkeypatch.setattr(agent, "LOOK_SECONDS", 0.001)

    def state() -> str:
        return told(front)[-1].state

    async def run() -> None:
        task = asyncio.create_task(front.agent.publish())
        async with asyncio.timeout(PATIENCE):
            for on, expected in ((True, "paused"), (False, before)):
                front.agent.core.steer(Pausing(on=on))
                while not told(front) or state() != expected:
                    await asyncio.sleep(0.01)
        task.cancel()

    front.hear(*map(seeded, URLS))
    before = front.agent.core.state
    asyncio.run(run())


def test_answers_are_given_again_and_take_a_share_of_time(
    front: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    front.hear(*map(seeded, URLS))
    answers, slept, clock, spent = front.agent.answers, list[float](), [100.0], count()
    times: Any = SimpleNamespace(monotonic=lambda: clock[0], thread_time=lambda: next(spent) / 10)

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock[0] += max(0.0, seconds)

    monkeypatch.setattr("scentline.agents.frontier.answers.time", times)
    monkeypatch.setattr("scentline.agents.frontier.answers.asyncio.sleep", sleep)
    first = asked(front, predicate="p")
    assert asked(front, predicate="p") == first
    clock[0] += 0.5
    steps = len(slept)
    assert asked(front, predicate="p") == first
    assert len(slept) == steps, "nothing was worked out"
    before = clock[0]
    asked(front, "/explain", url=URLS[0])
    assert clock[0] > before + 1, "it rested after the work of the answer before"
    assert answers.paths.keys() == {"/standing", "/explain", "/features"}


def test_a_url_and_a_predicate_are_explained_from_memory(front: Scenario, policy: str) -> None:
    front.hear(*map(seeded, URLS), ended(URLS[0], YES, NOW, words=("ski",)))
    found = msgspec.msgpack.decode(asked(front, "/explain", url=URLS[1]), type=Explanation)
    assert found.row.url == URLS[1]
    queues = front.agent.core.candidates.queues
    assert found.priorities == pytest.approx({name: queues[name].priority(URLS[1]) for name in "pq"})
    assert asked(front, "/explain", url="http://nowhere.org/") == b"\xc0"
    learned = msgspec.msgpack.decode(asked(front, "/features", predicate="p"), type=Features)
    assert (bool(learned.weights), learned.judged) == (policy == "learned", 1)
    for name in ("nobody", FAILED):
        none = asked(front, "/features", predicate=name, kind="page words") == b"\xc0"
        assert none == (name == "nobody" or policy != "learned")


def test_it_tells_what_totals_queues_and_flights_say(front: Scenario) -> None:
    front.hear(*map(seeded, URLS))
    front.hear(*(ended(url, YES, NOW) for url in URLS[:2]))
    front.agent.core.selection.choose(front.now)
    [ordered] = front.agent.core.candidates.flights
    front.hear(ended(ordered, Missing("gone", "status 404"), NOW, elapsed=1))
    front.agent.core.selection.choose(front.now)
    found = stands(front, predicate="p")
    assert found.best_of == "p"
    candidates, totals = front.agent.core.candidates, front.agent.core.totals()
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
    front.hear(seeded(URLS[0]), Visited(URLS[1], "0123456789abcdef", NOW))
    links = tuple(Link(url, ("ski",), ("snow",), number) for number, url in enumerate(URLS[1:5]))
    front.hear(
        Linked(identifier(URLS[0]), URLS[0], 0, yes, ("ski",), links, (0,)),
        *(ended(url, yes, NOW, words=("ski",)) for url in (URLS[0], *URLS[2:5])),
        *(ended(url, no, NOW, words=("golf",)) for url in URLS[5:]),
    )
    [best] = stands(front, predicate="p").best
    assert best.url == URLS[1]
    assert best.waits == 0
    assert "0123456789abcdef" not in str(best.speaks)
    if policy == "learned":
        scorer: Any = front.agent.core.candidates.scorer
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
    front.hear(*map(seeded, URLS[:6]), seeded("http://d.org/"), seeded("http://e.org/"))
    front.hear(ended("http://d.org/", NO, NOW, elapsed=0.5))
    state = HostState(NOW, until=NOW + 90, failures=1, retry_after=NOW + 90)
    front.shards[0].put(host_key("b.org"), HostRow(1, state))
    front.agent.core.candidates.clocks.started("e.org", NOW)
    found = stands(front, host=["a.org", "b.org", "d.org", "e.org", "nowhere.org"]).looked_at
    assert found == (
        HostStanding("a.org", "ready", candidates=3),
        HostStanding("b.org", "waits", "retry-after", NOW + 90, 3), HostStanding("d.org", "exhausted"),
        HostStanding("e.org", "busy", "busy", NOW + 1, 1), HostStanding("nowhere.org", "unknown"),
    )  # fmt: skip


@pytest.mark.parametrize("policy", ["learned"])
def test_a_clean_end_tells_each_predicates_best_under_a_key_of_its_own(front: Scenario) -> None:
    front.hear(*map(seeded, URLS))
    found = {each.best_of: each for each in end(front)}
    ends = {name: (len(each.best), each.final) for name, each in found.items()}
    assert ends == dict.fromkeys("pq", (9, True))
    assert {found[name].state for name in "pq"} == {"ended"}
    front.hear(*(ended(url, YES, NOW) for url in URLS[:5]))
    assert {each.state for each in end(front) if each.final} == {"spent"}


def test_of_no_partition_nothing_is_told(front: Scenario) -> None:
    front.agent.closed(front.agent.inbox.shards.pop(0))
    assert (end(front), asked(front)) == ([], b"\xc0")


@pytest.mark.parametrize("policy", ["learned"])
def test_a_crawl_answers_whoever_may_read_its_directory(front: Scenario) -> None:
    front.hear(*map(seeded, URLS))
    settings, running = front.runtime.settings, Running(front.runtime.settings)
    path = settings.data / WINDOW / ADDRESS

    async def asked() -> tuple[list[int], list[Standing], Explanation | None]:
        async with answering(settings, front.agent.answers, {}):
            assert path.stat().st_mode & 0o777 == 0o600
            address = msgspec.json.decode(path.read_bytes(), type=Address)
            async with httpx.AsyncClient(base_url=address.url) as client:
                tokens: list[dict[str, str]] = [
                    {}, {"Authorization": "Bearer x"}, {"Authorization": f"Bearer {address.token}"},
                ]  # fmt: skip
                many = "&".join("host=a" for _ in range(300))
                found = [await client.get("/standing", headers=each) for each in tokens]
                found += [await client.get(f"/standing?{many}", headers=tokens[2])]
            standings = await asyncio.to_thread(running.standings, "p", ["a.org"])
            found_url = await asyncio.to_thread(running.explain, URLS[0])
            return [each.status_code for each in found], standings, found_url

    statuses, [standing], explained = asyncio.run(asked())
    assert statuses == [401, 401, 200, 400]
    assert (len(standing.best), [each.host for each in standing.looked_at]) == (9, ["a.org"])
    assert explained is not None and explained.row.seed
    assert (running.standings(), path.exists()) == ([], False)
    running.close()


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
    renders = SimpleNamespace(queues={}, free=True, always=False)
    known: Any = SimpleNamespace(clocks=clocks, queues=queues, renders=renders)  # all that host counts know
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
