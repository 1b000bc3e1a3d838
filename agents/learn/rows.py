"""The learner's rows: one a feature, one a predicate's combiner, and the totals of a partition."""

from typing import TypeAlias

import msgspec

from models.interest.features import BASE, LINK, REGION
from models.learner.state import CombinerKind

TOTALS_KEY = b"t"
FEATURE_PREFIX = b"f"
MODEL_PREFIX = b"m"


class FeatureRow(msgspec.Struct, array_like=True, tag="feature"):
    """A feature's counts: for each predicate [pages, hits]; ``prior`` has those of earlier crawls, faded."""

    counts: dict[str, list[int]] = {}
    prior: dict[str, tuple[float, float]] = {}

    @property
    def pages(self) -> float:
        """Pages counted under the feature, now or earlier, by the predicate that has seen most."""
        return max((pages for pages, _ in (*self.counts.values(), *self.prior.values())), default=0)


class ModelRow(msgspec.Struct, array_like=True, frozen=True, tag="model"):
    """What has learned from a predicate's labels: the fields of `models.learner.state.State`."""

    kind: CombinerKind
    mean: bytes
    covariance: bytes
    labels: int
    calibration: bytes
    residuals: bytes


class LearnTotals(msgspec.Struct, array_like=True, tag="totals"):
    """Features kept, and how many were forgotten for want of room."""

    features: int = 0
    forgotten: int = 0


LearnRow: TypeAlias = FeatureRow | ModelRow | LearnTotals


def feature_key(feature: str) -> bytes:
    """Return the key of a feature's row."""
    return FEATURE_PREFIX + feature.encode()


def feature_of(key: bytes) -> str:
    """Return the feature that a row's key names."""
    return key[1:].decode()


def always_kept(feature: str) -> bool:
    """Return whether a feature is one of the few: the base, and each predicate's links and region."""
    return feature[:2] in (BASE, LINK, REGION)


def model_key(predicate: str) -> bytes:
    """Return the key of the row of a predicate's combiner."""
    return MODEL_PREFIX + predicate.encode()


def predicate_of(key: bytes) -> str:
    """Return the predicate whose combiner a row's key names."""
    return key[1:].decode()
