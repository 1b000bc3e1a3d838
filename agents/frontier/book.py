"""The frontier's bookkeeping: how each kind of sighting changes rows, and what evidence it gives.

Evidence is a function of the rows and the sighting alone, never of a clock, a model or chance, so that a
repeated sighting repeats its evidence. All counts are functions of the set of judged pages: when a page is
judged after one of its link targets, the target's evidence is corrected (`models.interest.contribution`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from agents.frontier.rows import (
    OPEN,
    PAGE_PREFIX,
    TOTALS_KEY,
    FrontierRow,
    HostRow,
    PageRow,
    ParentRow,
    State,
    TotalsRow,
    host_key,
    page_key,
    parent_key,
)
from models.interest.contribution import correction, features_of, link_features
from models.interest.features import link
from models.interest.parents import kept
from models.url import host, identifier
from models.verdict import Verdict
from streams.inbox import Shard
from streams.records import (
    Count,
    Failed,
    Inherited,
    Judged,
    Linked,
    Near,
    Redirected,
    Seeded,
    Visited,
)
from streams.settings import FrontierSettings
from streams.topics import EVIDENCE, SIGHTINGS, partition_of

FrontierShard = Shard[FrontierRow]

#: Distinct anchor words kept of a page.
ANCHORS = 32
#: Link positions around a judged link target within which others are scored anew.
NEAR = 4
#: Candidates at most that one verdict has scored anew because they are near.
NEAR_AT_MOST = 30


class Book:
    """Keeps the rows. ``touched`` gathers, by partition, the pages to be scored anew, ``ended`` what ended."""

    def __init__(self, settings: FrontierSettings, evidence_partitions: int, sighting_partitions: int) -> None:
        self._settings = settings
        self._evidence_partitions = evidence_partitions
        self._sighting_partitions = sighting_partitions
        self.touched: dict[int, set[bytes]] = defaultdict(set)
        self.ended: list[Judged | Failed | Redirected] = []
        self._absorbers: dict[type, Callable[[FrontierShard, Any], None]] = {
            Seeded: self._seeded,
            Inherited: self._inherited,
            Linked: self._linked,
            Visited: self._visited,
            Near: self._near,
            Judged: self._judged,
            Failed: self._failed,
            Redirected: self._redirected,
        }

    def absorb(self, shard: FrontierShard, sighting: Any) -> None:
        """Change rows and emit evidence for one sighting."""
        self._absorbers[type(sighting)](shard, sighting)

    # discovery

    def _seeded(self, shard: FrontierShard, sighting: Seeded) -> None:
        key, row = self._page(shard, sighting.url, 0)
        row.seed = True
        self._keep(shard, key, row)

    def _inherited(self, shard: FrontierShard, sighting: Inherited) -> None:
        key, row = self._page(shard, sighting.url, sighting.depth)
        for predicate, priority in sighting.priorities.items():
            row.inherited[predicate] = max(priority, row.inherited.get(predicate, priority))
        self._keep(shard, key, row)

    def _visited(self, shard: FrontierShard, sighting: Visited) -> None:
        # One step from a user counts as one link from a seed.
        key, row = self._page(shard, sighting.url, 1)
        fresh = not row.visits
        row.visits += 1
        if sighting.user not in row.visitors:
            row.visitors = sorted((*row.visitors, sighting.user))[: self._settings.visitors]
        shard.put(key, row)
        if fresh and row.state in OPEN:  # no score depends on how often a page was visited
            self.touched[shard.partition].add(key)

    def _page(self, shard: FrontierShard, url: str, depth: int | None = None) -> tuple[bytes, PageRow]:
        """Return the URL's row, a new one where it was unknown; ``depth`` is one way that leads to it."""
        key = page_key(url)
        row = shard.get(key)
        if not isinstance(row, PageRow):
            totals = totals_of(shard)
            row = PageRow(url=url, depth=depth or 0, discovered=totals.discovered)
            totals.discovered += 1
            shard.put(TOTALS_KEY, totals)
        elif depth is not None:
            row.depth = min(row.depth, depth)
        return key, row

    def _keep(self, shard: FrontierShard, key: bytes, row: PageRow) -> None:
        shard.put(key, row)
        if row.state in OPEN:
            self.touched[shard.partition].add(key)

    # links

    def _linked(self, shard: FrontierShard, sighting: Linked) -> None:
        parent = self._parent(shard, sighting.page)
        if parent.linked:
            return
        parent.linked = True
        parent.url = sighting.url
        parent.verdict = sighting.verdict
        parent.words = frozenset(sighting.words)
        parent.partitions = sighting.partitions
        shard.put(parent_key(sighting.page), parent)
        for found in sighting.links:
            self._in_link(shard, sighting, parent, found.url, found.anchor, found.position)

    def _in_link(
        self,
        shard: FrontierShard,
        sighting: Linked,
        parent: ParentRow,
        url: str,
        anchor: Iterable[str],
        position: int,
    ) -> None:
        page = identifier(url)
        if page == sighting.page:
            return
        key, row = self._page(shard, url, sighting.depth + 1)
        parent.targets.append((page, position))
        for predicate, satisfied in sighting.verdict.items():
            counts = row.links.setdefault(predicate, [0, 0])
            counts[0] += 1
            counts[1] += satisfied
        for word in anchor:
            if len(row.anchors) < ANCHORS and word not in row.anchors:
                row.anchors.append(word)
        before = list(row.parents)
        row.parents = kept((*before, sighting.page), page, self._settings.parents)
        self._keep(shard, key, row)
        if row.verdict is not None:
            self._count(shard, link_features(sighting.verdict), row.verdict)
            self._correct(shard, before, row)
            self._register(shard, sighting.page, parent, page, row.verdict)

    def _correct(self, shard: FrontierShard, before: list[bytes], row: PageRow) -> None:
        assert row.verdict is not None
        if row.parents == before:
            return
        added, removed = correction(self._words(shard, before), self._words(shard, row.parents))
        self._count(shard, added, row.verdict)
        self._count(shard, removed, row.verdict, -1)

    def _parent(self, shard: FrontierShard, page: bytes) -> ParentRow:
        row = shard.get(parent_key(page))
        return row if isinstance(row, ParentRow) else ParentRow()

    def _words(self, shard: FrontierShard, parents: Iterable[bytes]) -> list[frozenset[str]]:
        return [self._parent(shard, parent).words for parent in parents]

    # verdicts

    def _judged(self, shard: FrontierShard, sighting: Judged) -> None:
        self.ended.append(sighting)
        key, row = self._page(shard, sighting.url)
        if row.verdict is not None:
            return
        self._close(shard, key, row, "judged")
        row.verdict = sighting.verdict
        self._count_host(shard, sighting.url)
        self._count(shard, features_of(row.url, self._words(shard, row.parents)), sighting.verdict)
        for predicate, (links, satisfying) in row.links.items():
            self._count(shard, (link(predicate, True),), sighting.verdict, satisfying)
            self._count(shard, (link(predicate, False),), sighting.verdict, links - satisfying)
        page = identifier(row.url)
        for parent_page in row.parents:
            parent = self._parent(shard, parent_page)
            self._register(shard, parent_page, parent, page, sighting.verdict)
        self._touch_near(shard, row.parents, page)

    def _register(
        self, shard: FrontierShard, parent_page: bytes, parent: ParentRow, child: bytes, verdict: Verdict
    ) -> None:
        """Note a judged link target with its linking page, here and wherever that page has targets."""
        if child in parent.children:
            return
        parent.children[child] = verdict
        shard.put(parent_key(parent_page), parent)
        for partition in parent.partitions:
            if partition != shard.partition:
                shard.outbox.emit(SIGHTINGS.name, partition, Near(parent_page, child, verdict))

    def _near(self, shard: FrontierShard, sighting: Near) -> None:
        parent = self._parent(shard, sighting.parent)
        parent.children[sighting.child] = sighting.verdict
        shard.put(parent_key(sighting.parent), parent)

    def _touch_near(self, shard: FrontierShard, parents: Iterable[bytes], page: bytes) -> None:
        found = 0
        for parent in parents:
            targets = self._parent(shard, parent).targets
            at = next((position for target, position in targets if target == page), None)
            for target, position in targets:
                if at is not None and target != page and abs(position - at) <= NEAR and found < NEAR_AT_MOST:
                    self.touched[shard.partition].add(PAGE_PREFIX + target)
                    found += 1

    def _count_host(self, shard: FrontierShard, url: str) -> None:
        key = host_key(host(url))
        row = shard.get(key)
        counts = row if isinstance(row, HostRow) else HostRow()
        counts.judged += 1
        shard.put(key, counts)

    # fetches that brought no page

    def _failed(self, shard: FrontierShard, sighting: Failed) -> None:
        key, row = self._page(shard, sighting.url)
        if row.state != "leased" or row.attempts != sighting.order:
            return  # the order was taken back, and perhaps given again
        self.ended.append(sighting)
        row.reason = sighting.reason
        if sighting.kind == "retry" and row.attempts < self._settings.attempts:
            wait = self._settings.retry_seconds * 2 ** (row.attempts - 1)
            row.not_before = sighting.time + max(wait, sighting.retry_after or 0.0)
            row.state = "candidate"
            self._keep(shard, key, row)
        else:
            kind: State = "gone" if sighting.kind == "gone" else "refused"
            self._close(shard, key, row, "given up" if sighting.kind == "retry" else kind)

    def _redirected(self, shard: FrontierShard, sighting: Redirected) -> None:
        key, row = self._page(shard, sighting.url)
        if row.state != "leased" or row.attempts != sighting.order:
            return  # the order was taken back, and perhaps given again
        self.ended.append(sighting)
        row.reason = f"redirects to {sighting.target}"
        self._close(shard, key, row, "moved")
        heir = Inherited(sighting.target, row.depth, row.priorities)
        partition = partition_of(host(sighting.target), self._sighting_partitions)
        shard.outbox.emit(SIGHTINGS.name, partition, heir)

    def _close(self, shard: FrontierShard, key: bytes, row: PageRow, state: State) -> None:
        totals = totals_of(shard)
        if row.state not in OPEN:  # given up, and judged after all
            totals.count(row.state, -1)
        totals.count(state, 1)
        shard.put(TOTALS_KEY, totals)
        row.state = state
        row.lease = 0.0
        shard.put(key, row)

    # evidence

    def _count(self, shard: FrontierShard, features: Iterable[str], verdict: Verdict, times: int = 1) -> None:
        """Emit a count of features under a verdict, split by the features' partitions."""
        if not times:
            return
        parts: dict[int, list[str]] = {}
        for feature in sorted(features):  # sorted, so that a repeated emission is the same one
            parts.setdefault(partition_of(feature, self._evidence_partitions), []).append(feature)
        for partition in sorted(parts):
            fact = Count(tuple(parts[partition]), verdict, times)
            shard.outbox.emit(EVIDENCE.name, partition, fact)


def totals_of(shard: FrontierShard) -> TotalsRow:
    """Return the partition's totals."""
    row = shard.get(TOTALS_KEY)
    return row if isinstance(row, TotalsRow) else TotalsRow()
