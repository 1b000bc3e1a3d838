"""What a site's trees came to: their size, how they blur the traffic, what they cover of a mirror."""

from collections.abc import Collection
from dataclasses import dataclass

from models.patterns.counts import Behaviour
from models.patterns.measures import matching, traffic_approximation
from models.patterns.mine import Patterns

#: Which part of the log patterns were mined from.
ALL, FIRST = "all", "first period"


@dataclass(frozen=True)
class TreeFigures:
    """One row of the paper's Tables 3 and 4.

    ``approximation`` is the Jensen-Shannon divergence in bits, ``mirror`` the share of the mirror's URLs that
    match a pattern, None where there is no mirror.
    """

    mined: str
    tree: str
    patterns: int
    height: int
    approximation: float
    mirror: float | None


def tree_figures(
    mined: str, patterns: Patterns, behaviour: Behaviour, mirror: Collection[str]
) -> list[TreeFigures]:
    """Return the figures of the syntax tree and of both cuts; ``mirror`` has the URLs of a mirror, or none."""
    found = []
    for name, cut in patterns.cuts.items():
        covered = len(matching(patterns.tree, cut, mirror)) / len(mirror) if mirror else None
        approximation = traffic_approximation(behaviour.visits, patterns.tree, cut, patterns.figures)
        found.append(TreeFigures(mined, name, len(cut.patterns), cut.height, approximation, covered))
    return found
