"""Liu 2011, section 2: what is counted of a log, as its lines arrive and within a bound."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from scentline.models.patterns.mine import Patterns, mine
from scentline_lab.patterns.measures import BehaviourCounts

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
