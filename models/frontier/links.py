"""The rows of linking pages: the evidence that links give about their targets, by the verdicts at both ends.

Counts are functions of the set of judged pages: when a page is judged after one of its link targets, the
target's evidence is corrected.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from scentline.models.facts import SIGHTINGS, Linked, Neighbour
from scentline.models.frontier.depth import Depths
from scentline.models.frontier.keys import (
    CHILDREN_PREFIX,
    PAGE_PREFIX,
    PARENT_PREFIX,
    Rows,
    children_of,
    parent_of,
    parents_of,
    targets_of,
)
from scentline.models.frontier.ledger import EvidenceEmitter
from scentline.models.frontier.linking import ParentRow, links_to, place_in
from scentline.models.frontier.pages import Pages
from scentline.models.frontier.rows import PageRow
from scentline.models.lessons import NOTHING, Lessons, LinkFrom
from scentline.models.page import Link, Verdict, unknown
from scentline.models.policy.batch import NEAR, NEAR_AT_MOST
from scentline.models.policy.candidate import said_in
from scentline.models.policy.factors import joined, link_features
from scentline.models.policy.features import link
from scentline.models.url import IDENTIFIER_BYTES, host, identifier, identifiers, prefixes_of


class Links:
    """Keeps linking pages, at most ``bound`` for each target; ``depths`` absorbs their links.

    ``wordy`` keeps the words of pages and links: candidates are scored by them.
    """

    def __init__(
        self,
        pages: Pages,
        evidence: EvidenceEmitter,
        lessons: Lessons,
        bound: int,
        depths: Depths | None,
        *,
        wordy: bool,
    ) -> None:
        self._pages = pages
        self._evidence = evidence
        self._lessons = lessons
        self._counts = lessons.counts_links
        self._bound = bound
        self._depths = depths
        self._wordy = wordy
        #: By partition, the linking pages whose verdict, words, links, or targets' verdicts changed.
        self.noted: defaultdict[int, set[bytes]] = defaultdict(set)

    # links of a judged page

    def linked(self, shard: Rows, sighting: Linked) -> None:
        """Absorb a judged page and its links to this partition, once; of one judged again, what changed."""
        parent = parent_of(shard, sighting.page)
        if parent.linked:
            if sighting.visit == "again":
                self._linked_again(shard, sighting, parent)
            return
        parent.linked = True
        parent.url = sighting.url
        parent.verdict = sighting.verdict
        if self._wordy:
            parent.text = _joined(sighting.words)
        parent.partitions = sighting.partitions
        parent.time = sighting.time
        shard.put(PARENT_PREFIX + sighting.page, parent)
        rows = self._in_links(shard, sighting, parent, sighting.links)
        if self._depths is not None:
            self._depths.linked(shard, sighting, rows)

    def _linked_again(self, shard: Rows, sighting: Linked, parent: ParentRow) -> None:
        """Apply what a revisit of a linking page changed: its verdict, its words, and added links.

        A known link stays, even if the page no longer has it.
        """
        if sighting.time > parent.time:
            parent.time = sighting.time
            self._revise(shard, sighting, parent)
        self._tell_of_targets(shard, sighting, parent)
        shard.put(PARENT_PREFIX + sighting.page, parent)
        new = [found for found in sighting.links if place_in(parent.targets, identifier(found.url)) is None]
        self._in_links(shard, sighting, parent, new)
        self._note_revised(shard, sighting.page)

    def _revise(self, shard: Rows, sighting: Linked, parent: ParentRow) -> None:
        old, parent.verdict = parent.verdict, sighting.verdict
        text = _joined(sighting.words) if self._wordy else ""
        if text != parent.text:
            self._reword(shard, sighting.page, parent, text)
        if old != parent.verdict:
            for key, row in targets_of(shard, parent).items():
                _count_link(row, old, -1)
                self._count_verdict(shard, key, row, parent.verdict)
                answer = self._teaching(row)
                if answer is not None:
                    self._evidence.count(link_features(old), answer, -1)

    def _count_verdict(self, shard: Rows, key: bytes, row: PageRow, verdict: Verdict) -> None:
        """Count a link by the verdict on its page, or by the new part of it."""
        _count_link(row, verdict)
        self._pages.keep(shard, {key: row})
        answer = self._teaching(row)
        if answer is not None:
            self._evidence.count(link_features(verdict), answer)

    def _reword(self, shard: Rows, name: bytes, parent: ParentRow, text: str) -> None:
        """Change the words of a linking page; where they count, recount its judged targets."""
        kept = []
        if self._lessons.links:
            found = targets_of(shard, parent).values()
            kept = [(row, self.features(shard, row)) for row in found if name in row.parents]
        parent.text = text
        shard.put(PARENT_PREFIX + name, parent)
        for row, before in kept:
            answer = self._teaching(row)
            if answer is not None:
                after = self.features(shard, row)
                self._evidence.change(answer, after - before, before - after)

    def _tell_of_targets(self, shard: Rows, sighting: Linked, parent: ParentRow) -> None:
        """Emit the page's judged targets here to the partitions that it newly links to."""
        added = [partition for partition in sighting.partitions if partition not in parent.partitions]
        if not added:
            return
        parent.partitions = tuple(sorted({*parent.partitions, *added}))
        for key, row in targets_of(shard, parent).items():
            answer, page = self._answered(row), key[len(PAGE_PREFIX) :]
            if answer is not None:
                position = parent.positions[parent.place(page)]
                near = Neighbour(page, answer, parent=sighting.page, position=position)
                for partition in added:
                    if partition != shard.partition:
                        shard.emit(SIGHTINGS, partition, near)

    def _teaching(self, row: PageRow) -> Verdict | None:
        """Return the answer for a link target, None where it teaches nothing about links to it."""
        return None if row.silent else self._answered(row)

    def _answered(self, row: PageRow) -> Verdict | None:
        """Return the answer for a link target, None without one, or where links do not count."""
        if (row.verdict is None and not row.failed) or not self._counts:
            return None
        return self._lessons.answer(row.verdict, failed=row.failed)

    def _note_revised(self, shard: Rows, name: bytes) -> None:
        """Note that a linking page's verdict, words or links changed."""
        children = children_of(shard, name)
        children.revised += 1
        shard.put(CHILDREN_PREFIX + name, children)
        self.noted[shard.partition].add(name)

    def _in_links(
        self, shard: Rows, sighting: Linked, parent: ParentRow, found: Sequence[Link]
    ) -> Iterable[PageRow]:
        """Note links; return the rows of their targets, which the page itself is not among."""
        own = prefixes_of(host(sighting.url))
        links = dict(zip(identifiers([each.url for each in found]), found, strict=True))
        links.pop(sighting.page, None)
        said = said_in(links.values()) if self._wordy else [""] * len(links)
        parent.add(links, [each.position for each in links.values()], said)
        urls = {PAGE_PREFIX + page: each.url for page, each in links.items()}
        rows = self._pages.find_all(shard, urls, sighting.depth + 1)
        kept = joined([row.parents for row in rows.values()], sighting.page, links, self._bound)
        for page, row, parents in zip(links, rows.values(), kept, strict=True):
            _count_link(row, parent.verdict)
            row.native = row.native or row.url.startswith(own)
            before, row.parents = row.parents, parents
            answer = self._answered(row)
            if answer is not None:
                if not row.silent:
                    self._evidence.count(link_features(parent.verdict), answer)
                self._correct(shard, before, row, page, answer)
                self._register(shard, sighting.page, parent, page, answer, links[page].position)
        self._pages.keep(shard, rows)
        return rows.values()

    def rejudged(self, shard: Rows, sighting: Linked) -> None:
        """Apply the verdict of later predicates on a kept linking page."""
        name = sighting.page
        parent = parent_of(shard, name)
        verdict = unknown(sighting.verdict, parent.verdict)
        if not parent.linked or parent.time != sighting.time or not verdict:
            return
        parent.verdict = parent.verdict | verdict
        shard.put(PARENT_PREFIX + name, parent)
        self._note_revised(shard, name)
        for key, row in targets_of(shard, parent).items():
            self._count_verdict(shard, key, row, verdict)

    def _correct(self, shard: Rows, before: list[bytes], row: PageRow, page: bytes, verdict: Verdict) -> None:
        """Correct what a judged page is counted under, where the kept in-links that count changed."""
        most = self._lessons.in_links
        old, new = before[:most], row.parents[:most]
        if old == new or row.silent:
            return
        names = dict.fromkeys([*old, *new])
        found = dict(zip(names, self._links_from(shard, names, page), strict=True))
        change = self._lessons.change_of_links([found[name] for name in old], [found[name] for name in new])
        self._evidence.change(verdict, *change)

    def _links_from(self, shard: Rows, names: Iterable[bytes], page: bytes) -> list[LinkFrom]:
        parents = parents_of(shard, names)
        words = [parent.words if self._lessons.links else NOTHING for parent in parents]
        return [*map(LinkFrom, words, links_to(parents, page))]

    # the verdict on a link target

    def features(self, shard: Rows, row: PageRow) -> frozenset[str]:
        """Return the features that its kept in-links add to a judged page."""
        names = row.parents[: self._lessons.in_links]
        return self._lessons.of_links(self._links_from(shard, names, identifier(row.url)))

    def judged(self, shard: Rows, row: PageRow, verdict: Verdict) -> None:
        """Count the links to a judged page by ``verdict``, and note its answer with its linking pages.

        Where links do not count, siblings do not count either.
        """
        answer = self._answered(row)
        if answer is None:
            return
        if not row.silent:
            self.count(row, verdict)
        page = identifier(row.url)
        near: set[bytes] = set()
        for name, parent in zip(row.parents, parents_of(shard, row.parents), strict=True):
            place = parent.place(page)
            position = parent.positions[place]
            self._register(shard, name, parent, page, answer, position)
            near.update(_near(parent, place, position, NEAR_AT_MOST - len(near)))
        self._pages.touch(shard, near)

    def count(self, row: PageRow, verdict: Verdict, times: int = 1) -> None:
        """Count the links to a page by the verdicts at both ends, if links count; -1 takes them back."""
        if not self._counts:
            return
        for predicate, (links, satisfying) in row.links.items():
            self._evidence.count((link(predicate, True),), verdict, times * satisfying)
            self._evidence.count((link(predicate, False),), verdict, times * (links - satisfying))

    def _register(
        self, shard: Rows, name: bytes, parent: ParentRow, child: bytes, verdict: Verdict, position: int
    ) -> None:
        """Note a judged target with its linking page, here and in all partitions with targets of the page."""
        if not self._note(shard, name, child, verdict, position):
            return
        for partition in parent.partitions:
            if partition != shard.partition:
                near = Neighbour(child, verdict, parent=name, position=position)
                shard.emit(SIGHTINGS, partition, near)

    def near(self, shard: Rows, sighting: Neighbour) -> None:
        """Absorb the verdict on a link target in another partition."""
        self._note(shard, sighting.parent, sighting.page, sighting.verdict, sighting.position)
        near = _near(parent_of(shard, sighting.parent), None, sighting.position, NEAR_AT_MOST)
        self._pages.touch(shard, near)

    def _note(self, shard: Rows, name: bytes, child: bytes, verdict: Verdict, position: int) -> bool:
        children = children_of(shard, name)
        if not children.note(child, verdict, position):
            return False
        shard.put(CHILDREN_PREFIX + name, children)
        self.noted[shard.partition].add(name)
        return True


def _count_link(row: PageRow, verdict: Verdict, times: int = 1) -> None:
    for predicate, satisfied in verdict.items():
        counts = row.links.setdefault(predicate, [0, 0])
        counts[0] += times
        counts[1] += times * satisfied
        if not counts[0]:
            del row.links[predicate]


def _near(parent: ParentRow, own: int | None, position: int, most: int) -> list[bytes]:
    """Return at most ``most`` targets of links near a position, except the one at the index ``own``."""
    near = [at for at, other in enumerate(parent.positions) if abs(other - position) <= NEAR and at != own]
    return [parent.targets[IDENTIFIER_BYTES * place :][:IDENTIFIER_BYTES] for place in near[:most]]


def _joined(words: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(words))
