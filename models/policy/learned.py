"""A candidate's priority by the learned policy, from its rows and what was learned."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count, repeat
from typing import NamedTuple

import numpy as np

from scentline.models.frontier.keys import Rows, beside_of
from scentline.models.frontier.rows import PageRow
from scentline.models.ledger import Ledger, Slots
from scentline.models.page import FAILED, Verdict
from scentline.models.policy.batch import inputs_of, named_of
from scentline.models.policy.candidate import Candidate, CoVisits, Crowd, prefixes, url_words
from scentline.models.policy.combiner import (
    Chances,
    Forecast,
    Vector,
    a_request,
    calibrated,
    chance_of_page,
    chances_of_pages,
    failing,
    foretold,
    logits,
    probability,
    usual_chance_of_page,
)
from scentline.models.policy.features import BASE, SUBJECT
from scentline.models.policy.inputs import NAMED, Input, inputs_with
from scentline.models.policy.known import InLinks, Known
from scentline.models.policy.vocabulary import Numbers, Vocabulary
from scentline.models.predicate import ANYTHING, Sought
from scentline.models.records import Weighting
from scentline.models.reuse import Cell
from scentline.models.semantic import Meanings, SemanticTable, last_words, subjects
from scentline.models.trace import SIXTHS
from scentline.models.url import identifier

#: URLs whose words are kept in memory.
CACHED_ADDRESSES = 100_000
#: Pages whose judged neighbours are kept in memory, up to some kilobytes each.
CACHED_BESIDE = 20_000
#: Words kept in memory, at 180 bytes each, before uncounted ones are forgotten. The next limit is twice the
#: words left, if that is more.
MOST_WORDS = 250_000
#: Candidates whose inputs are kept in memory, until anything is learned.
CACHED_INPUTS = 200

#: The input that is the same for all candidates: forecasts leave it out.
BIAS = "bias"

#: Links from judged pages to a target that has none.
_NO_LINKS = [0, 0]


class _Address(NamedTuple):
    """A URL's words as places in the word tables, its prefixes, and its identifier if it has in-links.

    ``last`` are the words of its last segment, where word meanings count.
    """

    words: list[int]
    prefixes: tuple[str, ...]
    page: bytes = b""
    last: str = ""


class LearnedScorer:
    """Scores rows by the expected hits of a request; see `docs/learning.md`.

    That is the upper bound of the combiner's probability of a hit, times the probability that a page comes.
    Failed requests are predicted where that pays (`foretold` in `models.policy.combiner`). A ``table`` of word
    vectors adds the inputs of `models.semantic`; ``names`` are those of all inputs. ``words`` is `MOST_WORDS`.
    """

    def __init__(self, table: SemanticTable | None = None, words: int = MOST_WORDS) -> None:
        self.ledger = Ledger()
        self._least_words = self._most_words = words
        self._vocabulary = Vocabulary(self.ledger)
        self._table = table
        self._inputs = self.all_inputs()
        self.names = tuple(entry.name for entry in self._inputs)
        self._meanings = None if table is None else Meanings(table)
        #: The knowledge of requests first, then of each predicate.
        self._known = {FAILED: Known(FAILED, self._vocabulary, ANYTHING, failing(self._inputs))}
        #: Whether failed requests are predicted.
        self.foretells = True
        self._addresses: dict[str, _Address] = {}
        #: By partition and page, its judged neighbours: accesses near, sixths of co-visits, verdict.
        self._beside: dict[tuple[int, bytes], list[tuple[int, int, Verdict]]] = {}
        self._set_predicates()

    def all_inputs(self) -> tuple[Input, ...]:
        """Return the inputs, in their order."""
        return inputs_with(self._table is not None)

    def add_predicate(self, name: str, sought: Sought = ANYTHING) -> None:
        """Start keeping the knowledge of a predicate, beginning with its topic and phrases.

        Word meanings count only if it names its subject.
        """
        if name not in self._known:
            self._known[name] = Known(name, self._vocabulary, sought, self._inputs)
            if self._meanings is not None and sought.names_subject:
                self._meanings.add(name, sought.topic)
            self._set_predicates()

    def _set_predicates(self) -> None:
        #: What candidates are scored by: requests, if failed ones are predicted, and the predicates.
        self._scored_by = {
            name: known for name, known in self._known.items() if name != FAILED or self.foretells
        }
        self._in_links = InLinks(self._vocabulary, self._scored_by)
        self._weights: tuple[Vector, Vector] | None = None
        #: By URL the inputs of candidates that were scored together, and its place among them.
        self._scored: dict[str, tuple[Vector, int]] = {}

    def known(self, predicate: str) -> Known:
        """Return what is known of a predicate."""
        return self._known[predicate]

    def learn(self, slots: Slots) -> None:
        """Apply changed counts in some slots; predicates never added are ignored."""
        self._learn_words(self._vocabulary.places_in(slots), self._scored_by.values())
        self._learn_failures()
        if self._meanings is not None:
            self._learn_subjects(self._meanings, slots)

    def _learn_failures(self) -> None:
        """Start or stop predicting failed requests, by how many fail."""
        before, self.foretells = self.foretells, foretold(*self.ledger.get(BASE, FAILED), self.foretells)
        if self.foretells != before:
            self._set_predicates()
            self._known[FAILED].learn(self._vocabulary.counted())

    def _learn_subjects(self, meanings: Meanings, slots: Slots) -> None:
        for feature in self.ledger.names(self._vocabulary.no_words(slots)):
            if feature is not None and feature.startswith(SUBJECT):
                counts = {name: self.ledger.get(feature, name) for name in self._known}
                meanings.hear(feature[len(SUBJECT) :], counts)

    def forget(self, slots: Slots, names: Sequence[str]) -> None:
        """Drop forgotten features, in these slots: words without counts weigh nothing."""
        self._learn_words(self._vocabulary.forget(slots), self._known.values())

    def _learn_words(self, places: Numbers, all_known: Iterable[Known]) -> None:
        self._scored.clear()
        for known in all_known:
            known.learn(places)

    def inherit(self, prior: Mapping[str, Mapping[str, Cell]]) -> None:
        """Apply the counts of earlier crawls, which may have had other predicates."""
        self._scored.clear()
        for predicate, known in self._known.items():
            found = ((feature, *cells[predicate]) for feature, cells in prior.items() if predicate in cells)
            known.inherit(found)

    def take(self, predicate: str, weighting: Weighting) -> None:
        """Absorb a predicate's combiner."""
        if predicate in self._known:
            self._known[predicate].take(weighting)
            self._weights = None

    def remove_predicate(self, name: str) -> None:
        """Forget a predicate."""
        if self._known.pop(name, None) is not None:
            if self._meanings is not None:
                self._meanings.remove(name)
            self._set_predicates()

    def bring_up(self, shard: Rows, linking: Iterable[bytes], beside: Iterable[bytes] = ()) -> None:
        """Apply new or extended verdicts on linking pages, on their targets, or beside some pages."""
        self._in_links.bring_up(shard, linking)
        for page in beside:
            self._beside.pop((shard.partition, page), None)

    def forget_links(self) -> None:
        """Drop links and neighbours from memory."""
        self._in_links.forget()
        self._beside.clear()

    def judged(self, predicate: str) -> int:
        """Return the number of pages judged by a predicate, as far as known here."""
        return self.ledger.get(BASE, predicate)[0]

    def priorities(
        self, shard: Rows, rows: Sequence[PageRow], predicates: Collection[str]
    ) -> list[dict[str, float]]:
        """Return each page's priorities for all predicates, whichever are requested.

        That is the logit of a request's expected hits. For a page that comes it is m'x + sqrt(x'Px), by its
        inputs x, plus what the predicate's phrases add (`models.policy.candidate`).
        """
        names = tuple(self._known)[1:]
        if not rows or not names:
            return [{} for _ in rows]
        if len(self._vocabulary) > self._most_words:
            self._forget_words()
        candidates = self._candidates(shard, rows)
        inputs = self._inputs_of(shard, rows, candidates)
        means, deviations = logits(inputs, *self._combiners())
        if len(self._scored) + len(rows) > CACHED_INPUTS:
            self._scored.clear()
        self._scored.update(zip((row.url for row in rows), zip(repeat(inputs), count()), strict=False))
        of_predicates = slice(len(means) - len(names), None)
        bounds = (means + deviations + self._named_of(candidates))[of_predicates]
        if self.foretells:
            pages = chances_of_pages(means[0], deviations[0], self._known[FAILED].shifts[0])
        else:
            pages = np.full(len(rows), self._usual)
        bounds = a_request(bounds, pages).T.tolist()
        return [dict(zip(names, each, strict=True)) for each in bounds]

    def _forget_words(self) -> None:
        """Forget uncounted words, and all that has words by their old numbers."""
        all_known = list(self._known.values())
        before = self._vocabulary.compact(np.concatenate([known.words.beside for known in all_known]))
        for known in all_known:
            known.renumber(before)
        self._addresses.clear()
        self.forget_links()
        self._most_words = max(self._least_words, 2 * len(self._vocabulary))

    def choose(self, shard: Rows, row: PageRow, predicate: str, explored: bool) -> Chances:
        """Record the inputs of a chosen page, for each predicate; return its chances.

        They are the inputs it was scored by, unless something was learned since. A page chosen for the priority
        inherited from a redirect keeps the inputs of the redirecting URL.
        """
        batch, place = self._scored.get(row.url) or (
            self._inputs_of(shard, [row], self._candidates(shard, [row])),
            0,
        )
        scored = batch[:, place]
        inputs = {name: tuple(found) for name, found in zip(self._scored_by, scored.tolist(), strict=True)}
        comes = self.comes(inputs.get(FAILED))
        inherited = row.inherited.get(predicate)
        if inherited is None or self._worth(shard, row, predicate, inputs[predicate], comes) >= inherited:
            row.inputs = inputs
        elif FAILED in inputs:
            row.inputs[FAILED] = inputs[FAILED]
        else:
            row.inputs.pop(FAILED, None)
        handed = row.inputs.get(predicate)
        return Chances(None if handed is None else self.expected(handed, predicate, explored), comes)

    def _worth(self, shard: Rows, row: PageRow, predicate: str, inputs: Sequence[float], comes: float) -> float:
        """Return the priority of a page with these inputs that ``comes`` with that probability."""
        bound = sum(self._known[predicate].logit(inputs)) + self.named(shard, row, predicate)
        return float(a_request(np.array(bound), np.array(comes)))

    @property
    def _usual(self) -> float:
        return usual_chance_of_page(*self.ledger.get(BASE, FAILED))

    def comes(self, inputs: Sequence[float] | None) -> float:
        """Return the probability that a request brings a page: one with these inputs, or, for None, any."""
        if inputs is None:
            return self._usual
        known = self._known[FAILED]
        return chance_of_page(probability(*known.logit(inputs)), known.shifts[0])

    def expected(self, inputs: Sequence[float], predicate: str, explored: bool = False) -> float:
        """Return the probability of a hit for a page with these inputs, selected or explored."""
        known = self._known[predicate]
        return calibrated(probability(*known.logit(inputs)), known.shifts[explored])

    def forecasts(self, shard: Rows, rows: Sequence[PageRow], predicate: str) -> list[Forecast]:
        """Return the chances of candidates, and what their inputs and the predicate's phrases add."""
        candidates = self._candidates(shard, rows)
        batch, place = self._inputs_of(shard, rows, candidates), list(self._scored_by).index(predicate)
        named = self._named_of(candidates)[place].tolist()
        weights = self._known[predicate].mean
        found = []
        for number, inputs in enumerate(batch[place]):
            comes = self.comes(batch[0, number] if self.foretells else None)
            adds = zip(self.names, (inputs * weights).tolist(), strict=True)
            spoken = [(NAMED, named[number]), *((name, each) for name, each in adds if name != BIAS)]
            found.append(Forecast(comes * self.expected(inputs, predicate), comes, spoken))
        return found

    def inputs(self, shard: Rows, row: PageRow, predicate: str) -> list[float]:
        """Return the inputs of a candidate, for a predicate that it is scored by."""
        inputs = self._inputs_of(shard, [row], self._candidates(shard, [row]))
        found: list[float] = inputs[list(self._scored_by).index(predicate), 0].tolist()
        return found

    def named(self, shard: Rows, row: PageRow, predicate: str) -> float:
        """Return what the phrases of a predicate add to the logit of a hit, by a candidate's links and URL."""
        found = self._named_of(self._candidates(shard, [row]))
        return float(found[list(self._scored_by).index(predicate), 0])

    def _combiners(self) -> tuple[Vector, Vector]:
        if self._weights is None:
            known = self._scored_by.values()
            self._weights = (
                np.array([each.mean for each in known]),
                np.array([each.covariance for each in known]),
            )
        return self._weights

    def _candidates(self, shard: Rows, rows: Sequence[PageRow]) -> list[Candidate]:
        addresses = [self._address(row) for row in rows]
        targets = [(address.page, row.parents) for address, row in zip(addresses, rows, strict=True)]
        links = self._in_links.of(shard, targets)
        names = tuple(self._scored_by)
        last, said = [address.last for address in addresses], [kept.anchors for kept in links]
        texts = repeat("", len(rows)) if self._meanings is None else subjects(last, said)
        return [
            Candidate(
                address.words,
                address.prefixes,
                kept.places,
                _links_of(row, names) if row.links else (),
                self._crowd(shard, row, names) if row.visits else None,
                row.depth,
                bool(row.links) and not row.native,
                text,
            )
            for address, row, kept, text in zip(addresses, rows, links, texts, strict=True)
        ]

    def _inputs_of(self, shard: Rows, rows: Sequence[PageRow], candidates: Sequence[Candidate]) -> Vector:
        known = list(self._scored_by.values())
        found = [inputs_of(known, self._in_links.table, candidates)]
        if self._meanings is not None:
            texts = [(row.url, candidate.subject) for row, candidate in zip(rows, candidates, strict=True)]
            rates = {name: each.rate for name, each in self._scored_by.items()}
            found.append(self._meanings.inputs(texts, rates))
        found += self.further(shard, rows, known)
        return np.concatenate(found, axis=2) if len(found) > 1 else found[0]

    def _named_of(self, candidates: Sequence[Candidate]) -> Vector:
        return named_of(list(self._scored_by.values()), self._in_links.table, candidates)

    def further(self, shard: Rows, rows: Sequence[PageRow], known: Sequence[Known]) -> list[Vector]:
        """Return the inputs that an experiment adds to those of a crawl: none."""
        return []

    def _crowd(self, shard: Rows, row: PageRow, predicates: Sequence[str]) -> Crowd:
        if not row.together:
            return Crowd(row.visits, row.visitors)
        page = shard.partition, identifier(row.url)
        judged = self._beside.get(page)
        if judged is None:
            if len(self._beside) >= CACHED_BESIDE:
                self._beside.clear()
            judged = self._beside[page] = [
                (times, sixths, verdict)
                for other, (_, times, sixths) in row.together.items()
                if (verdict := beside_of(shard, other).verdict) is not None
            ]
        beside = [_covisits(judged, predicate) for predicate in predicates] if judged else []
        return Crowd(row.visits, row.visitors, beside)

    def _address(self, row: PageRow) -> _Address:
        url = row.url
        found = self._addresses.get(url)
        if found is None:
            words = self._vocabulary.numbers(url_words(url))
            last = "" if self._meanings is None else last_words(url)
            found = _Address(words, prefixes(url), identifier(url) if row.parents else b"", last)
            if row.parents:  # most URLs of a log, which have none, are scored once
                if len(self._addresses) >= CACHED_ADDRESSES:
                    self._addresses.clear()
                self._addresses[url] = found
        return found


def _links_of(row: PageRow, names: Sequence[str]) -> list[list[int]]:
    """Return the links to a page as each predicate counts them; for requests, from all pages that came."""
    found = [row.links.get(name, _NO_LINKS) for name in names]
    if FAILED in names:
        found[names.index(FAILED)] = [max(row.links.values())[0], 0]
    return found


def _covisits(judged: Iterable[tuple[int, int, Verdict]], predicate: str) -> CoVisits:
    covisits = covisit_hits = near = near_hits = 0
    for times, sixths, verdict in judged:
        if predicate in verdict:
            covisits += sixths
            near += times
            if verdict[predicate]:
                covisit_hits += sixths
                near_hits += times
    return CoVisits(covisits / SIXTHS, covisit_hits / SIXTHS, near, near_hits)
