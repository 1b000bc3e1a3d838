"""What a crawl has learned, for people who look at it: weights, what speaks most, how well probabilities hold.

What takes long is done ahead, in steps of a few milliseconds, while somebody wants it, and kept: what is shown
says of when it is.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from time import process_time
from typing import Any, NamedTuple

import msgspec
import numpy as np

from scentline.agents.frontier.learned import LearnedScorer
from scentline.agents.frontier.scoring import PaperScorer
from scentline.agents.learn.models import inputs_of
from scentline.agents.learn.rows import LearnRow, ModelRow, model_key
from scentline.agents.operate.inspect.expectations import Expectations
from scentline.agents.operate.inspect.explain import Explanation, explain
from scentline.agents.operate.inspect.teaching import Taught
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
from scentline.models.interest.ratio import ratio, significance
from scentline.models.interest.weights import Weights, weights_of
from scentline.models.learner.combiner import Vector, probability
from scentline.models.learner.inputs import Input, prior_covariance, prior_mean
from scentline.models.learner.knowledge import PREFIX_PRIOR
from scentline.models.learner.lifts import log_lifts
from scentline.models.learner.plain import PLAIN, plain
from scentline.models.learner.requests import failing
from scentline.models.learner.speaking import strongest
from scentline.models.learner.words import WORDS
from scentline.models.ledger import Slots
from scentline.models.reliability import Bin, Reliability, Running, windows
from scentline.models.verdict import FAILED
from scentline.streams.facts import Label
from scentline.streams.logging import printable
from scentline.streams.records import UNREADABLE, Pack
from scentline.streams.settings import Settings
from scentline.streams.topics import EVIDENCE, INTERESTS, PREDICATES, partition_of
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry

#: Seconds for which what was taught is new enough.
FRESH_SECONDS = 30.0
#: Seconds after which nobody is taken to look any more.
WANTED_SECONDS = 10.0
#: Seconds for which what is worked out at once is new enough, and how many predicates, or URLs, it is kept of.
HELD_SECONDS, REMEMBERED = 2.0, 10
#: Windows that the newest pages are cut into, and the pages of one at least.
WINDOWS, LEAST_PAGES = 20, 10
#: Seconds of a step.
STEP_SECONDS = 0.02
#: Features of a kind that can be looked at, those that speak most.
MOST_SPEAKING = 200
#: Characters of an error that are shown.
MOST_CHARACTERS = 300
#: Features whose kinds are looked at together.
KINDS_AT_ONCE = 5_000
#: The newest hits, and misses, of which is told what spoke for them; messages that are looked through for them
#: at most, and at once.
LATEST, EVIDENCE_READ, EVIDENCE_AT_ONCE = 100, 200, 20

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


class _Tagged(msgspec.Struct, array_like=True):
    tag: str


_pack = msgspec.msgpack.Decoder(Pack[msgspec.Raw]).decode
_tag = msgspec.msgpack.Decoder(_Tagged).decode
_label = msgspec.msgpack.Decoder(Label).decode


class Weight(msgspec.Struct, frozen=True):
    """The weight of an input, with its deviation, and both before the first page.

    ``hits`` and ``misses`` are what it added on the mean to the logits of the newest such pages, None where
    none is known.
    """

    name: str
    plain: str
    means: str
    source: str
    mean: float
    deviation: float
    first: float
    first_deviation: float
    hits: float | None = None
    misses: float | None = None


class Combined(msgspec.Struct, frozen=True):
    """A predicate's combiner: its ``labels`` so far, and its weights."""

    labels: int
    weights: list[Weight]


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


class Latest(NamedTuple):
    """The inputs of the newest pages, as they were when these were chosen: a row a page, a column an input."""

    hits: Vector
    misses: Vector


class Users(msgspec.Struct, frozen=True):
    """What users' visits added to the newest ``hits``.

    ``share`` is their inputs' part of all that inputs added or took there, ``helped`` how many of the hits
    would have looked less than half as probable had no user visited them, ``visited`` how many users visited.
    """

    hits: int
    visited: int
    helped: int
    share: float


class Held(NamedTuple):
    """How well probabilities held: of all pages read so far and of the newest, selected and explored by chance.

    ``windows`` are the newest selected pages in their order, cut into parts.
    """

    selected: Reliability | None
    explored: Reliability | None
    newest_selected: Reliability | None
    newest_explored: Reliability | None
    windows: list[Bin]


class _Known(NamedTuple):
    """A scorer that was taught, the time at which that began, and the slots of the features of each kind."""

    taught: Taught
    time: float
    kinds: dict[str, Slots]
    #: What was asked of it, by predicate, kind and whether against: it stays as it is.
    speaking: dict[tuple[str, str, bool], list[Speaking]]


class Learning:
    """What is worked out of a crawl's ``journal`` while somebody wants it (`want`), step by step (`step`).

    ``expectations`` are those of all outcomes read so far, ``trouble`` is why nothing new could be taught.
    """

    def __init__(self, journal: Journal, settings: Settings) -> None:
        self.expectations = Expectations()
        self.trouble = ""
        self._journal = journal
        self._settings = settings
        self._known: _Known | None = None
        self._next: Taught | None = None
        self._steps: Iterator[None] | None = None
        self._begun = self._wanted = float("-inf")
        self._told: list[int] = []
        self._latest: dict[str, tuple[float, Latest]] = {}
        self._held: dict[str, tuple[float, Held]] = {}
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
        while more := any([self._teach(now), self.expectations.step(self._journal)]):
            if process_time() > end:
                break
        return more

    def _teach(self, now: float) -> bool:
        """Teach a little; return whether there is more to teach."""
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
        """Return what tells whether anything was learned since."""
        topics = [name for name in (INTERESTS.name, PREDICATES.name) if name in self._journal.topics()]
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

    # how well probabilities hold

    def held(self, predicate: str, now: float) -> Held:
        """Return how well the probabilities held that were told of the pages chosen for a predicate."""
        time, found = self._held.get(predicate, (float("-inf"), None))
        if found is None or now > time + HELD_SECONDS:
            if len(self._held) >= REMEMBERED:
                self._held.clear()
            found = held(self.expectations, predicate)
            self._held[predicate] = now, found
        return found

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


