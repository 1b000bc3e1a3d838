"""The harvest agent: each judged page counts once, and points tell where each predicate stands."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from scentline.agents.harvest.agent import Counted, HarvestAgent, HarvestTableRow, read_counted, read_outcome
from scentline.models.harvest import Harvest
from scentline.streams.inbox import Shard
from scentline.streams.published import HarvestPoint, Outcome
from scentline.streams.records import RecordError
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import HARVEST, OUTCOMES
from scentline.streams.transport.publisher import JournalPublisher
from tests.agents.shards import Disk, a_runtime, disk, take_in, write
from tests.cases import each_case

Table = Shard[HarvestTableRow]


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path) as opened:
        yield opened


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with a_runtime(Settings(data=tmp_path)) as opened:
        yield opened


@pytest.fixture
def restarted(tmp_path: Path) -> Iterator[Runtime]:
    """Give what a next worker on the same directory is given."""
    with a_runtime(Settings(data=tmp_path)) as opened:
        yield opened


def an_outcome(number: int, *, hit: bool = False, explored: bool = False, origin: str = "pages/0@1") -> Outcome:
    return Outcome(
        url=f"http://a.org/{number}",
        time=900.0 + number,
        title=f"title {number}",
        verdict={"p": hit, "q": False},
        predicate="p",
        policy="linkage",
        explored=explored,
        probability=1.0,
        priority=0.0,
        expected=None,
        depth=0,
        words=(),
        links=(),
        origin=origin,
    )


def an_agent(runtime: Runtime) -> HarvestAgent:
    assert isinstance(runtime.publisher, JournalPublisher)
    return HarvestAgent(runtime, runtime.publisher._journal)


def a_shard(rows: Disk, agent: HarvestAgent) -> Table:
    """Open the agent's only partition, as Faust's recovery does."""
    shard: Table = rows.shard(HarvestTableRow, OUTCOMES)
    agent.inbox.shards[0] = shard
    agent.inbox._generation = agent.inbox.runtime.app.consumer_generation_id
    agent.opened(shard)
    return shard


def points(runtime: Runtime) -> list[HarvestPoint]:
    assert isinstance(runtime.publisher, JournalPublisher)
    entries = runtime.publisher._journal.read(HARVEST.name, 0, 0, 100)
    return [msgspec.json.decode(entry.value or b"", type=HarvestPoint) for entry in entries]


def tell(agent: HarvestAgent) -> None:

    asyncio.run(agent.stream.tell())


def state(agent: HarvestAgent, predicate: str = "p") -> Harvest:
    return agent.whole(predicate)


def test_pages_and_hits_are_counted_for_each_predicate_and_policy(rows: Disk, runtime: Runtime) -> None:
    agent = an_agent(runtime)
    shard = a_shard(rows, agent)
    take_in(shard, agent, an_outcome(1, hit=True), an_outcome(2, explored=True), an_outcome(3, hit=True))
    assert (state(agent).pages, state(agent).hits) == (3, 2)
    assert (state(agent, "q").pages, state(agent, "q").hits) == (3, 0)
    assert state(agent).policies == {"linkage": (2, 2), "random": (1, 0)}
    assert agent.matches == [("p", "http://a.org/1", "title 1"), ("p", "http://a.org/3", "title 3")]


def test_a_page_counts_once_however_often_its_outcome_comes_and_after_a_restart(
    rows: Disk, runtime: Runtime, restarted: Runtime
) -> None:
    agent = an_agent(runtime)
    shard = a_shard(rows, agent)
    take_in(shard, agent, an_outcome(1, hit=True), an_outcome(1, hit=True, origin="pages/0@2"))
    write(shard)
    again = an_agent(restarted)
    take_in(a_shard(rows, again), again, an_outcome(1, hit=False, origin="pages/0@3"), an_outcome(2))
    assert (state(again).pages, state(again).hits) == (2, 1)


def test_a_page_counts_as_it_was_judged_first_whatever_becomes_of_it(rows: Disk, runtime: Runtime) -> None:
    agent = an_agent(runtime)
    first, revisit = an_outcome(1, hit=True), an_outcome(2)
    again = replace(first, verdict={"p": False}, time=950.0, again=True, origin="pages/0@2")
    gone = replace(first, verdict={}, time=960.0, again=True, left="status 410", origin="sightings/0@7")
    take_in(a_shard(rows, agent), agent, first, again, gone, replace(revisit, again=True, origin="pages/0@3"))
    assert (state(agent).pages, state(agent).hits) == (1, 1)


def test_the_newest_matches_are_kept_and_no_more(rows: Disk, runtime: Runtime) -> None:
    agent = an_agent(runtime)
    take_in(a_shard(rows, agent), agent, *(an_outcome(number, hit=True) for number in range(50)))
    assert [url for _, url, _ in agent.matches] == [f"http://a.org/{number}" for number in range(30, 50)]


def test_a_point_is_told_of_what_changed_only(rows: Disk, runtime: Runtime) -> None:
    agent = an_agent(runtime)
    shard = a_shard(rows, agent)
    tell(agent)
    assert points(runtime) == []
    take_in(shard, agent, an_outcome(1, hit=True), an_outcome(2))
    tell(agent)
    assert points(runtime) == [], "what is not safe is not told"
    write(shard)
    tell(agent)
    tell(agent)
    found = points(runtime)
    assert [(point.predicate, point.pages, point.hits, point.time) for point in found] == [
        ("p", 2, 1, 902.0),
        ("q", 2, 0, 902.0),
    ]
    assert found[0].harvest_rate == found[0].rate_by_pages == 0.5
    assert found[0].lift is None


def test_a_point_is_told_of_each_predicate_when_a_partition_is_taken_up(
    rows: Disk, runtime: Runtime, restarted: Runtime
) -> None:
    agent = an_agent(runtime)
    shard = a_shard(rows, agent)
    take_in(shard, agent, an_outcome(1, hit=True))
    write(shard)
    again = an_agent(restarted)
    a_shard(rows, again)
    tell(again)
    assert [point.predicate for point in points(runtime)] == ["p", "q"]
    again.closed(rows.shard(HarvestTableRow, OUTCOMES))


def test_an_outcome_is_read_with_the_place_of_its_page_as_origin() -> None:
    outcome = an_outcome(1, origin="pages/3@17")
    pack = read_outcome(msgspec.json.encode(outcome))
    assert (pack.source, pack.facts) == ("pages/3", [(17, 0, outcome)])


def test_what_is_counted_of_an_outcome_is_what_it_says() -> None:
    outcome = an_outcome(1, hit=True, origin="pages/3@17")
    pack = read_counted(msgspec.json.encode(outcome))
    assert pack.source == "pages/3"
    [(offset, number, counted)] = pack.facts
    assert (offset, number) == (17, 0)
    for field in msgspec.structs.fields(Counted):
        assert getattr(counted, field.name) == getattr(outcome, field.name)


def test_what_is_counted_has_the_types_that_an_outcome_has() -> None:
    whole = {field.name: (field.type, field.default) for field in msgspec.structs.fields(Outcome)}
    told = {field.name: (field.type, field.default) for field in msgspec.structs.fields(Counted)}
    assert told.items() <= whole.items()


@each_case(
    ("value", "why"),
    [
        (b"not JSON", "malformed"),
        (b"\xff\xfe", "not an Outcome"),
        (b"{}", "missing required field"),
        (msgspec.json.encode(an_outcome(1, origin="nowhere")), "not an Outcome"),
        (msgspec.json.encode(an_outcome(1, origin="pages/1@x")), "not an Outcome"),
        (msgspec.json.encode(an_outcome(1)).replace(b'"version":1', b'"version":2'), "unknown version 2"),
    ],
)
def test_what_is_no_outcome_is_refused_with_the_reason(value: bytes, why: str) -> None:
    for read in (read_outcome, read_counted):
        with pytest.raises(RecordError, match=why):
            read(value)
