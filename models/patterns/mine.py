"""From what users did to the patterns of a site, and to the hubs and authorities among them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scentline.models.patterns.build import Growth, build
from scentline.models.patterns.counts import Behaviour
from scentline.models.patterns.cuts import THRESHOLD, Figures, figures, transit_cut, visit_cut
from scentline.models.patterns.ranking import Pattern
from scentline.models.patterns.tree import PatternTree, TreeCut

_Vector = npt.NDArray[np.float64]
# The iteration ends when no score moved by more than this, or after so many steps.
_TOLERANCE = 1e-10
_STEPS = 1000


class Importance(NamedTuple):
    """The scores of each pattern, vectors of length 1 and shape (K,)."""

    authority: _Vector
    hub: _Vector


def importance(transitions: _Vector, visits: _Vector, referrals: _Vector) -> Importance:
    """Return authorities and hubs (Liu 2011, section 4.2, equations 9 and 10).

    ``transitions`` is F_trans, shape (K, K), ``visits`` F_in and ``referrals`` F_out of each pattern, (K,). An
    edge from j to i passes on j's hub score times F_trans(j, i) / F_out(j), and back i's authority times
    F_trans(j, i) / F_in(i); both are scaled to length 1 after each step. Where nothing leads anywhere the
    scores are those of the start, equation 9.

    Where every visit came from a page of the site, the authorities are F_in itself, and the hubs F_out: the
    graph then says no more than the counts do (as SALSA, Lempel and Moran 2001).

    >>> from numpy import array
    >>> found = importance(array([[0.0, 2.0], [1.0, 0.0]]), array([1.0, 3.0]), array([2.0, 1.0]))
    >>> found.authority.round(3).tolist(), found.hub.round(3).tolist()
    ([1.0, 0.0], [0.0, 1.0])
    """
    into = transitions / np.maximum(visits, 1)[None, :]
    out = transitions / np.maximum(referrals, 1)[:, None]
    authority, hub = _unit(visits), _unit(referrals)
    if not transitions.any():
        return Importance(authority, hub)
    for _ in range(_STEPS):
        last = authority, hub
        authority, hub = _unit(out.T @ hub), _unit(into @ authority)
        if np.abs(authority - last[0]).max() < _TOLERANCE and np.abs(hub - last[1]).max() < _TOLERANCE:
            break
    return Importance(authority, hub)


def _unit(scores: _Vector) -> _Vector:
    length = float(np.linalg.norm(scores))
    return scores / length if length else np.zeros_like(scores, dtype=np.float64)


#: A value is told apart where this part of the site's URLs has it, and at least so many.
SHARE, LEAST = 0.001, 5


@dataclass(frozen=True)
class Patterns:
    """The patterns of a site as mined at one moment; they never change."""

    tree: PatternTree
    figures: Figures
    #: The leaves of the tree and its two cuts; the patterns of the last are the site's.
    syntax: TreeCut
    visit: TreeCut
    transit: TreeCut
    #: A pattern for each node that is not below those of ``transit``.
    all: tuple[Pattern | None, ...]
    #: The part of the variance of a page's visits that is not by chance.
    trusted: float

    @property
    def cuts(self) -> dict[str, TreeCut]:
        """The three stages by name: "syntax", "visit" and "transit"."""
        return {"syntax": self.syntax, "visit": self.visit, "transit": self.transit}

    @property
    def chosen(self) -> list[Pattern]:
        """The site's patterns, in the order of the tree."""
        found = (self.all[node] for node in self.transit.patterns)
        return [pattern for pattern in found if pattern is not None]

    def pattern_of(self, url: str) -> Pattern:
        """Return the pattern of a canonical URL of the site, known or not: the deepest node that it matches."""
        node = self.tree.find(url)
        pattern = self.all[node]
        if pattern is None:
            pattern = self.all[self.transit.of[node]]
        assert pattern is not None
        return pattern

    def expected_visits(self, url: str, visits: int) -> float:
        """Return the visits that a page is worth: its own, shrunk to the mean of its pattern.

        A URL like none of the patterns has the mean of the site. This is the posterior mean of a page whose
        visits are Poisson, with a rate that differs within a pattern (`_trusted`).
        """
        pattern, site = self.pattern_of(url), self.figures
        mean = pattern.visits / max(pattern.urls, 1) if pattern.leaf else site.visits[0] / site.urls[0]
        return float(self.trusted * visits + (1 - self.trusted) * mean)


def _trusted(behaviour: Behaviour, cut: TreeCut, counted: Figures) -> float:
    """Return the part of the variance of pages' visits within patterns that chance doesn't make, by moments.

    A Poisson count varies by its mean; what the visits vary by beyond it is that of the pages' rates. Where
    these are gamma distributed, the posterior mean of a rate is this part of the count, and of the mean the
    rest.
    """
    urls, visits = (each[list(cut.patterns)] for each in (counted.urls, counted.visits))
    freedom = counted.urls[0] - len(cut.patterns)
    if not freedom:
        return 0.0
    squares = sum(count * count for count in behaviour.visits.values())
    variance = (squares - float((visits**2 / urls).sum())) / int(freedom)
    chance = float(((urls - 1) * visits / urls).sum()) / int(freedom)
    return 1 - chance / variance if variance > chance else 0.0


def mine(behaviour: Behaviour, growth: Growth | None = None, threshold: float = THRESHOLD) -> Patterns:
    """Build the tree of a site's URLs, cut it by visits and then by transits, and rank what is left (Liu 2011).

    ``growth`` is by default what the number of URLs asks for. Raises ValueError where there are no URLs.
    """
    urls = list(behaviour.visits)
    if not urls:
        raise ValueError("mine patterns: there are no URLs, expected one at least")
    syntax = build(urls, growth or Growth(max(LEAST, round(SHARE * len(urls)))))
    tree = syntax.tree
    counted = figures(behaviour, syntax)
    whole = TreeCut(tree, tree.leaves)
    visit = visit_cut(tree, counted)
    transit = transit_cut(tree, visit, counted, threshold)
    trusted = _trusted(behaviour, transit, counted)
    return Patterns(tree, counted, whole, visit, transit, _patterns(tree, transit, counted), trusted)


def _patterns(tree: PatternTree, cut: TreeCut, counted: Figures) -> tuple[Pattern | None, ...]:
    chosen = list(cut.patterns)
    scores = importance(
        counted.transitions(cut),
        counted.visits[chosen].astype(np.float64),
        counted.referrals[chosen].astype(np.float64),
    )
    of_node = dict(zip(chosen, zip(scores.authority.tolist(), scores.hub.tolist(), strict=True), strict=True))
    return tuple(
        None
        if cut.of[node.index] not in (-1, node.index)
        else Pattern(
            node.name,
            node.index in of_node,
            int(counted.urls[node.index]),
            int(counted.visits[node.index]),
            int(counted.referrals[node.index]),
            *of_node.get(node.index, (0.0, 0.0)),
        )
        for node in tree.nodes
    )
