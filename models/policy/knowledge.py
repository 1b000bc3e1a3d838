"""What one predicate's learned policy knows: counts of every kind, and what they say of single features."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from scentline.models.ledger import distinct, longer
from scentline.models.policy.combiner import Vector
from scentline.models.policy.features import BASE, PREFIX, link
from scentline.models.policy.ratio import (
    MOST,
    PRIOR_PAGES,
    Weighed,
    base_rate,
    log_lift,
    log_lifts,
    with_earlier,
)
from scentline.models.policy.words import KINDS, ROOM, WORDS, Named, Numbers, Vocabulary, roots

#: Relative move of the base rate, or of its complement, after which all weights are taken anew.
DRIFT = 0.02
#: Pages, all hits, that a word with a root of the predicate's own words starts with.
AKIN_PAGES = 2
#: Share of the judged pages for which the sums of a page's words stay as they were taken.
STALE = 0.03
#: Positive pages that each word of a predicate's topic starts with.
TOPIC_PAGES = 3
#: Pages at the rate of the prefix above that a URL prefix is drawn towards.
PREFIX_PRIOR = 2.0


class WordLifts:
    """The shrunk log ratios of a predicate's words of all kinds, each within +-3, in an array by place.

    A word's weight is L(c, n; 2) of its counts in the vocabulary's ledger, at the base rate. It is taken when
    the counts change, as `take` is told, and those that the base rate moves are taken anew when it has moved by
    more than 2 % since: at most so much do weights lag behind.

    >>> from scentline.models.ledger import Ledger
    >>> vocabulary = Vocabulary(Ledger())
    >>> lifts = WordLifts(vocabulary, "sports")
    >>> slots = vocabulary.ledger.slots_of(["p:ski"])
    >>> vocabulary.ledger.add(slots, {"sports": True}, 8)
    >>> lifts.take(vocabulary.places_in(slots))
    >>> lifts.rebase(0.1)
    >>> round(lifts.sum(vocabulary.numbers(["ski", "snow"])), 3)
    2.104
    """

    def __init__(self, vocabulary: Vocabulary, predicate: str) -> None:
        self.vocabulary = vocabulary
        self._ledger = vocabulary.ledger
        self._ledger.add_predicates([predicate])
        self._predicate = predicate
        self._rate = 0.1
        self._earlier = 0.0
        self._weights: Vector = np.zeros(KINDS * ROOM)
        # Beside what is counted: pages that are all hits, and an earlier crawl's pages and hits; mostly none.
        self._started: Vector = np.zeros(0)
        self._earlier_pages: Vector = np.zeros(0)
        self._earlier_hits: Vector = np.zeros(0)
        self._beside: Numbers = np.zeros(0, np.intp)
        # The words with a root of the predicate's that no pages were given yet.
        self._akin: list[int] = []

    @property
    def weights(self) -> Vector:
        """The weights of all words, by place."""
        if self._akin:
            self._start_akin()
        self._weights = self._for_all(self._weights)
        return self._weights

    @property
    def by_word(self) -> Vector:
        """The weights of all words, a row a word, a column a kind."""
        return self.weights[: self.vocabulary.places].reshape(-1, KINDS)

    def start(self, word: str, hits: float) -> None:
        """Take a word to have ``hits`` pages of every kind behind it, all hits, beside what is counted."""
        places = np.array(self.vocabulary.numbers((word,)), np.intp) + np.arange(KINDS)
        self._begin(places, hits)
        self._beside = distinct(np.concatenate((self._beside, places)))

    def watch(self, roots: Iterable[str]) -> None:
        """Take all words that contain one of ``roots``, when met, to have `AKIN_PAGES` behind them."""
        self.vocabulary.watch(roots, self._akin)

    def _start_akin(self) -> None:
        numbers = distinct(np.array(self._akin, np.intp))
        self._akin.clear()
        self._begin((numbers[:, None] * KINDS + np.arange(KINDS)).ravel(), AKIN_PAGES)

    def _begin(self, places: Numbers, hits: float) -> None:
        """Have at least ``hits`` pages, all hits, behind the words in distinct places."""
        self._started = self._for_all(self._started)
        self._started[places] = np.maximum(self._started[places], hits)
        self.take(places)

    def inherit(self, kind: int, words: Iterable[str], pages: Vector, hits: Vector) -> None:
        """Set what an earlier crawl counted of distinct words; it counts beside what is counted now."""
        places = self.vocabulary.places_of(words, kind)
        self._make_room_for_earlier()
        self._earlier_pages[places], self._earlier_hits[places] = pages, hits
        self._beside = distinct(np.concatenate((self._beside, places)))
        self.take(places)

    def rebase(self, rate: float, earlier: float = 0.0) -> None:
        """Take the weights against another base rate, once it has moved far enough.

        ``earlier`` is the base rate of what was inherited: its hits count by the ratio of the two rates, so
        that lifts carry over, and not rates. At 0 nothing inherited counts.
        """
        if earlier != self._earlier or abs(rate - self._rate) > DRIFT * min(self._rate, 1 - self._rate):
            self._rate, self._earlier = rate, earlier
            self.take(np.concatenate((self._hit(), self._beside, np.flatnonzero(self._started))))

    def _hit(self) -> Numbers:
        """Return the places of words that have hits: that of all others, ln(2 / (n + 2)), is so at any rate."""
        hits = self._ledger.counts_of(self._predicate)[1]
        return self.vocabulary.places_in(np.flatnonzero(hits > 0))

    def sum(self, numbers: Iterable[int]) -> float:
        """Return the sum of a few weights, by place."""
        weight = self.weights.item
        return sum([weight(number) for number in numbers])

    def take(self, places: Numbers) -> None:
        """Take the weights in distinct places: counts have changed there."""
        slots, rate = self.vocabulary.slots(places), self._rate
        counts = self._ledger.counts_of(self._predicate)
        # What was forgotten may be taken back: no count below zero is a logarithm's.
        pages, hits = (np.where(slots < 0, 0.0, np.maximum(each[slots], 0)) for each in counts)
        if len(self._started):
            self._started = self._for_all(self._started)
            pages, hits = pages + self._started[places], hits + self._started[places]
        if self._earlier and len(self._earlier_pages):
            self._make_room_for_earlier()
            more = self._earlier_pages[places]
            pages = pages + more
            hits = hits + np.minimum(more, self._earlier_hits[places] * (rate / self._earlier))
        lifts = np.log((hits + PRIOR_PAGES * rate) / (pages + PRIOR_PAGES) / rate)
        self.weights[places] = np.minimum(MOST, np.maximum(-MOST, lifts))

    @property
    def beside(self) -> Numbers:
        """The places of words that are kept though nothing is counted of them: started, or inherited.

        Words with a root of the predicate's are not: there is no end of them, and meeting them tells again.
        """
        if self._akin:
            self._start_akin()
        return self._beside

    def renumber(self, before: Numbers) -> None:
        """Note that words have other places: what lay in these now lies in the first, in their order."""
        self._weights, self._started, self._earlier_pages, self._earlier_hits = (
            longer(each, int(before.max(initial=-1)) + 1)[before] if len(each) else each
            for each in (self._weights, self._started, self._earlier_pages, self._earlier_hits)
        )
        self._beside = np.searchsorted(before, self._beside)

    def _make_room_for_earlier(self) -> None:
        self._earlier_pages = self._for_all(self._earlier_pages)
        self._earlier_hits = self._for_all(self._earlier_hits)

    def _for_all(self, array: Vector) -> Vector:
        return longer(array, self.vocabulary.places)


class Knowledge:
    """What the counts of one predicate say: ``pages`` were judged, ``hits`` of them satisfy it.

    The counts are those of the vocabulary's ledger; who changes them says so by `learn`. Of words (of judged
    pages under the page's own verdict, of anchors and around links under that of the link's target, of URLs),
    URLs' prefixes and users there are lifts; and those of links by the verdict on their source.
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
        self.words = WordLifts(vocabulary, predicate)
        #: What an earlier crawl counted of features but words, and its base rate, 0 where that is not known.
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
        """Note that counts have changed, among them those of words in distinct ``places``.

        Every ratio is taken against the rate of the hits among the pages that were judged.
        """
        self.words.take(places)
        self.pages, self.hits = pages, hits = self._ledger.get(BASE, self.predicate)
        self.rate = base_rate(pages, hits)
        #: The pages judged when words of a page were weighed that are not to be weighed again.
        self.fresh = pages - STALE * pages
        self._rebase()

    def count(self, features: Iterable[str], holds: bool, times: int = 1) -> None:
        """Count a verdict ``times`` over under each of some distinct features, or take it back."""
        slots = self._ledger.slots_of(features)
        self._ledger.add(slots, {self.predicate: holds}, times)
        self.learn(self.words.vocabulary.places_in(slots))

    def renumber(self, before: Numbers) -> None:
        """Note that words have other places, as `models.policy.words.WordLifts.renumber` says."""
        self.words.renumber(before)
        self.named.renumber(before)

    def _rebase(self) -> None:
        self.words.rebase(self.rate, self._earlier)
        #: The log ratios of links from pages of either verdict.
        self.verdicts = {holds: self._lift_of(link(self.predicate, holds)) for holds in (True, False)}

    def _lift_of(self, feature: str) -> float:
        counted = self._ledger.get(feature, self.predicate)
        return log_lift(*self.with_earlier(feature, counted), self.rate)

    def with_earlier(self, feature: str, counted: Weighed) -> Weighed:
        """Return the counts of a feature that is no word with what was inherited, at the base rate of now."""
        earlier = self._earlier_counts.get(feature) if self._earlier else None
        return counted if earlier is None else with_earlier(counted, *earlier, self.rate / self._earlier)

    @property
    def inherits(self) -> bool:
        """Whether an earlier crawl counted anything of features but words."""
        return bool(self._earlier and self._earlier_counts)

    def inherit(self, counts: Iterable[tuple[str, float, float]]) -> None:
        """Set (feature, pages, hits) of an earlier crawl, weighted: they count beside what is counted.

        Hits count by the ratio of the base rate of now to that of then, which is told under the feature ''.
        Until it is, nothing inherited counts.
        """
        found: dict[str, list[tuple[str, float, float]]] = {}
        for feature, pages, hits in counts:
            if feature[:2] in WORDS:
                found.setdefault(feature[:2], []).append((feature[2:], pages, hits))
            elif feature == BASE:
                self._earlier = base_rate(pages, hits) if pages else 0.0
            else:
                self._earlier_counts[feature] = (pages, hits)
        for kind, cells in found.items():
            names, all_pages, all_hits = zip(*cells, strict=True)
            self.words.inherit(WORDS[kind], names, np.array(all_pages, float), np.array(all_hits, float))
        self._rebase()

    def items(self) -> Iterator[tuple[str, float, float]]:
        """Yield (feature, pages, hits) of everything that was counted, the base included."""
        yield from self._ledger.items_of(self.predicate)


