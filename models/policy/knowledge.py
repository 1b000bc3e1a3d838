"""What the learned policy knows of one predicate: counts of every kind, and the lifts of single features."""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from scentline.models.policy.candidate import Named
from scentline.models.policy.combiner import Vector
from scentline.models.policy.features import (
    BASE,
    MOST,
    PREFIX,
    PRIOR_PAGES,
    Shrunk,
    Weighed,
    base_rate,
    link,
    log_lift,
    log_lifts,
    with_earlier,
)
from scentline.models.policy.vocabulary import WORDS, LogRatios, Numbers, Vocabulary, roots

#: Share of newly judged pages up to which the sums of a page's words are not recomputed.
STALE = 0.03
#: Positive pages that each word of a predicate's topic starts with.
TOPIC_PAGES = 3
#: Pages at the rate of the prefix above added to the counts of a URL prefix.
PREFIX_PRIOR = 2.0


class Knowledge:
    """The counts of one predicate and their lifts: ``pages`` were judged, ``hits`` of them satisfy it.

    The counts are in the vocabulary's ledger; report their changes by `learn`. There are lifts of words (of
    judged pages under the page's own verdict, of anchors and around links under that of the link's target, of
    URLs), of URL prefixes, of users, and of links by the verdict on their source.
    """

    def __init__(
        self,
        predicate: str,
        vocabulary: Vocabulary,
        topic: Iterable[str] = (),
        phrases: Sequence[Sequence[str]] = (),
    ) -> None:
        self.predicate = predicate
        self._ledger = vocabulary.ledger
        self.words = LogRatios(vocabulary, predicate, Shrunk())
        #: An earlier crawl's counts of features other than words, and its base rate, 0 if unknown.
        self._earlier_counts: dict[str, Weighed] = {}
        self._earlier = 0.0
        words = tuple(topic)
        for word in words:
            self.words.start(word, TOPIC_PAGES)
        self.words.watch(roots(words))
        self.named = Named(vocabulary, phrases)
        self.learn(np.zeros(0, np.intp))

    # counts

    def learn(self, places: Numbers) -> None:
        """Apply changed counts, among them those of words in distinct ``places``.

        Every ratio is relative to the rate of hits among the judged pages.
        """
        self.words.take(places)
        self.pages, self.hits = pages, hits = self._ledger.get(BASE, self.predicate)
        self.rate = base_rate(pages, hits)
        #: Words weighed at this many judged pages, or more, are not weighed again.
        self.fresh = pages - STALE * pages
        self._rebase()

    def renumber(self, before: Numbers) -> None:
        """Apply new places of words, as `models.policy.vocabulary.LogRatios.renumber` does."""
        self.words.renumber(before)
        self.named.renumber(before)

    def _rebase(self) -> None:
        self.words.rebase(Shrunk(self.rate, self._earlier))
        #: The log ratios of links from pages of either verdict.
        self.verdicts = {holds: self._lift_of(link(self.predicate, holds)) for holds in (True, False)}

    def _lift_of(self, feature: str) -> float:
        counted = self._ledger.get(feature, self.predicate)
        return log_lift(*self.with_earlier(feature, counted), self.rate)

    def with_earlier(self, feature: str, counted: Weighed) -> Weighed:
        """Return a feature's counts plus the inherited ones, at the current base rate; not for words."""
        earlier = self._earlier_counts.get(feature) if self._earlier else None
        return counted if earlier is None else with_earlier(counted, *earlier, self.rate / self._earlier)

    @property
    def inherits(self) -> bool:
        """Whether there are inherited counts of features other than words."""
        return bool(self._earlier and self._earlier_counts)

    def inherit(self, counts: Iterable[tuple[str, float, float]]) -> None:
        """Set weighted (feature, pages, hits) of an earlier crawl, which are added to the counts.

        Hits are scaled by the ratio of the current base rate to the earlier one, which the feature '' gives.
        Without it, nothing inherited counts.
        """
        words: list[tuple[str, float, float]] = []
        for feature, pages, hits in counts:
            if feature[:2] in WORDS:
                words.append((feature, pages, hits))
            elif feature == BASE:
                self._earlier = base_rate(pages, hits) if pages else 0.0
            else:
                self._earlier_counts[feature] = (pages, hits)
        self.words.inherit(words)
        self._rebase()


def prefix_ratios(knowledge: Sequence[Knowledge], places: Sequence[Sequence[str]]) -> Vector:
    """Return ln(r / p) of the deepest of each place's prefixes, shape (predicates, places).

    Each level's rate is drawn towards that of the level above, the widest towards p. All predicates share a
    ledger.
    """
    order = sorted(range(len(places)), key=lambda place: -len(places[place]))
    levels = range(len(places[order[0]]) if order else 0)
    named = [[places[place][level] for place in order if len(places[place]) > level] for level in levels]
    pages, hits = _counts(knowledge, [PREFIX + name for name in chain.from_iterable(named)])
    bases = np.array([[known.rate] for known in knowledge])
    rates = np.repeat(bases, len(places), axis=1)
    start = 0
    for names in named:
        above, here = rates[:, : len(names)], slice(start, start + len(names))
        above[:] = (hits[:, here] + PREFIX_PRIOR * above) / (pages[:, here] + PREFIX_PRIOR)
        start += len(names)
    found = np.empty_like(rates)
    found[:, order] = np.log(rates / bases)
    return found


def lifts_of(knowledge: Sequence[Knowledge], features: Sequence[str]) -> Vector:
    """Return shrunk log ratios of features other than words, within +-3, a row a predicate; 0 if unknown."""
    rates = np.array([[known.rate] for known in knowledge])
    found = log_lifts(*_counts(knowledge, features), rates, PRIOR_PAGES)
    return np.minimum(MOST, np.maximum(-MOST, found, out=found), out=found)


def _counts(knowledge: Sequence[Knowledge], features: Sequence[str]) -> tuple[Vector, Vector]:
    """Return pages and hits of features other than words, inherited ones added, a row a predicate."""
    ledger = knowledge[0].words.vocabulary.ledger
    counted = ledger.counts(features, [known.predicate for known in knowledge])
    # A forgotten feature that is subtracted later leaves negative counts.
    pages = np.maximum(counted[0], 0.0)
    hits = np.minimum(np.maximum(counted[1], 0.0), pages)
    for row, known in enumerate(knowledge):
        if known.inherits and features:
            cells = zip(features, zip(pages[row], hits[row], strict=True), strict=True)
            pages[row], hits[row] = zip(*(known.with_earlier(*cell) for cell in cells), strict=True)
    return pages, hits
