"""Liu 2011, section 2: what is counted of a log, as its lines arrive and within a bound."""

import json
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.patterns.mine import Patterns, mine
from scentline_lab.patterns.counts import BehaviourCounts
from tests.agents.commands import ROOT

pages = st.sampled_from([f"http://t/{kind}/{number}" for kind in "ab" for number in range(4)])
records = st.tuples(st.sampled_from(["ann", "bob"]), pages, st.none() | pages)
logs = st.lists(records, min_size=1, max_size=60)


def counted(log: list[tuple[str, str, str | None]]) -> BehaviourCounts:
    counts = BehaviourCounts()
    for record in log:
        counts.add(*record)
    return counts


def told(patterns: Patterns) -> list[tuple[object, ...]]:
    return [tuple(pattern) for pattern in patterns.chosen]


def test_frequencies_are_numbers_of_records() -> None:
    behaviour = counted(
        [
            ("ann", "http://t/b", "http://t/a"),
            ("bob", "http://t/b", "http://t/a"),
            ("ann", "http://t/c", "http://t/b"),
            ("ann", "http://t/a", None),
        ]
    ).snapshot()
    assert behaviour.visits == {"http://t/a": 1, "http://t/b": 2, "http://t/c": 1}
    assert behaviour.referrals == {"http://t/a": 2, "http://t/b": 1}
    assert behaviour.transitions == {("http://t/a", "http://t/b"): 2, ("http://t/b", "http://t/c"): 1}


def test_a_users_second_transition_is_no_record() -> None:
    counts = counted([("ann", "http://t/b", "http://t/a")] * 3 + [("ann", "http://t/b", None)] * 2)
    assert counts.snapshot().visits == {"http://t/a": 0, "http://t/b": 2}


@given(log=logs)
def test_counts_equal_a_recount_of_the_distinct_records(log: list[tuple[str, str, str | None]]) -> None:
    behaviour = counted(log).snapshot()
    distinct = set(log)
    assert {url: n for url, n in behaviour.visits.items() if n} == Counter(url for _, url, _ in distinct)
    assert behaviour.referrals == Counter(referrer for _, _, referrer in distinct if referrer is not None)
    assert behaviour.transitions == Counter((r, url) for _, url, r in distinct if r is not None)


@given(log=logs, cut=st.integers(0, 60))
def test_patterns_rebuilt_as_accesses_arrive_are_those_of_the_whole_log(
    log: list[tuple[str, str, str | None]], cut: int
) -> None:
    counts = counted(log[: max(cut, 1)])
    earlier = mine(counts.snapshot())
    before = told(earlier)
    for record in log[max(cut, 1) :]:
        counts.add(*record)
    later = mine(counts.snapshot())
    assert sorted(map(str, told(later))) == sorted(map(str, told(mine(counted(log).snapshot()))))
    assert told(earlier) == before, "patterns that are in use have changed"


def test_of_too_many_urls_the_least_visited_are_forgotten() -> None:
    counts = BehaviourCounts(urls=100)
    for user in range(3):
        counts.add(str(user), "http://t/hub", None)
    for number in range(1000):
        counts.add("ann", f"http://t/{number}", "http://t/hub")
        assert len(counts) <= 100
    behaviour = counts.snapshot()
    assert behaviour.visits["http://t/hub"] == 3
    assert behaviour.referrals == {"http://t/hub": 1000}
    assert counts.forgotten == 1001 - len(counts)
    assert {target for _, target in behaviour.transitions} <= set(behaviour.visits)


def test_of_too_many_transitions_the_rarest_are_forgotten() -> None:
    counts = BehaviourCounts(transitions=50)
    for user in "abc":
        counts.add(user, "http://t/1", "http://t/2")
    for number in range(40):
        for other in range(40):
            counts.add("ann", f"http://t/{number}", f"http://t/{other}")
    transitions = counts.snapshot().transitions
    assert len(transitions) <= 50
    assert max(transitions.values()) >= 3


def test_records_are_remembered_within_a_bound() -> None:
    counts = BehaviourCounts(records=10)
    assert counts.add("ann", "http://t/1", None)
    assert not counts.add("ann", "http://t/1", None)
    for number in range(30):
        counts.add("bob", f"http://t/{number}", None)
    assert counts.add("ann", "http://t/1", None)


def million() -> Iterator[tuple[str, str, str | None]]:
    """Yield a record for each of a million URLs of a forum, and a visit of its front page for every tenth."""
    for number in range(1_000_000):
        kind = ("topic", "user", "post")[number % 3]
        yield f"u{number % 5000}", f"http://forum.test/{kind}/{number}?from={number % 40}", "http://forum.test/"
        if number % 10 == 0:
            yield f"v{number}", "http://forum.test/", None


def mine_a_million() -> None:
    """Mine a million URLs and print by how many MB the process grew, and the patterns that it found."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts = BehaviourCounts(urls=50_000, transitions=50_000, records=100_000)
    for record in million():
        counts.add(*record)
    patterns = mine(counts.snapshot())
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    names = [
        patterns.pattern_of(f"http://forum.test/{kind}/0?from=3").name for kind in ("topic", "user", "post")
    ]
    print(json.dumps([grown, len(counts), counts.forgotten, names]))


@pytest.mark.slow
def test_a_site_of_a_million_urls_takes_bounded_memory() -> None:
    code = "from tests.papers.test_liu_counts import mine_a_million; mine_a_million()"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    grown, known, forgotten, names = json.loads(run.stdout)
    # The million URLs alone, as strings of Python, would take about 100 MB, what is counted of them 300.
    assert grown < 120
    assert known <= 50_000
    assert known + forgotten >= 1_000_001
    assert len(set(names)) == 3
