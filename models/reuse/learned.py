"""What a crawl has learned of one predicate: counts of features, and a combiner; no pages, no identities."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec
import numpy as np

from models.interest.features import BASE
from models.learner.combiner import Vector
from models.learner.shrinkage import log_lift

#: What counts of an earlier crawl are multiplied by, unless told otherwise: old evidence fades.
WEIGHT = 0.25

#: Pages judged under a feature, and the hits among them.
Cell = tuple[float, float]


class Combining(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A combiner: ``names`` of its inputs, ``mean`` and ``covariance`` of their weights, as float64 bytes.

    ``calibration`` is that of `models.learner.state.State`.
    """

    names: tuple[str, ...]
    mean: bytes
    covariance: bytes
    calibration: bytes = b""

    def onto(self, names: tuple[str, ...], mean: Vector, covariance: Vector) -> tuple[Vector, Vector]:
        """Return mean and covariance of the inputs ``names``: those not known here keep what is given.

        >>> combining = Combining(("a", "b"), np.array([1.0, 2.0]).tobytes(), np.eye(2).tobytes())
        >>> combining.onto(("b", "c"), np.zeros(2), np.eye(2) / 4)[0]
        array([2., 0.])
        """
        known = {name: place for place, name in enumerate(self.names)}
        pairs = [(here, known[name]) for here, name in enumerate(names) if name in known]
        here, there = (list(places) for places in zip(*pairs, strict=True)) if pairs else ([], [])
        new_mean, new_covariance = mean.copy(), covariance.copy()
        new_mean[here] = np.frombuffer(self.mean)[there]
        old = np.frombuffer(self.covariance).reshape(len(self.names), -1)
        new_covariance[np.ix_(here, here)] = old[np.ix_(there, there)]
        return new_mean, new_covariance


class Learned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was learned of the predicate ``name``: ``pages`` were judged, ``hits`` of them satisfy it.

    ``features`` are pages and hits by feature (`models.interest.features`), those of links under ``name``.
    """

    name: str
    expression: str
    pages: float
    hits: float
    features: Mapping[str, Cell]
    combining: Combining | None = None

    def counts(self, weight: float) -> Iterator[tuple[str, float, float]]:
        """Yield (feature, pages, hits) multiplied by ``weight``, those of the base under '' last."""
        for feature, (pages, hits) in self.features.items():
            yield feature, pages * weight, hits * weight
        yield BASE, self.pages * weight, self.hits * weight


def learned(
    name: str,
    expression: str,
    counts: Iterable[tuple[str, float, float]],
    combining: Combining | None = None,
) -> Learned:
    """Return the sum of (feature, pages, hits), the base among them under ''."""
    features: dict[str, Cell] = {}
    for feature, pages, hits in counts:
        known = features.get(feature, (0.0, 0.0))
        features[feature] = (known[0] + pages, known[1] + hits)
    pages, hits = features.pop(BASE, (0.0, 0.0))
    return Learned(name, expression, pages, hits, features, combining)


def effect(pages: float, hits: float, rate: float) -> float:
    """Return |L(c, n)|, the shrunk log ratio either way, at a base rate.

    >>> round(effect(8, 8, 0.1), 3), round(effect(1, 0, 0.1), 3), effect(30, 3, 0.1)
    (2.104, 0.405, 0.0)
    """
    return abs(log_lift(pages, hits, rate))


def whole(pages: float, hits: float) -> tuple[int, int]:
    """Return counts rounded, for the paper's ratios, which are made of whole pages.

    >>> whole(2.25, 1.5), whole(0.25, 0.25), whole(2.5, 2.5)
    ((2, 2), (0, 0), (2, 2))
    """
    number = round(pages)
    return number, min(number, round(hits))
