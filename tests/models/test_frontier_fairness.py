"""Shares of the fetch stream: nobody starves, nobody catches up."""

import math
from collections import Counter
from collections.abc import Collection

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scentline.models.frontier.turns import FairShare
from tests.cases import each_case

shares = st.floats(0.01, 100)


def run(fair: FairShare, eligible: Collection[str], charges: int) -> Counter[str]:
    got: Counter[str] = Counter()
    for _ in range(charges):
        name = fair.next(eligible)
        assert name is not None
        fair.charge(name)
        got[name] += 1
    return got


@example([100.0] + [1.0] * 100, 300)
@given(st.lists(shares, min_size=1, max_size=12), st.integers(1, 300))
def test_at_every_moment_each_is_within_one_fetch_of_its_share(weights: list[float], charges: int) -> None:
    names = {f"p{number}": weight for number, weight in enumerate(weights)}
    fair, got = FairShare(names), Counter[str]()
    for done in range(1, charges + 1):
        got += run(fair, names, 1)
        for name, weight in names.items():
            assert abs(got[name] - done * weight / sum(weights)) < 1 + 1e-6


@given(st.lists(shares, min_size=2, max_size=6), st.integers(0, 200), st.integers(1, 200))
def test_a_newcomer_gets_its_share_from_its_arrival_on(weights: list[float], before: int, after: int) -> None:
    names = {f"p{number}": weight for number, weight in enumerate(weights)}
    late = f"p{len(weights) - 1}"
    fair = FairShare({name: weight for name, weight in names.items() if name != late})
    run(fair, names, before)
    fair.set_share(late, names[late])
    got = run(fair, names, after)
    for name, weight in names.items():
        assert abs(got[name] - after * weight / sum(weights)) < 2 + 1e-6


@given(st.lists(st.frozensets(st.sampled_from("abcde"), min_size=1), min_size=1, max_size=60))
def test_whoever_stays_eligible_is_served_whatever_the_others_do(others: list[frozenset[str]]) -> None:
    fair = FairShare(dict.fromkeys("abcdez", 1.0))
    waited = 0
    for eligible in others:
        name = fair.next(eligible | {"z"})
        assert name is not None
        assert name in eligible | {"z"}
        fair.charge(name)
        waited = 0 if name == "z" else waited + 1
        assert waited <= 12


def test_who_had_no_candidates_does_not_catch_up() -> None:
    fair = FairShare({"a": 1.0, "b": 1.0})
    run(fair, {"a"}, 1000)
    assert abs(run(fair, {"a", "b"}, 100)["b"] - 50) <= 1


def test_a_removed_name_leaves_the_others_within_their_shares() -> None:
    fair = FairShare({"a": 1.0, "b": 2.0, "c": 3.0})
    run(fair, "abc", 7)
    fair.remove("c")
    fair.remove("c")
    assert fair.next({"c"}) is None
    assert abs(run(fair, "abc", 300)["b"] - 200) <= 2


def test_what_a_removed_name_was_owed_goes_to_those_that_stay() -> None:
    fair = FairShare({"a": 1.0, "b": 1.0, "c": 1.0})
    assert run(fair, "abc", 1) == {"a": 1}
    fair.remove("b")
    fair.remove("c")
    fair.set_share("d", 1.0)
    assert fair.next("ad") == "a"


def test_a_charge_out_of_turn_is_paid_back() -> None:
    fair = FairShare({"a": 1.0, "b": 1.0})
    for _ in range(10):
        fair.charge("a")
    assert run(fair, "ab", 10) == {"b": 10}


@each_case("share", [0.0, -1.0, math.inf, math.nan])
def test_a_share_that_is_not_positive_and_finite_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match=r"share of music is .*, expected a positive number"):
        FairShare({"music": share})


def test_a_charge_of_an_unknown_name_is_refused() -> None:
    with pytest.raises(KeyError, match="charge of x, expected one of a, b"):
        FairShare({"a": 1.0, "b": 1.0}).charge("x")
