"""The crawler without streams: one thread, in memory, every candidate scored anew at every choice.

It is the yardstick of the pipeline, so simple before fast (Aggarwal 2004, Figure 1, sections 3 and 4).
"""

import math
from collections.abc import Iterable
from random import Random
from typing import Literal, get_args

from scentline.models.crowd.collaborative import CrowdEvidence, crowd_score
from scentline.models.crowd.evidence import signature
from scentline.models.crowd.trace import Step
from scentline.models.interest.linkage import EQUAL, Evidence, Factors, score
from scentline.models.interest.ratio import Denominator
from scentline.models.interest.weights import Weights
from scentline.models.ledger import Ledger
from scentline.models.page import Link
from scentline.models.recount import JudgedPage
from scentline.models.url import tokens
from scentline.models.verdict import Verdict
from tests.models.teaching import weigh
from tests.reference.counting import Counting
from tests.reference.counts import Counts

Policy = Literal["collaborative", "combined", "linkage", "breadth-first", "random"]


class ReferenceCrawler:
    """Chooses pages and learns from their verdicts and from users; who drives it fetches and judges.

    ``predicates`` are their names; ``random`` serves the policy of that name. ``t`` and ``denominator`` are
    those of the significance test, ``factors`` the weights of the four logs of links; a candidate whose
    priority is below ``threshold`` is not chosen (ExpandList). ``bounds`` are those of `Counting`, which counts
    what other policies learn: `ValueError` for one that this crawler cannot choose by.

    >>> crawler = ReferenceCrawler(["sports"], "linkage", Random(1))
    >>> crawler.add_seed("http://example.org/")
    >>> alps = Link("http://example.org/alps")
    >>> crawler.judged("http://example.org/", {"sports": True}, ["ski"], [alps])
    >>> crawler.next("sports")
    'http://example.org/alps'
    >>> crawler.judged("http://example.org/alps", {"sports": True}, [], [])
    >>> crawler.counts.get("w:ski", "sports")
    (1, 1)
    """

    def __init__(
        self,
        predicates: Iterable[str],
        policy: Policy,
        random: Random,
        *,
        t: float = 2.0,
        denominator: Denominator = "binomial",
        factors: Factors = EQUAL,
        threshold: float = -math.inf,
        **bounds: int,
    ) -> None:
        if policy not in get_args(Policy):
            raise ValueError(f"choosing by policy {policy!r}: expected one of {', '.join(get_args(Policy))}")
        self._policy = policy
        self._random = random
        self._factors = factors
        self._threshold = threshold
        self._counting = Counting(policy, **bounds)
        self._weights = {name: Weights(name, Ledger(), t, denominator, drift=0) for name in predicates}
        self._candidates: dict[str, None] = {}
        self._left: set[str] = set()

    @property
    def counts(self) -> Counts:
        """What was learned."""
        return self._counting.counts

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate."""
        self._discover(url)

    def visit(self, step: Step) -> None:
        """Learn from an access, those of a user in the order of the log, and make its page a candidate."""
        self._discover(step.url)
        self._bring_up(self._counting.visit(step))

    def failed(self, url: str) -> None:
        """Take a URL that brings no page out of the candidates for good."""
        self._left.add(url)
        self._candidates.pop(url, None)

    def judged(self, url: str, verdict: Verdict, words: Iterable[str], links: Iterable[Link]) -> None:
        """Learn from a judged page and make its link targets candidates; a second verdict is passed over."""
        if url in self._counting.pages:
            return
        page = JudgedPage(url, verdict, tuple(words), tuple(links))
        self._candidates.pop(url, None)
        self._bring_up(self._counting.judged(page))
        for link in page.links:
            self._discover(link.url)

    def again(self, url: str, verdict: Verdict, words: Iterable[str], links: Iterable[Link]) -> None:
        """Learn from a page that was judged before what it is now; links that it had stay."""
        page = JudgedPage(url, verdict, tuple(words), tuple(links))
        self._bring_up(self._counting.again(page))
        for link in page.links:
            self._discover(link.url)

    def left(self, url: str) -> None:
        """Unlearn a page that was judged before: nothing holds of it any more."""
        self._bring_up(self._counting.again(JudgedPage(url, {})))

    def next(self, predicate: str) -> str | None:
        """Return the candidate to fetch next for ``predicate``; it stays one until it is judged or failed.

        None when there is none above the threshold. Equal priorities go by order of discovery.
        """
        if not self._candidates:
            return None
        if self._policy == "random":
            return self._random.choice(list(self._candidates))
        if self._policy == "breadth-first":
            return next(iter(self._candidates))
        priority, best = max(
            ((self.priority(url, predicate), url) for url in self._candidates), key=lambda found: found[0]
        )
        return best if priority >= self._threshold else None

    def priority(self, url: str, predicate: str) -> float:
        """Return the candidate's priority for ``predicate``, a sum of log interest ratios.

        log I^L of links, weighted, log I^C of users (14), or with the policy combined both (section 4).
        """
        weights = self._weights[predicate]
        total = 0.0
        if self._policy != "collaborative":
            total += score(self.evidence(url, predicate), weights, self._factors).total
        if self._policy in ("collaborative", "combined"):
            crowd = self.crowd_evidence(url, predicate)
            users, signatures = weights.users, weights.signatures
            total += crowd_score(crowd, users, signatures, weights.region, weights.base).total
        return total

    def evidence(self, url: str, predicate: str) -> Evidence:
        """Return what links tell of a page that is not judged yet."""
        sources = self._counting.sources(url)
        verdicts = [page.verdict[predicate] for page in sources if predicate in page.verdict]
        siblings = self._siblings(url, predicate)
        return Evidence(
            tuple(link.found.page_words for link in self._counting.parents(url)),
            tokens(url),
            k=len(verdicts),
            m=sum(verdicts),
            v=len(siblings),
            s=sum(siblings),
        )

    def crowd_evidence(self, url: str, predicate: str) -> CrowdEvidence:
        """Return what users tell of a page that is not judged yet."""
        visitors, signers, regions = self._counting.crowd(url)
        within = predicate in regions if url in self._counting.log.accesses else None
        return CrowdEvidence(tuple(visitors), signature(signers), within)

    def _discover(self, url: str) -> None:
        if url not in self._counting.pages and url not in self._left:
            self._candidates.setdefault(url)

    def _siblings(self, url: str, predicate: str) -> list[bool]:
        pages = self._counting.pages
        targets = {
            link.url
            for parent, _ in self._counting.parents(url)
            for link in parent.links
            if link.url not in (parent.url, url)
        }
        verdicts = (pages[target].verdict for target in targets if target in pages)
        return [verdict[predicate] for verdict in verdicts if predicate in verdict]

    def _bring_up(self, changed: Iterable[str]) -> None:
        features = list(changed)
        for predicate, weights in self._weights.items():
            weigh(weights, {feature: self.counts.get(feature, predicate) for feature in features})
