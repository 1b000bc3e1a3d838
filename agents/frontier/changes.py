"""What became of predicates' matches, as the frontier tells it to people: the topic `changes`.

The frontier knows when a verdict takes the place of another; a page that left has no verdict that holds, which
the topic `outcomes` is told too.
"""

from collections.abc import Iterable, Mapping

import msgspec

from scentline.agents.frontier.rows import FrontierShard, PageRow, VisitRow
from scentline.models.verdict import Verdict
from scentline.streams.facts import Page
from scentline.streams.published import Change, Outcome
from scentline.streams.topics import CHANGES, OUTCOMES, SIGHTINGS, partition_of

_encode = msgspec.json.Encoder().encode


class Changes:
    """Tells of changes; the topics `changes` and `outcomes` have so many partitions.

    A message that is told again after a crash has the origin that it had.
    """

    def __init__(self, changes: int, outcomes: int) -> None:
        self._changes = changes
        self._outcomes = outcomes
        #: The predicate and the kind of each change that was told, for the figures.
        self.told: list[tuple[str, str]] = []

    def judged(
        self,
        shard: FrontierShard,
        row: PageRow,
        page: Page,
        time: float,
        before: Verdict,
        since: float | None,
        *,
        changed: bool,
    ) -> None:
        """Tell what a verdict of a ``time`` changes: ``before`` is the one that held at the visit ``since``.

        ``changed`` says whether the text is another.
        """
        for predicate, holds in page.verdict.items():
            held = before.get(predicate, False)
            kind = "appeared" if holds and not held else "left" if held and not holds else "changed"
            if holds != held or (holds and changed):
                reason = "" if holds else "no longer satisfies the predicate"
                excerpt = page.excerpts.get(predicate, "")
                change = Change(
                    predicate=predicate, kind=kind, url=row.url, time=time, before=since,
                    title=page.title, excerpt=excerpt, reason=reason,
                )  # fmt: skip
                self._tell(shard, change)

    def left(self, shard: FrontierShard, row: PageRow, visit: VisitRow, time: float, target: str) -> None:
        """Tell that a page is gone, for ``row.reason``, or has moved to ``target``; the row has its verdict."""
        for predicate in _holding(row.verdict or {}):
            change = Change(
                predicate=predicate, kind="moved" if target else "left", url=row.url, time=time,
                before=visit.visited, title=visit.title, reason=row.reason, target=target,
            )  # fmt: skip
            self._tell(shard, change)
        outcome = Outcome(
            url=row.url, time=time, title=visit.title, verdict={}, predicate="", policy="", explored=False,
            probability=0.0, priority=0.0, expected=None, depth=row.depth, words=(), links=(),
            origin=_place(shard), silent=row.silent or msgspec.UNSET, again=True,
            left=row.reason,
        )  # fmt: skip
        partition = partition_of(row.url, self._outcomes)
        shard.outbox.send(OUTCOMES.name, partition, row.url.encode(), _encode(outcome))

    def _tell(self, shard: FrontierShard, change: Change) -> None:
        offset, index = shard.origin
        change.origin = f"{_place(shard)}/{offset}.{index}"
        self.told.append((change.predicate, change.kind))
        partition = partition_of(change.url, self._changes)
        shard.outbox.send(CHANGES.name, partition, change.url.encode(), _encode(change))


def _place(shard: FrontierShard) -> str:
    return f"{SIGHTINGS.name}/{shard.partition}@{shard.mark.offset}"


def _holding(verdict: Mapping[str, bool]) -> Iterable[str]:
    return (predicate for predicate, holds in verdict.items() if holds)
