"""Who promises more hits than come is believed less, and nobody else is."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.frontier.promises import PRIOR, Promised, Promises, believed

chances = st.floats(0.01, 0.99)
owners = st.sampled_from(["a.org", "b.org", "farm.net"])
ends = st.lists(st.tuples(owners, chances, st.booleans()), max_size=200)


def told(*ended: tuple[str, float, bool]) -> Promises:
    promises = Promises()
    for owner, expected, hit in ended:
        promises.ended(owner, expected, hit)
    return promises


@given(ends)
def test_belief_lies_between_nothing_and_all_whatever_came(ended: list[tuple[str, float, bool]]) -> None:
    promises = told(*ended)
    for owner in ("a.org", "b.org", "farm.net", "unknown.org"):
        assert 0 < promises.belief([owner]) <= 1
    assert promises.belief(["unknown.org"]) == promises.belief([]) == 1


@given(ends)
def test_the_order_in_which_fetches_end_is_of_no_account(ended: list[tuple[str, float, bool]]) -> None:
    there, back = told(*ended), told(*reversed(ended))
    for owner in ("a.org", "b.org", "farm.net"):
        assert there.belief([owner]) == pytest.approx(back.belief([owner]))


def test_one_site_alone_is_believed_however_few_hits_come() -> None:
    """All are overrated alike: that is for calibration, and no reason to prefer anyone."""
    for pages in (5, 20, 300):
        promises = told(*[("only.org", 0.9, number % 3 == 2) for number in range(pages)])
        assert promises.belief(["only.org"]) == 1


def test_a_few_misses_say_little_and_many_say_much() -> None:
    honest = [("a.org", 0.8, number % 5 > 0) for number in range(200)]
    few, many = (told(*honest, *[("farm.net", 0.9, False)] * number) for number in (1, 100))
    assert few.belief(["farm.net"]) == 1
    assert many.belief(["farm.net"]) < 2 * PRIOR / 100


def test_a_page_that_others_link_to_as_well_is_believed_by_the_best_of_them() -> None:
    promises = told(*[("a.org", 0.8, True)] * 100, *[("farm.net", 0.8, False)] * 100)
    assert promises.belief(["farm.net", "a.org"]) == 1


def test_what_was_counted_before_counts_on() -> None:
    promises = told(*[("a.org", 0.8, True)] * 80)
    promises.take_up("farm.net", Promised(100.0, 0))
    assert promises.belief(["farm.net"]) < 0.2


@given(st.floats(-1000, 1000), st.floats(0.01, 1))
def test_a_believed_logit_is_that_of_the_lowered_probability(logit: float, belief: float) -> None:
    found = believed(logit, belief)
    assert math.isfinite(found)
    assert found <= logit + 1e-9
    if abs(logit) < 30:
        assert 1 / (1 + math.exp(-found)) == pytest.approx(belief / (1 + math.exp(-logit)), rel=1e-6)
