"""The browse agent: each access becomes one sighting, however late or often its line comes."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.browse.agent import USER_PREFIX, BrowseAgent, UserRow
from scentline.models.crowd.trace import Visit
from scentline.models.url import identifier
from scentline.streams.facts import Access, Beside, Together, Visited
from scentline.streams.inbox import Shard
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, SIGHTINGS, partition_of
from tests.agents.shards import Disk, a_runtime, disk, emitted, take_in, write


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    with disk(tmp_path_factory.mktemp("users")) as opened:
        yield opened


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowseAgent]:
    data = tmp_path_factory.mktemp("data")
    settings = Settings.model_validate({"data": data, "browse": {"window": 3}, "streams": {"partitions": 3}})
    with a_runtime(settings) as runtime:
        yield BrowseAgent(runtime)


@pytest.fixture
def shard(rows: Disk) -> Shard[UserRow]:
    return empty(rows)


def empty(rows: Disk) -> Shard[UserRow]:
    shard: Shard[UserRow] = rows.shard(UserRow, ACCESSES)
    for key, _ in shard.store.scan(b""):
        shard.delete(key)
    write(shard)
    return shard


def access(time: float, page: int = 0, user: str = "u") -> Access:
    return Access(user, f"http://h{page}.org/{page}", time)


def row(shard: Shard[UserRow], user: str = "u") -> UserRow:
    found = shard.get(USER_PREFIX + user.encode())
    assert found is not None
    return found


def test_an_access_is_told_to_the_partition_of_its_host(shard: Shard[UserRow], agent: BrowseAgent) -> None:
    messages = take_in(shard, agent, *(access(float(page), page) for page in range(6)))
    told = [entry for entry in emitted(messages, SIGHTINGS) if isinstance(entry[1], Visited)]
    expected = [Visited(f"http://h{page}.org/{page}", "u", float(page)) for page in range(6)]
    assert sorted((fact for _, fact in told), key=lambda fact: fact.time) == expected
    assert all(partition == partition_of(f"h{fact.time:.0f}.org", 3) for partition, fact in told)


@pytest.mark.parametrize(("revisit", "size"), [(0.0, 0), (0.5, 5000)])
def test_the_size_of_an_answer_is_told_where_pages_are_visited_again(
    rows: Disk, tmp_path: Path, revisit: float, size: int
) -> None:
    settings = Settings.model_validate({"data": tmp_path, "frontier": {"revisit": revisit}})
    line = msgspec.structs.replace(access(1.0), size=5000)
    with a_runtime(settings) as runtime:
        messages = take_in(empty(rows), BrowseAgent(runtime), line, line)
    (told,) = [fact for _, fact in emitted(messages, SIGHTINGS)]
    assert told == Visited(line.url, "u", 1.0, None, size)


def test_a_late_line_takes_its_place_in_the_users_window(shard: Shard[UserRow], agent: BrowseAgent) -> None:
    messages = take_in(shard, agent, access(3.0), access(1.0), access(2.0))
    assert len(emitted(messages, SIGHTINGS)) == 3
    assert [visit.time for visit in row(shard).window] == [1.0, 2.0, 3.0]


def test_the_window_is_bounded_and_all_accesses_are_counted(shard: Shard[UserRow], agent: BrowseAgent) -> None:
    take_in(shard, agent, *(access(float(time)) for time in range(10)))
    assert row(shard).accesses == 10
    assert row(shard).window == [Visit(float(time), "http://h0.org/0") for time in (7, 8, 9)]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=12))
def test_the_lines_of_a_short_time_count_once_in_any_order_and_across_restarts(
    rows: Disk, agent: BrowseAgent, lines: list[tuple[int, int]]
) -> None:
    # Three instants and one page for each user: the window holds all that is distinct.
    empty(rows)
    told: list[tuple[float, str]] = []
    for time, user in lines:
        shard: Shard[UserRow] = rows.shard(UserRow, ACCESSES)
        messages = take_in(shard, agent, access(float(time), user=f"u{user}"))
        told += [(fact.time, fact.user) for _, fact in emitted(messages, SIGHTINGS)]
        write(shard)
    assert sorted(told) == sorted({(float(time), f"u{user}") for time, user in lines})


def test_pages_of_one_user_are_told_what_lies_beside_them(shard: Shard[UserRow], agent: BrowseAgent) -> None:
    told = emitted(take_in(shard, agent, access(1.0, 1), access(2.0, 2)), SIGHTINGS)
    together = {fact.url: (partition, fact.pages) for partition, fact in told if isinstance(fact, Together)}
    one, two = ("http://h1.org/1", partition_of("h1.org", 3)), ("http://h2.org/2", partition_of("h2.org", 3))
    assert together == {
        one[0]: (one[1], (Beside(identifier(two[0]), two[1], 1, 6),)),
        two[0]: (two[1], (Beside(identifier(one[0]), one[1], 1, 6),)),
    }


def test_a_referrer_is_a_covisit_wherever_the_user_was(shard: Shard[UserRow], agent: BrowseAgent) -> None:
    came = msgspec.structs.replace(access(1.0, 1), referrer="http://h2.org/2")
    told = [fact for _, fact in emitted(take_in(shard, agent, came), SIGHTINGS) if isinstance(fact, Together)]
    assert {fact.url: [(beside.times, beside.sixths) for beside in fact.pages] for fact in told} == {
        "http://h1.org/1": [(0, 6)],
        "http://h2.org/2": [(0, 6)],
    }
