"""Sessions in the browse agent: levels are told to the page's partition, and known again after a start."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.browse.agent import USER_PREFIX, BrowseAgent, UserRow
from scentline.agents.frontier.rows import DepthRow
from scentline.agents.operate.audit.report import RecountedDepths
from scentline.agents.operate.inspect.record import users
from scentline.models.url import host, identifier
from scentline.streams.facts import Access, Browsed
from scentline.streams.inbox import Shard
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, SIGHTINGS, partition_of
from tests.agents.shards import Disk, a_runtime, disk, emitted, take_in, write

SITE = "http://a.org"
WINDOW = 64


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    settings = {"data": tmp_path / "data", "frontier": {"depth": "auto"}, "streams": {"partitions": 3}}
    with a_runtime(Settings.model_validate(settings)) as opened:
        yield opened


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path) as opened:
        yield opened


@pytest.fixture
def agent(runtime: Runtime) -> BrowseAgent:
    return BrowseAgent(runtime)


def opened(agent: BrowseAgent, rows: Disk) -> Shard[UserRow]:
    """Return a partition that the agent took up, as the disk has it."""
    shard: Shard[UserRow] = rows.shard(UserRow, ACCESSES)
    agent.closed(shard)
    agent.opened(shard)
    return shard


def access(time: float, page: str, referrer: str | None = None, user: str = "u") -> Access:
    return Access(user, page, time, referrer)


def told(messages: Any) -> list[tuple[int, Browsed]]:
    return [(where, fact) for where, fact in emitted(messages, SIGHTINGS) if isinstance(fact, Browsed)]


def test_each_view_tells_its_level_to_the_partition_of_its_host(agent: BrowseAgent, rows: Disk) -> None:
    shard = opened(agent, rows)
    pages = [f"{SITE}/", f"{SITE}/b", "http://b.org/", f"{SITE}/c"]
    found = told(take_in(shard, agent, *(access(60.0 * place, page) for place, page in enumerate(pages))))
    expected = [
        (partition_of(host(page), 3), Browsed(identifier(page), level, begun, [(level, 1)]))
        for page, level, begun in zip(pages, (0, 1, 0, 2), (True, False, True, False), strict=True)
    ]
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_what_is_no_browsing_is_no_view(agent: BrowseAgent, rows: Disk) -> None:
    shard = opened(agent, rows)
    assert told(take_in(shard, agent, access(1.0, f"{SITE}/wp-login.php"))) == []
    [(_, fact)] = told(take_in(shard, agent, access(2.0, f"{SITE}/a", f"{SITE}/wp-login.php")))
    assert (fact.level, fact.begun) == (0, True)


def test_a_line_that_comes_again_is_no_view(agent: BrowseAgent, rows: Disk) -> None:
    shard = opened(agent, rows)
    assert len(told(take_in(shard, agent, access(1.0, f"{SITE}/a"), access(1.0, f"{SITE}/a")))) == 1


def test_sessions_go_on_after_a_start_and_a_log_with_referrers_is_known_for_one(
    agent: BrowseAgent, rows: Disk
) -> None:
    shard = opened(agent, rows)
    take_in(shard, agent, access(1.0, f"{SITE}/", user="other"), access(2.0, f"{SITE}/a", f"{SITE}/"))
    write(shard)
    shard = opened(agent, rows)
    found = told(take_in(shard, agent, access(60.0, f"{SITE}/b", f"{SITE}/a"), access(90.0, f"{SITE}/c")))
    assert [(fact.level, fact.begun) for _, fact in found] == [(2, False), (0, True)]
    shard = opened(agent, rows)
    [(_, fact)] = told(take_in(shard, agent, access(120.0, f"{SITE}/x", user="other")))
    assert fact.begun, "without a referrer, in a log that has some, another session begins"


def test_a_recount_of_the_accesses_has_the_same_rows_and_sites(agent: BrowseAgent, rows: Disk) -> None:
    shard = opened(agent, rows)
    accesses = [
        access(
            60.0 * place, f"{SITE}/{place % 5}", f"{SITE}/{place % 3}" if place % 4 else None, f"u{place % 3}"
        )
        for place in range(60)
    ]
    facts = told(take_in(shard, agent, *accesses))
    depths, site = RecountedDepths(1), DepthRow()
    known, _ = users(accesses, WINDOW, depths.view)
    assert known == {f"u{number}": shard.get(USER_PREFIX + f"u{number}".encode()) for number in range(3)}
    for _, fact in facts:
        site.sessions += fact.begun
        for level, change in fact.views:
            site.view(level, change)
    assert depths.sites == {"a.org": site}
    assert sum(site.views) >= 60
