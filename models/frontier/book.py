"""The frontier's bookkeeping: which rows and counts each kind of sighting changes.

`Pages` keeps the rows of URLs, `Links` those of linking pages, `Crowd` those of co-visited pages, and
`EvidenceEmitter` gathers counts. This module handles what concerns them all: found URLs and ends of fetches.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from scentline.models.facts import (
    EVIDENCE,
    SIGHTINGS,
    Early,
    Fetched,
    Found,
    Linked,
    Missing,
    Moved,
    Neighbour,
    Page,
    Same,
    Signal,
    Together,
    Visited,
)
from scentline.models.frontier.depth import Depths, handed_on
from scentline.models.frontier.freshness import Groups
from scentline.models.frontier.keys import Rows, memo_key, memo_of, page_key
from scentline.models.frontier.ledger import EvidenceEmitter
from scentline.models.frontier.links import Links
from scentline.models.frontier.news import Hubs, Prefixes, clicked
from scentline.models.frontier.pages import Pages, Spaces, note_end, note_need, note_robots
from scentline.models.frontier.rows import MemoRow, PageRow, State
from scentline.models.frontier.teaching import Crowd, Said, Teaching
from scentline.models.frontier.visits import Changes, Visits
from scentline.models.lessons import lessons
from scentline.models.page import FAILED, NEEDS_SCRIPTS, unknown
from scentline.models.policy.priorities import LinkPromises
from scentline.models.published import CHANGES, OUTCOMES
from scentline.models.records import RobotsTxt, partition_of
from scentline.models.settings import CrawlSettings, FrontierSettings, NewsSettings
from scentline.models.traps import Bounds
from scentline.models.url import host


class Book:
    """Absorbs sightings.

    By partition, ``touched`` has the pages to score again, ``noted`` the linking pages whose own or targets'
    verdicts changed, and ``beside`` the pages whose co-visited pages' verdicts did. ``ended`` has the ends of
    fetches. ``stops`` decides which pages lie too deep in their sites, None where sites are not limited.

    ``redirects`` is the most that are followed in a row. ``news`` defaults to settings without hubs or
    prefixes. With ``revisit``, judged pages are visited again: its parts publish how matches change, and
    estimate how often pages do. With ``renders``, pages are rendered.
    """

    def __init__(
        self,
        settings: FrontierSettings,
        evidence_partitions: int,
        sighting_partitions: int,
        redirects: int,
        news: NewsSettings | None = None,
        revisit: tuple[Changes, Groups] | None = None,
        *,
        renders: bool = False,
    ) -> None:
        self._settings = settings
        self._renders = renders
        self._redirects = redirects
        self._sighting_partitions = sighting_partitions
        self._lessons = lessons(settings.rule)
        self._pages = Pages(_bounds(settings))
        self.spaces = Spaces(settings)
        self.evidence = EvidenceEmitter(evidence_partitions)
        self.promises = LinkPromises()
        self._depths = Depths(self._pages, settings) if settings.depth == "auto" else None
        self.stops = self._depths.stops if self._depths is not None else None
        wordy = self._lessons.counts_links or self._lessons.counts_crowd or settings.wordy
        self._links = Links(
            self._pages, self.evidence, self._lessons, settings.parents, self._depths, wordy=wordy
        )
        self._crowd = Crowd(self._pages, self.evidence, self._lessons, settings)
        self._teaching = Teaching(self._pages, self.evidence, self._lessons, self._links, self._crowd)
        self.visits = (
            None if revisit is None else Visits(self._pages, self._teaching, *revisit, settings.retry_seconds)
        )
        self._news = news or NewsSettings()
        self.prefixes = Prefixes(self._news.prefixes_given)
        self.hubs = Hubs(self._pages, sighting_partitions, settings.retry_seconds, self.prefixes.match)
        self._instant = settings.mode == "instant"
        self.touched = self._pages.touched
        self.noted, self.beside = self._links.noted, self._crowd.noted
        self.ended: list[Fetched] = []
        self._absorbers = self._by_kind()

    def _by_kind(self) -> dict[type, Callable[[Rows, Any], None]]:
        return {
            Found: self._found,
            Linked: self._linked,
            Fetched: self._fetched,
            Visited: self._visited,
            Together: self._crowd.together,
            Neighbour: self._neighbour,
            RobotsTxt: note_robots,
            Signal: self._signal,
        }

    def absorb(self, shard: Rows, sighting: Any) -> None:
        """Change rows and counts by one sighting."""
        self.evidence.begin()
        self._absorbers[type(sighting)](shard, sighting)
        self.evidence.keep(shard)
        if self._depths is not None:
            self._depths.absorb(shard, sighting)

    # how a fetch ends

    def _fetched(self, shard: Rows, end: Fetched) -> None:
        """Absorb the end of a fetch, if it is expected; a page counts, whichever order brought it."""
        if end.visit == "kept":
            self._rejudged(shard, end)
            return
        if end.visit == "links":
            if self.hubs.came(shard, end):
                self._end(shard, end)
            return
        key, row = page_key(end.url), shard.get(page_key(end.url))
        judged = isinstance(row, PageRow) and row.verdict is not None
        if self._renders and isinstance(row, PageRow) and end.visit == "again" and needs_scripts(end):
            row.render = True  # it stays as it was, and is rendered the next time
            shard.put(key, row)
            end = msgspec.structs.replace(end, result=Missing("failed", NEEDS_SCRIPTS))
        if end.visit == "again" or (judged and isinstance(end.result, Page)):
            self._end(shard, end)
            heir = self.visits.came(shard, end) if self.visits is not None else None
            if heir is not None:
                self._inherit(shard, heir)
        elif isinstance(end.result, Page):
            self._judged(shard, end, end.result)
        elif (
            isinstance(row, PageRow)
            and row.state == "leased"
            and row.attempts == end.order  # else the order was taken back, and perhaps reissued
            and not isinstance(end.result, Same)
        ):
            self._end(shard, end)
            self._unjudged(shard, key, row, end, end.result)

    def _end(self, shard: Rows, end: Fetched, *, judged: bool = False) -> None:
        note_end(shard, end, judged=judged)
        self.ended.append(end)

    def _judged(self, shard: Rows, end: Fetched, page: Page) -> None:
        key, row = self._pages.find(shard, end.url)
        self._end(shard, end, judged=True)
        self._teaching.came(shard, row)
        row.silent = end.silent
        answer = page.verdict | {FAILED: False}
        self.evidence.label(shard, row, answer)
        row.inputs = {}
        row.verdict = page.verdict
        row.judged_at = end.time
        self._see(shard, row, end)
        if end.rendering is not None:
            row.render = end.rendering.needed or end.rendering.brought
        self.promises.judged(shard, row)
        self._pages.close(shard, key, row, "judged")
        if self._instant:
            self.hubs.judged(shard, row, end.time, page.version)
        hit = any(page.verdict.values())
        self.spaces.judged(shard, row.url, hit=hit, repeated=page.repeated)
        self._teaching.teach(shard, row, answer, said_of(page))
        if self.visits is not None:
            self.visits.begin(shard, row, page)

    def _unjudged(
        self, shard: Rows, key: bytes, row: PageRow, end: Fetched, result: Moved | Missing | Early
    ) -> None:
        if isinstance(result, Early):
            row.postponed += 1
            self._wait(shard, key, row, end.time + result.wait)
            return
        if needs_scripts(end):
            self._empty(shard, key, row, end)
            return
        if end.asked:
            self._teaching.failed(shard, row)
        if isinstance(result, Moved):
            self._moved(shard, key, row, end, result.target)
        else:
            self._missing(shard, key, row, end, result)

    def _empty(self, shard: Rows, key: bytes, row: PageRow, end: Fetched) -> None:
        """Absorb a page that needs scripts: it teaches nothing, and is rendered in its turn if pages are."""
        self._pages.count_request(shard, row)
        self._see(shard, row, end, needed=True)
        row.shells += 1
        row.reason = NEEDS_SCRIPTS
        if self._renders and not row.render:
            row.render = True
            self._wait(shard, key, row, end.time)
            return
        row.inputs = {}
        self._pages.close(shard, key, row, "refused")

    def _see(self, shard: Rows, row: PageRow, end: Fetched, *, needed: bool = False) -> None:
        if self._renders:
            note_need(shard, end, needed=needed, seen=row.shells > 0)

    def _wait(self, shard: Rows, key: bytes, row: PageRow, until: float) -> None:
        row.not_before, row.state = until, "candidate"
        self._pages.keep(shard, {key: row})

    def _missing(self, shard: Rows, key: bytes, row: PageRow, end: Fetched, missing: Missing) -> None:
        row.reason = missing.reason
        if end.rendering is not None:
            self._see(shard, row, end)
        if missing.barren:
            self.spaces.barren(shard, row.url)
        attempts, again = row.attempts - row.postponed, missing.kind == "retry"
        if again and attempts < self._settings.attempts:
            wait = self._settings.retry_seconds * 2 ** (attempts - 1)
            self._wait(shard, key, row, end.time + max(wait, end.host.retry_after or 0.0))
            return
        self.promises.ended(shard, row, hit=False)
        if end.asked:
            self._teaching.ended(shard, row, silent=end.silent)
        row.inputs = {}
        state: State = "given up" if again else "gone" if missing.kind == "gone" else "refused"
        self._pages.close(shard, key, row, state)

    def _moved(self, shard: Rows, key: bytes, row: PageRow, end: Fetched, target: str) -> None:
        self._teaching.ended(shard, row, silent=end.silent)
        if row.hops >= self._redirects:
            row.reason = f"more than {self._redirects} redirects"
            self.promises.ended(shard, row, hit=False)
            self._pages.close(shard, key, row, "gone")
            return
        row.reason = f"redirects to {target}"
        self.promises.redirected(shard, row, target)
        self._pages.close(shard, key, row, "moved")
        level = 0 if self._depths is None else handed_on(row, target)
        memo = memo_of(shard, row.url)
        heir = Found(
            target, row.depth, row.priorities, row.seed, row.inputs, row.hops + 1, level,
            memo=memo.memo, source=memo.source or row.url,
        )  # fmt: skip
        self._inherit(shard, heir)
        if self._instant:
            self.hubs.moved(shard, row.url, target)

    def _inherit(self, shard: Rows, heir: Found) -> None:
        shard.emit(SIGHTINGS, partition_of(host(heir.url), self._sighting_partitions), heir)

    def _rejudged(self, shard: Rows, end: Fetched) -> None:
        """Apply the verdict of later predicates on a kept page: it teaches as if they had been there before.

        Every count is linear in the verdicts at both its ends, so that those of the new predicates are added.
        """
        key, page = page_key(end.url), end.result
        row = shard.get(key)
        if not isinstance(row, PageRow) or row.verdict is None or not isinstance(page, Page):
            return
        verdict = unknown(page.verdict, row.verdict) if row.judged_at == end.time else {}
        if verdict:
            row.verdict = row.verdict | verdict
            shard.put(key, row)
            self._teaching.teach(shard, row, verdict, said_of(page))
            if self.visits is not None:
                self.visits.rejudged(shard, row, verdict)

    def _visited(self, shard: Rows, sighting: Visited) -> None:
        self._crowd.visited(shard, sighting)
        if self.visits is not None and sighting.size:
            self.visits.logged(shard, sighting)
        if sighting.first:
            clicked(shard, sighting, self._news.window)

    def _signal(self, shard: Rows, sighting: Signal) -> None:
        if self.visits is not None:
            self.visits.signal(shard, sighting)

    def _linked(self, shard: Rows, sighting: Linked) -> None:
        if sighting.visit == "links":
            self.hubs.listed(shard, sighting)
        elif sighting.visit == "kept":
            self._links.rejudged(shard, sighting)
        else:
            self._links.linked(shard, sighting)

    def _neighbour(self, shard: Rows, sighting: Neighbour) -> None:
        if sighting.parent:
            self._links.near(shard, sighting)
        elif sighting.new:
            self.hubs.brought(shard, sighting)
        else:
            self._crowd.met(shard, sighting)

    def _found(self, shard: Rows, sighting: Found) -> None:
        """Absorb a found URL; the target of a redirect inherits priorities, and the inputs of higher ones."""
        if sighting.hub is not None:
            self.hubs.named(shard, sighting.url, sighting.hub)
            return
        if (sighting.memo or sighting.source) and shard.get(memo_key(sighting.url)) is None:
            shard.put(memo_key(sighting.url), MemoRow(sighting.memo, sighting.source))
        if sighting.noted:
            return
        known = shard.get(page_key(sighting.url)) is not None
        key, row = self._pages.find(shard, sighting.url, sighting.depth)
        row.hops = min(row.hops, sighting.hops) if known else sighting.hops
        row.seed = row.seed or sighting.seed
        if row.seed:
            self._pages.free(shard, row)
        for predicate, priority in sighting.priorities.items():
            if predicate not in row.inherited or priority > row.inherited[predicate]:
                row.inherited[predicate] = priority
                if predicate in sighting.inputs and row.state == "candidate":
                    row.inputs[predicate] = sighting.inputs[predicate]
        if sighting.due is not None and row.state == "candidate":
            row.not_before = sighting.due
            if not sighting.due:
                row.reason = "done by a client"
                self._pages.close(shard, key, row, "refused")
        self._pages.keep(shard, {key: row})


def book_of(settings: CrawlSettings, partitions: Callable[[str], int]) -> Book:
    """Return the book of a crawl; ``partitions`` returns the number of partitions of a topic."""
    changes = Changes(partitions(CHANGES), partitions(OUTCOMES))
    revisit = (changes, Groups(settings.revisit)) if settings.frontier.revisit else None
    evidence, sightings = partitions(EVIDENCE), partitions(SIGHTINGS)
    return Book(
        settings.frontier, evidence, sightings, settings.fetch.redirects, settings.news, revisit,
        renders=settings.render.pages != "never",
    )  # fmt: skip


def needs_scripts(end: Fetched) -> bool:
    """Return whether a page needs scripts: it came without them, or they left it empty."""
    return isinstance(end.result, Missing) and end.result.reason == NEEDS_SCRIPTS


def said_of(page: Page) -> Said:
    """Return a page's words and subject."""
    return Said(page.words, page.subject)


def _bounds(settings: FrontierSettings) -> Bounds | None:
    return Bounds(settings.path_segments, settings.repeats, settings.parameters) if settings.traps else None