def held(expectations: Expectations, predicate: str) -> Held:
    """Return how well probabilities held of the pages chosen for a predicate."""
    selected, explored = (
        [(each.expected, each.hit) for each in expectations.newest(predicate, explored=by_chance)]
        for by_chance in (False, True)
    )
    parts = min(WINDOWS, len(selected) // LEAST_PAGES)
    return Held(
        expectations.running(predicate).reliability(),
        expectations.running(predicate, explored=True).reliability(),
        Running(selected).reliability(),
        Running(explored).reliability(),
        windows(selected, parts) if parts else [],
    )


def combined(inputs: Sequence[Input], row: ModelRow | None, latest: Latest) -> Combined:
    """Return what a combiner's row says, or without one what it starts with."""
    first, spread = prior_mean(inputs), prior_covariance(inputs).diagonal() ** 0.5
    mean, deviations = first, spread
    if row is not None:
        mean = np.frombuffer(row.mean)
        covariance = np.frombuffer(row.covariance)
        if len(covariance) == len(mean) ** 2:
            deviations = covariance.reshape(len(mean), len(mean)).diagonal() ** 0.5
    hits, misses = (_means(rows, mean) for rows in latest)
    weights = [
        Weight(
            entry.name, *PLAIN[entry.name], float(mean[place]), float(deviations[place]), float(first[place]),
            float(spread[place]), hits[place], misses[place],
        )
        for place, entry in enumerate(inputs)
    ]  # fmt: skip
    return Combined(row.labels if row is not None else 0, weights)


def _means(rows: Vector, mean: Vector) -> list[float] | list[None]:
    if not rows.size or rows.shape[1] != len(mean):
        return [None] * len(mean)
    found: list[float] = (rows.mean(axis=0) * mean).tolist()
    return found


def latest_inputs(journal: Journal, predicate: str) -> Latest:
    """Return the inputs of the newest pages, `LATEST` hits and as many misses, as the learners were told."""
    found: dict[bool, list[tuple[float, ...]]] = {True: [], False: []}
    if EVIDENCE.name in journal.topics():
        partition = partition_of(predicate, journal.partitions(EVIDENCE.name))
        for entry in _newest_first(journal, partition):
            for label in _labels(entry.value or b""):
                rows = found[label.holds]
                if label.predicate == predicate and len(rows) < LATEST:
                    rows.append(label.inputs)
            if all(len(rows) == LATEST for rows in found.values()):
                break
    return Latest(*(np.array(found[holds], float) for holds in (True, False)))


def _newest_first(journal: Journal, partition: int) -> Iterator[Entry]:
    """Yield the newest messages to a learner, so many at most."""
    end = journal.end(EVIDENCE.name, partition)
    least = max(journal.start(EVIDENCE.name, partition), end - EVIDENCE_READ)
    while end > least:
        start = max(least, end - EVIDENCE_AT_ONCE)
        yield from reversed(journal.read(EVIDENCE.name, partition, start, end - start))
        end = start


def _labels(value: bytes) -> Iterator[Label]:
    """Yield the labels in a message to the learners: counts, which are most of it, are passed over."""
    with suppress(*UNREADABLE):
        for _, _, fact in _pack(value).facts:
            if _tag(fact).tag == Label.__struct_config__.tag:
                yield _label(fact)


def users_part(weights: Sequence[Weight], hits: Vector) -> Users:
    """Return what users' visits added to hits with these inputs."""
    mean = np.array([weight.mean for weight in weights])
    if not hits.size or hits.shape[1] != len(mean):
        return Users(0, 0, 0, 0.0)
    of_users = np.array([weight.source == "users" for weight in weights])
    unvisited = np.array([float(weight.name == "not in the log") for weight in weights])
    without = np.where(of_users, unvisited, hits)
    adds, all_logits, logits = np.abs(hits * mean), hits @ mean, without @ mean
    visited = hits[:, np.flatnonzero(unvisited)[0]] == 0 if unvisited.any() else np.zeros(len(hits), bool)
    helped = [
        probability(less, 0.0) < probability(all_of_it, 0.0) / 2
        for less, all_of_it in zip(logits.tolist(), all_logits.tolist(), strict=True)
    ]
    # What is not in the log has no input of users' but this one, which says as much of all of them.
    share = adds[visited][:, of_users].sum() / max(adds.sum(), 1e-12)
    return Users(len(hits), int(visited.sum()), sum(helped), float(share))


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
    tables = {WORD: weights.words, TOKEN: weights.tokens, SIGNATURE: weights.signatures}
    table = tables.get(prefix)
    if table is None or not table.logs:
        return []
    logs = np.fromiter(table.logs.values(), float)
    slots = scorer.ledger.slots_of(prefix + name for name in table.logs)
    names = list(table.logs)
    pages = scorer.ledger.counts_of(predicate)[0][slots]
    best = strongest(logs, pages, MOST_SPEAKING, against=against)
    found = []
    for place in best.tolist():
        cell = weights.cell(prefix + names[place])
        found.append(Speaking(names[place], *cell, float(logs[place]), table.significance(cell)))
    return found
