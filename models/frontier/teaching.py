"""The counts of answers, and of what users did with pages.

Fetched pages are counted by their verdicts, beside requests that brought none. Counts are functions of the sets
of judged pages and of accesses: when an access or a verdict changes the crowd's features of a page judged
before, its evidence is corrected.
"""

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from scentline.models.facts import SIGHTINGS, Beside, Neighbour, Together, Visited
from scentline.models.frontier.keys import BESIDE_PREFIX, PAGE_PREFIX, Rows, beside_of, known_pages
from scentline.models.frontier.ledger import EvidenceEmitter
from scentline.models.frontier.links import Links
from scentline.models.frontier.pages import Pages
from scentline.models.frontier.rows import OPEN, PageRow
from scentline.models.lessons import NOTHING, Lessons
from scentline.models.page import FAILED, Verdict, unknown
from scentline.models.policy.factors import WORDS, rank
from scentline.models.policy.features import BASE
from scentline.models.policy.scoring import pages_beside, signers
from scentline.models.settings import FrontierSettings
from scentline.models.url import identifier

#: Most candidates that one verdict has rescored because users visited both.
BESIDE_AT_MOST = 30


class Crowd:
    """Keeps visitors and neighbours of pages within the bounds of the settings."""

    def __init__(
        self, pages: Pages, evidence: EvidenceEmitter, lessons: Lessons, settings: FrontierSettings
    ) -> None:
        self._pages = pages
        self._evidence = evidence
        self._lessons = lessons
        self._settings = settings
        #: By partition, the pages with a change of judged neighbours or of the verdicts on these.
        self.noted: defaultdict[int, set[bytes]] = defaultdict(set)

    def features(self, shard: Rows, row: PageRow) -> frozenset[str]:
        """Return the crowd's features of a page; none before an answer that teaches."""
        return self._of_visitors(row) | self._of_others(shard, row)

    def _of_visitors(self, row: PageRow) -> frozenset[str]:
        if self._lessons.answer(row.verdict, failed=row.failed) is None:
            return NOTHING
        return self._lessons.of_crowd(row.visitors, (), ())

    def _of_others(self, shard: Rows, row: PageRow) -> frozenset[str]:
        """Return a page's features by the judged pages that users visited near it."""
        counts = self._lessons.counts_crowd and row.together
        if not counts or self._lessons.answer(row.verdict, failed=row.failed) is None:
            return NOTHING
        near = pages_beside(shard, row)
        words = [near[page].words for page in signers(row, near)] if self._lessons.users else []
        verdicts = (found.verdict or {} for found in near.values())
        regions = {name for verdict in verdicts for name, holds in verdict.items() if holds}
        return self._lessons.of_crowd((), words, regions)

    def _recount(self, row: PageRow, before: frozenset[str], after: frozenset[str]) -> None:
        answer = self._lessons.answer(row.verdict, failed=row.failed)
        if answer is not None and not row.silent:
            self._evidence.change(answer, after - before, before - after)

    # accesses

    def visited(self, shard: Rows, sighting: Visited) -> None:
        """Apply an access; one step from a user counts as one link from a seed."""
        key, row = self._pages.find(shard, sighting.url, 1)
        before = self._of_visitors(row)
        row.visits += 1
        if sighting.user not in row.visitors:
            row.visitors = sorted((*row.visitors, sighting.user))[: self._settings.visitors]
        self._pages.keep(shard, {key: row})
        self._recount(row, before, self._of_visitors(row))

    def together(self, shard: Rows, sighting: Together) -> None:
        """Apply the changes between a page and others that users visited near it.

        A candidate is rescored where any of these is judged: the others say nothing of it.
        """
        key, row = self._pages.find(shard, sighting.url, 1)
        page = identifier(sighting.url)
        before = self._of_others(shard, row)
        judged = False
        for beside in sighting.pages:
            self._add_partition(shard, row, page, beside.partition)
            judged = self._put_beside(shard, row, page, beside) or judged
        if judged:
            self.noted[shard.partition].add(page)
        if judged or not row.visits:
            self._pages.keep(shard, {key: row})
        else:
            shard.put(key, row)
        self._recount(row, before, self._of_others(shard, row))

    def _put_beside(self, shard: Rows, row: PageRow, page: bytes, beside: Beside) -> bool:
        """Apply the change between a page and another; keep those of lowest rank, in order of rank.

        A displaced page never comes back, because those that displaced it stay, so it is forgotten. Return
        whether the other page or the displaced one is judged.
        """
        found = beside_of(shard, beside.other)
        judged = found.verdict is not None
        cell = row.together.get(beside.other)
        if cell is not None:
            cell[1] += beside.times
            cell[2] += beside.sixths
            return judged
        place = rank(beside.other, page)
        if len(row.together) >= self._settings.together:
            last = next(reversed(row.together))
            if place > rank(last, page):
                return False
            del row.together[last]
            gone = beside_of(shard, last)
            judged = judged or gone.verdict is not None
            gone.pages.pop(page, None)
            shard.put(BESIDE_PREFIX + last, gone)
        cells = list(row.together.items())
        at = bisect(cells, place, key=lambda each: rank(each[0], page))
        cells.insert(at, (beside.other, [beside.partition, beside.times, beside.sixths]))
        row.together = dict(cells)
        found.pages[page] = None
        shard.put(BESIDE_PREFIX + beside.other, found)
        return judged

    # verdicts

    def judged(self, shard: Rows, row: PageRow, words: tuple[str, ...]) -> None:
        """Send a page's current verdict to the partitions of the pages that users visited near it."""
        if not self._lessons.counts_crowd or row.verdict is None:
            return
        met = Neighbour(identifier(row.url), row.verdict, words[:WORDS] if self._lessons.users else ())
        for partition in row.told:
            if partition != shard.partition:
                shard.emit(SIGHTINGS, partition, met)
        self.met(shard, met)

    def _add_partition(self, shard: Rows, row: PageRow, page: bytes, partition: int) -> None:
        """Add a partition of pages near a page, and send it the page's verdict, if any."""
        if partition in row.told:
            return
        row.told.append(partition)
        if row.verdict is not None and partition != shard.partition:
            shard.emit(SIGHTINGS, partition, Neighbour(page, row.verdict, beside_of(shard, page).words))

    def met(self, shard: Rows, sighting: Neighbour) -> None:
        """Apply the current verdict on a page to all pages that users visited near it."""
        found = beside_of(shard, sighting.page)
        if found.verdict == sighting.verdict and found.words == sighting.words:
            return
        rows = known_pages(shard, [PAGE_PREFIX + page for page in found.pages]).values()
        # A page that satisfies no predicate says nothing of those beside it, except by its words.
        holds = any(sighting.verdict.values()) or any((found.verdict or {}).values())
        before = [self._of_others(shard, row) for row in rows] if holds or self._lessons.users else []
        found.verdict = sighting.verdict
        found.words = sighting.words
        shard.put(BESIDE_PREFIX + sighting.page, found)
        self.noted[shard.partition].update(found.pages)
        for row, counted in zip(rows, before, strict=False):
            self._recount(row, counted, self._of_others(shard, row))
        nearest = sorted(rows, key=lambda row: -row.together[sighting.page][1])
        candidates = [identifier(row.url) for row in nearest if row.state in OPEN]
        self._pages.touch(shard, candidates[:BESIDE_AT_MOST])


