"""Export what a crawl has learned from its tables to a file, and import a file into the next crawl's log.

The exported crawl may be running; the importing one may not.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np

from scentline.agents.learn import LearnRow, ModelRow, model_key
from scentline.agents.operate.record import all_entries, definitions, read_ledger, read_priors, records
from scentline.agents.stored import read_stored, write_stored
from scentline.agents.worker.connect import open_journal
from scentline.agents.worker.directory import kept_settings, make_directory, of_crawl
from scentline.models.facts import EvidencePack, Prior, Start
from scentline.models.lessons import lessons
from scentline.models.page import FAILED
from scentline.models.policy.combiner import Combining, failing
from scentline.models.policy.features import BASE, LINK, REGION, SUBJECT, USER, always_kept, base_rate, split
from scentline.models.policy.inputs import Input, inputs_with, prior_covariance
from scentline.models.predicate import PredicateError, parse
from scentline.models.records import Decoder, partition_of
from scentline.models.reuse import Cell, Learned, LearnedStateError, State, effect, pack, sizes, unpack
from scentline.models.sealed import MOST_BYTES
from scentline.streams.inbox import Outbox
from scentline.streams.settings import Settings
from scentline.streams.topics import EVIDENCE
from scentline.streams.transport.database import TablePartition
from scentline.streams.transport.journal import Journal

#: Most features of a predicate in a file: those of largest effect.
MOST_FEATURES = 100_000
#: Least shrunk log ratio, in absolute value, of a feature worth keeping.
LEAST_EFFECT = 0.05

#: A feature's importance, its name, its counts.
Entry: TypeAlias = tuple[float, str, Cell]

_decode = msgspec.msgpack.Decoder(LearnRow).decode


@dataclass(frozen=True)
class Exported:
    """The result of an export: each predicate's features, users among them, and the bytes written.

    ``requests`` counts the features of failing requests.
    """

    features: Mapping[str, int]
    requests: int
    users: int
    size: int


def export(settings: Settings, path: Path, users: bool, most: int = MOST_FEATURES) -> Exported:
    """Write what the crawl in ``settings.data`` has learned, atomically.

    Raises `JournalMissingError` or `TableMissingError` where there is no crawl, and `LearnedStateError` where
    it has judged nothing yet or the file can't be written.
    """
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        state = _state(journal, settings, users, most)
    data = pack(state, f"scentline {version('scentline')}")
    try:
        write_stored(path, data)
    except OSError as error:
        raise LearnedStateError(f"{path}: can't be written: {error.strerror}") from error
    features, requests = sizes(state)
    pseudonyms = {name for learned in state.learned for name in learned.features if name.startswith(USER)}
    return Exported(features, requests, len(pseudonyms), len(data))


def _state(journal: Journal, settings: Settings, users: bool, most: int) -> State:
    """Return what the crawl has learned about each predicate: the ``most`` features of largest effect."""
    expressions = {name: each.expression for name, each in definitions(journal).items()}
    parts = journal.table("interests")
    counts = _all_cells(parts.values(), journal.table("frontier").values())
    bases = counts.get(BASE, {})
    if not bases:
        raise LearnedStateError(f"{settings.data}: the crawl there has judged no pages, expected at least one")
    crawl = of_crawl(settings)
    if not lessons(crawl.frontier.rule).learned:
        bases = {name: cell for name, cell in bases.items() if name != FAILED}
    found: dict[str, list[Entry]] = {name: [] for name in bases}
    for name, entry in _entries(counts.items(), bases, users):
        (heappush if len(found[name]) < most else heappushpop)(found[name], entry)
    inputs = inputs_with(crawl.semantic is not None)
    learned = [
        Learned(
            name,
            expressions.get(name, ""),
            *bases[name],
            {feature: cell for _, feature, cell in sorted(kept, key=lambda entry: entry[1])},
            _combining(parts, name, failing(inputs) if name == FAILED else inputs),
        )
        for name, kept in sorted(found.items())
    ]
    return State(crawl.frontier.rule, learned)


def _all_cells(
    earlier: Iterable[TablePartition], counted: Iterable[TablePartition]
) -> dict[str, dict[str, Cell]]:
    """Return each feature's counts by predicate, including those of earlier crawls as they have faded."""
    found: dict[str, dict[str, Cell]] = {
        feature: {name: cell for name, cell in cells.items() if cell[0]}
        for part in earlier
        for feature, cells in read_priors(part).items()
    }
    for feature, name, pages, hits in read_ledger(counted).items():
        cells = found.setdefault(feature, {})
        before = cells.get(name, (0.0, 0.0))
        cells[name] = (pages + before[0], hits + before[1])
    return found


