"""Why hubs keep a rule of their own: what keeps copies fresh makes new links wait."""

import numpy as np
import pytest

from scentline.models.news.revisits import price
from scentline.models.revisit.gain import limit, when

#: New links a second of a hundred hubs by Zipf's law, 600 an hour in all, and visits a second.
RATES = (600 / 3600 * (1 / np.arange(1, 101)) / (1 / np.arange(1, 101)).sum()).tolist()
VISITS = 0.1


def wait(intervals: list[float]) -> float:
    """Return the mean wait of a new link, in seconds."""
    return float(np.average(np.array(intervals) / 2, weights=RATES))


def kept_fresh(importance: list[float]) -> list[float]:
    """Return the intervals that keep copies of the hubs as fresh as so many visits can: one level of gain."""
    low, high = 1e-12, max(map(limit, importance, RATES))
    for _ in range(200):
        level = (low * high) ** 0.5
        intervals = [when(each, rate, level) for each, rate in zip(importance, RATES, strict=True)]
        low, high = (level, high) if sum(1 / each for each in intervals) > VISITS else (low, level)
    return intervals


def test_links_wait_half_as_long_again_where_hubs_are_kept_fresh() -> None:
    least = wait([(price(RATES, VISITS, 1.0, 1e9) / rate) ** 0.5 for rate in RATES])
    assert wait(kept_fresh(RATES)) == pytest.approx(1.5 * least, rel=0.01)


def test_hubs_that_bring_most_are_given_up_where_each_counts_alike() -> None:
    given_up = [
        rate for rate, each in zip(RATES, kept_fresh([1.0] * len(RATES)), strict=True) if each == np.inf
    ]
    assert len(given_up) == 6
    assert sum(given_up) / sum(RATES) == pytest.approx(0.47, abs=0.01)
    assert min(given_up) >= sorted(RATES)[-6]
