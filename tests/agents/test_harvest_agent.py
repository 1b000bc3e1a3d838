"""The harvest agent: what it reads and tells, and how points are read. `test_harvest_stream` has the counts."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.harvest import HarvestAgent, HarvestTableRow, Parts
from scentline.agents.operate.record import all_entries, read_point, records
from scentline.agents.worker.connect import open_journal
from scentline.models.harvest import Harvest
from scentline.models.published import (
    FreshnessPart,
    HarvestPart,
    HarvestPoint,
    Outcome,
    read_counted,
    read_outcome,
)
from scentline.models.records import RecordError, encode
from scentline.streams.inbox import Shard
from scentline.streams.settings import Settings, StreamSettings
from scentline.streams.topics import HARVEST, OUTCOMES
from scentline.streams.transport.journal import Journal
from tests.agents.cells import an_outcome as any_outcome
from tests.agents.commands import printed
from tests.agents.shards import Disk, a_runtime, journal_of, take_in, write
from tests.cases import each_case


def an_outcome(number: int, *, hit: bool = False, **said: Any) -> Outcome:
    said = {"time": 900.0 + number, "title": f"title {number}", "policy": "linkage"} | said
    return any_outcome(f"http://a.org/{number}", {"p": hit, "q": False}, (), **said)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[HarvestAgent]:
    with a_runtime(Settings(data=tmp_path)) as runtime:
        yield HarvestAgent(runtime)


def opened(rows: Disk, agent: HarvestAgent) -> Shard[HarvestTableRow]:
    shard: Shard[HarvestTableRow] = rows.shard(HarvestTableRow, OUTCOMES)
    agent.inbox.shards[0] = shard
    agent.inbox._generation = agent.inbox.runtime.app.consumer_generation_id
    agent.opened(shard)
    return shard


def test_the_last_matches_are_known(rows: Disk, agent: HarvestAgent) -> None:
    take_in(opened(rows, agent), agent, *(an_outcome(number, hit=number > 3) for number in range(40)))
    assert agent.matches == [("p", f"http://a.org/{n}", f"title {n}") for n in range(20, 40)]
    assert (agent.whole("p").pages, agent.whole("p").hits, agent.whole("q").hits) == (40, 36, 0)


def test_a_point_is_told_of_what_changed_only(rows: Disk, agent: HarvestAgent) -> None:
    def told() -> list[HarvestPoint]:
        asyncio.run(agent.stream.tell())
        return points_of(journal_of(agent.inbox.runtime))

    shard = opened(rows, agent)
    assert told() == []
    take_in(shard, agent, an_outcome(1, hit=True), an_outcome(2))
    assert told() == [], "what is not safe is not told"
    write(shard)
    found = told()
    assert found == told()
    figures = [(point.predicate, point.pages, point.hits, point.time) for point in found]
    assert figures == [("p", 2, 1, 902.0), ("q", 2, 0, 902.0)]
    assert found[0].harvest_rate == found[0].rate_by_pages == 0.5
    assert found[0].lift is None


def a_point(version: int, pages: int, **more: Any) -> bytes:
    known = {"version": version, "predicate": "news", "time": 1.0, "pages": pages, "hits": 1, "lift": None}
    rates = dict.fromkeys(("harvest_rate", "rate_by_pages", "rate_by_time"), 0.5)
    return json.dumps(known | rates | {"policies": {}} | more).encode()


OUTCOME = msgspec.json.encode(an_outcome(1))


@each_case(
    ("value", "read", "why"),
    [
        *((b"not JSON", read, "malformed") for read in (read_outcome, read_counted)),
        *((b"\xff\xfe", read, "not an Outcome") for read in (read_outcome, read_counted)),
        *((b"{}", read, "missing required field") for read in (read_outcome, read_counted)),
        *((OUTCOME.replace(b"/0@0", at), read_counted, "its origin is no place") for at in (b"", b"/1@x")),
        (b"", read_point, "not a HarvestPoint"),
        (a_point(3, 7), read_point, "version 3, expected 2"),
    ],
)
def test_what_is_no_outcome_and_no_point_is_refused_with_the_reason(value: bytes, read: Any, why: str) -> None:
    with pytest.raises(RecordError, match=why):
        read(value)


def points_of(journal: Journal) -> list[HarvestPoint]:
    return list(records(all_entries(journal, HARVEST.name), read_point))


def test_the_newest_point_is_printed_and_what_is_none_is_left_out(tmp_path: Path) -> None:
    new = a_point(
        2, 10, covers={"0": 3, "1": 5}, matches=4, freshness=0.75, age=7_300.0, revisits=9,
        revisit_share=0.25,
    )  # fmt: skip
    settings = Settings(data=tmp_path / "data", streams=StreamSettings(partitions=2))
    with open_journal(settings) as journal:
        values = (a_point(1, 4), b"{}", b"\xff", a_point(3, 7), new)
        journal.append_all([(HARVEST.name, 0, b"news", value) for value in values], 0.0)
        assert [(point.pages, point.hits) for point in points_of(journal)] == [(10, 1)]
    (row,) = [line.split("\t") for line in printed(tmp_path, "harvest", "--data", "data").splitlines()[1:]]
    assert row[:2] == ["news", "10"]
    assert row[-3:] == ["75% of 4", "2 hours", "9 (25%)"]


def a_part(partition: int, pages: int = 1, hits: int = 1) -> bytes:
    state = Harvest(500, 60.0)
    state.pages, state.hits = pages, hits
    return encode(HarvestPart(predicate="news", partition=partition, offset=1, time=1.0, state=state))


@each_case("value", [None, b"\xc1", a_part(0)[:-3], a_part(0, 1, 2), a_part(0, -1, -1), a_part(2)])
def test_a_part_that_no_worker_tells_is_passed_over(agent: HarvestAgent, value: bytes | None) -> None:
    stream = agent.stream
    stream.parts = Parts(2, lambda part: part.offset)
    stream._hear(b"harvest 0 news", value)
    stream._hear(b"freshness 0 news", a_part(0))
    stream._hear(b"frontier 0 news", b"{}")
    assert (list(stream.parts), list(stream._fresh)) == ([], [])
    stream._hear(b"harvest 0 news", a_part(0))
    assert list(stream.parts) == ["news"]


def fresh(partition: int, time: float, matches: int, current: float) -> FreshnessPart:
    return FreshnessPart(
        predicate="news", partition=partition, time=time, matches=matches, current=current, age=60.0 * matches,
        revisits=3 * matches, requests=50,
    )  # fmt: skip


FRESH = [fresh(0, 5.0, 9, 9.0), fresh(0, 7.0, 4, 3.0), fresh(1, 6.0, 1, 0.5), fresh(1, 2.0, 0, 0.0)]


@given(st.permutations(FRESH))
def test_a_point_tells_how_current_matches_are_as_told_last(parts: list[FreshnessPart]) -> None:
    known, plain = Parts[FreshnessPart](2, lambda part: part.time), read_point(a_point(2, 10))
    assert plain.with_freshness([]) == plain
    for part in parts:
        known.take(part)
    point = plain.with_freshness(known.of("news").values())
    assert (point.time, point.matches, point.freshness, point.age) == (7.0, 5, 0.7, 60.0)
    assert (point.revisits, point.revisit_share) == (15, 0.15)
