"""From a log's lines to messages: packs of accesses by partition, and dead letters."""

import time
from collections.abc import Callable, Iterable, Iterator

import msgspec

from agents.observe.logfile import LogFileError
from agents.observe.observer import Malformed, Observer
from models.accesslog.entry import MAX_LINE
from streams.records import Access, AccessPack, DeadLetter, Pack
from streams.topics import partition_of

#: Lines after which a batch ends though it holds little.
LINES = 20_000


class Batch(msgspec.Struct):
    """What some consecutive lines of a log came to, up to and including ``line`` (counted from 1).

    ``packs`` has one pack for each partition that got accesses; ``letters`` are the malformed lines. ``whole``
    is the last line that ended: one without an end may still be written to.
    """

    line: int = 0
    whole: int = 0
    packs: dict[int, AccessPack] = {}
    letters: list[DeadLetter] = []


def packs(
    observer: Observer,
    lines: Iterable[tuple[int, bytes]],
    partitions: int,
    source: str,
    size: int = 500,
    name: str = "log",
    now: Callable[[], float] = time.time,
    after: int = 0,
) -> Iterator[Batch]:
    """Observe numbered ``lines`` and yield what they came to, in batches of ``size`` accesses and letters.

    What lines up to the number ``after`` came to was sent before: they are observed, since what is made of
    later lines depends on them, and no more. A batch has 20,000 lines at most.

    The partition is the user's. Origins are (line number, 0) in the stream ``source``, the log's fingerprint:
    they ascend, so that a log that is fed again is recognised line by line. ``name`` is how dead letters call
    the log. Where ``lines`` raises `LogFileError`, it is raised after the batch of what was read before.
    """
    batch = Batch()
    gathered = 0
    broken: LogFileError | None = None
    line = b""
    try:
        for number, line in lines:
            batch.line = number
            observed = observer.observe(line)
            if number > after and isinstance(observed, Access):
                _pack(batch, partition_of(observed.user, partitions), source, number, observed)
                gathered += 1
            elif number > after and isinstance(observed, Malformed) and observed.told:
                batch.letters.append(_letter(name, number, line, observed, now()))
                gathered += 1
            if gathered == size or number % LINES == 0:
                full, batch, gathered = _ended(batch, line), Batch(), 0
                yield full
    except LogFileError as error:
        broken = error
    if batch.line:
        yield _ended(batch, line)
    if broken is not None:
        raise broken


def _ended(batch: Batch, last: bytes) -> Batch:
    batch.whole = batch.line if last.endswith(b"\n") or len(last) > MAX_LINE else batch.line - 1
    return batch


def _pack(batch: Batch, partition: int, source: str, number: int, access: Access) -> None:
    pack = batch.packs.get(partition)
    if pack is None:
        pack = batch.packs[partition] = Pack(source=source, facts=[])
    pack.facts.append((number, 0, access))


def _letter(name: str, number: int, line: bytes, malformed: Malformed, time: float) -> DeadLetter:
    """Return the dead letter of a line, without the line: it tells who its user was."""
    reason = malformed.reason
    if len(line) <= MAX_LINE:
        reason += f" (line of {len(line)} bytes)"
    return DeadLetter(topic=name, partition=0, offset=number, reason=reason, value=b"", time=time)