def _entries(
    counts: Iterable[tuple[str, Mapping[str, Cell]]], bases: Mapping[str, Cell], users: bool
) -> Iterator[tuple[str, Entry]]:
    """Yield the predicate and the entry of each feature that has an effect; none names a page."""
    left_out = (SUBJECT,) if users else (SUBJECT, USER)
    for feature, cells in counts:
        if feature == BASE or feature.startswith(left_out):
            continue
        # Each predicate's links count the verdicts of all predicates, but only it uses them.
        owner = split(feature).name if feature.startswith((LINK, REGION)) else None
        for name, cell in cells.items():
            if name not in bases or owner not in (None, name):
                continue
            kept = always_kept(feature)
            matters = float("inf") if kept else effect(*cell, base_rate(*bases[name]))
            if matters >= LEAST_EFFECT:
                yield name, (matters, feature, cell)


def _combining(
    parts: Mapping[int, TablePartition], predicate: str, inputs: Sequence[Input]
) -> Combining | None:
    rows = (_decode(raw) for part in parts.values() if (raw := part.get(model_key(predicate))) is not None)
    row = next(rows, None)
    if not isinstance(row, ModelRow):
        return None
    # A combiner without an uncertainty gets the initial one.
    covariance = row.covariance if np.frombuffer(row.covariance).any() else prior_covariance(inputs).tobytes()
    return Combining(tuple(entry.name for entry in inputs), row.mean, covariance, row.calibration)


@dataclass
class Imported:
    """The result of an import: the features of each predicate, and of requests; ``remarks`` are for people.

    ``repeated``: the log has the file already, and nothing was written.
    """

    features: Mapping[str, int]
    requests: int = 0
    repeated: bool = False
    remarks: list[str] = field(default_factory=list)


def read(path: Path) -> tuple[State, str]:
    """Return a file's state, and its checksum; raises `LearnedStateError`, which names the file."""
    return read_stored(path, MOST_BYTES, unpack, LearnedStateError, str(path))


def import_state(settings: Settings, path: Path, weight: float) -> Imported:
    """Write the contents of a file, its counts multiplied by ``weight``, to the topic `evidence`, atomically.

    A fact's origin is the file's checksum and its place there, so a file that is imported twice counts once.
    Raises `LearnedStateError` for a file without a state, and `JournalInUseError` while a crawl runs on the
    directory.
    """
    state, checksum = read(path)
    source = f"state/{checksum}"
    make_directory(settings.data)
    with open_journal(settings) as journal:
        found = Imported(*sizes(state))
        found.repeated = _has(journal, source)
        found.remarks += _remarks(settings, journal, state)
        if not found.repeated:
            outbox = Outbox(source)
            outbox.begin(0)
            partitions = journal.partitions(EVIDENCE.name)
            for key, fact in facts(state, weight):
                outbox.emit(EVIDENCE.name, partition_of(key, partitions), fact)
            journal.append_all(outbox.take(), time.time())
    return found


def facts(state: State, weight: float) -> Iterator[tuple[str, Prior | Start]]:
    """Yield a state as facts, each with its key, the bases first."""
    cells: dict[str, dict[str, tuple[float, float]]] = {BASE: {}}
    for learned in state.learned:
        for feature, pages, hits in learned.counts(weight):
            cells.setdefault(feature, {})[learned.name] = (pages, hits)
    for feature, counts in cells.items():
        yield feature, Prior(feature, counts)
    for learned in state.learned:
        if learned.combining is not None:
            yield learned.name, Start(learned.name, *msgspec.structs.astuple(learned.combining))


def _has(journal: Journal, source: str) -> bool:
    packs = records(all_entries(journal, EVIDENCE.name), Decoder[EvidencePack](EvidencePack))
    return any(pack.source == source for pack in packs)


def _remarks(settings: Settings, journal: Journal, state: State) -> Iterator[str]:
    held = kept_settings(settings.data)
    if held is not None and held.policy != state.policy:
        policies = f"learned with the policy {state.policy}, the crawl here has {held.policy}"
        yield f"{policies}: most of it will not count"
    known = settings.predicates | {name: each.expression for name, each in definitions(journal).items()}
    for learned in state.learned:
        if known and learned.name not in known and learned.name != FAILED:
            yield f"{learned.name}: no predicate of that name here; skipped until there is one"
        elif learned.name in known and _other(learned, known[learned.name]):
            yield f"{learned.name}: learned for {learned.expression}, here it is {known[learned.name]}"


def _other(learned: Learned, expression: str) -> bool:
    try:
        return parse(learned.expression) != parse(expression)
    except PredicateError:
        return learned.expression != expression
