"""What answers to requests teach: whether a page came.

A request is an order of a page that its site was asked for. What robots.txt, an address or a limit of our own
forbids before that is none, nor is an order whose lease ran out without an answer, nor a revisit.

Every request counts under the base, in the verdict on `FAILED`. A URL counts under its features once, by the
last answer: by the page that came, or by what it came to in the end. Should a page come all the same, of a
request that was given up, that is taken back. So all these counts are functions of what was answered.
"""

from agents.frontier.crowd import Crowd
from agents.frontier.evidence import EvidenceEmitter
from agents.frontier.links import Links
from agents.frontier.pages import Pages
from agents.frontier.rows import FrontierShard, PageRow
from models.interest.features import BASE
from models.lessons import NOTHING, Lessons
from models.verdict import FAILED


class Answers:
    """Counts requests, and what those teach that brought no page; `Book` counts the pages that came."""

    def __init__(
        self, pages: Pages, evidence: EvidenceEmitter, lessons: Lessons, links: Links, crowd: Crowd
    ) -> None:
        self._pages = pages
        self._evidence = evidence
        self._lessons = lessons
        self._links = links
        self._crowd = crowd

    def came(self, shard: FrontierShard, row: PageRow) -> None:
        """Count a request that brought a page; what its URL taught as one that failed is taken back."""
        self._pages.count_request(shard, row)
        answer = self._lessons.answer(None, failed=row.failed)
        if answer is not None and not row.silent:
            self._evidence.count(self._features(shard, row), answer, -1)
            self._links.count(row, answer, -1)
        row.failed = False

    def failed(self, shard: FrontierShard, row: PageRow) -> None:
        """Count a request that brought no page: under the base alone, as the URL may be asked for again."""
        self._pages.count_request(shard, row)
        self._evidence.count((BASE,), {FAILED: True})

    def ended(self, shard: FrontierShard, row: PageRow, *, silent: bool) -> None:
        """Have a URL teach that its last request failed, unless it is ``silent``."""
        row.failed, row.silent = True, silent
        answer = self._lessons.answer(None, failed=True)
        if answer is None:
            return
        self._evidence.label(shard, row, answer)
        if not silent:
            self._evidence.count(self._features(shard, row), answer)
        self._links.judged(shard, row, answer)

    def _features(self, shard: FrontierShard, row: PageRow) -> frozenset[str]:
        """Return what a URL that brought no page is counted under, but for base and links."""
        own = self._lessons.own(row.url, NOTHING) - {BASE}
        return own | self._links.features(shard, row) | self._crowd.features(shard, row)
