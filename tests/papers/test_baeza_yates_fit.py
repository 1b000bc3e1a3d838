"""Baeza-Yates and Castillo 2004, section 4: q fitted to sessions of known q, and the interval's coverage."""

import math
from random import Random

import numpy as np
import pytest

from scentline.models.depth.surfers import Surfer, best, fit
from scentline.models.depth.visits import Session, Visits
from tests.cases import each_case

KNOWN = [(Surfer.A, 0.2), (Surfer.A, 0.38), (Surfer.B, 0.3), (Surfer.B, 0.7), (Surfer.C, 0.3), (Surfer.C, 0.5)]


def surfed(surfer: Surfer, q: float, sessions: int, random: Random) -> Visits:
    """Return the sessions of a simulated surfer.

    One ends when the surfer goes "back" on the start page, by model B also when he goes back from anywhere: to
    leave and to begin anew is the same.
    """
    visits = Visits()
    for _ in range(sessions):
        levels, level = [0], 0
        while True:
            targets = surfer.moves(q, level)
            target = random.choices(list(targets), list(targets.values()))[0]
            if target == 0 and (level == 0 or surfer is Surfer.B):
                break
            level = target
            levels.append(level)
        visits.add(Session(tuple(levels), "/", 0), home=True)
    return visits


def counted(surfer: Surfer, q: float, sessions: int, random: np.random.Generator) -> Visits:
    """Return what `surfed` does but for the moves: all sessions at once, step by step."""
    level = np.zeros(sessions, dtype=np.int64)
    views, depths = np.ones_like(level), np.zeros_like(level)
    on_level = [np.array([sessions])]
    going_on = np.arange(sessions)
    while len(going_on):
        here = level[going_on]
        back = np.maximum(here - 1, 0) if surfer is Surfer.A else np.zeros_like(here)
        if surfer is Surfer.C:
            back = random.integers(0, here + 1)
        there = np.where(random.random(len(here)) < q, here + 1, back)
        stays = (there > 0) | ((here > 0) & (surfer is not Surfer.B))
        going_on, there = going_on[stays], there[stays]
        level[going_on] = there
        views[going_on] += 1
        depths[going_on] += there
        on_level.append(np.bincount(there))
    total = np.zeros(max(map(len, on_level)), dtype=np.int64)
    for counts in on_level:
        total[: len(counts)] += counts
    squares = int(views @ views), int(views @ depths), int(depths @ depths)
    return Visits(views=total.tolist(), sessions=sessions, squares=squares)


def log_likelihood(visits: Visits, surfer: Surfer, q: float) -> float:
    return sum(views * math.log(surfer.share(q, level)) for level, views in enumerate(visits.views))


@each_case(("surfer", "q"), KNOWN)
def test_the_fit_finds_the_q_of_simulated_sessions_and_its_interval_covers_it_nineteen_times_in_twenty(
    surfer: Surfer, q: float
) -> None:
    found = fit(counted(surfer, q, 100_000, np.random.default_rng(1)), surfer)
    assert found.q == pytest.approx(q, abs=0.01)
    assert found.error < 0.01
    random = np.random.default_rng(2)
    fits = [fit(counted(surfer, q, 1_500, random), surfer) for _ in range(200)]
    covered = sum(found.low <= q <= found.high for found in fits) / len(fits)
    # Three standard errors of a share of .95 in 200 are .046.
    assert 0.9 < covered < 0.995


def test_views_taken_for_independent_would_claim_too_much() -> None:
    # The interval must know that the views of a session hang together: with every view a session of its own,
    # of the same levels, it is narrower.
    visits = surfed(Surfer.B, 0.7, 500, Random(3))
    alone = Visits()
    for level, views in enumerate(visits.views):
        for _ in range(views):
            alone.add(Session((level,), "/", 0), home=True)
    together, apart = fit(visits, Surfer.B), fit(alone, Surfer.B)
    assert together.q == apart.q
    assert together.high - together.low > 1.3 * (apart.high - apart.low)


@each_case("surfer", Surfer)
def test_no_other_q_is_likelier(surfer: Surfer) -> None:
    visits = Visits(views=[40, 30, 0, 12, 3], sessions=30, squares=(400, 200, 300))
    found = fit(visits, surfer)
    likeliest = max((step / 10_000 for step in range(1, 5000)), key=lambda q: log_likelihood(visits, surfer, q))
    assert found.q == pytest.approx(likeliest, abs=1e-4)
    assert found.low < found.q < found.high


@each_case(("surfer", "q"), [(Surfer.A, 0.2), (Surfer.A, 0.38), (Surfer.B, 0.6), (Surfer.C, 0.5)])
def test_the_best_model_is_the_one_that_made_the_sessions(surfer: Surfer, q: float) -> None:
    found = best(surfed(surfer, q, 5_000, Random(4)))
    assert found.surfer is surfer
    assert found == fit(surfed(surfer, q, 5_000, Random(4)), surfer)


def test_the_error_worked_by_hand() -> None:
    # 6, 3 and 1 views: D = 5, q = 5 / 15 = 1/3, fitted 6/9, 8/9, 26/27 against .6, .9 and 1 observed.
    found = fit(Visits(views=[6, 3, 1], sessions=6, squares=(30, 20, 20)), Surfer.B)
    assert found.q == pytest.approx(1 / 3)
    squares = 6 * (0.6 - 6 / 9) ** 2 + 3 * (0.9 - 8 / 9) ** 2 + (1 - 26 / 27) ** 2
    assert found.error == pytest.approx(math.sqrt(squares / 10))


def test_nobody_below_the_start_page_gives_zero_and_a_bound() -> None:
    visits = Visits()
    for _ in range(100):
        visits.add(Session((0,), "/", 0), home=True)
    found = fit(visits, Surfer.B)
    assert (found.q, found.low, found.error) == (0, 0, 0)
    # 2 * 100 * -log(1 - q) = 3.841
    assert found.high == pytest.approx(1 - math.exp(-3.841 / 200))


def test_one_session_says_nothing_of_the_interval_and_none_nothing_at_all() -> None:
    visits = Visits()
    visits.add(Session((0, 1, 2), "/", 0), home=True)
    found = fit(visits, Surfer.B)
    assert found.low == 0
    assert found.high > 0.99
    with pytest.raises(ValueError, match="expected at least one session"):
        fit(Visits(), Surfer.A)
