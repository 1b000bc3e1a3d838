"""The learned state of a crawl as a file: counts of features and combiners; no pages, no identities.

A file (`models.sealed`) may come from anywhere, and its numbers enter every score: all of it is checked.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from scentline.models.errors import ScentlineError
from scentline.models.page import FAILED
from scentline.models.policy.combiner import Calibration, Combining
from scentline.models.policy.features import BASE, LINK, REGION, USER, link, log_lift, region, split
from scentline.models.sealed import Kind, SealedError, seal, unseal

#: Default weight of an earlier crawl's counts: old evidence fades.
WEIGHT = 0.25

#: Pages judged under a feature, and the hits among them.
Cell = tuple[float, float]


class Learned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was learned about the predicate ``name``: ``pages`` were judged, ``hits`` of them satisfy it.

    ``features`` are pages and hits by feature (`models.policy.features`), those of links under ``name``.
    """

    name: str
    expression: str
    pages: float
    hits: float
    features: Mapping[str, Cell]
    combining: Combining | None = None

    def counts(self, weight: float) -> Iterator[tuple[str, float, float]]:
        """Yield (feature, pages, hits) multiplied by ``weight``; the base comes last, as ''."""
        for feature, (pages, hits) in self.features.items():
            yield feature, pages * weight, hits * weight
        yield BASE, self.pages * weight, self.hits * weight


def learned(
    name: str,
    expression: str,
    counts: Iterable[tuple[str, float, float]],
    combining: Combining | None = None,
) -> Learned:
    """Return the sums of (feature, pages, hits), where the base is ''."""
    features: dict[str, Cell] = {}
    for feature, pages, hits in counts:
        known = features.get(feature, (0.0, 0.0))
        features[feature] = (known[0] + pages, known[1] + hits)
    pages, hits = features.pop(BASE, (0.0, 0.0))
    return Learned(name, expression, pages, hits, features, combining)


def effect(pages: float, hits: float, rate: float) -> float:
    """Return |L(c, n)|, the magnitude of the shrunk log ratio, at a base rate.

    >>> round(effect(8, 8, 0.1), 3), round(effect(1, 0, 0.1), 3), effect(30, 3, 0.1)
    (2.104, 0.405, 0.0)
    """
    return abs(log_lift(pages, hits, rate))


def whole(pages: float, hits: float) -> tuple[int, int]:
    """Return rounded counts for the paper's ratios, which need whole pages.

    >>> whole(2.25, 1.5), whole(0.25, 0.25), whole(2.5, 2.5)
    ((2, 2), (0, 0), (2, 2))
    """
    number = round(pages)
    return number, min(number, round(hits))


MOST_PREDICATES = 1_000
MOST_FEATURES = 2_000_000
#: Bounds of texts, in characters: the predicate's expression, and a feature's name.
MOST_EXPRESSION = 10_000
MOST_NAME = 1_000
#: Bounds of pages counted, of a combiner's inputs and of its numbers.
MOST_PAGES = 1e12
MOST_INPUTS = 200
MOST_WEIGHT = 1e6

_PREDICATE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_PSEUDONYM = re.compile(r"[0-9a-f]{16}")


class LearnedStateError(ScentlineError, ValueError):
    """Bytes that do not hold a crawl's state; the message says why."""


def check(found: Sequence[Learned]) -> None:
    """Raise `LearnedStateError` for a state that no crawl could have learned."""
    names = [learned.name for learned in found]
    if len(found) > MOST_PREDICATES or len(set(names)) != len(names):
        raise LearnedStateError(
            f"{len(found)} predicates with {len(set(names))} names, expected at most {MOST_PREDICATES}, "
            "each with its own"
        )
    features = sum(len(learned.features) for learned in found)
    if features > MOST_FEATURES:
        raise LearnedStateError(f"{features} features, expected at most {MOST_FEATURES}")
    for learned in found:
        _check_predicate(learned)


