"""The paper's policies without streams: each answer is worked out from all pages and accesses."""

from collections.abc import Iterable

import numpy as np

from scentline.models.lessons import JudgedPage, crowd_of, links_of, recount
from scentline.models.page import Link, Verdict
from scentline.models.policy.factors import kept, locality_log, region_log, sibling_log, signature
from scentline.models.policy.features import PAPER, SIGNATURE, TOKEN, USER, WORD, Denominator
from scentline.models.policy.vocabulary import Vocabulary
from scentline.models.policy.weights import CrowdEvidence, Weights
from scentline.models.trace import Step, Trace
from scentline.models.url import identifier, tokens

#: Weights of the logs of content, URL tokens, links and siblings.
Factors = tuple[float, float, float, float]


class Reference:
    """The yardstick of "linkage", "collaborative" and "combined" (Aggarwal 2004, sections 3 and 4)."""

    def __init__(
        self,
        policy: str,
        *,
        t: float = 2.0,
        denominator: Denominator = "binomial",
        factors: Factors = (1.0, 1.0, 1.0, 1.0),
        parents: int = 32,
        reach: int = 5,
        visitors: int = 32,
        together: int = 64,
        window: int = 64,
    ) -> None:
        self._policy, self._t, self._denominator, self._factors = policy, t, denominator, factors
        self._parents = parents
        self._bounds = {"reach": reach, "users": visitors, "others": together, "window": window}
        self._pages: dict[str, JudgedPage] = {}
        self._steps: list[Step] = []
        self._trace = Trace(())
        self._weights: dict[str, Weights] = {}

    def judged(self, url: str, verdict: Verdict, words: Iterable[str], links: Iterable[Link]) -> None:
        self._pages[url] = JudgedPage(url, verdict, tuple(words), tuple(links))
        self._weights.clear()

    def visit(self, *steps: Step) -> None:
        self._steps += steps
        self._trace = Trace(self._steps, **self._bounds)
        self._weights.clear()

    def priority(self, url: str, predicate: str) -> float:
        """Return the priority of a page that is not judged: log I^L, log I^C (14), or both (section 4)."""
        links = self._by_links(url, predicate) if self._policy != "collaborative" else 0.0
        return links + (self._by_users(url, predicate) if self._policy != "linkage" else 0.0)

    def crowd_evidence(self, url: str, predicate: str) -> CrowdEvidence:
        visitors, signers, regions = crowd_of(url, self._pages, self._trace)
        within = predicate in regions if url in self._trace.accesses else None
        return CrowdEvidence(tuple(visitors), signature(signers), within)

    def links(self, url: str, predicate: str) -> tuple[int, int]:
        """Return how many judged pages link to a page, and how many of them satisfy the predicate."""
        sources = [page.verdict for page in self._sources(url).values() if predicate in page.verdict]
        return len(sources), sum(verdict[predicate] for verdict in sources)

    def _by_links(self, url: str, predicate: str) -> float:
        weights, sources = self._weigh(predicate), self._sources(url)
        nearest = [sources[name] for name in kept(sources, identifier(url), self._parents)]
        words = {word for page in nearest for word in page.words}
        targets = {target for page in nearest for target in links_of(page)} - {url}
        found = [self._pages[target].verdict for target in targets & self._pages.keys()]
        siblings = [verdict[predicate] for verdict in found if predicate in verdict]
        logs = (
            weights.sum(WORD, words),
            weights.sum(TOKEN, tokens(url)),
            locality_log(*self.links(url, predicate), weights.links, weights.base),
            sibling_log(len(siblings), sum(siblings), weights.base),
        )
        return sum(factor * log for factor, log in zip(self._factors, logs, strict=True))

    def _by_users(self, url: str, predicate: str) -> float:
        weights, crowd = self._weigh(predicate), self.crowd_evidence(url, predicate)
        return (
            weights.sum(USER, crowd.visitors)
            + weights.sum(SIGNATURE, crowd.words)
            + region_log(crowd.within, weights.region, weights.base)
        )

    def _sources(self, url: str) -> dict[bytes, JudgedPage]:
        return {identifier(page.url): page for page in self._pages.values() if url in links_of(page)}

    def _weigh(self, predicate: str) -> Weights:
        if predicate not in self._weights:
            ledger = recount(self._pages.values(), self._policy, self._trace, self._parents)
            weights = Weights(predicate, Vocabulary(ledger, PAPER), self._t, self._denominator, drift=0)
            weights.learn(weights.vocabulary.places_in(np.arange(ledger.size)))
            self._weights[predicate] = weights
        return self._weights[predicate]
