"""Intervals hold what they are about as often as they say."""

from random import Random

from scentline.models.harvest import ratio_factor
from scentline.models.reliability import wilson


def test_intervals_of_rates_and_their_ratios_hold_the_truth_in_95_of_100_cases() -> None:
    random, held, ratios, rounds = Random(7), 0, 0, 400
    for _ in range(rounds):
        hits = sum(random.random() < 0.3 for _ in range(500))
        drawn = sum(random.random() < 0.1 for _ in range(100))
        low, high = wilson(drawn / 100, 100, 1.96)
        held += low <= 0.1 <= high
        factor = ratio_factor(hits, 500, drawn, 100, 1.96)
        ratio = (hits + 0.5) / 501 / ((drawn + 0.5) / 101)
        ratios += ratio / factor <= 3.0 <= ratio * factor
    assert 0.92 * rounds <= held <= 0.98 * rounds
    assert 0.92 * rounds <= ratios <= 0.98 * rounds
