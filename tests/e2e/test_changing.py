"""A web that changes is kept up with: each change is told once, and none that was none, kill -9 or not."""

import json
from itertools import combinations
from pathlib import Path
from random import Random

import pytest

from tests.e2e.keeping import HOLDS, Keeping
from tests.webs.changing import LAST, Running, changing

pytestmark = pytest.mark.slow


def audited(keeping: Keeping, policy: str) -> dict[str, int]:
    found: dict[str, int] = json.loads(keeping.command("audit", "--json", "--set", f"frontier.policy={policy}"))
    return found


def test_each_change_is_told_once_and_every_count_is_exact(tmp_path: Path) -> None:
    keeping = Keeping(tmp_path, "combined", "--set", "streams.partitions=3")
    with changing(keeping.web):
        keeping.run(Random(3))
    assert keeping.told() == keeping.expected
    keeping.check(audited(keeping, "combined"))
    asked = [asked.status for asked in keeping.web.asked if asked.name == "0/still"]
    assert asked.count(304) > 2 * asked.count(200), "what is known is asked for another version only"
    said = keeping.command("explain", keeping.web.url("0/still"), "--set", "frontier.policy=combined")
    assert [line for line in said.splitlines() if line.startswith("visited again ") and " due " in line]
    matches, feed = keeping.shown("snow")
    assert matches == {*keeping.web.matches("snow", LAST)}
    changes = {(kind, name) for word, kind, name in keeping.expected if word == "snow"}
    assert feed ^ changes == {("moved", "0/here"), ("moved", "1/moved")}, "what moved is linked to where it is"


def test_what_changes_by_itself_is_told_in_an_order_that_it_can_have_had(tmp_path: Path) -> None:
    keeping, random = Keeping(tmp_path, "learned", "--set", "streams.partitions=2"), Random(4)
    web = keeping.web
    web.clock, keeping.at = Running(speed=0.08), LAST
    with changing(web):
        for _ in range(2):
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
