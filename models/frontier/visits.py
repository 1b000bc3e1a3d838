"""Judged pages that are visited again: their rows, and what comes of the visits.

All counts are functions of the verdicts as they stand: where one takes the place of another, all that the old
one was counted under is taken back. Of two answers of a page the one of later time holds, whichever comes
first. A page that left has an empty verdict: nothing holds of it, and that it came stays counted.

What became of predicates' matches is told to people, in the topic `changes`: it is known here when a verdict
takes the place of another. The topic `outcomes` is told of pages that left.
"""

from collections.abc import Iterable, Mapping

import msgspec

from scentline.models.facts import (
    SIGHTINGS,
    Early,
    Fetched,
    Found,
    Linked,
    Missing,
    Moved,
    Page,
    Same,
    Signal,
    Visited,
)
from scentline.models.frontier.freshness import Groups
from scentline.models.frontier.keys import TOTALS_KEY, Rows, due_key, page_key, totals_of, visit_key, visit_of
from scentline.models.frontier.pages import Pages
from scentline.models.frontier.rows import PageRow, State, VisitRow, failed
from scentline.models.frontier.teaching import Said, Teaching
from scentline.models.page import Verdict
from scentline.models.published import CHANGES, OUTCOMES, Change, Outcome
from scentline.models.records import partition_of
from scentline.models.revisit.content import Sizes, changed
from scentline.models.url import identifier

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
        shard: Rows,
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

    def left(self, shard: Rows, row: PageRow, visit: VisitRow, time: float, target: str) -> None:
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
            origin=shard.place, silent=row.silent or msgspec.UNSET, again=True,
            left=row.reason,
        )  # fmt: skip
        partition = partition_of(row.url, self._outcomes)
        shard.send(OUTCOMES, partition, row.url.encode(), _encode(outcome))

    def _tell(self, shard: Rows, change: Change) -> None:
        offset, index = shard.origin
        change.origin = f"{shard.place}/{offset}.{index}"
        self.told.append((change.predicate, change.kind))
        partition = partition_of(change.url, self._changes)
        shard.send(CHANGES, partition, change.url.encode(), _encode(change))


