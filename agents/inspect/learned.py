"""What a crawl has learned, from its tables: as the frontiers hear it."""

from collections.abc import Iterator
from itertools import chain

import msgspec

from agents.learn.rows import (
    FEATURE_PREFIX,
    MODEL_PREFIX,
    FeatureRow,
    LearnRow,
    ModelRow,
    feature_of,
    predicate_of,
)
from models.learner.calibration import Calibration
from streams.records import COMBINER, Interest, Weighting
from streams.transport.journal import Journal


def interests(journal: Journal) -> Iterator[Interest]:
    """Yield all that a crawl has learned; raises `TableMissingError` where there is none."""
    decode = msgspec.msgpack.Decoder(LearnRow).decode
    for part in journal.table("interests").values():
        for key, raw in chain(part.scan(FEATURE_PREFIX), part.scan(MODEL_PREFIX)):
            row = decode(raw)
            if isinstance(row, FeatureRow):
                counts = {name: (pages, hits) for name, (pages, hits) in row.counts.items()}
                yield Interest(feature=feature_of(key), counts=counts, prior=row.prior)
            elif isinstance(row, ModelRow):
                weighting = Weighting(row.mean, row.covariance, Calibration(row.calibration).shifts)
                yield Interest(feature=COMBINER + predicate_of(key), counts={}, weighting=weighting)