class Said(NamedTuple):
    """A page's content as counted: its distinct words and, where that counts, its subject."""

    words: tuple[str, ...] = ()
    subject: str = ""


class Teaching:
    """Counts answers: verdicts on pages under all their features, and requests that brought no page.

    An order counts as a request if the page was requested from its site. One that robots.txt, an address or a
    limit of our own forbids before that does not, nor does one whose lease expired, nor a revisit.

    Every request counts under the base, in the verdict on `FAILED`. A URL counts under its features once, by
    its page or by its final failure. If a page arrives after all, of a request that was given up, that failure
    is subtracted again. So all these counts are functions of the answers and of the current verdicts.
    """

    def __init__(
        self, pages: Pages, evidence: EvidenceEmitter, lessons: Lessons, links: Links, crowd: Crowd
    ) -> None:
        self._pages = pages
        self._evidence = evidence
        self._lessons = lessons
        self._links = links
        self._crowd = crowd

    def teach(self, shard: Rows, row: PageRow, verdict: Verdict, said: Said) -> None:
        """Count a verdict on a page, or what a later one adds, and send it to the pages that it concerns."""
        self._pages.count_verdict(shard, {name: holds for name, holds in verdict.items() if name != FAILED})
        features = self._features(row.url, said) | self._beside(shard, row)
        self._evidence.count({BASE} if row.silent else features, verdict)
        self._links.judged(shard, row, verdict)
        self._crowd.judged(shard, row, said.words)

    def teach_again(self, shard: Rows, row: PageRow, verdict: Verdict, before: Said, said: Said) -> None:
        """Replace the counts of a page by those of another verdict and its present content.

        Every count is linear in its verdict. The page stays counted as fetched.
        """
        beside = self._beside(shard, row)
        old = self._answer(row)
        self._pages.count_verdict(shard, unknown(verdict, old))
        row.verdict = verdict
        new = self._answer(row)
        if row.silent:
            self._evidence.count((BASE,), old, -1)
            self._evidence.count((BASE,), new)
        else:
            self._evidence.count(self._features(row.url, before) | beside, old, -1)
            self._evidence.count(self._features(row.url, said) | beside, new)
            self._links.count(row, old, -1)
        self._links.judged(shard, row, new)
        self._crowd.judged(shard, row, said.words)

    def _answer(self, row: PageRow) -> Verdict:
        assert row.verdict is not None
        return row.verdict | {FAILED: False}

    def _features(self, url: str, said: Said) -> frozenset[str]:
        return self._lessons.own(url, said.words, said.subject)

    def _beside(self, shard: Rows, row: PageRow) -> frozenset[str]:
        return self._links.features(shard, row) | self._crowd.features(shard, row)

    # requests

    def came(self, shard: Rows, row: PageRow) -> None:
        """Count a request that brought a page; an earlier failure of its URL is subtracted again."""
        self._pages.count_request(shard, row)
        answer = self._lessons.answer(None, failed=row.failed)
        if answer is not None and not row.silent:
            self._evidence.count(self._without_page(shard, row), answer, -1)
            self._links.count(row, answer, -1)
        row.failed = False

    def failed(self, shard: Rows, row: PageRow) -> None:
        """Count a request that brought no page: under the base alone, as the URL may be retried."""
        self._pages.count_request(shard, row)
        self._evidence.count((BASE,), {FAILED: True})

    def ended(self, shard: Rows, row: PageRow, *, silent: bool) -> None:
        """Count the final failure of a URL, under its features unless it is ``silent``."""
        row.failed, row.silent = True, silent
        answer = self._lessons.answer(None, failed=True)
        if answer is None:
            return
        self._evidence.label(shard, row, answer)
        if not silent:
            self._evidence.count(self._without_page(shard, row), answer)
        self._links.judged(shard, row, answer)

    def _without_page(self, shard: Rows, row: PageRow) -> Iterable[str]:
        """Return the features of a URL that brought no page, without the base."""
        return (self._features(row.url, Said()) - {BASE}) | self._beside(shard, row)
