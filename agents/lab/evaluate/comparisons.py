"""Policies against each other, run by run: is one ahead beyond chance, and what was reuse worth."""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, TypeAlias

from agents.lab.evaluate.crawls import NEW_ONLY, REUSE
from agents.lab.evaluate.results import Result, Results
from models.evaluate.metrics import relative
from models.evaluate.policies import LIMITS, PRINTED
from models.evaluate.significance import Comparison, Groups, macro, paired_bootstrap

LEARNED = "learned"

#: What is compared of a crawl.
Figure: TypeAlias = Callable[[Result], float]


class Versus(NamedTuple):
    """One policy against another: the mean figure of each, their ratio (None: by 0), the paired bootstrap."""

    policy: str
    other: str
    figure: float
    others: float
    ratio: float | None
    comparison: Comparison


def area(result: Result) -> float:
    """Return the area under the curve by pages."""
    return result.auc


def area_by_request(result: Result) -> float:
    """Return the area under the curve by requests."""
    return result.auc_by_request


def against_best(webs: Sequence[Results], random_seed: int, figure: Figure = area) -> list[Versus]:
    """Return each policy against the one of the largest mean; the limits are out of contest."""
    contest = [policy for policy in plain(webs) if policy not in LIMITS]
    if not contest:
        return []
    best = max(contest, key=lambda policy: macro([results.groups(policy, figure) for results in webs]))
    return [versus(webs, policy, best, random_seed, figure) for policy in contest if policy != best]


def learned_against(webs: Sequence[Results], random_seed: int, figure: Figure = area) -> list[Versus]:
    """Return the learned policy against each other one; nothing where it did not run."""
    policies = plain(webs)
    if LEARNED not in policies:
        return []
    return [versus(webs, LEARNED, policy, random_seed, figure) for policy in policies if policy != LEARNED]


def reuse(results: Results, random_seed: int) -> list[Versus]:
    """Return each policy with an earlier crawl's state against itself without, by the early harvest rate."""
    pairs = [(name + REUSE + end, name + end) for name in plain([results]) for end in ("", NEW_ONLY)]
    early = results.early - 1
    return [
        versus([results], policy, other, random_seed, lambda result: float(result.curve[early]))
        for policy, other in pairs
        if policy in results.policies
    ]


def headline(results: Results, random_seed: int) -> list[Versus]:
    """Return each single run of the collaborative policy against the best of the linkage policy's, by area.

    Aggarwal 2004, Figures 2 and 3: there one collaborative crawl is ahead of the best of five others, which
    began at other seeds. Nothing where one of the two did not run, or from one start alone.
    """
    pairs = [("collaborative" + end, "linkage" + end) for end in ("", PRINTED)]
    found = []
    for policy, other in pairs:
        one, two = (results.groups(name, area) for name in (policy, other))
        if all(len(runs) > 1 for runs in (*one, *two)):
            best = [[max(runs)] * len(runs) for runs in two]
            found.append(_versus([one], [best], policy, other, random_seed))
    return found


def versus(webs: Sequence[Results], policy: str, other: str, random_seed: int, figure: Figure = area) -> Versus:
    """Return ``policy`` against ``other`` over the runs of all webs, predicates and starts."""
    one, two = ([results.groups(name, figure) for results in webs] for name in (policy, other))
    return _versus(one, two, policy, other, random_seed)


def _versus(one: Groups, two: Groups, policy: str, other: str, random_seed: int) -> Versus:
    comparison = paired_bootstrap(one, two, Random(random_seed))
    first, second = macro(one), macro(two)
    return Versus(policy, other, first, second, relative(first, second), comparison)


def plain(webs: Sequence[Results]) -> list[str]:
    """Return the policies that started from nothing, on the whole of each web."""
    return [
        policy
        for policy in webs[0].policies
        if not policy.endswith((REUSE, NEW_ONLY)) and all(policy in results.policies for results in webs)
    ]
