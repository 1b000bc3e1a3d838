"""The learner's rows: one a feature, and the totals of a partition."""

from typing import TypeAlias

import msgspec

TOTALS_KEY = b"t"
FEATURE_PREFIX = b"f"


class FeatureRow(msgspec.Struct, array_like=True, tag="feature"):
    """A feature's counts: for each predicate [pages, hits]."""

    counts: dict[str, list[int]] = {}

    @property
    def pages(self) -> int:
        """Pages counted under the feature by the predicate that has seen most."""
        return max((pages for pages, _ in self.counts.values()), default=0)


class LearnTotals(msgspec.Struct, array_like=True, tag="totals"):
    """Features kept, and how many were forgotten for want of room."""

    features: int = 0
    forgotten: int = 0


LearnRow: TypeAlias = FeatureRow | LearnTotals


def feature_key(feature: str) -> bytes:
    """Return the key of a feature's row."""
    return FEATURE_PREFIX + feature.encode()


def feature_of(key: bytes) -> str:
    """Return the feature that a row's key names."""
    return key[1:].decode()
