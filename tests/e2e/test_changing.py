"""A web that changes is kept up with: each change is told once, and none that was none, kill -9 or not."""

import json
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from tests.e2e.keeping import HOLDS, Keeping
from tests.webs.changing import LAST, Running, serving

pytestmark = pytest.mark.slow


def audited(keeping: Keeping, policy: str) -> dict[str, int]:
    found: dict[str, int] = json.loads(keeping.command("audit", "--json", "--set", f"frontier.policy={policy}"))
    return found


@pytest.mark.parametrize(("policy", "partitions", "kills"), [("linkage", 3, 2), ("combined", 3, 3)])
def test_each_change_is_told_once_and_every_count_is_exact(
    tmp_path: Path, policy: str, partitions: int, kills: int
) -> None:
    keeping = Keeping(tmp_path, policy, "--set", f"streams.partitions={partitions}")
    with serving(keeping.web):
        keeping.run(Random(partitions), kills)
    assert keeping.told() == keeping.expected
    keeping.check(audited(keeping, policy))


@pytest.mark.parametrize("kills", [0, 4])
def test_what_changes_by_itself_is_told_in_an_order_that_it_can_have_had(tmp_path: Path, kills: int) -> None:
    keeping, random = Keeping(tmp_path, "learned", "--set", "streams.partitions=2"), Random(kills)
    web = keeping.web
    web.clock, keeping.at = Running(speed=0.08), LAST
    with serving(web):
        for _ in range(kills):
            keeping.kill(random.randint(20, 150))
        keeping.settle(lambda: keeping.visited() and keeping.held("snow") == {*web.matches("snow", LAST)})
        keeping.drain()
    times = [*range(LAST + 1)]
    possible = web.changes("snow", None, 0).union(
        *(web.changes("snow", None, at) for at in times),
        *(web.changes("snow", before, at) for before, at in combinations(times, 2)),
    )
    held: dict[str, str] = {}
    for told in map(web.told, keeping.changes()):
        _, kind, name = told
        assert told in possible
        assert (held.get(name, "left") in HOLDS) == (kind != "appeared")
        held[name] = kind
    keeping.check(audited(keeping, "learned"))
