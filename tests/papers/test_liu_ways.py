"""Liu 2011, section 2: the records of users' ways, each once, as they are kept of a page."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.patterns.counts import RANKS, Ways, behaviour
from scentline_lab.patterns.measures import BehaviourCounts

RECORDS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.integers(0, 4), st.none() | st.integers(0, 4)), max_size=60
)


def url(number: int) -> str:
    return f"http://t.test/{number}"


def ways_of(records: list[tuple[str, int, int | None]], most: int) -> dict[str, Ways]:
    pages: dict[str, Ways] = {}
    for user, page, referrer in records:
        pages.setdefault(url(page), Ways()).add(user, None if referrer is None else url(referrer), most)
    return pages


@given(RECORDS)
def test_within_the_bound_they_say_what_the_counts_of_the_log_say(
    records: list[tuple[str, int, int | None]],
) -> None:
    counts = BehaviourCounts()
    for user, page, referrer in records:
        counts.add(user, url(page), None if referrer is None else url(referrer))
    found = behaviour(ways_of(records, 100).items())
    assert found == counts.snapshot()


@given(RECORDS, st.integers(1, 8), st.randoms(use_true_random=False))
def test_beyond_it_what_is_kept_depends_on_the_set_of_records_alone(
    records: list[tuple[str, int, int | None]], most: int, random: Random
) -> None:
    mixed = [*records, *random.sample(records, len(records) // 2)]
    random.shuffle(mixed)
    found, again = ways_of(records, most), ways_of(mixed, most)
    assert found == again
    assert all(sum(map(len, ways.users.values())) <= most for ways in found.values())


def test_what_was_left_out_is_estimated_without_bias() -> None:
    there_were, most = 1000, 32
    estimates = []
    for trial in range(200):
        ways = Ways()
        for number in range(there_were):
            ways.add(f"{trial}-{number}", url(number % 2), most)
        assert ways.bound < RANKS
        estimates.append(ways.visits)
        assert sum(ways.sources().values()) == pytest.approx(ways.visits, abs=1)
    # The standard error of the mean of 200 such estimates is about 1000 / sqrt(32 * 200) = 12.5.
    assert sum(estimates) / len(estimates) == pytest.approx(there_were, abs=40)
