"""Turns follow shares and yields, and nobody starves."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.frontier.turns import YieldTurns
from tests.cases import each_case


class Nothing:
    """Turns by share and yield look at nobody's candidates."""

    def chance(self, name: str) -> float:
        raise AssertionError(name)

    def head(self, name: str) -> dict[str, float]:
        raise AssertionError(name)

    def best(self, name: str) -> dict[str, float]:
        raise AssertionError(name)


def played(even: float, rates: dict[str, float], shares: dict[str, float], turns: int) -> Counter[str]:
    game = YieldTurns(even)
    for name, share in shares.items():
        game.set_share(name, share)
    random = Random(1)
    got: Counter[str] = Counter()
    for _ in range(turns):
        turn = game.next(shares, Nothing())
        assert turn is not None
        game.charge(turn)
        game.brought({turn: random.random() < rates[turn]}, turn)
        got[turn] += 1
    return got


def test_all_even_turns_follow_the_shares_alone() -> None:
    got = played(1.0, {"a": 0.9, "b": 0.0}, {"a": 1.0, "b": 3.0}, 400)
    assert got == {"a": 100, "b": 300}


def test_a_predicate_that_finds_more_gets_more_turns() -> None:
    got = played(0.2, {"science": 0.7, "music": 0.1}, {"science": 1.0, "music": 1.0}, 1000)
    assert 850 < got["science"] <= 910


def test_predicates_that_find_about_as_much_get_about_as_many_turns() -> None:
    got = played(0.1, {"science": 0.5, "sports": 0.45}, {"science": 1.0, "sports": 1.0}, 2000)
    assert 500 < got["sports"] < 1500


@given(
    rates=st.lists(st.floats(0, 1), min_size=2, max_size=5),
    even=st.floats(0.1, 1),
)
def test_nobody_gets_less_than_the_even_part_of_its_share(rates: list[float], even: float) -> None:
    names = {f"p{number}": rate for number, rate in enumerate(rates)}
    turns = 500
    got = played(even, names, dict.fromkeys(names, 1.0), turns)
    for name in names:
        assert got[name] >= int(turns * even / len(names)) - 2


def test_weights_add_up_to_one_and_unknown_predicates_are_passed_over() -> None:
    game = YieldTurns(0.3)
    for name in ("a", "b", "c"):
        game.set_share(name, 2.0)
    game.brought({"gone": True}, "gone")
    game.brought({"a": True}, "a")
    assert sum(game.weight(name) for name in ("a", "b", "c")) == pytest.approx(1.0)


def test_a_predicate_that_was_removed_has_no_turns() -> None:
    game = YieldTurns(0.5)
    for name in ("science", "music"):
        game.set_share(name, 1.0)
    game.remove("science")
    assert (game.next({"science", "music"}, Nothing()), game.weight("music")) == ("music", 1.0)


@each_case("even", [0.0, -1.0, 1.5])
def test_an_even_part_outside_its_range_is_refused(even: float) -> None:
    with pytest.raises(ValueError, match="expected more than 0"):
        YieldTurns(even)
