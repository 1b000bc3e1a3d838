"""What a crawl has learned, from its tables: all that its frontiers know in the end."""

from itertools import chain
from typing import Any

import msgspec
import numpy as np

from agents.frontier.scorer import Scorer
from agents.learn.rows import (
    BLOCK_PREFIX,
    MODEL_PREFIX,
    PRIOR_PREFIX,
    SEGMENT_PREFIX,
    LearnRow,
    ModelRow,
    PriorRow,
    name_of,
)
from agents.learn.store import ledger_of
from models.learner.calibration import Calibration
from models.ledger import Ledger
from streams.records import Weighting
from streams.transport.database import TablePartition
from streams.transport.journal import Journal

_decode: Any = msgspec.msgpack.Decoder(LearnRow).decode


def read_ledger(part: TablePartition) -> Ledger:
    """Return the counts of a partition of the learner's table."""
    rows = chain(part.scan(BLOCK_PREFIX), part.scan(SEGMENT_PREFIX))
    return ledger_of((key, _decode(raw)) for key, raw in rows)


def read_priors(part: TablePartition) -> dict[str, dict[str, tuple[float, float]]]:
    """Return what earlier crawls counted, by feature and predicate, of a partition of the learner's table."""
    rows = ((name_of(key), _decode(raw)) for key, raw in part.scan(PRIOR_PREFIX))
    return {name: row.counts for name, row in rows if isinstance(row, PriorRow)}


def teach(scorer: Scorer, journal: Journal) -> None:
    """Have a scorer learn all that a crawl has; raises `TableMissingError` where there is none."""
    for part in journal.table("interests").values():
        priors = read_priors(part)
        scorer.inherit(priors)
        counted = read_ledger(part)
        names = [*counted]
        slots = scorer.ledger.slots_of(names)
        scorer.ledger.put(slots, counted.take(counted.slots_of(names)))
        scorer.ledger.add_predicates(chain.from_iterable(priors.values()))
        scorer.learn(np.union1d(slots, scorer.ledger.slots_of(priors)))
        for key, raw in part.scan(MODEL_PREFIX):
            row = _decode(raw)
            assert isinstance(row, ModelRow)
            weighting = Weighting(row.mean, row.covariance, Calibration(row.calibration).shifts)
            scorer.take(name_of(key), weighting)
