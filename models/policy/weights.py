"""The paper's weights of one predicate: the logs of significant ratios, by name and in masks."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from scentline.models.ledger import Ledger
from scentline.models.policy.factors import LinkTable, region_log, union
from scentline.models.policy.features import (
    BASE,
    OUTSIDE,
    SIGNATURE,
    TOKEN,
    USER,
    WORD,
    link,
    region,
)
from scentline.models.policy.ratio import (
    Base,
    Cell,
    Denominator,
    Sample,
    interest,
    ratio,
    significance,
    significant_log,
)
from scentline.models.reuse import Cell as Earlier
from scentline.models.reuse import whole

NOTHING: Mapping[str, Mapping[str, Earlier]] = MappingProxyType({})

#: The kinds of features that enter where they are significant, and what the paper's denominator counts for
#: them: signatures are "quite analogous" to users.
SAMPLES: Mapping[str, Sample] = {WORD: "hits", TOKEN: "hits", SIGNATURE: "pages", USER: "pages"}


class Weights:
    """What is known about one predicate's features, in logarithms.

    The counts are those of ``ledger``; who changes them says so by `learn`. What ``earlier`` crawls counted, by
    feature and predicate, is added to them. ``t`` and ``denominator`` make the significance tests (equations 6
    and 10). Each change of the base changes every ratio: those of words, tokens and users are taken anew, at
    the next use, when P(C) or 1 - P(C) (with the paper's denominator also n(C)) moved by more than ``drift``,
    relatively, since they were last taken. With ``drift=0`` they are always exact.

    >>> weights = Weights("ski", Ledger())
    >>> for word, holds, times in (("snow", True, 20), ("sea", False, 80)):
    ...     weights.ledger.add(weights.ledger.slots_of([BASE, WORD + word]), {"ski": holds}, times)
    >>> weights.learn([BASE])
    >>> round(math.exp(weights.sum(WORD, ["snow", "sea", "the"])), 5)  # 5 times .5 / 16
    0.15625
    """

    def __init__(
        self,
        predicate: str,
        ledger: Ledger,
        t: float = 2.0,
        denominator: Denominator = "binomial",
        drift: float = 0.02,
        earlier: Mapping[str, Mapping[str, Earlier]] = NOTHING,
    ) -> None:
        self.predicate = predicate
        self.ledger = ledger
        self._earlier = earlier
        ledger.add_predicates([predicate])
        self.t = t
        self.denominator: Denominator = denominator
        self.base = Base()
        self.links = LinkTable()
        self.region = (0, 0)
        self._drift = drift
        self._alone = (link(predicate, True), link(predicate, False), region(predicate), BASE)
        self._logs: dict[str, dict[str, float]] = {kind: {} for kind in SAMPLES}
        # Thousands of words share the same small counts.
        self._memory: dict[str, dict[Cell, float]] = {kind: {} for kind in SAMPLES}
        self._changes: dict[str, set[str] | None] = {kind: set() for kind in SAMPLES}
        #: The base that ratios are taken against.
        self._taken = Base()
        self._stale = False

    def cell(self, feature: str) -> Cell:
        """Return the pages and hits of a feature; what is taken back of what was forgotten leaves none."""
        pages, hits = self.ledger.get(feature, self.predicate)
        cell = max(0, pages), max(0, hits)
        earlier = self._earlier.get(feature)
        if earlier is None:
            return cell
        more, more_hits = whole(*earlier.get(self.predicate, (0.0, 0.0)))
        return cell[0] + more, cell[1] + more_hits

    def learn(self, features: Iterable[str]) -> None:
        """Take in that the counts of some features changed; links of other predicates are passed over."""
        alone = False
        for feature in features:
            if feature[:2] in SAMPLES:
                self._take(feature)
            else:
                alone = alone or feature in self._alone
        if alone:
            satisfying, failing, near, base = map(self.cell, self._alone)
            self.links, self.region, self.base = LinkTable(satisfying, failing), near, Base(*base)
            self._stale = self._moved()

    def _take(self, feature: str) -> None:
        kind, name = feature[:2], feature[2:]
        changes = self._changes[kind]
        if changes is not None:
            changes.add(name)
        log = self._log(kind, self.cell(feature))
        if log:
            self._logs[kind][name] = log
        else:
            self._logs[kind].pop(name, None)

    def _log(self, kind: str, cell: Cell) -> float:
        log = self._memory[kind].get(cell)
        if log is None:
            log = significant_log(*cell, self._taken, self.t, self.denominator, SAMPLES[kind])
            self._memory[kind][cell] = log
        return log

    def refresh(self) -> None:
        """Take the ratios of words, tokens and users anew, against the base of now."""
        self._taken, self._stale = self.base, False
        self._logs = {kind: {} for kind in SAMPLES}
        self._memory = {kind: {} for kind in SAMPLES}
        for feature, *cell in self.ledger.items_of(self.predicate):
            kind = feature[:2]
            if kind in SAMPLES and (log := self._log(kind, (cell[0], cell[1]))):
                self._logs[kind][feature[2:]] = log
        for feature in self._earlier:
            if feature[:2] in SAMPLES:
                self._take(feature)
        self._changes = dict.fromkeys(SAMPLES)

    def bring_up(self) -> None:
        """Take the ratios anew if the base rate has moved too far since they were last taken."""
        if self._stale:
            self.refresh()

    @property
    def logs(self) -> Mapping[str, Mapping[str, float]]:
        """The logs of significant ratios, by kind and name."""
        self.bring_up()
        return self._logs

    def sum(self, kind: str, names: Iterable[str]) -> float:
        """Return the sum of the logs of distinct features of a kind that are significant.

        Of tokens it is log I_u(C), equations (5) to (7); of a page's visitors log I^B, equations (8) and (9).
        """
        logs = self.logs[kind]
        return math.fsum(logs[name] for name in names if name in logs)

    def significance(self, kind: str, cell: Cell) -> float:
        """Return by how many deviations a feature of these pages and hits differs from the base of the logs."""
        return significance(*cell, self._taken, self.denominator, SAMPLES[kind])

    def ratio(self, cell: Cell) -> float:
        """Return the ratio of a feature of these pages and hits to the base of the logs."""
        return ratio(*cell, self._taken)

    def take_changes(self, kind: str) -> Collection[str] | None:
        """Return names of a kind whose logs may have changed since the last call, None where all may have."""
        changes = self._changes[kind]
        if changes is None or changes:
            self._changes[kind] = set()
        return changes

    def _moved(self) -> bool:
        old, new = self._taken, self.base
        if not (old.informative and new.informative):
            return old.informative != new.informative
        if self._drift == 0:
            return old != new
        nearest = min(old.rate, 1 - old.rate)
        hits_moved = self.denominator == "paper" and abs(new.hits - old.hits) > self._drift * old.hits
        return hits_moved or abs(new.rate - old.rate) > self._drift * nearest


def weights_of(
    predicate: str,
    ledger: Ledger,
    features: Iterable[str],
    t: float = 2.0,
    denominator: Denominator = "binomial",
) -> Weights:
    """Return the weights of a few features, exact, from the ledger of a crawl that keeps none."""
    few = Ledger()
    names = [name for name in dict.fromkeys(features) if name in ledger]
    few.put(few.slots_of(names), ledger.take(ledger.slots_of(names)))
    weights = Weights(predicate, few, t, denominator)
    weights.learn(names)
    return weights


class Mask(NamedTuple):
    """A word set's mask: ``bits`` over the first ``seen`` words that have a bit."""

    seen: int
    bits: int


#: The mask of a word set that was not looked at yet.
UNSEEN = Mask(0, 0)


class WordMasks:
    """Word sets as bit masks: the words of many in-linking pages are united and summed in microseconds.

    Each word that was ever significant has a bit; the union of pages (Aggarwal 2004, equation 7) is an OR of
    their masks.
    """

    def __init__(self, weights: Weights, kind: str = WORD) -> None:
        self._weights, self._kind = weights, kind
        self._bits: dict[str, int] = {}
        self._names: list[str] = []
        self._logs: npt.NDArray[np.float64] = np.zeros(1024)
        self._sync()

    def __len__(self) -> int:
        return len(self._names)

    def has_all(self, known: Mask) -> bool:
        """Return whether a mask has all bits that there are."""
        self._sync()
        return known.seen == len(self._names)

    def mask(self, words: frozenset[str], known: Mask = UNSEEN) -> Mask:
        """Return the mask of a word set, from one ``known`` earlier where there is one."""
        self._sync()
        total = len(self._names)
        if known.seen == total:
            return known
        fresh = self._names[known.seen :]
        if len(fresh) < len(words):
            found = [number for number, name in enumerate(fresh, known.seen) if name in words]
        else:
            found = [self._bits[name] for name in words if self._bits.get(name, -1) >= known.seen]
        if not found:
            return Mask(total, known.bits)
        field = bytearray((total + 7) // 8)
        for number in found:
            field[number >> 3] |= 1 << (number & 7)
        return Mask(total, known.bits | int.from_bytes(field, "little"))

    def log(self, masks: Iterable[int]) -> float:
        """Return the sum of the logs of the words in any of ``masks``: log I_c(C), equation (7)."""
        self._sync()
        united = 0
        for bits in masks:
            united |= bits
        if not united:
            return 0.0
        field = np.frombuffer(united.to_bytes((len(self._names) + 7) // 8, "little"), np.uint8)
        (present,) = np.unpackbits(field, bitorder="little").view(np.bool_).nonzero()
        # Not a product of vectors: that is handed to BLAS threads, which wait for each other.
        return float(self._logs.take(present).sum())

    def _sync(self) -> None:
        logs = self._weights.logs[self._kind]
        changes = self._weights.take_changes(self._kind)
        if changes is None:
            self._logs[:] = 0.0
            changes = logs.keys()
        for name in changes:
            log = logs.get(name, 0.0)
            bit = self._bits.get(name)
            if bit is None:
                if not log:
                    continue
                bit = self._bits[name] = len(self._names)
                self._names.append(name)
                if bit + 8 > len(self._logs):
                    self._logs = np.concatenate((self._logs, np.zeros(len(self._logs))))
            self._logs[bit] = log


class Evidence(msgspec.Struct, frozen=True):
    """What links say of a candidate for one predicate."""

    #: The word sets of its kept in-linking pages.
    parents: tuple[frozenset[str], ...] = ()
    #: Those of its URL.
    tokens: frozenset[str] = frozenset()
    #: Its judged in-linking pages, and those of them that satisfy the predicate.
    k: int = 0
    m: int = 0
    #: Its distinct visited siblings, and those of them that satisfy the predicate.
    v: int = 0
    s: int = 0


class CrowdEvidence(msgspec.Struct, frozen=True):
    """What a log says of a candidate for one predicate."""

    visitors: tuple[str, ...] = ()
    #: Those of its signature.
    words: frozenset[str] = frozenset()
    #: Whether it lies in the predicate's region of temporal locality; None without an access to it.
    within: bool | None = None


class Contribution(msgspec.Struct, frozen=True, array_like=True):
    """What one feature adds to a priority: its counts, ratio, significance and the log that enters the sum.

    ``log`` is 0 for a word or token that is not significant. Of links it covers all in-links of the kind;
    ``pages`` and ``hits`` of the feature ``siblings:PREDICATE`` are the visited siblings and those that hit.
    """

    feature: str
    pages: int
    hits: int
    ratio: float
    significance: float
    log: float


def contributions(evidence: Evidence, weights: Weights) -> list[Contribution]:
    """Return what each known feature of a candidate adds to its priority, the largest effect first."""
    found = [
        *events(weights, WORD, union(evidence.parents)),
        *events(weights, TOKEN, evidence.tokens),
        *_links(evidence, weights),
        *_siblings(evidence, weights),
    ]
    return ordered(found)


def ordered(found: Iterable[Contribution]) -> list[Contribution]:
    """Return contributions with the largest effect first."""
    return sorted(found, key=lambda entry: (-abs(entry.log), -entry.significance, entry.feature))


def events(weights: Weights, kind: str, names: Iterable[str]) -> Iterator[Contribution]:
    """Yield what the known ones of some features of a kind add."""
    logs = weights.logs[kind]
    for name in names:
        cell = weights.cell(kind + name)
        if cell[0] > 0:
            deviation = weights.significance(kind, cell)
            yield Contribution(kind + name, *cell, weights.ratio(cell), deviation, logs.get(name, 0.0))


def _links(evidence: Evidence, weights: Weights) -> Iterator[Contribution]:
    base, table = weights.base, weights.links
    rows = (
        (True, evidence.m, table.satisfying, table.p(base)),
        (False, evidence.k - evidence.m, table.failing, table.q(base)),
    )
    for holds, number, row, factor in rows:
        if number:
            deviation = significance(*row, base, weights.denominator)
            name = link(weights.predicate, holds)
            yield Contribution(name, *row, factor, deviation, number * math.log(factor))


def _siblings(evidence: Evidence, weights: Weights) -> Iterator[Contribution]:
    base = weights.base
    if evidence.v and base.informative:
        factor = interest(evidence.s, evidence.v * base.rate)
        deviation = significance(evidence.v, evidence.s, base, weights.denominator)
        name = f"siblings:{weights.predicate}"
        yield Contribution(name, evidence.v, evidence.s, factor, deviation, math.log(factor))


def crowd_contributions(evidence: CrowdEvidence, weights: Weights) -> Iterator[Contribution]:
    """Yield what each known feature of log I^C (Aggarwal 2004, equation 14) adds; users by their pseudonyms.

    Of a page of the log there are both ratios of the region, f1 / P(U) and f2 / P(U): one of them adds.
    """
    yield from events(weights, USER, evidence.visitors)
    yield from events(weights, SIGNATURE, evidence.words)
    for inside, (pages, hits) in region_cells(weights).items():
        if evidence.within is not None and (pages or inside == evidence.within):
            log = region_log(inside, weights.region, weights.base)
            deviation = significance(pages, hits, weights.base, weights.denominator, "pages")
            name = f"{region(weights.predicate)}{'' if inside else OUTSIDE}"
            adds = log if inside == evidence.within else 0.0
            yield Contribution(name, pages, hits, math.exp(log), deviation, adds)


def region_cells(weights: Weights) -> dict[bool, tuple[int, int]]:
    """Return the judged pages and hits in the region of temporal locality (12), and outside (13).

    Nothing where there is no rate to compare with.
    """
    base, (pages, hits) = weights.base, weights.region
    if not base.informative:
        return {}
    return {True: (pages, hits), False: (base.pages - pages, base.hits - hits)}