def _check_predicate(learned: Learned) -> None:
    name = learned.name
    if name != FAILED and not _PREDICATE.fullmatch(name):
        raise LearnedStateError(f"predicate {name[:80]!r}: expected a letter, then letters, digits, - and _")
    if len(learned.expression) > MOST_EXPRESSION:
        raise LearnedStateError(
            f"predicate {name}: its expression has {len(learned.expression)} characters, "
            f"expected at most {MOST_EXPRESSION}"
        )
    _check_cell(f"predicate {name}", (learned.pages, learned.hits))
    for feature, cell in learned.features.items():
        _check_name(name, feature)
        _check_cell(f"predicate {name}, feature {feature!r}", cell)
    if learned.combining is not None:
        _check_combining(f"predicate {name}, combiner", learned.combining)


def _check_name(predicate: str, feature: str) -> None:
    if not 0 < len(feature) <= MOST_NAME:
        raise LearnedStateError(
            f"predicate {predicate}: a feature's name has {len(feature)} characters, expected 1 to {MOST_NAME}"
        )
    try:
        split(feature)
    except ValueError as error:
        raise LearnedStateError(f"predicate {predicate}: {error}") from error
    own = {link(predicate, True), link(predicate, False), region(predicate)}
    if feature[:2] in (LINK, REGION) and feature not in own:
        raise LearnedStateError(f"predicate {predicate}: feature {feature!r} is another predicate's")
    if feature[:2] == USER and not _PSEUDONYM.fullmatch(feature[2:]):
        raise LearnedStateError(
            f"predicate {predicate}: a user's name is not a pseudonym of 16 hexadecimal digits"
        )


def _check_cell(what: str, cell: Cell) -> None:
    pages, hits = cell
    if not (math.isfinite(pages) and math.isfinite(hits) and 0 <= hits <= pages <= MOST_PAGES):
        raise LearnedStateError(f"{what}: {hits} hits on {pages} pages, expected 0 <= hits <= pages")


def _check_combining(what: str, combining: Combining) -> None:
    inputs = len(combining.names)
    if not 0 < inputs <= MOST_INPUTS or len(set(combining.names)) != inputs:
        raise LearnedStateError(f"{what}: {inputs} inputs, expected 1 to {MOST_INPUTS}, each named once")
    mean = _numbers(f"{what}, mean", combining.mean, [inputs])
    covariance = _numbers(f"{what}, covariance", combining.covariance, [inputs**2]).reshape(inputs, inputs)
    _check_covariance(f"{what}, covariance", covariance)
    assert mean.size == inputs
    shifts = _numbers(f"{what}, calibration", combining.calibration, [0, len(Calibration().state()) // 8])
    if shifts.size:
        for part in shifts.reshape(2, 6):
            _check_covariance(f"{what}, calibration", part[2:].reshape(2, 2))


def _numbers(
    what: str, data: bytes, sizes: Iterable[int]
) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    expected = [8 * size for size in sizes]
    if len(data) not in expected:
        raise LearnedStateError(f"{what}: {len(data)} bytes, expected {' or '.join(map(str, expected))}")
    numbers = np.frombuffer(data)
    if not bool(np.all(np.abs(numbers) <= MOST_WEIGHT)):
        raise LearnedStateError(f"{what}: a number beyond +-{MOST_WEIGHT:g}, or none")
    return numbers


def _check_covariance(what: str, matrix: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> None:
    if not np.allclose(matrix, matrix.T) or float(np.linalg.eigvalsh(matrix).min()) < -1e-6:
        raise LearnedStateError(f"{what}: not one; expected a symmetric matrix without negative eigenvalues")


#: The kind of file, and the version of its format.
KIND = Kind("scentline state", 1, "scentline state export")


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The learned state of a crawl with ``policy``, by predicate; requests have the predicate `FAILED`."""

    policy: str
    learned: Sequence[Learned]


def sizes(state: State) -> tuple[dict[str, int], int]:
    """Return the number of features for each predicate of a state, and for requests."""
    found = {learned.name: len(learned.features) for learned in state.learned}
    requests = found.pop(FAILED, 0)
    return found, requests


def pack(state: State, made_by: str) -> bytes:
    """Return the bytes of a state."""
    return seal(KIND, state, made_by)


def unpack(data: bytes) -> tuple[State, str]:
    """Return the state from the bytes of `pack`, and its checksum in hexadecimal digits.

    Other bytes raise `LearnedStateError` before they take much memory.
    """
    try:
        state, checksum = unseal(KIND, data, State)
    except SealedError as error:
        raise LearnedStateError(str(error)) from error
    check(state.learned)
    return state, checksum
