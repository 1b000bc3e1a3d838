"""The pattern tree of a site, and the deepest node that a URL matches."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from models.patterns.decompose import decompose


@dataclass(slots=True, eq=False)
class Node:
    """A pattern: what the URLs of a group have in common.

    A leaf has no ``key``. Below any other node a URL goes on by its value of ``key``: to one of ``children``,
    by value (None: the URL has no such key), or else to ``rest``, where there is one. ``fixed`` are keys and
    values that all URLs here share: another URL goes no further than the parent. ``depth`` of the root is 1.
    """

    index: int
    parent: int | None
    depth: int
    name: str = ""
    key: str | None = None
    children: dict[str | None, "Node"] = field(default_factory=dict)
    rest: "Node | None" = None
    fixed: tuple[tuple[str, str | None], ...] = ()

    def below(self) -> list["Node"]:
        """Return the children, the rest last."""
        return [*self.children.values(), *([self.rest] if self.rest is not None else [])]


class PatternTree:
    """A tree of patterns; nodes are known by their index, parents before their children, the root is 0."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = tuple(nodes)
        self.parents = [node.parent for node in nodes]
        self.depths = np.array([node.depth for node in nodes])
        self.leaves = tuple(node.index for node in nodes if node.key is None)

    def find(self, url: str) -> int:
        """Return the deepest node that a canonical URL matches; the root matches every URL."""
        parts = decompose(url)
        value_of = parts.get
        node = found = self.nodes[0]
        while True:
            for key, value in node.fixed:
                if value_of(key) != value:
                    return found.index
            found = node
            if node.key is None:
                return node.index
            below = node.children.get(value_of(node.key), node.rest)
            if below is None:
                return node.index
            node = below

    def sums(self, at_leaves: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the sum at and below each node of what is given for the leaves, shape (nodes,)."""
        sums = at_leaves.copy()
        for index in range(len(self.nodes) - 1, 0, -1):
            parent = self.parents[index]
            assert parent is not None
            sums[parent] += sums[index]
        return sums


class TreeCut:
    """A set of nodes of which each leaf of the tree is at or below exactly one: the patterns of a plan.

    ``of`` has for each node the pattern that it is at or below, or -1 for a node above the patterns.
    """

    def __init__(self, tree: PatternTree, patterns: Iterable[int]) -> None:
        self.patterns = tuple(sorted(patterns))
        chosen = frozenset(self.patterns)
        of = np.full(len(tree.nodes), -1)
        for index, parent in enumerate(tree.parents):
            above = -1 if parent is None else of[parent]
            of[index] = index if index in chosen else above
        self.of = of
        self.height = int(tree.depths[list(self.patterns)].max())
