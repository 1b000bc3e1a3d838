"""Reading the harvest-rate stream: points of the whole crawl, those of earlier releases, and what is none."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.crawl.connect import open_journal
from scentline.agents.harvest.stream import FreshnessParts, HarvestParts
from scentline.agents.operate.inspect.record import harvest_points, read_point
from scentline.models.harvest import Harvest
from scentline.streams.published import FreshnessPart, HarvestPart
from scentline.streams.records import RecordError, encode
from scentline.streams.settings import Settings, StreamSettings
from scentline.streams.topics import HARVEST
from tests.agents.commands import printed, scentline
from tests.cases import each_case


def a_point(version: int, pages: int, **more: Any) -> bytes:
    figures: dict[str, Any] = {
        "harvest_rate": 0.5,
        "rate_by_pages": 0.5,
        "rate_by_time": 0.5,
        "lift": None,
        "policies": {},
    }
    known = {"version": version, "predicate": "news", "time": 1.0, "pages": pages, "hits": 1}
    return json.dumps(known | figures | more).encode()


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


def test_points_of_an_earlier_release_are_the_crawls_where_it_had_one_partition(tmp_path: Path) -> None:
    assert pages(a_directory(tmp_path, 1, [*OLD[:1], *NEW]), 1) == [4, 10]


def test_points_of_single_partitions_are_left_out(tmp_path: Path) -> None:
    assert pages(a_directory(tmp_path, 2, [*OLD, *NEW]), 2) == [10]


def test_the_command_says_that_points_of_single_partitions_are_left_out(tmp_path: Path) -> None:
    a_directory(tmp_path / "data", 2, [*OLD, *NEW])
    ended = scentline(tmp_path, "harvest", "--data", "data")
    assert [line.split("\t")[:2] for line in ended.stdout.splitlines()[1:]] == [["news", "10"]]
    assert "left out points of an earlier release: each covers only one partition" in ended.stderr


def test_what_is_no_point_is_left_out(tmp_path: Path) -> None:
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
    for part in parts:
        known.hear(b"", encode(part))
    point = known.told_in(read_point(NEW[0]))
    assert (point.time, point.matches, point.freshness, point.age) == (7.0, 5, 0.7, 60.0)
    assert (point.revisits, point.revisit_share) == (15, 0.15)
    assert known.newest("news") == 7.0


def test_a_point_tells_nothing_of_matches_where_no_page_is_visited_again() -> None:
    known = FreshnessParts()
    for value in (None, b"\xc1", encode(fresh(0, 1.0, 1, 1.0))[:-2]):
        known.hear(b"", value)
    assert known.told_in(read_point(NEW[0])) == read_point(NEW[0])
    assert known.newest("news") == 0.0


def test_a_predicate_that_lost_its_matches_has_no_freshness() -> None:
    known = FreshnessParts()
    known.hear(b"", encode(fresh(0, 1.0, 0, 0.0)))
    point = known.told_in(read_point(NEW[0]))
    assert (point.matches, point.freshness, point.age) == (0, None, None)


def test_the_command_tells_people_how_current_the_matches_are(tmp_path: Path) -> None:
    told = a_point(2, 10, matches=4, freshness=0.75, age=7_300.0, revisits=9, revisit_share=0.25)
    a_directory(tmp_path / "data", 1, [told])
    (row,) = [line.split("\t") for line in printed(tmp_path, "harvest", "--data", "data").splitlines()[1:]]
    assert row[-3:] == ["75% of 4", "2 hours", "9 (25%)"]
