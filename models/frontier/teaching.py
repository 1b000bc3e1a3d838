"""What is counted of answers: of the pages that came, by their verdicts, and of requests that brought none."""

from collections.abc import Iterable
from typing import NamedTuple

from scentline.models.frontier.crowd import Crowd
from scentline.models.frontier.keys import Rows
from scentline.models.frontier.ledger import EvidenceEmitter
from scentline.models.frontier.links import Links
from scentline.models.frontier.pages import Pages
from scentline.models.frontier.rows import PageRow
from scentline.models.lessons import Lessons
from scentline.models.page import FAILED, Verdict, unknown
from scentline.models.policy.features import BASE


class Said(NamedTuple):
    """What a page says: its distinct words and what it is about, where that counts."""

    words: tuple[str, ...] = ()
    subject: str = ""


class Teaching:
    """Counts answers: verdicts on pages under all that they teach of, and requests that brought no page.

    A request is an order of a page that its site was asked for. What robots.txt, an address or a limit of our
    own forbids before that is none, nor is an order whose lease ran out without an answer, nor a revisit.

    Every request counts under the base, in the verdict on `FAILED`. A URL counts under its features once, by
    the last answer: by the page that came, or by what it came to in the end. Should a page come all the same,
    of a request that was given up, that is taken back. So all these counts are functions of what was answered,
    and of the verdicts as they stand.
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
        """Count a verdict on a page, or what a later one adds to it, and tell it to whom it concerns."""
        self._pages.count_verdict(shard, {name: holds for name, holds in verdict.items() if name != FAILED})
        features = self._features(row.url, said) | self._beside(shard, row)
        self._evidence.count({BASE} if row.silent else features, verdict)
        self._links.judged(shard, row, verdict)
        self._crowd.judged(shard, row, said.words)

    def teach_again(self, shard: Rows, row: PageRow, verdict: Verdict, before: Said, said: Said) -> None:
        """Take back what a page was counted under, and count it by another verdict and what it says now.

        Every count is linear in the verdict at hand. That a page came stays as it is.
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
        """Count a request that brought a page; what its URL taught as one that failed is taken back."""
        self._pages.count_request(shard, row)
        answer = self._lessons.answer(None, failed=row.failed)
        if answer is not None and not row.silent:
            self._evidence.count(self._without_page(shard, row), answer, -1)
            self._links.count(row, answer, -1)
        row.failed = False

    def failed(self, shard: Rows, row: PageRow) -> None:
        """Count a request that brought no page: under the base alone, as the URL may be asked for again."""
        self._pages.count_request(shard, row)
        self._evidence.count((BASE,), {FAILED: True})

    def ended(self, shard: Rows, row: PageRow, *, silent: bool) -> None:
        """Have a URL teach that its last request failed, unless it is ``silent``."""
        row.failed, row.silent = True, silent
        answer = self._lessons.answer(None, failed=True)
        if answer is None:
            return
        self._evidence.label(shard, row, answer)
        if not silent:
            self._evidence.count(self._without_page(shard, row), answer)
        self._links.judged(shard, row, answer)

    def _without_page(self, shard: Rows, row: PageRow) -> Iterable[str]:
        """Return what a URL that brought no page is counted under, but for the base."""
        return (self._features(row.url, Said()) - {BASE}) | self._beside(shard, row)
