"""Whose turn it is, and how many pages are in flight: nobody starves, and nobody catches up."""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import log
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scentline.models.frontier.turns import (
    BACKLOG,
    PRIOR_HITS,
    FairShare,
    Pace,
    ProportionalTurns,
    Prospects,
    window,
)
from tests.cases import each_case

shares = st.floats(0.01, 100)


@each_case("share", [0.0, -1.0, math.inf, math.nan])
def test_a_share_that_is_not_positive_and_finite_is_refused(share: float) -> None:
    for name, turns in (("new", FairShare({})), ("new", turns_of({})), ("old", turns_of({"old": 1.0}))):
        with pytest.raises(ValueError, match=f"share of {name} is {share}, expected a positive number"):
            turns.set_share(name, share)


def run(fair: FairShare, eligible: Collection[str], charges: int) -> Counter[str]:
    got: Counter[str] = Counter()
    for _ in range(charges):
        name = fair.next(eligible)
        assert name is not None
        fair.charge(name)
        got[name] += 1
    return got


@example([100.0] + [1.0] * 100, 300, 0, False)
@given(st.lists(shares, min_size=2, max_size=12), st.integers(1, 200), st.integers(0, 200), st.booleans())
def test_at_every_moment_each_is_within_one_fetch_of_its_share_and_nearly_so_when_others_come_and_go(
    weights: list[float], charges: int, before: int, known: bool
) -> None:
    names = {f"p{number}": weight for number, weight in enumerate(weights)}
    others = dict(list(names.items())[:-1])
    fair = FairShare(names if known else others)  # the last is late, or has no candidates at first
    run(fair, others, before)
    if not known:
        fair.set_share(*list(names.items())[-1])
    for eligible, gone in ((names, None), (dict(list(names.items())[1:]), "p0")):
        got = Counter[str]()
        if gone:
            fair.remove(gone)
            fair.remove(gone)
            assert fair.next({gone}) is None
        for done in range(1, charges + 1):
            got += run(fair, names, 1)
            for name, weight in eligible.items():
                within = 3 if gone else 2 if before else 1
                assert abs(got[name] - done * weight / sum(eligible.values())) < within + 1e-6


def test_what_a_removed_name_was_owed_goes_to_those_that_stay() -> None:
    fair = FairShare({"a": 1.0, "b": 1.0, "c": 1.0})
    assert run(fair, "abc", 1) == {"a": 1}
    fair.remove("b")
    fair.remove("c")
    fair.set_share("d", 1.0)
    assert fair.next("ad") == "a"


def test_a_charge_out_of_turn_is_paid_back_and_one_of_an_unknown_name_refused() -> None:
    fair = FairShare({"a": 1.0, "b": 1.0})
    for _ in range(10):
        fair.charge("a")
    assert run(fair, "ab", 10) == {"b": 10}
    with pytest.raises(KeyError, match="charge of x, expected one of a, b"):
        fair.charge("x")


@dataclass
class Heads:
    """The best candidates of predicates by their chances, of some as scored anew, and whose were asked for."""

    chances: Mapping[str, Prospects]
    anew: Mapping[str, Prospects] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def chance(self, name: str) -> float | None:
        return self.chances[name][name] if name in self.chances else None

    def head(self, name: str) -> Prospects:
        return self.chances[name]

    def best(self, name: str) -> Prospects:
        self.asked.append(name)
        return self.anew.get(name, self.chances[name])


def turns_of(shares: Mapping[str, float], even: float = 1e-9) -> ProportionalTurns:
    turns = ProportionalTurns(even)
    for name, share in shares.items():
        turns.set_share(name, share)
    return turns


def play(turns: ProportionalTurns, heads: Heads, rounds: int, never: str = "") -> Counter[str]:
    """Play with heads that stay; hits come by chance, of one never. Return who had how many turns."""
    random, got = Random(1), Counter[str]()
    for _ in range(rounds):
        name = turns.next(set(heads.chances), heads)
        assert name is not None
        turns.charge(name)
        come = {
            each: random.random() < chance and each != never for each, chance in heads.chances[name].items()
        }
        turns.brought(come, name)
        got[name] += 1
    return got


def alone(**chances: float) -> Heads:
    return Heads({name: {name: chance} for name, chance in chances.items()})


@each_case(("share", "science", "music", "never", "part", "by"))
def test_turns_share(share: float, science: float, music: float, never: str, part: float, by: float) -> None:
    got = play(turns_of({"science": share, "music": 1.0}), alone(science=science, music=music), 4_000, never)
    assert got["music"] / 4_000 == pytest.approx(part, abs=by)


@given(chances=st.lists(st.floats(1e-9, 1), min_size=2, max_size=5), even=st.floats(0.1, 1))
def test_nobody_gets_less_than_the_even_part_of_its_share(chances: list[float], even: float) -> None:
    heads = alone(**{f"p{number}": chance for number, chance in enumerate(chances)})
    got = play(turns_of(dict.fromkeys(heads.chances, 1.0), even), heads, 400)
    for name in heads.chances:
        assert got[name] >= int(400 * even / len(chances)) - 2


