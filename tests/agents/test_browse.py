"""The browse agent: each access becomes one sighting, however late or often its line comes.

Sessions go on after a start, and what the lines of a log tell of a page's changes is a function of the lines.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scentline.agents.browse import USER_PREFIX, BrowseAgent, UserRow
from scentline.agents.observe.observer import Observer
from scentline.agents.operate.audit import RecountedDepths
from scentline.agents.operate.record import users
from scentline.models.facts import Access, Viewed, Visited
from scentline.models.frontier.rows import Depth
from scentline.models.papers.news import DAY, day_of
from scentline.models.records import partition_of
from scentline.models.revisit.content import SLACK
from scentline.models.url import host
from scentline.streams.inbox import Shard
from scentline.streams.settings import ObserveSettings, Settings
from scentline.streams.topics import ACCESSES, SIGHTINGS
from tests.agents.log_lines import squid
from tests.agents.scenarios import YES, Frontiers, Scenario, ended
from tests.agents.shards import Disk, a_runtime, emitted, take_in, write

Users = Shard[UserRow]


def an_agent(tmp_path_factory: pytest.TempPathFactory, **given: Any) -> Iterator[BrowseAgent]:
    settings = {"data": tmp_path_factory.mktemp("data"), "streams": {"partitions": 3}} | given
    with a_runtime(Settings.model_validate(settings)) as runtime:
        yield BrowseAgent(runtime)


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowseAgent]:
    yield from an_agent(tmp_path_factory, browse={"window": 3})


@pytest.fixture(scope="module")
def following(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowseAgent]:
    yield from an_agent(tmp_path_factory, frontier={"depth": "auto"})


@pytest.fixture(scope="module")
def revisiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowseAgent]:
    """Give an agent whose window forgets what it had: lines that come again are then told again."""
    yield from an_agent(tmp_path_factory, browse={"window": 2}, frontier={"revisit": 0.5})


@pytest.fixture(scope="module")
def instant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowseAgent]:
    yield from an_agent(tmp_path_factory, frontier={"mode": "instant"}, browse={"window": 200})


def empty(rows: Disk) -> Users:
    rows.clear()
    return rows.shard(UserRow, ACCESSES)


@pytest.fixture
def shard(rows: Disk) -> Users:
    return empty(rows)


def access(time: float, user: str = "u") -> Access:
    return Access(user, "http://a.org/", time)


def told(shard: Users, agent: BrowseAgent, *accesses: Access) -> list[tuple[int, Visited]]:
    found = emitted(take_in(shard, agent, *accesses), SIGHTINGS)
    return [(partition, fact) for partition, fact in found if isinstance(fact, Visited)]


def views(shard: Users, agent: BrowseAgent, *accesses: Access) -> list[Viewed]:
    return [fact.view for _, fact in told(shard, agent, *accesses) if fact.view is not None]


# accesses: `test_frontier_evidence` has what partitions are told of them


def test_sizes_are_told_if_pages_are_revisited(rows: Disk, agent: BrowseAgent, revisiting: BrowseAgent) -> None:
    line = replace(access(1.0), size=5000)
    for teller, size in ((agent, 0), (revisiting, 5000)):
        ((_, fact),) = told(empty(rows), teller, line, line)
        assert fact == Visited(line.url, "u", 1.0, None, size)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=12))
def test_lines_count_once_in_any_order(
    one_disk: Disk, agent: BrowseAgent, lines: list[tuple[int, int]]
) -> None:
    # Three instants and one page for each user: the window holds all that is distinct.
    empty(one_disk)
    found: list[tuple[float, str]] = []
    for time, user in lines:
        shard: Users = one_disk.shard(UserRow, ACCESSES)
        facts = told(shard, agent, access(float(time), user=f"u{user}"))
        found += [(fact.time, fact.user) for _, fact in facts]
        write(shard)
    assert sorted(found) == sorted({(float(time), f"u{user}") for time, user in lines})


@given(st.lists(st.tuples(st.sampled_from("uv"), st.integers(0, 2), st.integers(0, 3 * DAY)), max_size=30))
def test_a_click_counts_daily(one_disk: Disk, instant: BrowseAgent, lines: list[tuple[str, int, int]]) -> None:
    accesses = [Access(user, f"http://a.org/{page}", float(time)) for user, page, time in lines]
    visits = [fact for _, fact in told(empty(one_disk), instant, *accesses, *accesses) if fact.first]
    found = [(fact.url, day_of(fact.time)) for fact in visits]
    expected = {(access.user, access.url, day_of(access.time)) for access in accesses}
    assert sorted(found) == sorted((url, day) for _, url, day in expected)


# sessions

SITE = "http://a.org"


def opened(agent: BrowseAgent, rows: Disk) -> Users:
    """Return a partition that the agent took up, as the disk has it."""
    shard: Users = rows.shard(UserRow, ACCESSES)
    agent.closed(shard)
    agent.opened(shard)
    return shard


def view(time: float, page: str, referrer: str | None = None, user: str = "u") -> Access:
    return Access(user, SITE + page, time, None if referrer is None else SITE + referrer)


def test_each_view_tells_its_level_to_the_partition_of_its_host(shard: Users, following: BrowseAgent) -> None:
    pages = [f"{SITE}/", f"{SITE}/b", "http://b.org/", f"{SITE}/c"]
    lines = [Access("u", page, 60.0 * place) for place, page in enumerate(pages)]
    # A line that comes again is no view.
    found = [(place, fact.url, fact.view) for place, fact in told(shard, following, *lines, *lines)]
    expected = [
        (partition_of(host(page), 3), page, Viewed(level, begun, [(level, 1)]))
        for page, level, begun in zip(pages, (0, 1, 0, 2), (True, False, True, False), strict=True)
    ]
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_what_is_no_browsing_is_no_view(shard: Users, following: BrowseAgent) -> None:
    assert views(shard, following, view(1.0, "/wp-login.php")) == []
    (fact,) = views(shard, following, view(2.0, "/a", "/wp-login.php"))
    assert (fact.level, fact.begun) == (0, True)


def test_sessions_go_on_after_a_start_and_referrers_are_known(rows: Disk, following: BrowseAgent) -> None:
    empty(rows)
    shard = opened(following, rows)
    take_in(shard, following, view(1.0, "/", user="other"), view(2.0, "/a", "/"))
    write(shard)
    found = views(opened(following, rows), following, view(60.0, "/b", "/a"), view(90.0, "/c"))
    assert [(fact.level, fact.begun) for fact in found] == [(2, False), (0, True)]
    (fact,) = views(opened(following, rows), following, view(120.0, "/x", user="other"))
    assert fact.begun, "without a referrer, in a log that has some, another session begins"


def test_a_recount_of_the_accesses_has_the_same_rows_and_sites(shard: Users, following: BrowseAgent) -> None:
    accesses = [
        view(60.0 * n, f"/{n % 5}", f"/{n % 3}" if n % 4 else None, user=f"u{n % 3}") for n in range(60)
    ]
    facts = views(shard, following, *accesses)
    depths, site = RecountedDepths(1), Depth()
    known, _ = users(accesses, 64, depths.view)
    assert known == {f"u{number}": shard.get(USER_PREFIX + f"u{number}".encode()) for number in range(3)}
    for fact in facts:
        site.sessions += fact.begun
        for level, change in fact.views:
            site.view(level, change)
    assert depths.sites == {"a.org": site}
    assert sum(site.views) >= 60


# sizes in a log

URL = "http://a.org/"
VISITED = 1_700_000_010.0
#: The user, the second in which it asked, the size of the answer. Of a user one line a second counts.
Line = tuple[str, int, int]
LINES = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 20), st.sampled_from([5000, 5010, 6000])),
    max_size=10,
    unique_by=lambda line: line[:2],
)


def crashing(frontier: Frontiers, facts: Sequence[object], random: Random) -> Scenario:
    """Have a frontier absorb facts, one a message, whose open groups are lost now and then."""
    front, crashes = frontier(frontier={"revisit": 0.5}), 0
    begun = front.shards[0].mark.offset
    while (done := front.shards[0].mark.offset - begun) < len(facts):
        front.absorb(facts[done])
        match random.randrange(4):
            case 0:
                front.commit()
            case 1 if crashes < 4:  # starting takes long
                front, crashes = front.restart(), crashes + 1
    return front


@given(LINES, st.randoms(use_true_random=False))
def test_what_a_log_tells_of_changes_depends_on_its_lines_alone(
    frontier: Frontiers, one_disk: Disk, revisiting: BrowseAgent, lines: list[Line], random: Random
) -> None:
    observer = Observer(ObserveSettings(robots=False), b"key")
    accesses = [
        observer.observe(squid(URL, VISITED - 10 + second, user=user, size=size))
        for user, second, size in random.sample([*lines, *lines], 2 * len(lines))
    ]
    facts = [fact for _, fact in told(empty(one_disk), revisiting, *accesses)]  # type: ignore[arg-type]
    front = crashing(frontier, [ended(URL, YES, VISITED), *facts, *facts], random)
    # The twin looks at all lines at once; of those of one second it takes the largest answer.
    answers = sorted((VISITED - 10 + second, size) for _, second, size in lines)
    before, after = ([one for one in answers if (one[0] <= VISITED) == past] for past in (True, False))
    at = before[-1] if before else after[0] if after else (0.0, 0)
    last = after[-1] if after else (0.0, 0)
    sizes = front.page(URL).sizes
    assert (((0.0, 0), (0.0, 0)) if sizes is None else (sizes.at, sizes.last)) == (at, last)
    assert front.visit(URL).signs == ({"log": 1} if after and abs(at[1] - last[1]) > SLACK else {})
    assert all(user not in repr(sizes) for user in front.page(URL).visitors)
