"""A candidate's priority for each predicate, from its rows and what the learner has published."""

from collections.abc import Iterable
from typing import NamedTuple

from agents.frontier.book import FrontierShard
from agents.frontier.rows import PageRow, ParentRow, parent_key
from models.interest.linkage import Evidence
from models.interest.masks import UNSEEN, Mask, WordMasks
from models.interest.weights import Weights
from models.url import tokens
from streams.records import Interest
from streams.settings import LearnSettings

#: Bytes of linking pages' masks kept in memory for each predicate, roughly.
CACHED_BYTES = 200_000_000


class Children(NamedTuple):
    """A linking page's judged targets for one predicate: all of them, and those that satisfy it."""

    verdicts: int
    visited: frozenset[bytes]
    satisfying: frozenset[bytes]


class Known:
    """What is kept in memory of one predicate: its weights, and of linking pages what scoring needs."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self._masks = WordMasks(weights.words)
        self._parents: dict[bytes, Mask] = {}
        self._children: dict[bytes, Children] = {}

    def content_log(self, parents: Iterable[tuple[bytes, ParentRow]]) -> float:
        """Return log I_c(C) of a candidate's linking pages."""
        masks, known = self._masks, self._parents
        self.weights.bring_up()
        if len(known) * (len(masks) // 8 + 100) > CACHED_BYTES:
            known.clear()
        bits = []
        for page, parent in parents:
            mask = known[page] = masks.mask(parent.words, known.get(page, UNSEEN))
            bits.append(mask.bits)
        return masks.log(bits)

    def siblings(self, parents: Iterable[tuple[bytes, ParentRow]]) -> tuple[int, int]:
        """Return the distinct visited siblings of a candidate, and how many of them satisfy the predicate."""
        found = [self._judged(page, parent) for page, parent in parents if parent.children]
        if len(found) == 1:
            return len(found[0].visited), len(found[0].satisfying)
        visited = frozenset().union(*(children.visited for children in found))
        satisfying = frozenset().union(*(children.satisfying for children in found))
        return len(visited), len(satisfying)

    def _judged(self, page: bytes, parent: ParentRow) -> Children:
        children = self._children.get(page)
        if children is None or children.verdicts != len(parent.children):
            name = self.weights.predicate
            verdicts = {child: verdict[name] for child, verdict in parent.children.items() if name in verdict}
            satisfying = frozenset(child for child, holds in verdicts.items() if holds)
            children = Children(len(parent.children), frozenset(verdicts), satisfying)
            if len(self._children) > len(self._parents) + 1000:
                self._children.clear()
            self._children[page] = children
        return children


class Scorer:
    """Keeps each predicate's weights as `interests` brings them, and scores rows against them."""

    def __init__(self, settings: LearnSettings) -> None:
        self._settings = settings
        self._known: dict[str, Known] = {}

    def add_predicate(self, name: str, drift: float = 0.02) -> None:
        """Start keeping a predicate's weights; ``drift`` is that of `Weights`."""
        if name not in self._known:
            weights = Weights(name, self._settings.t, self._settings.significance, drift)
            self._known[name] = Known(weights)

    def weights(self, predicate: str) -> Weights:
        """Return a predicate's weights."""
        return self._known[predicate].weights

    def learn(self, interest: Interest) -> None:
        """Take in what is known of a feature."""
        for name, (pages, hits) in interest.counts.items():
            self.add_predicate(name)
            self._known[name].weights.update(interest.feature, pages, hits)

    @property
    def judged(self) -> int:
        """Judged pages that the published base rates know of."""
        return max((known.weights.base.pages for known in self._known.values()), default=0)

    def priority(self, shard: FrontierShard, row: PageRow, predicate: str) -> float:
        """Return PriorityValue (Aggarwal 2004, section 3), at least what a redirect to the URL handed on."""
        known = self._known[predicate]
        weights = known.weights
        parents = linking_pages(shard, row)
        content, of_tokens, of_links, of_siblings = self._settings.weights
        total = (
            content * known.content_log(parents)
            + of_tokens * weights.token_log(tokens(row.url))
            + of_links * weights.link_log(*row.links.get(predicate, (0, 0)))
            + of_siblings * weights.sibling_log(*known.siblings(parents))
        )
        inherited = row.inherited.get(predicate)
        return total if inherited is None else max(total, inherited)

    def evidence(self, shard: FrontierShard, row: PageRow, predicate: str) -> Evidence:
        """Return what is known of a candidate for a predicate, whole: what an explanation starts from."""
        parents = linking_pages(shard, row)
        v, s = self._known[predicate].siblings(parents)
        k, m = row.links.get(predicate, (0, 0))
        words = tuple(parent.words for _, parent in parents)
        return Evidence(words, tokens(row.url), k=k, m=m, v=v, s=s)


def linking_pages(shard: FrontierShard, row: PageRow) -> list[tuple[bytes, ParentRow]]:
    """Return the linking pages kept of a page, by identifier."""
    found = ((page, shard.get(parent_key(page))) for page in row.parents)
    return [(page, parent) for page, parent in found if isinstance(parent, ParentRow)]


def highest(priorities: Iterable[float]) -> float:
    """Return the highest of a candidate's priorities, minus infinity where it has none."""
    return max(priorities, default=float("-inf"))
