"""A combiner's weights, and what they added to the logits of the newest pages."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec
import numpy as np

from scentline.agents.learn.rows import ModelRow
from scentline.models.learner.combiner import Vector
from scentline.models.learner.inputs import Input, prior_covariance, prior_mean
from scentline.models.learner.plain import PLAIN
from scentline.streams.facts import Label
from scentline.streams.records import UNREADABLE, Pack
from scentline.streams.topics import EVIDENCE, partition_of
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry

#: The newest hits, and misses, of which is told what spoke for them; messages that are looked through for them
#: at most, and at once.
LATEST, EVIDENCE_READ, EVIDENCE_AT_ONCE = 100, 200, 20


class Weight(msgspec.Struct, frozen=True):
    """The weight of an input, with its deviation, and both before the first page.

    ``hits`` and ``misses`` are what it added on the mean to the logits of the newest such pages, None where
    none is known.
    """

    name: str
    plain: str
    means: str
    source: str
    mean: float
    deviation: float
    first: float
    first_deviation: float
    hits: float | None = None
    misses: float | None = None


class Combined(msgspec.Struct, frozen=True):
    """A predicate's combiner: its ``labels`` so far, and its weights."""

    labels: int
    weights: list[Weight]


class Latest(NamedTuple):
    """The inputs of the newest pages, as they were when these were chosen: a row a page, a column an input."""

    hits: Vector
    misses: Vector


def combined(inputs: Sequence[Input], row: ModelRow | None, latest: Latest) -> Combined:
    """Return what a combiner's row says, or without one what it starts with."""
    first, spread = prior_mean(inputs), prior_covariance(inputs).diagonal() ** 0.5
    mean, deviations = first, spread
    if row is not None:
        mean = np.frombuffer(row.mean)
        covariance = np.frombuffer(row.covariance)
        if len(covariance) == len(mean) ** 2:
            deviations = covariance.reshape(len(mean), len(mean)).diagonal() ** 0.5
    hits, misses = (_means(rows, mean) for rows in latest)
    weights = [
        Weight(
            entry.name, *PLAIN[entry.name], float(mean[place]), float(deviations[place]), float(first[place]),
            float(spread[place]), hits[place], misses[place],
        )
        for place, entry in enumerate(inputs)
    ]  # fmt: skip
    return Combined(row.labels if row is not None else 0, weights)


def _means(rows: Vector, mean: Vector) -> list[float] | list[None]:
    if not rows.size or rows.shape[1] != len(mean):
        return [None] * len(mean)
    found: list[float] = (rows.mean(axis=0) * mean).tolist()
    return found


class _Tagged(msgspec.Struct, array_like=True):
    tag: str


_pack = msgspec.msgpack.Decoder(Pack[msgspec.Raw]).decode
_tag = msgspec.msgpack.Decoder(_Tagged).decode
_label = msgspec.msgpack.Decoder(Label).decode


def latest_inputs(journal: Journal, predicate: str) -> Latest:
    """Return the inputs of the newest pages, `LATEST` hits and as many misses, as the learners were told."""
    found: dict[bool, list[tuple[float, ...]]] = {True: [], False: []}
    if EVIDENCE.name in journal.topics():
        partition = partition_of(predicate, journal.partitions(EVIDENCE.name))
        for entry in _newest_first(journal, partition):
            for label in _labels(entry.value or b""):
                rows = found[label.holds]
                if label.predicate == predicate and len(rows) < LATEST:
                    rows.append(label.inputs)
            if all(len(rows) == LATEST for rows in found.values()):
                break
    return Latest(*(np.array(found[holds], float) for holds in (True, False)))


def _newest_first(journal: Journal, partition: int) -> Iterator[Entry]:
    end = journal.end(EVIDENCE.name, partition)
    least = max(journal.start(EVIDENCE.name, partition), end - EVIDENCE_READ)
    while end > least:
        start = max(least, end - EVIDENCE_AT_ONCE)
        yield from reversed(journal.read(EVIDENCE.name, partition, start, end - start))
        end = start


def _labels(value: bytes) -> Iterator[Label]:
    """Yield the labels in a message to the learners: counts, which are most of it, are passed over."""
    with suppress(*UNREADABLE):
        for _, _, fact in _pack(value).facts:
            if _tag(fact).tag == Label.__struct_config__.tag:
                yield _label(fact)
