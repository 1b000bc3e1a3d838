"""The policy `shark-search`: a page's likeness to the query is inherited by what it links to, and decays."""

from scentline.models.page import Page
from scentline_lab.simulation.baselines.queues import Heap
from scentline_lab.simulation.baselines.texts import Query, Texts
from scentline_lab.simulation.crawler import Choice, Ready, Task, anywhere

#: What is left of a score from a page to its child (delta), the part of the anchor beside its context (beta),
#: and the part of what is inherited beside both (gamma).
DECAY, ANCHOR, INHERITED = 0.5, 0.8, 0.5


class SharkSearch:
    """Orders candidates by Shark-Search's potential score (Hersovici and others, WWW7 1998, section 3).

    A child inherits ``decay`` times the similarity of a page that is relevant, and else ``decay`` times what
    this page inherited itself. Its neighborhood score is ``anchor`` times the anchor's similarity, and the rest
    times that of the context, which is 1 where the anchor has some. The potential score is ``inherited`` times
    the first and the rest times the second; of several links to a page the best counts.

    Similarity is the cosine with the query (`scentline_lab.baselines.texts`). The paper takes a page's
    relevance from it too; here that is the verdict, so a relevant page has similarity 1. The depth to which the
    paper follows links from pages that are not relevant is not bounded: a crawl has its budget.
    """

    def __init__(
        self, task: Task, decay: float = DECAY, anchor: float = ANCHOR, inherited: float = INHERITED
    ) -> None:
        self._heap = Heap(task.trace.accesses)
        self._query = Query(task.keywords, Texts())
        self._decay, self._anchor, self._inherited = decay, anchor, inherited
        # Of each URL that a link led to: its potential score, and what it inherits by that link.
        self._best: dict[str, tuple[float, float]] = {}

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate."""
        self._heap.put(url, 0.0)

    def judged(self, page: Page, holds: bool) -> None:
        """Score the page's links."""
        self._heap.close(page.url)
        self._query.count(page.words, holds)
        passed = self._decay * (1.0 if holds else self._best.get(page.url, (0.0, 0.0))[1])
        anchors = self._query.cosines([link.anchor for link in page.links]).tolist()
        contexts = self._query.cosines([link.context for link in page.links]).tolist()
        for link, anchor, context in zip(page.links, anchors, contexts, strict=True):
            near = self._anchor * anchor + (1 - self._anchor) * (1.0 if anchor else context)
            score = self._inherited * passed + (1 - self._inherited) * near
            if link.url not in self._best or score > self._best[link.url][0]:
                self._best[link.url] = score, passed
                self._heap.put(link.url, score)

    def failed(self, url: str) -> None:
        """Take a URL that brought no page out for good."""
        self._heap.close(url)

    def next(self, ready: Ready = anywhere) -> Choice | None:
        """Return the candidate of the highest potential score."""
        url = self._heap.take(ready)
        return None if url is None else Choice(url)
