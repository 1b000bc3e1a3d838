"""What a crawl has learned, out of its tables: a crawl may be running, it is only read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappush, heappushpop
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np

from agents.crawl.fixed import of_crawl
from agents.learn.models import inputs_of
from agents.learn.rows import LearnRow, ModelRow, always_kept, model_key
from agents.operate.inspect.learned import read_ledger, read_priors
from agents.operate.inspect.record import definitions
from agents.stored import write_stored
from models.interest.features import BASE, LINK, REGION, SUBJECT, USER, split
from models.learner.inputs import Input, prior_covariance
from models.learner.requests import failing
from models.learner.shrinkage import base_rate
from models.lessons import lessons
from models.reuse import Cell, Combining, Learned, LearnedStateError, State, effect, pack, sizes
from models.verdict import FAILED
from streams.settings import Settings
from streams.transport.database import TablePartition
from streams.transport.journal import Journal

#: Features of a predicate in a file at most: those of largest effect.
MOST_FEATURES = 100_000
#: Shrunk log ratio, either way, that a feature must have to be worth keeping.
LEAST_EFFECT = 0.05

#: How much a feature matters, the feature, its counts.
Entry: TypeAlias = tuple[float, str, Cell]

_decode = msgspec.msgpack.Decoder(LearnRow).decode


@dataclass(frozen=True)
class Exported:
    """What became of an export: the features of each predicate, users among them, and the bytes written.

    ``requests`` are the features of which requests fail.
    """

    features: Mapping[str, int]
    requests: int
    users: int
    size: int


def export(settings: Settings, path: Path, users: bool, most: int = MOST_FEATURES) -> Exported:
    """Write what the crawl in ``settings.data`` has learned: the whole file, or none.

    Raises `JournalMissingError` or `TableMissingError` where there is no crawl, and `LearnedStateError` where
    it has judged nothing yet or the file can't be written.
    """
    state = read_state(settings, users, most)
    data = pack(state, f"scentline {version('scentline')}")
    try:
        write_stored(path, data)
    except OSError as error:
        raise LearnedStateError(f"{path}: can't be written: {error.strerror}") from error
    features, requests = sizes(state)
    pseudonyms = {name for learned in state.learned for name in learned.features if name.startswith(USER)}
    return Exported(features, requests, len(pseudonyms), len(data))


def read_state(settings: Settings, users: bool, most: int) -> State:
    """Return what the crawl has learned of each predicate: the ``most`` features of largest effect.

    Pseudonyms of users are among them where ``users`` says so.
    """
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        return _state(journal, settings, users, most)


def _state(journal: Journal, settings: Settings, users: bool, most: int) -> State:
    expressions = {each.name: each.expression for each in definitions(journal)}
    parts = journal.table("interests")
    counts = [_all_cells(part) for part in parts.values()]
    bases = next((found[BASE] for found in counts if BASE in found), {})
    if not bases:
        raise LearnedStateError(f"{settings.data}: the crawl there has judged no pages, expected at least one")
    crawl = of_crawl(settings)
    if not lessons(crawl.frontier.rule).learned:
        bases = {name: cell for name, cell in bases.items() if name != FAILED}
    found: dict[str, list[Entry]] = {name: [] for name in bases}
    for name, entry in _entries(chain.from_iterable(map(dict.items, counts)), bases, users):
        if len(found[name]) < most:
            heappush(found[name], entry)
        else:
            heappushpop(found[name], entry)
    inputs = inputs_of(crawl)
    learned = [
        Learned(
            name,
            expressions.get(name, ""),
            *bases[name],
            _features(kept),
            _combining(parts, name, failing(inputs) if name == FAILED else inputs),
        )
        for name, kept in sorted(found.items())
    ]
    return State(crawl.frontier.rule, learned)


def _features(kept: list[Entry]) -> dict[str, Cell]:
    return {feature: cell for _, feature, cell in sorted(kept, key=lambda entry: entry[1])}


def _all_cells(part: TablePartition) -> dict[str, dict[str, Cell]]:
    """Return the counts of each feature by predicate, those of earlier crawls, as they have faded, included."""
    found: dict[str, dict[str, Cell]] = {
        feature: {name: cell for name, cell in cells.items() if cell[0]}
        for feature, cells in read_priors(part).items()
    }
    for feature, name, pages, hits in read_ledger(part).items():
        cells = found.setdefault(feature, {})
        earlier = cells.get(name, (0.0, 0.0))
        cells[name] = (pages + earlier[0], hits + earlier[1])
    return found


def _entries(
    counts: Iterable[tuple[str, Mapping[str, Cell]]], bases: Mapping[str, Cell], users: bool
) -> Iterator[tuple[str, Entry]]:
    """Yield the predicate and the entry of each feature that has an effect; none names a page."""
    left_out = (SUBJECT,) if users else (SUBJECT, USER)
    for feature, cells in counts:
        if feature == BASE or feature.startswith(left_out):
            continue
        # Verdicts of all predicates are counted under each one's links, of which it alone has a use.
        owner = split(feature).name if feature.startswith((LINK, REGION)) else None
        for name, cell in cells.items():
            if name not in bases or owner not in (None, name):
                continue
            matters = _matters(feature, cell, bases[name])
            if matters >= LEAST_EFFECT:
                yield name, (matters, feature, cell)


def _matters(feature: str, cell: Cell, base: Cell) -> float:
    return float("inf") if always_kept(feature) else effect(*cell, base_rate(*base))


def _combining(
    parts: Mapping[int, TablePartition], predicate: str, inputs: Sequence[Input]
) -> Combining | None:
    rows = (_decode(raw) for part in parts.values() if (raw := part.get(model_key(predicate))) is not None)
    row = next(rows, None)
    if not isinstance(row, ModelRow):
        return None
    # A combiner that knows no uncertainty has the one that any starts with.
    covariance = row.covariance if np.frombuffer(row.covariance).any() else prior_covariance(inputs).tobytes()
    return Combining(tuple(entry.name for entry in inputs), row.mean, covariance, row.calibration)
