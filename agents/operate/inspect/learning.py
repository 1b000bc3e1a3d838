"""What a crawl has learned, for people who look at it: weights, and the strongest features.

What takes long is worked out in steps of a few milliseconds while somebody looks, and kept with its time.
"""

import math
from collections.abc import Iterator
from time import process_time
from typing import Any, NamedTuple

import msgspec
import numpy as np

from scentline.agents.frontier.learned import LearnedScorer
from scentline.agents.frontier.scoring import PaperScorer
from scentline.agents.learn.models import inputs_of
from scentline.agents.learn.rows import LearnRow, ModelRow, model_key
from scentline.agents.operate.inspect.explain import Explanation, explain
from scentline.agents.operate.inspect.teaching import Combined, Latest, Taught, combined, latest_inputs
from scentline.models.errors import ScentlineError
from scentline.models.interest.features import (
    ANCHOR,
    BASE,
    CONTEXT,
    HEADING,
    OUTSIDE,
    PAGE_WORD,
    PREFIX,
    REGION,
    SIGNATURE,
    TOKEN,
    URL_WORD,
    WORD,
    link,
    region,
)
from scentline.models.interest.linkage import region_cells
from scentline.models.interest.ratio import log_lifts, ratio, significance, strongest
from scentline.models.interest.weights import Weights, weights_of
from scentline.models.learner.inputs import plain
from scentline.models.learner.knowledge import PREFIX_PRIOR
from scentline.models.learner.requests import failing
from scentline.models.learner.words import WORDS
from scentline.models.ledger import Slots
from scentline.models.verdict import FAILED
from scentline.streams.logging import printable
from scentline.streams.settings import Settings
from scentline.streams.topics import CONTROL, INTERESTS, partition_of
from scentline.streams.transport.journal import Journal

#: Seconds for which what was taught is new enough.
FRESH_SECONDS = 30.0
#: Seconds after which nobody is taken to look any more.
WANTED_SECONDS = 10.0
#: Seconds for which what is worked out at once is new enough, and how many predicates, or URLs, it is kept of.
HELD_SECONDS, REMEMBERED = 2.0, 10
#: Seconds of a step.
STEP_SECONDS = 0.02
#: Features of a kind that can be looked at, those that speak most.
MOST_SPEAKING = 200
#: Characters of an error that are shown.
MOST_CHARACTERS = 300
#: Features whose kinds are looked at together.
KINDS_AT_ONCE = 5_000

#: The kinds of features that are shown, by their names for people.
KINDS: dict[str, str] = {
    "page words": PAGE_WORD,
    "link words": ANCHOR,
    "words around links": CONTEXT,
    "headings above links": HEADING,
    "URL words": URL_WORD,
    "sites and directories": PREFIX,
    "words of linking pages": WORD,
    "URL tokens": TOKEN,
    "words of signatures": SIGNATURE,
}

_decode: Any = msgspec.msgpack.Decoder(LearnRow).decode


class Speaking(msgspec.Struct, frozen=True):
    """A feature that speaks for a predicate or against it: its judged pages, and the hits among them.

    ``weight`` is the log of its ratio, by the learned policy shrunk; ``significance`` is the paper's, in
    deviations, None by the learned policy.
    """

    name: str
    pages: int
    hits: int
    weight: float
    significance: float | None = None


class _Known(NamedTuple):
    """A scorer that was taught, the time at which that began, and the slots of the features of each kind."""

    taught: Taught
    time: float
    kinds: dict[str, Slots]
    #: What was asked of it, by predicate, kind and whether against: it stays as it is.
    speaking: dict[tuple[str, str, bool], list[Speaking]]


