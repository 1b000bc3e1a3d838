"""Liu 2011, section 3.2.1: the visit-based cut, by hand and against every cut of small trees."""

import math
from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.patterns.build import Growth, Syntax, build
from scentline.models.patterns.counts import Behaviour
from scentline.models.patterns.cuts import (
    Figures,
    data_length,
    description_length,
    figures,
    model_length,
    visit_cut,
)
from scentline.models.patterns.tree import Node
from tests.papers.test_liu_tree import sites

visited_sites = sites.flatmap(
    lambda urls: st.lists(st.sampled_from([0, 1, 2, 3, 20, 100]), min_size=len(urls), max_size=len(urls)).map(
        lambda visits: dict(zip(urls, visits, strict=True))
    )
)
supports = st.integers(2, 4)


def tree_of(visits: dict[str, int], support: int) -> tuple[Syntax, Figures]:
    behaviour = Behaviour(visits, {}, {})
    syntax = build(list(visits), Growth(support))
    return syntax, figures(behaviour, syntax)


def cuts(node: Node) -> Iterator[list[int]]:
    """Yield every set of nodes at or below ``node`` of which each leaf is at or below exactly one."""
    yield [node.index]
    if node.key is not None:
        for parts in product(*(list(cuts(child)) for child in node.below())):
            yield [index for part in parts for index in part]


#: Eight URLs under four folders of two, with so many visits each.
FOLDERS = {"a": (8, 8), "b": (7, 9), "c": (1, 1), "d": (0, 0)}
VISITS = {
    f"http://t/{name}/{name}{n}": count for name, counts in FOLDERS.items() for n, count in enumerate(counts)
}


def test_equation_2_a_model_costs_half_a_logarithm_for_each_free_parameter() -> None:
    # (4 - 1) / 2 * log 34
    assert model_length(4, 34) == pytest.approx(1.5 * math.log(34))
    assert model_length(1, 34) == 0


def test_equations_3_and_4_a_pattern_gives_each_of_its_urls_the_same_probability() -> None:
    # 16 of 34 visits on two URLs: each has 1/2 * 16/34 = .2353; sixteen visits cost -16 log .2353.
    assert data_length(2, 16, 34) == pytest.approx(-16 * math.log(0.5 * 16 / 34))
    assert data_length(2, 0, 34) == 0


def test_equation_1_is_the_sum_of_both() -> None:
    syntax, counted = tree_of(VISITS, 2)
    data = -2 * 16 * math.log(8 / 34) - 2 * math.log(1 / 34)
    assert description_length(syntax.tree.leaves, counted) == pytest.approx(1.5 * math.log(34) + data)


def test_folders_with_different_traffic_stay_apart_and_others_become_one_pattern() -> None:
    syntax, counted = tree_of(VISITS, 2)
    plan = visit_cut(syntax.tree, counted)
    # One pattern: 34 log 8 = 70.7. Four: 1.5 log 34 + 32 log(34/8) + 2 log 34 = 5.29 + 46.30 + 7.05 = 58.6.
    assert description_length([0], counted) == pytest.approx(34 * math.log(8))
    assert plan.patterns == syntax.tree.leaves
    syntax, counted = tree_of(dict.fromkeys(VISITS, 5), 2)
    assert visit_cut(syntax.tree, counted).patterns == (0,)


def test_siblings_are_cut_while_others_stay() -> None:
    pages = [(top, sub, n) for top in ("hot", "cold") for sub in ("x", "y") for n in range(3)]
    visits = {f"http://t/{top}/{sub}/{top}{sub}{n}": 50 if top == "hot" else 1 for top, sub, n in pages}
    syntax, counted = tree_of(visits, 3)
    plan = visit_cut(syntax.tree, counted)
    assert [syntax.tree.nodes[node].name for node in plan.patterns] == [
        "http://t/cold/.../**",
        "http://t/hot/.../**",
    ]


@given(visits=visited_sites, support=supports)
def test_the_cut_is_the_best_of_all_cuts(visits: dict[str, int], support: int) -> None:
    syntax, counted = tree_of(visits, support)
    if len(syntax.tree.leaves) > 10:
        return
    lengths = {tuple(sorted(plan)): description_length(plan, counted) for plan in cuts(syntax.tree.nodes[0])}
    best = min(lengths.values())
    found = visit_cut(syntax.tree, counted)
    assert lengths[found.patterns] == pytest.approx(best)
    equal = [plan for plan, length in lengths.items() if length <= best * (1 + 1e-13)]
    assert len(found.patterns) == min(map(len, equal))


@given(visits=visited_sites, support=supports)
def test_as_equation_3_is_printed_one_pattern_for_all_would_always_be_the_best(
    visits: dict[str, int], support: int
) -> None:
    # Over distinct URLs, each once, the logarithm's concavity is against every split.
    syntax, counted = tree_of({url: count + 1 for url, count in visits.items()}, support)

    def printed(plan: tuple[int, ...]) -> float:
        total = int(counted.visits[0])
        sizes = [(int(counted.urls[node]), int(counted.visits[node])) for node in plan]
        return model_length(len(plan), total) - sum(n * math.log(visits / n / total) for n, visits in sizes)

    assert printed((0,)) <= printed(syntax.tree.leaves) + 1e-9
