"""The visit-based tree cut: the plan of least description length."""

import math
from collections.abc import Iterable

from models.patterns.figures import Figures
from models.patterns.tree import PatternTree, TreeCut


def model_length(patterns: int, visits: int) -> float:
    """Return L(cut), in nats, of a plan of so many patterns over so many visits (Liu 2011, equation 2).

    >>> round(model_length(3, 100), 4)
    4.6052
    """
    return (patterns - 1) / 2 * math.log(visits) if visits else 0.0


def data_length(urls: int, visits: int, all_visits: int) -> float:
    """Return what one pattern adds to L(U | cut), in nats (Liu 2011, equations 3 and 4).

    Each of its visits costs -log of the probability p(u | cut) = F_in(P) / (F_in(root) |P|) that the plan gives
    the URL visited. Equation 3 is printed without a logarithm, and as a sum over distinct URLs; a URL counts
    here as often as it is visited, as a likelihood has it (Li and Abe 1998). Over distinct URLs one pattern for
    all would always be the best: the logarithm is concave.

    >>> round(data_length(2, 4, 8), 4)  # each of 4 visits had the probability 1/4
    5.5452
    """
    return -visits * math.log(visits / all_visits / urls) if visits else 0.0


def description_length(patterns: Iterable[int], figures: Figures) -> float:
    """Return L(cut) + L(U | cut), in nats, of a plan given as its nodes (Liu 2011, equation 1)."""
    chosen = list(patterns)
    total = int(figures.visits[0])
    data = sum(data_length(int(figures.urls[node]), int(figures.visits[node]), total) for node in chosen)
    return model_length(len(chosen), total) + data


def visit_cut(tree: PatternTree, figures: Figures) -> TreeCut:
    """Return the plan of least description length, of equal ones the one of fewer patterns higher up.

    Both lengths are sums over the patterns, each of which costs (log F_in(root)) / 2 and its data, so that the
    best plan below a node is the node itself or the best plans below its children together: one pass upwards.
    """
    total = int(figures.visits[0])
    price = math.log(total) / 2 if total else 0.0
    below = [0.0] * len(tree.nodes)
    ends = [False] * len(tree.nodes)
    for node in reversed(tree.nodes):
        alone = price + data_length(int(figures.urls[node.index]), int(figures.visits[node.index]), total)
        # A hair of the whole is no gain: sums in another order may differ by as much.
        ends[node.index] = node.key is None or alone <= below[node.index] * (1 + 1e-12)
        least = alone if ends[node.index] else below[node.index]
        if node.parent is not None:
            below[node.parent] += least
    return TreeCut(tree, _topmost(tree, ends))


def _topmost(tree: PatternTree, ends: list[bool]) -> list[int]:
    """Return the first node of each way down from the root at which a plan ends."""
    found = []
    stack = [tree.nodes[0]]
    while stack:
        node = stack.pop()
        if ends[node.index]:
            found.append(node.index)
        else:
            stack.extend(node.below())
    return found