class Learning:
    """What is worked out of a crawl's ``journal`` while somebody wants it (`want`), step by step (`step`).

    ``trouble`` is why nothing new could be learned.
    """

    def __init__(self, journal: Journal, settings: Settings) -> None:
        self.trouble = ""
        self._journal = journal
        self._settings = settings
        self._known: _Known | None = None
        self._next: Taught | None = None
        self._steps: Iterator[None] | None = None
        self._begun = self._wanted = float("-inf")
        self._told: list[int] = []
        self._latest: dict[str, tuple[float, Latest]] = {}
        self._explained: dict[str, tuple[float, Taught | None, Explanation | None]] = {}

    @property
    def explains(self) -> bool:
        """Whether priorities can be told at all: an importance takes a look at all links, or at all visits."""
        settings = self._settings
        by_importance = settings.frontier.ordering != "predicates" and settings.frontier.rule != "breadth-first"
        return not (by_importance or settings.behaviour)

    @property
    def taught(self) -> Taught | None:
        """What scores candidates by what was learned; None where it has not been taught yet."""
        return None if self._known is None else self._known.taught

    @property
    def time(self) -> float | None:
        """Of when that is, in seconds since the epoch."""
        return None if self._known is None else self._known.time

    @property
    def state(self) -> dict[str, object]:
        """How far it is: of when what is known is, or what keeps it."""
        return {
            "time": self.time,
            "progress": self.progress,
            "explains": self.explains,
            "trouble": printable(self.trouble, MOST_CHARACTERS),
        }

    @property
    def progress(self) -> tuple[int, int]:
        """The features that were taken in so far by the scorer that is being taught, and all of them."""
        taught = self._next
        return (0, 0) if taught is None else (min(taught.taken, taught.features), taught.features)

    def want(self, now: float) -> None:
        """Say that somebody looks at it at the time ``now``."""
        self._wanted = now

    def step(self, now: float) -> bool:
        """Do a piece of work, if anybody looks; return whether there is more."""
        if now > self._wanted + WANTED_SECONDS:
            return False
        end = process_time() + STEP_SECONDS
        while more := self._teach(now):
            if process_time() > end:
                break
        return more

    def _teach(self, now: float) -> bool:
        if self._steps is None:
            if not self.explains or now < self._begun + FRESH_SECONDS:
                return False
            self._begun = now
            told = self._ends()
            if self._known is not None and told == self._told:
                self._known = self._known._replace(time=now)
                return False
            self._told = told
            self._steps = self._lessons(now)
        try:
            next(self._steps)
        except StopIteration:
            self._steps = self._next = None
            self.trouble = ""
            return False
        except (ScentlineError, ValueError) as error:  # a table of word vectors that is gone, above all
            self._steps = self._next = None
            self.trouble = str(error)
            return False
        return True

    def _ends(self) -> list[int]:
        topics = [name for name in (INTERESTS.name, CONTROL.name) if name in self._journal.topics()]
        return [
            self._journal.end(name, partition)
            for name in topics
            for partition in range(self._journal.partitions(name))
        ]

    def _lessons(self, now: float) -> Iterator[None]:
        taught = self._next = Taught(self._journal, self._settings)
        yield
        yield from taught.steps()
        ledger = taught.scorer.ledger
        kinds: dict[str, list[int]] = {kind: [] for kind in KINDS.values()}
        for start in range(0, ledger.size, KINDS_AT_ONCE):
            slots = np.arange(start, min(start + KINDS_AT_ONCE, ledger.size))
            for slot, name in zip(slots.tolist(), ledger.names(slots), strict=True):
                if name is not None and name[:2] in kinds:
                    kinds[name[:2]].append(slot)
            yield
        of_kinds = {kind: np.array(slots, np.intp) for kind, slots in kinds.items()}
        self._known = _Known(taught, now, of_kinds, {})

    # what speaks most

    def speaking(self, predicate: str, kind: str, *, against: bool) -> list[Speaking]:
        """Return the features of a kind that speak most for a predicate, or against it, the strongest first."""
        known = self._known
        if known is None or predicate not in (*known.taught.predicates, FAILED):
            return []
        key = (predicate, kind, against)
        if key not in known.speaking:
            scorer, prefix = known.taught.scorer, KINDS[kind]
            known.speaking[key] = (
                _by_learned(scorer, predicate, prefix, known.kinds[prefix], against)
                if isinstance(scorer, LearnedScorer)
                else _by_paper(scorer, predicate, prefix, against)
            )
        return known.speaking[key]

    def ratios(self, predicate: str) -> list[Speaking]:
        """Return what links and visits say of a predicate by the paper's ratios, significant or not."""
        known = self._known
        if known is None or predicate not in known.taught.predicates:
            return []
        scorer, learn = known.taught.scorer, self._settings.learn
        if isinstance(scorer, PaperScorer):
            return _ratios(scorer.weights(predicate))
        features = (BASE, region(predicate), *(link(predicate, holds) for holds in (True, False)))
        return _ratios(weights_of(predicate, scorer.ledger, features, learn.t, learn.significance))

    # one URL

    def explained(self, url: str, now: float) -> Explanation | None:
        """Return what is known of a canonical URL, without priorities where nothing has been taught yet."""
        known = self._explained.get(url)
        if known is None or now > known[0] + HELD_SECONDS or known[1] is not self.taught:
            if len(self._explained) >= REMEMBERED:
                self._explained.clear()
            found = explain(self._journal, self._settings, url, lambda: self.taught)
            known = self._explained[url] = now, self.taught, found
        return known[2]

    # weights, and what they did

    def latest(self, predicate: str, now: float) -> Latest:
        """Return the inputs of the newest pages that a predicate has judged."""
        time, found = self._latest.get(predicate, (float("-inf"), None))
        if found is None or now > time + FRESH_SECONDS:
            if len(self._latest) >= REMEMBERED:
                self._latest.clear()
            found = latest_inputs(self._journal, predicate)
            self._latest[predicate] = now, found
        return found

    def combined(self, predicate: str, latest: Latest) -> Combined:
        """Return a predicate's combiner as it stands."""
        inputs = inputs_of(self._settings)
        if predicate == FAILED:
            inputs = failing(inputs)
        row = self._model(predicate, len(inputs))
        return combined(inputs, row, latest)

    def _model(self, predicate: str, inputs: int) -> ModelRow | None:
        table = self._journal.table("interests")
        raw = table[partition_of(predicate, len(table))].get(model_key(predicate))
        row = None if raw is None else _decode(raw)
        return row if isinstance(row, ModelRow) and len(row.mean) == 8 * inputs else None


