"""What one predicate's learned policy knows: counts of every kind, and what they say of single features."""

import math
from collections.abc import Iterable, Iterator

import numpy as np

from models.interest.features import ANCHOR, BASE, CONTEXT, PAGE_WORD, PATTERN, PREFIX, URL_WORD, USER, link
from models.learner import words
from models.learner.lifts import LiftTable, with_earlier
from models.learner.shrinkage import base_rate, log_lift
from models.learner.words import Vocabulary, WordTable

#: Share of the judged pages for which the sums of a page's words stay as they were taken.
STALE = 0.03
#: Positive pages that each word of a predicate's topic starts with.
TOPIC_PAGES = 3
#: Pages at the rate of the prefix above that a URL prefix is drawn towards.
PREFIX_PRIOR = 2.0

#: Features of words, and the kinds that they are in the table of words.
WORDS = {PAGE_WORD: words.PAGE, ANCHOR: words.ANCHOR, CONTEXT: words.CONTEXT}
_NAMES = {kind: feature for feature, kind in WORDS.items()}


class Knowledge:
    """The counts of one predicate: ``pages`` were judged, ``hits`` of them satisfy it.

    Tables: words (of judged pages under the page's own verdict, of anchors and around links under that of the
    link's target), words, prefixes and patterns of URLs, users; and the links by the verdict on their source.
    """

    def __init__(self, predicate: str, vocabulary: Vocabulary, topic: Iterable[str] = ()) -> None:
        self.words = WordTable(vocabulary)
        self.url_words = LiftTable()
        self.prefixes = LiftTable()
        self.users = LiftTable()
        self.patterns = LiftTable()
        self.links: dict[bool, tuple[float, float]] = {True: (0, 0), False: (0, 0)}
        self._earlier_links: dict[bool, tuple[float, float]] = {True: (0, 0), False: (0, 0)}
        self._earlier = 0.0
        self._tables = {
            URL_WORD: self.url_words,
            PREFIX: self.prefixes,
            USER: self.users,
            PATTERN: self.patterns,
        }
        self._sources = {link(predicate, holds): holds for holds in (True, False)}
        for word in topic:
            self.words.start(word, TOPIC_PAGES)
            self.url_words.start(word, TOPIC_PAGES)
        self.set_base(0, 0)

    # counts

    def put(self, feature: str, pages: float, hits: float) -> None:
        """Set a feature's counts; what the learned policy has no use for is passed over."""
        kind, name = feature[:2], feature[2:]
        if kind in WORDS:
            places = self.words.vocabulary.places_of((name,), WORDS[kind])
            self.words.put(places, np.array([pages], float), np.array([hits], float))
        elif kind in self._tables:
            self._tables[kind].put(name, pages, hits)
        elif feature in self._sources:
            self.links[self._sources[feature]] = (pages, hits)
        elif feature == BASE:
            self.set_base(pages, hits)

    def set_base(self, pages: float, hits: float) -> None:
        """Set the judged pages and the hits among them: every ratio is taken against their rate."""
        self.pages, self.hits = pages, hits
        self.rate = base_rate(pages, hits)
        #: The pages judged when words of a page were weighed that are not to be weighed anew.
        self.fresh = pages - STALE * pages
        self._rebase()

    def _rebase(self) -> None:
        rate, earlier = self.rate, self._earlier
        self.words.rebase(rate, earlier)
        for table in self._tables.values():
            table.rebase(rate, earlier)
        #: The log ratios of links from pages of either verdict.
        self.verdicts = {holds: log_lift(*self._links(holds), rate) for holds in self.links}

    def _links(self, holds: bool) -> tuple[float, float]:
        counted = self.links[holds]
        if not self._earlier:
            return counted
        return with_earlier(counted, *self._earlier_links[holds], self.rate / self._earlier)

    def inherit(self, counts: Iterable[tuple[str, float, float]]) -> None:
        """Set (feature, pages, hits) of an earlier crawl, weighted: they count beside what is counted.

        Hits count by the ratio of the base rate of now to that of then, which is told under the feature ''.
        Until it is, nothing inherited counts.
        """
        found: dict[str, list[tuple[str, float, float]]] = {}
        moved = False
        for feature, pages, hits in counts:
            kind, name = feature[:2], feature[2:]
            if kind in WORDS:
                found.setdefault(kind, []).append((name, pages, hits))
            elif kind in self._tables:
                self._tables[kind].inherit(name, pages, hits)
            elif feature in self._sources:
                self._earlier_links[self._sources[feature]] = (pages, hits)
                moved = True
            elif feature == BASE:
                self._earlier = base_rate(pages, hits) if pages else 0.0
                moved = True
        for kind, cells in found.items():
            names, all_pages, all_hits = zip(*cells, strict=True)
            self.words.inherit(WORDS[kind], names, np.array(all_pages, float), np.array(all_hits, float))
        if moved:
            self._rebase()

    def add_words(self, kind: str, found: Iterable[str], holds: bool, times: int = 1) -> None:
        """Count a verdict ``times`` over under each of some distinct words of a kind, or take it back."""
        self.words.add(WORDS[kind], found, times, times * holds)

    def add(self, kind: str, names: Iterable[str], holds: bool, times: int = 1) -> None:
        """Count a verdict ``times`` over under words of the URL, prefixes or users."""
        table = self._tables[kind]
        for name in names:
            table.add(name, times, times * holds)

    def add_links(self, source: bool, holds: bool, times: int = 1) -> None:
        """Count ``times`` links from pages with the verdict ``source`` to one with the verdict ``holds``."""
        pages, hits = self.links[source]
        self.links[source] = (pages + times, hits + times * holds)

    def items(self) -> Iterator[tuple[str, float, float]]:
        """Yield (feature, pages, hits) of everything that was counted, the base included."""
        if self.pages:
            yield BASE, self.pages, self.hits
        for source, holds in self._sources.items():
            if self.links[holds][0]:
                yield source, *self.links[holds]
        for kind, word, pages, hits in self.words.items():
            yield _NAMES[kind] + word, pages, hits
        for feature, table in self._tables.items():
            for name, pages, hits in table.items():
                yield feature + name, pages, hits

    def prefix(self, prefixes: Iterable[str]) -> float:
        """Return ln(r / p) of the deepest prefix, each level's rate drawn towards that of the level above."""
        rate = self.rate
        cell = self.prefixes.cell
        for prefix in prefixes:
            found = cell(prefix)
            if found is not None:
                pages, hits = found
                rate = (hits + PREFIX_PRIOR * rate) / (pages + PREFIX_PRIOR)
        return math.log(rate / self.rate)
