"""The links to candidates, as places in a table of links that is brought up to the rows of linking pages."""

from collections.abc import Iterable, Sequence

import numpy as np

from agents.frontier.keys import children_of, parent_of
from agents.frontier.rows import ChildrenRow, FrontierShard, ParentRow
from models.learner.combiner import Vector
from models.learner.lessons import IN_LINKS
from models.learner.linking import LinkingPage, LinkTable
from models.learner.words import Vocabulary
from models.verdict import Verdict

#: Linking pages whose links are kept in memory, and bytes that these take for all predicates. Where there are
#: more all are dropped, and taken from the rows again.
CACHED_PAGES, CACHED_BYTES = 5_000, 200_000_000
#: Verdicts on a page's link targets that are told at once: each is held against all links of the page.
TOLD = 200


class _Linking:
    """A linking page's links into one partition, by their targets, and how far it was brought up to its rows.

    ``told`` are the positions of the link targets whose verdicts it was told, ``revised`` how often they grew.
    """

    __slots__ = ("noted", "page", "places", "revised", "told")

    def __init__(self, page: LinkingPage, row: ParentRow) -> None:
        self.page = page
        self.places = {target: page.first + number for number, target in enumerate(row.targets)}
        self.told: set[int] = set()
        self.noted = self.revised = 0


class InLinks:
    """The links that scores of candidates are made of, for some ``predicates``, in a ``table``."""

    def __init__(self, vocabulary: Vocabulary, predicates: Iterable[str] = ()) -> None:
        self._vocabulary = vocabulary
        self._predicates = tuple(predicates)
        self._drop()

    def _drop(self) -> None:
        self.table = LinkTable(len(self._predicates))
        self._pages: dict[tuple[int, bytes], _Linking] = {}

    def of(self, shard: FrontierShard, targets: Iterable[tuple[bytes, Sequence[bytes]]]) -> list[list[int]]:
        """Return the places of the in-links that count, of each target by its identifier and linking pages."""
        if len(self._pages) >= CACHED_PAGES or self.table.bytes > CACHED_BYTES:
            self._drop()
        known: dict[bytes, dict[bytes, int]] = {}
        found = []
        for target, parents in targets:
            links = []
            for name in parents[:IN_LINKS]:
                places = known.get(name)
                if places is None:
                    places = known[name] = self._brought_up(shard, name).places
                links.append(places[target])
            found.append(links)
        return found

    def _brought_up(self, shard: FrontierShard, name: bytes) -> _Linking:
        """Return a linking page as its rows are now."""
        children = children_of(shard, name)
        linking = self._pages.get((shard.partition, name))
        if linking is None:
            linking = self._pages[shard.partition, name] = self._numbered(parent_of(shard, name))
        if linking.noted < children.noted:
            linking.noted = children.noted
            self._tell(linking, shard, name, children)
        return linking

    def _numbered(self, row: ParentRow) -> _Linking:
        anchors = row.targets.values()
        words = self._vocabulary.linking(
            row.text.split(), [(anchor.inside, anchor.around) for anchor in anchors]
        )
        page = self.table.add([anchor.position for anchor in anchors], words, self._satisfied(row.verdict))
        return _Linking(page, row)

    def _tell(self, linking: _Linking, shard: FrontierShard, name: bytes, children: ChildrenRow) -> None:
        """Tell the verdicts on a page's link targets that are new; where one grew, or the page's own, all."""
        if children.revised != linking.revised:
            linking.revised = children.revised
            linking.told.clear()
            self.table.forget_judged(linking.page)
            self.table.set_verdict(linking.page, self._satisfied(parent_of(shard, name).verdict))
        fresh = [found for found in children.judged.values() if found[1] not in linking.told]
        for begin in range(0, len(fresh), TOLD):
            some = fresh[begin : begin + TOLD]
            positions = [position for _, position in some]
            linking.told.update(positions)
            names = self._predicates
            cells = [[(name in verdict, verdict.get(name, False)) for verdict, _ in some] for name in names]
            self.table.judged(linking.page, positions, np.array(cells, float))

    def _satisfied(self, verdict: Verdict) -> Vector:
        return np.array([verdict.get(name, False) for name in self._predicates], float)