def _ratios(weights: Weights) -> list[Speaking]:
    base, table = weights.base, weights.links
    links = ((True, table.satisfying), (False, table.failing))
    cells = [(link(weights.predicate, holds), cell) for holds, cell in links]
    if weights.region[0]:
        near = region(weights.predicate)
        cells += [(near if inside else near + OUTSIDE, cell) for inside, cell in region_cells(weights).items()]
    return [
        Speaking(
            plain(name).name,
            *cell,
            math.log(ratio(*cell, base)),
            significance(*cell, base, weights.denominator, "pages" if name.startswith(REGION) else "hits"),
        )
        for name, cell in cells
        if cell[0]
    ]


def _by_learned(
    scorer: LearnedScorer, predicate: str, prefix: str, slots: Slots, against: bool
) -> list[Speaking]:
    if not len(slots) or predicate not in scorer.ledger.predicates:
        return []
    knowledge = scorer.known(predicate).knowledge
    pages, hits = (counts[slots] for counts in scorer.ledger.counts_of(predicate))
    if prefix in WORDS:
        vocabulary = knowledge.words.vocabulary
        weights = knowledge.words.weights[vocabulary.places_in(slots)]
    else:
        weights = log_lifts(pages.astype(float), hits.astype(float), knowledge.rate, PREFIX_PRIOR)
    best = strongest(weights, pages, MOST_SPEAKING, against=against)
    names = scorer.ledger.names(slots[best])
    columns = zip(names, pages[best].tolist(), hits[best].tolist(), weights[best].tolist(), strict=True)
    return [Speaking((name or "")[2:], *row) for name, *row in columns]


def _by_paper(scorer: PaperScorer, predicate: str, prefix: str, against: bool) -> list[Speaking]:
    weights = scorer.weights(predicate)
    known = weights.logs.get(prefix)
    if not known:
        return []
    logs, names = np.fromiter(known.values(), float), list(known)
    slots = scorer.ledger.slots_of(prefix + name for name in names)
    pages = scorer.ledger.counts_of(predicate)[0][slots]
    best = strongest(logs, pages, MOST_SPEAKING, against=against)
    found = []
    for place in best.tolist():
        cell = weights.cell(prefix + names[place])
        found.append(Speaking(names[place], *cell, float(logs[place]), weights.significance(prefix, cell)))
    return found
