"""The revisits command: the simulated web, crawls of it worked by hand, and the figures that are asked for."""

import math
from pathlib import Path

import numpy as np
import pytest

from lab_tests.files import rows
from scentline.models.revisit.rate import when
from scentline_lab.revisits import (
    DAY,
    LEARNING,
    MEASURED,
    Evenly,
    Knowing,
    Nutch,
    Page,
    StormCrawler,
    crawl,
    run,
)
from tests.agents.commands import printed


def page(rate: float, importance: float, changes: list[float]) -> Page:
    times, none = np.array(changes), np.zeros(0)
    return Page("a", ("",), rate, importance, times, none)


def test_freshness_by_hand() -> None:
    web = [page(0.1, 0.75, [1.5, 7.0]), page(0.1, 0.25, [])]
    # A visit a second, to one and the other in turns: page 0 at 1, 3, 5, 7 s. It is stale from 1.5 s to 3 s;
    # the change at 7 s is there when it is visited.
    assert crawl(web, Evenly([2.0, 2.0]), 1.0, 8, 1) == pytest.approx([1 - 0.75 * 1.5 / 8])
    assert crawl(web, Evenly([2.0, 2.0]), 1.0, 8, 4) == pytest.approx([1 - 0.75 / 4, 1 - 0.75 / 2, 1, 1])


def test_the_adaptive_intervals_are_those_of_the_programs() -> None:
    nutch, storm = Nutch([100.0]), StormCrawler([10_000.0])
    # 140 s, but no less than the 200 s in which nothing changed; and 0.2 of these earlier.
    assert nutch.again(0, 0.0, 200.0, False) == pytest.approx(200 - 40 + 200)
    assert nutch.again(0, 0.0, 400.0, True) == pytest.approx(400 + 200 * 0.8)
    assert storm.again(0, 0.0, 0.0, False) == 15_000.0
    assert storm.again(0, 0.0, 0.0, True) == 0.5 * 15_000 + 0.5 * 3600
    for _ in range(50):
        storm.again(0, 0.0, 0.0, False)
    assert storm.again(0, 0.0, 0.0, False) == 14 * DAY


def test_the_optimum_is_the_one_that_is_worked_out() -> None:
    # Of pages that change at random, visits cost one price: each interval is where the gain reaches it.
    rng = np.random.default_rng(3)
    rates, importance = rng.lognormal(-1, 1, 200), rng.dirichlet([1.0] * 200)
    visits, seconds = 20.0, 600.0
    web = [
        page(rate, share, np.sort(rng.uniform(0, seconds, rng.poisson(rate * seconds))).tolist())
        for rate, share in zip(rates.tolist(), importance.tolist(), strict=True)
    ]
    low, high = 1e-9, 1.0
    for _ in range(60):
        price = math.sqrt(low * high)
        intervals = [when(each.importance, each.rate, price) for each in web]
        low, high = (price, high) if sum(1 / each for each in intervals) > visits else (low, price)
    expected = sum(
        each.importance * -math.expm1(-each.rate * interval) / (each.rate * interval)
        for each, interval in zip(web, intervals, strict=True)
        if interval < math.inf
    )
    found = crawl(web, Knowing(web, 0.0), visits, int(visits * seconds), 10)
    assert found[2:].mean() == pytest.approx(expected, rel=0.01)


def test_once_it_has_learned_it_is_near_the_optimum_above_other_intervals_and_signals_are_of_use() -> None:
    found = {each.policy: each.freshness for each in run(150, 1, 1)}
    learned, signals = found["learned"], found["learned with signals"]
    assert learned > 0.97 * found["optimum"]
    assert signals > 0.97 * found["optimum with signals"]
    assert learned > 1.1 * max(found[name] for name in ("Nutch", "StormCrawler", "uniform"))
    assert signals > 1.03 * learned


def test_tables_are_the_same_whatever_the_number_of_processes(tmp_path: Path) -> None:
    for jobs in ("1", "2"):
        printed(tmp_path, "revisits", "--pages", "20", "--seeds", "2", "--out", jobs, "--jobs", jobs)
    for name in ("freshness.csv", "curves.csv", "freshness.png"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    curves = rows(tmp_path / "1" / "curves.csv")
    assert len(curves) == LEARNING + MEASURED
    assert all(0 <= float(row["uniform"]) <= 1 for row in curves)