def prefix_ratios(knowledge: Sequence[Knowledge], places: Sequence[Sequence[str]]) -> Vector:
    """Return ln(r / p) of the deepest of each place's prefixes, shape (predicates, places).

    Each level's rate is drawn towards that of the level above, the widest towards p. The predicates are of one
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
    """Return the shrunk log ratios of features but words, within +-3, a row a predicate; 0 of unknown ones."""
    rates = np.array([[known.rate] for known in knowledge])
    found = log_lifts(*_counts(knowledge, features), rates, PRIOR_PAGES)
    return np.minimum(MOST, np.maximum(-MOST, found, out=found), out=found)


def _counts(knowledge: Sequence[Knowledge], features: Sequence[str]) -> tuple[Vector, Vector]:
    """Return the pages and hits of features but words, with what was inherited, a row a predicate."""
    ledger = knowledge[0].words.vocabulary.ledger
    counted = ledger.counts(features, [known.predicate for known in knowledge])
    # What was forgotten may be taken back: no count below zero is a page's.
    pages = np.maximum(counted[0], 0.0)
    hits = np.minimum(np.maximum(counted[1], 0.0), pages)
    for row, known in enumerate(knowledge):
        if known.inherits and features:
            cells = zip(features, zip(pages[row], hits[row], strict=True), strict=True)
            pages[row], hits[row] = zip(*(known.with_earlier(*cell) for cell in cells), strict=True)
    return pages, hits
