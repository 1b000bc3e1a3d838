"""Policies against each other, run by run: is one ahead beyond chance, and what was reuse worth."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from agents.lab.evaluate.crawls import NEW_ONLY, REUSE
from agents.lab.evaluate.results import Result, Results
from models.evaluate.metrics import relative
from models.evaluate.policies import ORACLE
from models.evaluate.significance import Comparison, macro, paired_bootstrap

LEARNED = "learned"


class Versus(NamedTuple):
    """One policy against another: the mean figure of each, their ratio (None: by 0), the paired bootstrap."""

    policy: str
    other: str
    figure: float
    others: float
    ratio: float | None
    comparison: Comparison


def against_best(results: Results, random_seed: int) -> list[Versus]:
    """Return each policy against the one of the largest mean area, by area; the oracle is out of contest."""
    contest = [policy for policy in plain(results) if policy != ORACLE]
    if not contest:
        return []
    best = max(contest, key=lambda policy: results.figures(policy).auc)
    return [versus(results, policy, best, random_seed) for policy in contest if policy != best]


def learned_against(results: Results, random_seed: int) -> list[Versus]:
    """Return the learned policy against each other one, by area; nothing where it did not run."""
    if LEARNED not in results.policies:
        return []
    others = [policy for policy in plain(results) if policy != LEARNED]
    return [versus(results, LEARNED, policy, random_seed) for policy in others]


def reuse(results: Results, random_seed: int) -> list[Versus]:
    """Return each policy with an earlier crawl's state against itself without, by the early harvest rate."""
    pairs = [(name + REUSE + end, name + end) for name in plain(results) for end in ("", NEW_ONLY)]
    early = results.early - 1
    return [
        versus(results, policy, other, random_seed, lambda result: float(result.curve[early]))
        for policy, other in pairs
        if policy in results.policies
    ]


def versus(
    results: Results,
    policy: str,
    other: str,
    random_seed: int,
    figure: Callable[[Result], float] = lambda result: result.auc,
) -> Versus:
    """Return ``policy`` against ``other`` over the runs of all predicates and starts."""
    one, two = ([results.groups(name, figure)] for name in (policy, other))
    comparison = paired_bootstrap(one, two, Random(random_seed))
    first, second = macro(one), macro(two)
    return Versus(policy, other, first, second, relative(first, second), comparison)


def plain(results: Results) -> list[str]:
    """Return the policies that started from nothing, on the whole web."""
    return [policy for policy in results.policies if not policy.endswith((REUSE, NEW_ONLY))]
