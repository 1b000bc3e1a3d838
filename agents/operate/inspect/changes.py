"""The topic `changes`, read: what became of the predicates' matches, each once, by the time of the visits."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from heapq import merge
from operator import attrgetter

from scentline.agents.operate.inspect.record import READ_AT_ONCE, entries, read_change
from scentline.streams.published import Change
from scentline.streams.records import RecordError
from scentline.streams.settings import Settings
from scentline.streams.topics import CHANGES
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.partition import Entry

#: Changes by which one that comes twice is known. Repeats come soon, where a worker goes on for another one.
REMEMBERED = 100_000

#: Where each partition goes on.
_Offsets = dict[int, int]


def told(settings: Settings, follow: bool) -> Iterator[Iterator[Change]]:
    """Yield the changes of a crawl, and with ``follow`` those that come, batch by batch, each once.

    Those of a partition are in their order, those of several are by their times. Raises `JournalMissingError`
    without a crawl, `AdminError` where brokers don't answer.
    """
    once = _Once()
    offsets: _Offsets = {}
    found = _on_kafka(settings, offsets, follow) if settings.on_kafka else _embedded(settings, offsets, follow)
    for partitions in found:
        in_order = merge(*map(_changes, partitions), key=attrgetter("time"))
        yield (change for change in in_order if once.new(change))


class _Once:
    """Knows the newest changes: those of equal origin, predicate and kind are one."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, str], None] = {}

    def new(self, change: Change) -> bool:
        key = change.origin, change.predicate, change.kind
        if key in self._seen:
            return False
        if len(self._seen) >= REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self._seen[key] = None
        return True


def _changes(found: Iterable[Entry]) -> Iterator[Change]:
    for entry in found:
        with suppress(RecordError):
            yield read_change(entry.value or b"")


def _embedded(settings: Settings, offsets: _Offsets, follow: bool) -> Iterator[list[Iterator[Entry]]]:
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        partitions = range(journal.partitions(CHANGES.name)) if CHANGES.name in journal.topics() else range(0)
        offsets.update({number: journal.start(CHANGES.name, number) for number in partitions})
        yield _noted(offsets, {number: entries(journal, CHANGES.name, number) for number in partitions})
        while follow:
            places = {(CHANGES.name, number): offset for number, offset in offsets.items()}
            asyncio.run(journal.wait(places))
            read = partial(journal.read, CHANGES.name)
            yield _noted(offsets, {number: read(number, at, READ_AT_ONCE) for number, at in offsets.items()})


def _on_kafka(settings: Settings, offsets: _Offsets, follow: bool) -> Iterator[list[Iterator[Entry]]]:
    # Imported where it is used: the embedded log has no use for a Kafka client.
    from scentline.streams.transport.kafka.admin import Admin, arriving, kept

    with Admin(settings) as admin:
        topic = admin.topics([CHANGES.name]).get(CHANGES.name)
    partitions = range(topic.partitions if topic is not None else 1)  # where it is missing, `kept` says so
    offsets.update(dict.fromkeys(partitions, 0))
    yield _noted(offsets, {number: kept(settings, CHANGES.name, number) for number in partitions})
    if follow:
        places = {(CHANGES.name, number): offset for number, offset in offsets.items()}
        for found in arriving(settings, places):
            yield _noted(offsets, {number: entries for (_, number), entries in found.items()})


def _noted(offsets: _Offsets, found: Mapping[int, Iterable[Entry]]) -> list[Iterator[Entry]]:
    """Return the records of each partition; what was taken of them is noted in ``offsets``."""

    def noted(number: int, records: Iterable[Entry]) -> Iterator[Entry]:
        for entry in records:
            offsets[number] = entry.offset + 1
            yield entry

    return [noted(number, records) for number, records in found.items()]
