"""What another crawl has learned, into the log of a data directory: the next crawl there starts with it."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agents.crawl.connect import open_journal
from agents.crawl.directory import make_directory
from agents.crawl.fixed import kept_policy
from agents.operate.inspect.record import definitions, entries
from agents.stored import read_stored
from models.interest.features import BASE
from models.predicate import PredicateError, parse
from models.reuse import Learned, LearnedStateError, State, sizes, unpack
from models.sealed import MOST_BYTES
from models.verdict import FAILED
from streams.outbox import Outbox
from streams.records import Decoder, EvidencePack, Prior, RecordError, Start
from streams.settings import Settings
from streams.topics import EVIDENCE, partition_of
from streams.transport.journal import Journal


@dataclass
class Imported:
    """What became of an import: the features of each predicate, and of requests; ``remarks`` are for people.

    ``repeated`` says that the log has the file already, and that nothing was written.
    """

    features: Mapping[str, int]
    requests: int = 0
    repeated: bool = False
    remarks: list[str] = field(default_factory=list)


def read(path: Path) -> tuple[State, str]:
    """Return the state that a file holds, and its checksum; raises `LearnedStateError`, which names it."""
    return read_stored(path, MOST_BYTES, unpack, LearnedStateError, str(path))


def import_state(settings: Settings, path: Path, weight: float) -> Imported:
    """Write what a file says was learned, its counts multiplied by ``weight``, to the topic `evidence`.

    Everything is written or nothing. Each fact's origin is the file's checksum and its place in the file, so
    that a file that is given twice counts once. Raises `LearnedStateError` for a file that holds no state, and
    `JournalInUseError` while a crawl runs on the directory.
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
    """Yield what a state comes to as facts, each with its key, the bases first."""
    cells: dict[str, dict[str, tuple[float, float]]] = {BASE: {}}
    for learned in state.learned:
        for feature, pages, hits in learned.counts(weight):
            cells.setdefault(feature, {})[learned.name] = (pages, hits)
    for feature, counts in cells.items():
        yield feature, Prior(feature, counts)
    for learned in state.learned:
        combining = learned.combining
        if combining is not None:
            yield (
                learned.name,
                Start(
                    learned.name, combining.names, combining.mean, combining.covariance, combining.calibration
                ),
            )


def _has(journal: Journal, source: str) -> bool:
    """Return whether the log has facts of a source."""
    decode = Decoder[EvidencePack](EvidencePack)
    for partition in range(journal.partitions(EVIDENCE.name)):
        for entry in entries(journal, EVIDENCE.name, partition):
            try:
                if decode(entry.value or b"").source == source:
                    return True
            except RecordError:  # the learn agent sends it to the dead letters
                continue
    return False


def _remarks(settings: Settings, journal: Journal, state: State) -> Iterator[str]:
    policy = kept_policy(settings.data)
    if policy is not None and policy != state.policy:
        yield f"learned with the policy {state.policy}, the crawl here has {policy}: most of it will not count"
    known = settings.predicates | {each.name: each.expression for each in definitions(journal)}
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
