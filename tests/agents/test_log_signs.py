"""What the lines of a log tell of a page's changes is a function of the lines, through repeats and crashes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.browse.agent import BrowseAgent, UserRow
from scentline.agents.observe.observer import Observer
from scentline.models.revisit.sizes import SLACK
from scentline.streams.facts import Access, Judged, Visited
from scentline.streams.inbox import Shard
from scentline.streams.settings import ObserveSettings, Settings
from scentline.streams.topics import ACCESSES, SIGHTINGS
from tests.agents.scenarios import YES, Frontiers, Scenario
from tests.agents.shards import Disk, a_runtime, disk, emitted, take_in, write

URL = "http://a.org/"
VISITED = 1_700_000_010.0
#: The user, the second in which it asked, the size of the answer. Of a user one line a second counts.
LINES = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 20), st.sampled_from([5000, 5010, 6000])),
    max_size=10,
    unique_by=lambda line: line[:2],
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Disk, BrowseAgent]]:
    data: Path = tmp_path_factory.mktemp("place")
    # A window that forgets what it had: lines that come again are then told again.
    given = {"data": data, "browse": {"window": 2}, "frontier": {"revisit": 0.5}}
    with disk(data / "rows") as rows, a_runtime(Settings.model_validate(given)) as runtime:
        yield rows, BrowseAgent(runtime)


def squid(user: str, second: int, size: int) -> bytes:
    time = VISITED - 10 + second
    return f"{time:.3f} 9 192.0.2.7 TCP_MISS/200 {size} GET {URL} {user} HIER_DIRECT/- text/html".encode()


def told(place: tuple[Disk, BrowseAgent], lines: Sequence[bytes]) -> list[Visited]:
    """Return what observe and browse make of lines."""
    rows, browse = place
    users: Shard[UserRow] = empty(rows.shard(UserRow, ACCESSES))
    observer = Observer(ObserveSettings(robots=False), b"key")
    accesses = [seen for seen in map(observer.observe, lines) if isinstance(seen, Access)]
    assert len(accesses) == len(lines)
    return [
        fact for _, fact in emitted(take_in(users, browse, *accesses), SIGHTINGS) if isinstance(fact, Visited)
    ]


def empty(shard: Shard[Any]) -> Shard[Any]:
    for key, _ in shard.store.scan(b""):
        shard.delete(key)
    write(shard)
    return shard


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


@given(LINES, st.data(), st.randoms(use_true_random=False))
def test_what_a_log_tells_of_changes_depends_on_its_lines_alone(
    frontier: Frontiers,
    place: tuple[Disk, BrowseAgent],
    lines: list[tuple[str, int, int]],
    data: st.DataObject,
    random: Random,
) -> None:
    twice = data.draw(st.permutations([*lines, *lines]))
    facts = told(place, [squid(*line) for line in twice])
    front = crashing(frontier, [Judged(URL, YES, VISITED), *facts, *facts], random)
    # The twin looks at all lines at once; of those of one second it takes the largest answer.
    answers = sorted((VISITED - 10 + second, size) for _, second, size in lines)
    before, after = ([one for one in answers if (one[0] <= VISITED) == past] for past in (True, False))
    at = before[-1] if before else after[0] if after else (0.0, 0)
    last = after[-1] if after else (0.0, 0)
    sizes = front.page(URL).sizes
    assert (((0.0, 0), (0.0, 0)) if sizes is None else (sizes.at, sizes.last)) == (at, last)
    assert front.visit(URL).signs == ({"log": 1} if after and abs(at[1] - last[1]) > SLACK else {})
    assert all(user not in repr(sizes) for user in front.page(URL).visitors)
