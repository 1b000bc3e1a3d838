"""The crawler without streams: one thread, in memory, every candidate scored anew at every choice.

It is the yardstick of the pipeline, so simple before fast (Aggarwal 2004, Figure 1 and section 3).
"""

import math
from collections.abc import Iterable
from random import Random
from typing import Literal

from models.counts import Counts
from models.evaluate.recount import JudgedPage
from models.interest.contribution import correction, features_of, link_features
from models.interest.linkage import EQUAL, Evidence, Factors, score
from models.interest.parents import kept
from models.interest.ratio import Denominator
from models.interest.weights import Weights
from models.url import identifier, tokens
from models.verdict import Verdict

Policy = Literal["linkage", "breadth-first", "random"]


class ReferenceCrawler:
    """Chooses pages and learns from their verdicts; who drives it fetches and judges them.

    ``predicates`` are their names; ``random`` serves the policy of that name. ``parents`` bounds the
    in-linking pages whose words and other targets count for a page; ``t`` and ``denominator`` are those of
    the significance test, ``factors`` the weights of the four logs; a candidate whose priority is below
    ``threshold`` is not chosen (ExpandList). ``counts`` holds what was learned.

    >>> crawler = ReferenceCrawler(["sports"], "breadth-first", Random(1))
    >>> crawler.add_seed("http://example.org/")
    >>> crawler.judged("http://example.org/", {"sports": True}, ["ski"], ["http://example.org/alps"])
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
        parents: int = 32,
        t: float = 2.0,
        denominator: Denominator = "binomial",
        factors: Factors = EQUAL,
        threshold: float = -math.inf,
    ) -> None:
        self.counts = Counts()
        self._policy = policy
        self._random = random
        self._bound = parents
        self._factors = factors
        self._threshold = threshold
        self._weights = {name: Weights(name, t, denominator, drift=0) for name in predicates}
        self._candidates: dict[str, None] = {}
        self._left: set[str] = set()
        self._pages: dict[str, JudgedPage] = {}
        self._inlinks: dict[str, dict[bytes, JudgedPage]] = {}

    def add_seed(self, url: str) -> None:
        """Make a URL a candidate."""
        self._discover(url)

    def visit(self, url: str) -> None:
        """Make a URL known from a log a candidate."""
        self._discover(url)

    def failed(self, url: str) -> None:
        """Take a URL that brings no page out of the candidates for good."""
        self._left.add(url)
        self._candidates.pop(url, None)

    def judged(self, url: str, verdict: Verdict, words: Iterable[str], links: Iterable[str]) -> None:
        """Learn from a judged page and make its link targets candidates; a second verdict is passed over."""
        if url in self._pages:
            return
        targets = tuple(target for target in dict.fromkeys(links) if target != url)
        page = JudgedPage(url, verdict, frozenset(words), targets)
        self._pages[url] = page
        self._candidates.pop(url, None)
        self._count(features_of(url, self._parent_words(url)), verdict)
        for source in self._inlinks.get(url, {}).values():
            self._count(link_features(source.verdict), verdict)
        for target in targets:
            self._link(page, target)

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
        """Return the candidate's priority for ``predicate``: the weighted sum of log interest ratios."""
        return score(self.evidence(url, predicate), self._weights[predicate], self._factors).total

    def evidence(self, url: str, predicate: str) -> Evidence:
        """Return what is known of a page that is not judged yet."""
        sources = self._inlinks.get(url, {}).values()
        verdicts = [page.verdict[predicate] for page in sources if predicate in page.verdict]
        siblings = self._siblings(url, predicate)
        return Evidence(
            tuple(self._parent_words(url)),
            tokens(url),
            k=len(verdicts),
            m=sum(verdicts),
            v=len(siblings),
            s=sum(siblings),
        )

    def _discover(self, url: str) -> None:
        if url not in self._pages and url not in self._left:
            self._candidates.setdefault(url)

    def _link(self, source: JudgedPage, target: str) -> None:
        inlinks = self._inlinks.setdefault(target, {})
        judged = self._pages.get(target)
        if judged is None:
            inlinks[identifier(source.url)] = source
            self._discover(target)
            return
        before = self._parent_words(target)
        inlinks[identifier(source.url)] = source
        added, removed = correction(before, self._parent_words(target))
        self._count(added, judged.verdict)
        self._count(removed, judged.verdict, times=-1)
        self._count(link_features(source.verdict), judged.verdict)

    def _parents(self, url: str) -> list[JudgedPage]:
        sources = self._inlinks.get(url, {})
        return [sources[name] for name in kept(sources, identifier(url), self._bound)]

    def _parent_words(self, url: str) -> list[frozenset[str]]:
        return [page.words for page in self._parents(url)]

    def _siblings(self, url: str, predicate: str) -> list[bool]:
        targets = {target for page in self._parents(url) for target in page.links} - {url}
        verdicts = (self._pages[target].verdict for target in targets if target in self._pages)
        return [verdict[predicate] for verdict in verdicts if predicate in verdict]

    def _count(self, features: Iterable[str], verdict: Verdict, times: int = 1) -> None:
        features = tuple(features)
        self.counts.add(features, verdict, times)
        for predicate in self._weights.keys() & verdict.keys():
            weights = self._weights[predicate]
            for feature in features:
                weights.update(feature, *self.counts.get(feature, predicate))