def test_parts_say_for_whom_a_candidate_is_chosen() -> None:
    turns = turns_of({"science": 3.0, "music": 1.0, "sports": 1.0})
    assert turns.parts({"science": 0.1, "music": 0.3, "sports": 0.001}) == {
        "science": pytest.approx(0.3 / 0.601),
        "music": pytest.approx(0.3 / 0.601),
    }
    assert turns_of({"science": 1.0}).parts({"science": 0.1}) == {}
    assert turns.parts({}) == {}


def test_the_first_choice_is_scored_anew_and_gives_way_to_a_better_one() -> None:
    turns = turns_of({"science": 1.0, "music": 1.0})
    both, heads = {"science", "music"}, alone(science=0.5, music=0.4)
    assert (turns.next(both, heads), heads.asked) == ("science", ["science"])
    fallen = Heads(heads.chances, {"science": {"science": 0.1}})
    assert (turns.next(both, fallen), fallen.asked) == ("music", ["science", "music"])


def test_who_joins_late_or_had_no_candidates_does_not_catch_up() -> None:
    turns = turns_of({"science": 1.0, "music": 1.0})
    play(turns, alone(science=0.5, music=0.5), 500)
    turns.set_share("sports", 1.0)
    got = play(turns, alone(science=0.5, music=0.5, sports=0.5), 300)
    assert 60 < got["sports"] < 140
    play(turns, alone(science=0.5, music=0.5), 500)
    got = play(turns, alone(science=0.5, music=0.5, sports=0.5), 90)
    assert 15 < got["sports"] < 75


FOUND = st.fixed_dictionaries({"a": st.floats(0, 1), "b": st.floats(0, 1)})
HITS, SHARES = st.integers(0, 30), st.floats(0.1, 10)


@given(st.lists(FOUND, min_size=2, max_size=2), st.tuples(HITS, HITS), st.tuples(SHARES, SHARES))
def test_a_choice_is_the_steepest_way_up_the_sum_of_the_logarithms(
    chances: list[dict[str, float]], hits: tuple[int, int], shares: tuple[float, float]
) -> None:
    turns = turns_of({"a": shares[0], "b": shares[1]})
    heads = Heads({"a": chances[0], "b": chances[1]})
    turns.next({"a", "b"}, alone(a=0.5, b=0.5))  # both compete from now on
    for name, count in zip("ab", hits, strict=True):
        for _ in range(count):
            turns.brought({name: True}, None)

    def gained(found: Prospects, step: float = 1e-6) -> float:
        had = {name: PRIOR_HITS + count for name, count in zip("ab", hits, strict=True)}
        weights = dict(zip("ab", shares, strict=True))
        return sum(weights[name] * log(1 + step * found[name] / had[name]) / step for name in "ab")

    chosen = turns.next({"a", "b"}, heads)
    assert chosen is not None
    assert gained(heads.chances[chosen]) >= max(gained(found) for found in chances) * (1 - 1e-4) - 1e-9


def test_without_candidates_nobody_has_the_turn_and_one_alone_has_every_one() -> None:
    turns = turns_of({"science": 1.0, "music": 1.0})
    assert turns.next({"science", "music"}, Heads({})) is None
    assert turns.next({"gone"}, Heads({})) is None
    assert turns.next({"music", "gone"}, Heads({})) == "music"
    turns.remove("music")
    assert turns.next({"music"}, Heads({})) is None


@given(st.integers(0, 10**9), st.integers(0, 10**6), st.floats(0, 1), st.integers(1, 1000))
def test_it_never_shrinks_nor_leaves_its_bounds(judged: int, more: int, share: float, at_most: int) -> None:
    pages = window(judged, share, at_most)
    assert 1 <= pages <= window(judged + more, share, at_most) <= at_most


@given(st.integers(1, 300), st.lists(st.tuples(st.floats(0, 5), st.floats(-1, 60)), max_size=300))
def test_a_pace_stays_within_bounds_whatever_clocks_say(most: int, verdicts: list[tuple[float, float]]) -> None:
    pace, now = Pace(most), 0.0
    for passed, lag in verdicts:
        now += passed
        pace.judged(now, lag)
        assert min(BACKLOG, most) <= pace.window <= most


@each_case(("rate", "lag", "grows"), [(40, 0.1, True), (100, 0.1, True), (100, 0.5, False), (4, 2.0, True)])
def test_a_pace_grows_while_few_pages_wait_for_their_verdicts(rate: int, lag: float, grows: bool) -> None:
    pace = Pace(64)
    for number in range(400):
        pace.judged(number / rate, lag)
    assert pace.window == (64 if grows else BACKLOG)