class Visits:
    """Keeps the rows of judged pages that are visited again; ``changed`` gathers those that changed.

    ``retry_seconds`` is the wait after a failure, doubled with each that follows, and before a page that is
    said to be gone is looked at once more.
    """

    def __init__(
        self, pages: Pages, teaching: Teaching, changes: Changes, groups: Groups, retry_seconds: float
    ) -> None:
        self.groups = groups
        self._pages = pages
        self._teaching = teaching
        self._changes = changes
        self._retry_seconds = retry_seconds
        self.changed: set[str] = set()

    def begin(self, shard: Rows, row: PageRow, page: Page) -> None:
        """Absorb the first verdict on a page."""
        visit = VisitRow(row.url, row.judged_at, version=page.version, partitions=page.partitions)
        _take(visit, page)
        self._changes.judged(shard, row, page, row.judged_at, {}, None, changed=False)
        self.keep(shard, visit)

    def rejudged(self, shard: Rows, row: PageRow, verdict: Verdict) -> None:
        """Tell what predicates that came later say of a page, to people and wherever links of it are known."""
        visit = visit_of(shard, row.url)
        if visit is None:
            return
        page = Page(verdict, title=visit.title)
        self._changes.judged(shard, row, page, row.judged_at, {}, None, changed=False)
        for partition in visit.partitions:
            later = Linked(identifier(row.url), row.url, row.depth, verdict, time=row.judged_at, visit="kept")
            shard.emit(SIGHTINGS, partition, later)

    def keep(self, shard: Rows, visit: VisitRow) -> None:
        """Keep a page's row, and in order of time when it is due."""
        page = shard.get(page_key(visit.url))
        waits = isinstance(page, PageRow) and page.state == "judged"
        due = self.groups.due(visit, self.groups.estimate(shard, visit)) if waits else 0.0
        if due != visit.due:
            if visit.due:
                shard.delete(due_key(visit.due, visit.url))
            if due:
                shard.put(due_key(due, visit.url), VisitRow(visit.url))
            visit.due = due
        shard.put(visit_key(visit.url), visit)
        self.changed.add(visit.url)

    def take_told(self) -> list[tuple[str, str]]:
        """Return the predicate and the kind of each change that was told since the last call."""
        told, self._changes.told = self._changes.told, []
        return told

    # what comes of visits

    def came(self, shard: Rows, end: Fetched) -> Found | None:
        """Absorb what came of a visit; return who takes the place of a page that moved for good.

        A page's may come when another order was answered since, or be the same by another fetcher: the first
        one too. Any other answer counts only where it is later than the last visit.
        """
        if end.visit == "again" and not isinstance(end.result, Early):
            _count_answer(shard)
        visit, row = visit_of(shard, end.url), shard.get(page_key(end.url))
        if visit is None or not isinstance(row, PageRow) or row.verdict is None:
            return None
        heir = None
        if isinstance(end.result, Page):
            self._judged(shard, row, visit, end, end.result)
        elif end.time <= visit.visited:
            return None
        else:
            heir = self._unjudged(shard, row, visit, end)
        self.keep(shard, visit)
        return heir

    def _judged(self, shard: Rows, row: PageRow, visit: VisitRow, end: Fetched, page: Page) -> None:
        """Absorb another verdict on a page; the newest of which an outcome was told holds."""
        since, text = visit.visited, changed(visit.content, page.content)
        newest = end.time > since
        if newest:
            self._visited(shard, visit, end.time, changed=text or visit.links != page.links)
            visit.version = page.version
        if page.changed or end.visit == "first":
            self._told(shard, row, visit, page, end.time, since if newest else None, text=text)

    def _told(
        self,
        shard: Rows,
        row: PageRow,
        visit: VisitRow,
        page: Page,
        time: float,
        since: float | None,
        *,
        text: bool,
    ) -> None:
        """Absorb a verdict that was told: it holds until one of a later page is, whatever was heard meanwhile.

        Each partition with links must know the verdict and all the other partitions. Two visits in flight at
        once do not know each other's partitions, so both sets are then sent the union. ``text`` says whether
        the text is another.
        """
        partitions = {*visit.partitions, *page.partitions}
        informed = {*visit.partitions}
        if time > row.judged_at:
            informed = {*page.partitions}
            before, said = row.verdict or {}, said_of(visit)
            _take(visit, page)
            row.judged_at = time
            self._teaching.teach_again(shard, row, page.verdict, said, said_of(visit))
            if row.state != "judged":
                self._pages.close(shard, page_key(row.url), row, "judged")
            self._pages.keep(shard, page_key(row.url), row)
            self._changes.judged(shard, row, page, time, before, since, changed=text)
        visit.partitions = tuple(sorted(partitions))
        if informed != partitions:
            self._tell_targets(shard, row, visit, visit.partitions)

    def _unjudged(self, shard: Rows, row: PageRow, visit: VisitRow, end: Fetched) -> Found | None:
        """Absorb a visit that brought no page to judge."""
        match end.result:
            case Same():
                self._visited(shard, visit, end.time, changed=False)
            case Early(wait=wait):
                visit.lease, visit.not_before = 0.0, end.time + wait
            case Moved(permanent=False) | Missing(kind="retry" | "failed"):
                failed(visit, self._retry_seconds, end.time, end.host.retry_after or 0.0)
            case Missing(kind="gone" | "unfit") if not visit.missing:
                visit.lease, visit.missing = 0.0, end.time
                visit.not_before = end.time + self._retry_seconds
            case Moved() | Missing() if row.state == "judged":
                return self._leave(shard, row, visit, end.time, end.result)
        return None

    def _visited(self, shard: Rows, visit: VisitRow, time: float, *, changed: bool) -> None:
        self.groups.seen(shard, visit, time, changed=changed)
        visit.visited, visit.lease, visit.not_before = time, 0.0, 0.0
        visit.failures, visit.missing, visit.signs = 0, 0.0, {}

    def _leave(
        self, shard: Rows, row: PageRow, visit: VisitRow, time: float, why: Moved | Missing
    ) -> Found | None:
        """Take a page out: nothing holds of it any more; its links stay, of a page without a verdict."""
        target = why.target if isinstance(why, Moved) else ""
        state: State = "moved" if isinstance(why, Moved) else "refused" if why.kind == "refused" else "gone"
        row.reason = why.reason if isinstance(why, Missing) else f"redirects to {target}"
        self._changes.left(shard, row, visit, time, target)
        said = said_of(visit)
        visit.text = ""
        visit.visited, visit.lease = time, 0.0
        row.judged_at = time
        self._teaching.teach_again(shard, row, {}, said, said_of(visit))
        self._pages.close(shard, page_key(row.url), row, state)
        self._tell_targets(shard, row, visit, visit.partitions)
        return Found(target, row.depth, {}, row.seed) if target else None

    def _tell_targets(self, shard: Rows, row: PageRow, visit: VisitRow, partitions: Iterable[int]) -> None:
        linked = Linked(
            identifier(row.url), row.url, row.depth, row.verdict or {}, visit.words, (), visit.partitions,
            row.judged_at, visit="again",
        )  # fmt: skip
        for partition in partitions:
            shard.emit(SIGHTINGS, partition, linked)

    def signal(self, shard: Rows, sighting: Signal) -> None:
        """Count a sign that a page changed since it was visited, unless it, or a later one, was told before."""
        visit, kind = visit_of(shard, sighting.url), sighting.kind
        if visit is not None and sighting.time > max(visit.visited, visit.hinted.get(kind, 0.0)):
            visit.signs[kind] = visit.signs.get(kind, 0) + 1
            visit.hinted[kind] = sighting.time
            self.keep(shard, visit)

    def logged(self, shard: Rows, sighting: Visited) -> None:
        """Absorb the size of an answer to a user: another one than at the visit is a sign of a change."""
        visit, row = visit_of(shard, sighting.url), shard.get(page_key(sighting.url))
        if not isinstance(row, PageRow):
            return
        row.sizes = row.sizes or Sizes()
        if row.sizes.take(0.0 if visit is None else visit.visited, sighting.time, sighting.size):
            shard.put(page_key(row.url), row)
        if visit is not None and row.sizes.differ != ("log" in visit.signs):
            if row.sizes.differ:
                visit.signs["log"] = 1
            else:
                del visit.signs["log"]
            self.keep(shard, visit)


def _count_answer(shard: Rows) -> None:
    totals = totals_of(shard)
    totals.revisits += 1
    shard.put(TOTALS_KEY, totals)


def said_of(visit: VisitRow) -> Said:
    """Return what a page says, as its verdict is counted."""
    return Said(visit.words, visit.subject)


def _take(visit: VisitRow, page: Page) -> None:
    visit.text = " ".join(page.words)
    visit.subject, visit.title = page.subject, page.title
    visit.content, visit.links = page.content, page.links


def _holding(verdict: Mapping[str, bool]) -> Iterable[str]:
    return (predicate for predicate, holds in verdict.items() if holds)
