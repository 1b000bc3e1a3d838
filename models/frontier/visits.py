"""Judged pages that are revisited: their rows, and the results of the visits.

All counts are functions of the current verdicts: where one replaces another, all counts of the old one are
subtracted. Of two answers of a page the later in time wins, whichever arrives first. A page that left has an
empty verdict: it satisfies nothing, but stays counted as fetched.

Changes of predicates' matches are published for people in the topic `changes`, as a verdict replaces another.
Pages that left are also published in the topic `outcomes`.
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
    """Publishes changes; the topics `changes` and `outcomes` have so many partitions.

    A message that is repeated after a crash keeps its origin.
    """

    def __init__(self, changes: int, outcomes: int) -> None:
        self._changes = changes
        self._outcomes = outcomes
        #: The predicate and the kind of each change published, for the figures.
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
        """Publish the changes from the verdict ``before``, of the visit ``since``, to the page's at ``time``.

        ``changed`` says whether the text differs.
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
                self._publish(shard, change)

    def left(self, shard: Rows, row: PageRow, visit: VisitRow, time: float, target: str) -> None:
        """Publish that a page left, for ``row.reason``, or moved to ``target``; the row has its verdict."""
        for predicate in _holding(row.verdict or {}):
            change = Change(
                predicate=predicate, kind="moved" if target else "left", url=row.url, time=time,
                before=visit.visited, title=visit.title, reason=row.reason, target=target,
            )  # fmt: skip
            self._publish(shard, change)
        outcome = Outcome(
            url=row.url, time=time, title=visit.title, verdict={}, predicate="", policy="", explored=False,
            probability=0.0, priority=0.0, expected=None, depth=row.depth, words=(), links=(),
            origin=shard.place, silent=row.silent or msgspec.UNSET, again=True,
            left=row.reason,
        )  # fmt: skip
        partition = partition_of(row.url, self._outcomes)
        shard.send(OUTCOMES, partition, row.url.encode(), _encode(outcome))

    def _publish(self, shard: Rows, change: Change) -> None:
        offset, index = shard.origin
        change.origin = f"{shard.place}/{offset}.{index}"
        self.told.append((change.predicate, change.kind))
        partition = partition_of(change.url, self._changes)
        shard.send(CHANGES, partition, change.url.encode(), _encode(change))


class Visits:
    """Keeps the rows of judged pages that are revisited; ``changed`` collects the URLs of changed rows.

    ``retry_seconds`` is the wait after a failure, doubled with each further one, and the wait before the visit
    that confirms that a page is gone.
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
        """Apply the first verdict on a page."""
        visit = VisitRow(row.url, row.judged_at, version=page.version, partitions=page.partitions)
        _take(visit, page)
        self._changes.judged(shard, row, page, row.judged_at, {}, None, changed=False)
        self.keep(shard, visit)

    def rejudged(self, shard: Rows, row: PageRow, verdict: Verdict) -> None:
        """Publish later predicates' verdict on a page, and send it to the partitions with links of the page."""
        visit = visit_of(shard, row.url)
        if visit is None:
            return
        page = Page(verdict, title=visit.title)
        self._changes.judged(shard, row, page, row.judged_at, {}, None, changed=False)
        for partition in visit.partitions:
            later = Linked(identifier(row.url), row.url, row.depth, verdict, time=row.judged_at, visit="kept")
            shard.emit(SIGHTINGS, partition, later)

    def keep(self, shard: Rows, visit: VisitRow) -> None:
        """Store a page's row, and its entry in the order of due times."""
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
        """Return the predicate and the kind of each change published since the last call."""
        told, self._changes.told = self._changes.told, []
        return told

    # results of visits

    def came(self, shard: Rows, end: Fetched) -> Found | None:
        """Apply the result of a visit; return the target that replaces a permanently moved page.

        A page counts, of a first visit too, even where a later order was answered before it or another fetcher
        brought the same. Any other answer counts only where it is later than the last visit.
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
        """Apply a later verdict on a page. The newest published one wins."""
        since, text = visit.visited, changed(visit.content, page.content)
        newest = end.time > since
        if newest:
            self._visited(shard, visit, end.time, changed=text or visit.links != page.links)
            visit.version = page.version
        if page.changed or end.visit == "first":
            self._published(shard, row, visit, page, end.time, since if newest else None, text=text)

    def _published(
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
        """Apply a published verdict: it holds until one of a later page is published.

        Each partition with links must know the verdict and all the other partitions. Two concurrent visits do
        not know each other's partitions, so both sets are then sent the union. ``text`` says whether the text
        differs.
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
            self._pages.keep(shard, {page_key(row.url): row})
            self._changes.judged(shard, row, page, time, before, since, changed=text)
        visit.partitions = tuple(sorted(partitions))
        if informed != partitions:
            self._tell_targets(shard, row, visit, visit.partitions)

    def _unjudged(self, shard: Rows, row: PageRow, visit: VisitRow, end: Fetched) -> Found | None:
        """Apply a visit that brought no page to judge."""
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
        """Remove a page: its verdict becomes empty; its links stay, as links of a page without a verdict."""
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
        """Count a sign of a change since a page's last visit, unless it or a later one was counted before."""
        visit, kind = visit_of(shard, sighting.url), sighting.kind
        if visit is not None and sighting.time > max(visit.visited, visit.hinted.get(kind, 0.0)):
            visit.signs[kind] = visit.signs.get(kind, 0) + 1
            visit.hinted[kind] = sighting.time
            self.keep(shard, visit)

    def logged(self, shard: Rows, sighting: Visited) -> None:
        """Apply the size of an answer to a user: a size other than at the visit is a sign of a change."""
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
    """Return a page's content as counted with its verdict."""
    return Said(visit.words, visit.subject)


def _take(visit: VisitRow, page: Page) -> None:
    visit.text = " ".join(page.words)
    visit.subject, visit.title = page.subject, page.title
    visit.content, visit.links = page.content, page.links


def _holding(verdict: Mapping[str, bool]) -> Iterable[str]:
    return (predicate for predicate, holds in verdict.items() if holds)
