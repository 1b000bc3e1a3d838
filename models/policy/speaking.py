"""What was learned of a predicate: the features that speak most for it or against it, and its weights."""

import math
from typing import Any

import msgspec
import numpy as np

from scentline.models.ledger import Slots
from scentline.models.page import FAILED
from scentline.models.policy.combiner import Vector, failing
from scentline.models.policy.features import (
    ANCHOR,
    BASE,
    CONTEXT,
    HEADING,
    OUTSIDE,
    PAGE_WORD,
    PAPER,
    PREFIX,
    REGION,
    SIGNATURE,
    TOKEN,
    URL_WORD,
    WORD,
    link,
    log_lifts,
    ratio,
    region,
    significance,
    strongest,
)
from scentline.models.policy.inputs import PLAIN, plain, prior_covariance, prior_mean
from scentline.models.policy.knowledge import PREFIX_PRIOR
from scentline.models.policy.learned import LearnedScorer
from scentline.models.policy.priorities import OrderedScorer, Scorer
from scentline.models.policy.scoring import PaperScorer
from scentline.models.policy.vocabulary import WORDS, LogRatios
from scentline.models.policy.weights import SAMPLES, Weights, region_cells, weights_of
from scentline.models.settings import LearnSettings

#: Strongest features of a kind that are returned, and features searched for them where no array has the kind
#: by itself.
MOST_SPEAKING, LOOKED_AT = 200, 20_000

#: The kinds of features that are shown, by display name.
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


class Speaking(msgspec.Struct, frozen=True):
    """A feature that speaks for a predicate or against it: its judged pages, and the hits among them.

    ``weight`` is the log of its ratio, shrunk under the learned policy; ``significance`` is the paper's, in
    deviations, None under the learned policy.
    """

    name: str
    pages: int
    hits: int
    weight: float
    significance: float | None = None


class Weight(msgspec.Struct, frozen=True):
    """The weight of an input, with its deviation, and both before the first page."""

    name: str
    plain: str
    means: str
    source: str
    mean: float
    deviation: float
    first: float
    first_deviation: float


class Features(msgspec.Struct, frozen=True):
    """What was learned of a predicate from ``judged`` pages, or requests: the ``weights`` of its combiner.

    ``ratios`` are the paper's, of links and visits; ``speaking`` are the strongest features of a kind.
    """

    judged: int
    weights: list[Weight] = []
    ratios: list[Speaking] = []
    speaking: list[Speaking] = []


def features(
    scorer: Scorer, settings: LearnSettings, predicate: str, kind: str = "", *, against: bool = False
) -> Features:
    """Return what was learned of a known predicate, or of requests (`models.page.FAILED`)."""
    if isinstance(scorer, LearnedScorer):
        kinds = (BASE, region(predicate), *(link(predicate, holds) for holds in (True, False)))
        found = weights_of(predicate, scorer.ledger, kinds, settings.t, settings.significance)
        return Features(
            scorer.judged(predicate),
            _weights(scorer, predicate),
            [] if predicate == FAILED else _ratios(found),
            _by_learned(scorer, predicate, KINDS[kind], against) if kind in KINDS else [],
        )
    if isinstance(scorer, PaperScorer) and not isinstance(scorer, OrderedScorer):
        weights = scorer.weights(predicate)
        speaking = _by_paper(scorer, weights, KINDS[kind], against) if kind in KINDS else []
        return Features(scorer.judged(predicate), ratios=_ratios(weights), speaking=speaking)
    return Features(scorer.judged(predicate))


def _weights(scorer: LearnedScorer, predicate: str) -> list[Weight]:
    inputs = failing(scorer.all_inputs()) if predicate == FAILED else scorer.all_inputs()
    known = scorer.known(predicate)
    columns = (
        known.mean, known.covariance.diagonal() ** 0.5, prior_mean(inputs),
        prior_covariance(inputs).diagonal() ** 0.5,
    )  # fmt: skip
    rows = zip(inputs, *(column.tolist() for column in columns), strict=True)
    return [Weight(entry.name, *PLAIN[entry.name], *row) for entry, *row in rows]


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


def _by_learned(scorer: LearnedScorer, predicate: str, prefix: str, against: bool) -> list[Speaking]:
    knowledge = scorer.known(predicate)
    if prefix in WORDS:
        return _words(scorer, predicate, knowledge.words, prefix, against)
    pages, hits = scorer.ledger.counts_of(predicate)
    weights = log_lifts(pages.astype(float), hits.astype(float), knowledge.rate, PREFIX_PRIOR)
    best = strongest(weights, pages, LOOKED_AT, against=against)
    best = best[[(name or "").startswith(prefix) for name in scorer.ledger.names(best)]][:MOST_SPEAKING]
    return _spoken(scorer, predicate, best, weights[best])


def _words(scorer: Scorer, predicate: str, words: LogRatios[Any], prefix: str, against: bool) -> list[Speaking]:
    kinds = words.vocabulary.kinds
    weights = words.by_word[:, kinds[prefix]]
    slots = words.vocabulary.slots(np.arange(len(weights)) * len(kinds) + kinds[prefix])
    counted = np.flatnonzero(slots >= 0)
    slots, weights = slots[counted], weights[counted]
    pages = scorer.ledger.counts_of(predicate)[0][slots]
    best = strongest(weights, pages, MOST_SPEAKING, against=against)
    return _spoken(scorer, predicate, slots[best], weights[best])


def _spoken(scorer: Scorer, predicate: str, slots: Slots, weights: Vector) -> list[Speaking]:
    counts = (counts[slots].tolist() for counts in scorer.ledger.counts_of(predicate))
    columns = zip(scorer.ledger.names(slots), *counts, weights.tolist(), strict=True)
    return [Speaking((name or "")[2:], *row) for name, *row in columns]


def _by_paper(scorer: PaperScorer, weights: Weights, prefix: str, against: bool) -> list[Speaking]:
    if prefix not in PAPER:
        return []
    words, test = weights.words, (weights.denominator, SAMPLES[prefix])
    found = _words(scorer, weights.predicate, words, prefix, against)
    cells = [weights.cell(prefix + each.name) for each in found]
    return [
        Speaking(each.name, *cell, each.weight, significance(*cell, words.rule.base, *test))
        for each, cell in zip(found, cells, strict=True)
    ]
