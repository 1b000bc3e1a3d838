"""The harvest agent: each judged page counts once, and points tell where each predicate stands."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scentline.agents.crawl.connect import open_journal
from scentline.agents.harvest.agent import Counted, HarvestAgent, HarvestTableRow, read_counted, read_outcome
from scentline.agents.harvest.stream import FreshnessParts, HarvestParts
from scentline.agents.operate.inspect.record import harvest_points, read_point
from scentline.models.harvest import Harvest
from scentline.streams.inbox import Shard
from scentline.streams.published import FreshnessPart, HarvestPart, HarvestPoint, Outcome
from scentline.streams.records import RecordError, encode
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings, StreamSettings
from scentline.streams.topics import HARVEST, OUTCOMES
from scentline.streams.transport.publisher import JournalPublisher
from tests.agents.commands import printed, scentline
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
        url=f"http://a.org/{number}", time=900.0 + number, title=f"title {number}",
        verdict={"p": hit, "q": False}, predicate="p", policy="linkage", explored=explored, probability=1.0,
        priority=0.0, expected=None, depth=0, words=(), links=(), origin=origin,
    )  # fmt: skip


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


def test_pages_and_hits_are_counted_for_each_predicate_and_policy(rows: Disk, runtime: Runtime) -> None:
    agent = an_agent(runtime)
    shard = a_shard(rows, agent)
    take_in(shard, agent, an_outcome(1, hit=True), an_outcome(2, explored=True), an_outcome(3, hit=True))
    assert (agent.whole("p").pages, agent.whole("p").hits) == (3, 2)
    assert (agent.whole("q").pages, agent.whole("q").hits) == (3, 0)
    assert agent.whole("p").policies == {"linkage": (2, 2), "random": (1, 0)}
    assert agent.matches == [("p", "http://a.org/1", "title 1"), ("p", "http://a.org/3", "title 3")]
    take_in(shard, agent, *(an_outcome(number, hit=True) for number in range(10, 50)))
    assert [url for _, url, _ in agent.matches] == [f"http://a.org/{number}" for number in range(30, 50)]


def test_a_page_counts_once_however_often_its_outcome_comes_and_after_a_restart(
    rows: Disk, runtime: Runtime, restarted: Runtime
) -> None:
    agent = an_agent(runtime)
    shard = a_shard(rows, agent)
    take_in(shard, agent, an_outcome(1, hit=True), an_outcome(1, hit=True, origin="pages/0@2"))
    write(shard)
    again = an_agent(restarted)
    take_in(a_shard(rows, again), again, an_outcome(1, hit=False, origin="pages/0@3"), an_outcome(2))
    assert (again.whole("p").pages, again.whole("p").hits) == (2, 1)


def test_a_page_counts_as_it_was_judged_first_whatever_becomes_of_it(rows: Disk, runtime: Runtime) -> None:
    agent = an_agent(runtime)
    first, revisit = an_outcome(1, hit=True), an_outcome(2)
    again = replace(first, verdict={"p": False}, time=950.0, again=True, origin="pages/0@2")
    gone = replace(first, verdict={}, time=960.0, again=True, left="status 410", origin="sightings/0@7")
    take_in(a_shard(rows, agent), agent, first, again, gone, replace(revisit, again=True, origin="pages/0@3"))
    assert (agent.whole("p").pages, agent.whole("p").hits) == (1, 1)


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


def test_what_is_counted_of_an_outcome_is_what_it_says() -> None:
    outcome = an_outcome(1, hit=True, origin="pages/3@17")
    whole = read_outcome(msgspec.json.encode(outcome))
    assert (whole.source, whole.facts) == ("pages/3", [(17, 0, outcome)])
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


# the stream, read


def a_point(version: int, pages: int, **more: Any) -> bytes:
    known = {"version": version, "predicate": "news", "time": 1.0, "pages": pages, "hits": 1, "lift": None}
    rates = dict.fromkeys(("harvest_rate", "rate_by_pages", "rate_by_time"), 0.5)
    return json.dumps(known | rates | {"policies": {}} | more).encode()


#: What a crawl of an earlier release wrote, and what one of this release does.
OLD = [a_point(1, 4, partition=0), a_point(1, 6, partition=1)]
NEW = [a_point(2, 10, partition=None, covers={"0": 3, "1": 5})]


def a_crawl(directory: Path, partitions: int) -> Settings:
    return Settings(data=directory, streams=StreamSettings(partitions=partitions))


def a_directory(directory: Path, partitions: int, points: list[bytes]) -> Path:
    with open_journal(a_crawl(directory, partitions)) as journal:
        journal.append_all([(HARVEST.name, 0, b"news", point) for point in points], 0.0)
    return directory


def pages(directory: Path, partitions: int) -> list[int]:
    with open_journal(a_crawl(directory, partitions)) as journal:
        return [point.pages for point in harvest_points(journal)]


def test_the_command_says_that_points_of_single_partitions_are_left_out(tmp_path: Path) -> None:
    a_directory(tmp_path / "data", 2, [*OLD, *NEW])
    ended = scentline(tmp_path, "harvest", "--data", "data")
    assert [line.split("\t")[:2] for line in ended.stdout.splitlines()[1:]] == [["news", "10"]]
    assert "left out points of an earlier release: each covers only one partition" in ended.stderr


def test_what_is_no_point_is_left_out(tmp_path: Path) -> None:
    one = [*OLD[:1], *NEW]  # the only partition of an earlier release is the whole crawl
    assert pages(a_directory(tmp_path / "old", 1, one), 1) == [4, 10]
    assert pages(a_directory(tmp_path, 1, [b"{}", b"\xff", a_point(3, 7), *NEW]), 1) == [10]


@each_case(
    ("value", "why"),
    [
        (b"", "not a HarvestPoint"),
        (b"{}", "missing required field"),
        (a_point(3, 7), "version 3, expected 2 or 1"),
    ],
)
def test_what_is_no_point_is_refused_with_the_reason(value: bytes, why: str) -> None:
    with pytest.raises(RecordError, match=why):
        read_point(value)


def a_part(partition: int, offset: int, pages: int = 1, hits: int = 1) -> HarvestPart:
    state = Harvest(500, 60.0)
    state.pages, state.hits = pages, hits
    return HarvestPart(predicate="news", partition=partition, offset=offset, time=1.0, state=state)


def test_parts_come_twice_late_and_in_any_order() -> None:
    parts = HarvestParts(2)
    for part in (a_part(0, 7, 3), a_part(0, 5, 2), a_part(1, 4, 1), a_part(0, 7, 3)):
        parts.hear(b"", encode(part))
    assert {partition: part.offset for partition, part in parts.of("news").items()} == {0: 7, 1: 4}


@each_case(
    "value",
    [
        None,
        b"\xc1",
        encode(a_part(0, 1))[:-3],
        encode(a_part(0, 1, pages=1, hits=2)),
        encode(a_part(0, 1, pages=-1, hits=-1)),
        encode(a_part(2, 1)),
    ],
)
def test_a_part_that_no_worker_tells_is_passed_over(value: bytes | None) -> None:
    parts = HarvestParts(2)
    parts.hear(b"", value)
    assert list(parts) == []


def fresh(partition: int, time: float, matches: int, current: float) -> FreshnessPart:
    return FreshnessPart(
        predicate="news", partition=partition, time=time, matches=matches, current=current, age=60.0 * matches,
        revisits=3 * matches, requests=50,
    )  # fmt: skip


@given(
    st.permutations(
        [fresh(0, 5.0, 9, 9.0), fresh(0, 7.0, 4, 3.0), fresh(1, 6.0, 1, 0.5), fresh(1, 2.0, 0, 0.0)]
    )
)
def test_a_point_tells_how_current_the_matches_of_all_partitions_are_as_told_last(
    parts: list[FreshnessPart],
) -> None:
    known = FreshnessParts()
    for value in (None, b"\xc1", encode(fresh(0, 1.0, 1, 1.0))[:-2]):
        known.hear(b"", value)
    assert known.told_in(read_point(NEW[0])) == read_point(NEW[0])
    for part in parts:
        known.hear(b"", encode(part))
    point = known.told_in(read_point(NEW[0]))
    assert (point.time, point.matches, point.freshness, point.age) == (7.0, 5, 0.7, 60.0)
    assert (point.revisits, point.revisit_share) == (15, 0.15)
    assert known.newest("news") == 7.0


def test_the_command_tells_people_how_current_the_matches_are(tmp_path: Path) -> None:
    told = a_point(2, 10, matches=4, freshness=0.75, age=7_300.0, revisits=9, revisit_share=0.25)
    a_directory(tmp_path / "data", 1, [told])
    (row,) = [line.split("\t") for line in printed(tmp_path, "harvest", "--data", "data").splitlines()[1:]]
    assert row[-3:] == ["75% of 4", "2 hours", "9 (25%)"]
