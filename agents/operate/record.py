"""A crawl's record: judged pages and accesses in its journal, each once, and in its tables what it learned."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from itertools import chain
from typing import Any, TypeVar

import msgspec

from scentline.agents.browse import UserRow
from scentline.agents.judge.predicates import read_definition
from scentline.agents.learn import MODEL_PREFIX, PRIOR_PREFIX, LearnRow, ModelRow, PriorRow, name_of
from scentline.agents.operate.versions import Listed, after
from scentline.models.facts import Access, AccessPack
from scentline.models.frontier.keys import BLOCK_PREFIX, SEGMENT_PREFIX, TOTALS_KEY
from scentline.models.frontier.ledger import take_in
from scentline.models.frontier.rows import CountsRow, TotalsRow
from scentline.models.ledger import Ledger
from scentline.models.papers.ways import Ways
from scentline.models.parts import Part
from scentline.models.policy.combiner import Calibration
from scentline.models.policy.estimates import within
from scentline.models.published import (
    POINT_VERSION,
    REMOVED,
    Change,
    Counted,
    DoorStanding,
    HarvestPoint,
    Outcome,
    PredicateDefinition,
    Standing,
    Told,
    read_outcome,
)
from scentline.models.records import DeadLetter, Decoder, JsonDecoder, Pack, RecordError, Weighting
from scentline.models.trace import Visit, insert
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, CONTROL, DEAD_LETTERS, OUTCOMES
from scentline.streams.transport.database import Entry, TablePartition
from scentline.streams.transport.journal import Journal, TableMissingError

READ_AT_ONCE = 1_000

T = TypeVar("T")
Page = TypeVar("Page", bound=Listed | Outcome)

#: Decode a record in JSON; raise `RecordError` if it is invalid.
read_point = JsonDecoder[HarvestPoint](HarvestPoint, POINT_VERSION)
read_change = JsonDecoder[Change](Change)
read_standing = JsonDecoder[Standing](Standing)
read_door = JsonDecoder[DoorStanding](DoorStanding)
_letter = Decoder[DeadLetter](DeadLetter)
_counts_row = msgspec.msgpack.Decoder(CountsRow).decode


def read_letter(entry: Entry) -> DeadLetter:
    """Return a dead letter; for one that can't be read, one about itself."""
    value = entry.value or b""
    try:
        return _letter(value)
    except RecordError as error:
        return DeadLetter(
            topic=DEAD_LETTERS.name, partition=0, offset=entry.offset, reason=str(error), value=value,
            time=entry.timestamp, why="unreadable",
        )  # fmt: skip


def totals(journal: Journal) -> TotalsRow | None:
    """Return a crawl's totals, such as its judged pages, from its tables; None if there are none yet."""
    try:
        table = journal.table("frontier")
    except TableMissingError:
        return None
    found = TotalsRow()
    for _, row in rows(table, TOTALS_KEY, TotalsRow):
        found.add(row)
    return found


def rows(parts: Mapping[int, TablePartition], prefix: bytes, kind: type[T]) -> Iterator[tuple[bytes, T]]:
    """Yield the rows of a table with a prefix that are of a kind, each with the rest of its key."""
    decode = msgspec.msgpack.Decoder(kind).decode
    for part in parts.values():
        for key, raw in part.scan(prefix):
            yield key[len(prefix) :], decode(raw)


def entries(journal: Journal, topic: str, partition: int, start: int | None = None) -> Iterator[Entry]:
    """Yield a partition's records, from ``start`` or else from its first."""
    offset = journal.start(topic, partition) if start is None else start
    while found := journal.read(topic, partition, offset, READ_AT_ONCE):
        yield from found
        offset = found[-1].offset + 1


def all_entries(journal: Journal, topic: str) -> Iterator[Entry]:
    """Yield a topic's records, partition after partition; none where there is no such topic."""
    known = range(journal.partitions(topic) if topic in journal.topics() else 0)
    return chain.from_iterable(entries(journal, topic, partition) for partition in known)


def records(found: Iterable[Entry], read: Callable[[bytes], T]) -> Iterator[T]:
    """Yield what entries hold; unreadable ones are skipped: an agent sends them to the dead letters."""
    for entry in found:
        with suppress(RecordError):
            yield read(entry.value or b"")


def followed(settings: Settings, topic: str, follow: bool = False) -> Iterator[list[Iterator[Entry]]]:
    """Yield a topic's records, and with ``follow`` new ones as they arrive, in batches by partition.

    They come from the broker, or the data directory. Raises `JournalMissingError` without a crawl,
    `AdminError` where brokers don't answer.
    """
    offsets: dict[int, int] = {}
    for partitions in by_partition(settings, topic, offsets, follow):
        yield [_noted(offsets, number, records) for number, records in partitions.items()]


def by_partition(
    settings: Settings, topic: str, offsets: dict[int, int], follow: bool = False
) -> Iterator[Mapping[int, Iterable[Entry]]]:
    """Yield a topic's records by partition, as `followed` does; some before ``offsets`` are left out."""
    return (_at_broker if settings.on_kafka else _embedded)(settings, topic, offsets, follow)


def _noted(offsets: dict[int, int], number: int, records: Iterable[Entry]) -> Iterator[Entry]:
    """Yield a partition's records, and keep the next offset in ``offsets``."""
    for entry in records:
        offsets[number] = entry.offset + 1
        yield entry


def _embedded(
    settings: Settings, topic: str, offsets: dict[int, int], follow: bool
) -> Iterator[Mapping[int, Iterable[Entry]]]:
    # A loop that Ctrl-C interrupts half made complains later; so make it before anything is shown.
    making = asyncio.Runner() if follow else nullcontext()
    with Journal.open(settings.data / "journal", read_only=True) as journal, making as runner:
        partitions = range(journal.partitions(topic)) if topic in journal.topics() else range(0)
        offsets.update({each: max(offsets.get(each, 0), journal.start(topic, each)) for each in partitions})
        yield {number: entries(journal, topic, number, offsets[number]) for number in partitions}
        while runner is not None:
            runner.run(journal.wait({(topic, number): offset for number, offset in offsets.items()}))
            yield {number: journal.read(topic, number, at, READ_AT_ONCE) for number, at in offsets.items()}


def _at_broker(
    settings: Settings, topic: str, offsets: dict[int, int], follow: bool
) -> Iterator[Mapping[int, Iterable[Entry]]]:
    # Imported on use: the embedded log needs no Kafka client.
    from scentline.streams.transport.kafka.admin import Admin, arriving, kept

    with Admin(settings) as admin:
        known = admin.topics([topic]).get(topic)
    partitions = range(known.partitions if known is not None else 1)  # if it is missing, `kept` raises
    offsets.update(dict.fromkeys(partitions, 0))
    yield {number: kept(settings, topic, number) for number in partitions}
    if follow:
        for found in arriving(settings, {(topic, number): offset for number, offset in offsets.items()}):
            yield {number: records for (_, number), records in found.items()}


def kept_entries(settings: Settings, topic: str) -> Iterator[Entry]:
    """Yield a topic's records, at the broker or in the data directory, partition after partition."""
    for partitions in by_partition(settings, topic, {}):
        yield from chain.from_iterable(partitions.values())


def outcomes(journal: Journal) -> Iterator[Outcome]:
    """Yield every outcome, in its partition's order; a page may have several."""
    return outcomes_of(all_entries(journal, OUTCOMES.name), read_outcome)


def outcomes_of(entries: Iterable[Entry], read: Callable[[bytes], Pack[Told]]) -> Iterator[Told]:
    """Yield the outcomes that ``read`` decodes from their records."""
    return (outcome for pack in records(entries, read) for _, _, outcome in pack.facts)


def _pages(told: Iterable[Told], take: Callable[[Told | None, Told], Told | None]) -> dict[str, Told]:
    found: dict[str, Told] = {}
    for outcome in told:
        if (page := take(found.get(outcome.url), outcome)) is not None:
            found[outcome.url] = page
    return found


def current_pages(told: Iterable[Page]) -> dict[str, Page]:
    """Return the current pages of some outcomes by URL, without those that left."""
    return {url: page for url, page in _pages(told, after).items() if page.left is msgspec.UNSET}


def judged_pages(journal: Journal) -> dict[str, Outcome]:
    """Return every page ever judged by URL, as `judged_of` does."""
    return judged_of(outcomes(journal))


def judged_of(told: Iterable[Outcome]) -> dict[str, Outcome]:
    """Return every page of some outcomes by URL, with all its links, each as first reported."""
    return _pages(told, _with_links)


def _with_links(known: Outcome | None, told: Outcome) -> Outcome | None:
    page = after(known, told)
    if known is None or page is None or told.again is msgspec.UNSET:
        return page
    urls = {link.url for link in known.links}
    links = (*known.links, *(link for link in told.links if link.url not in urls))
    return msgspec.structs.replace(page, links=links, silent=known.silent)


def harvested_of(told: Iterable[Counted]) -> dict[str, Counted]:
    """Return each URL's first outcome, with the verdicts of later predicates on the same visit."""
    return _pages(told, _first)


def _first(known: Counted | None, told: Counted) -> Counted | None:
    return after(known, told) if told.later or (known is None and not told.again) else known


def definitions(journal: Journal) -> dict[str, PredicateDefinition]:
    """Return a crawl's predicates by name, without removed ones."""
    had = definitions_of(entries(journal, CONTROL.name, 0))
    return {name: definition for name, definition in had.items() if definition.state != REMOVED}


def definitions_of(found: Iterable[Entry]) -> dict[str, PredicateDefinition]:
    """Return predicates by name, in their last definition."""
    return {definition.name: definition for definition in records(found, read_definition)}


def accesses(journal: Journal) -> Iterator[Access]:
    """Yield every access, each user's in the order in which the browse agent absorbed them.

    A fact whose origin was passed is a repeat and is skipped; a line that a log repeats is not.
    """
    partitions = range(journal.partitions(ACCESSES.name))
    yield from accesses_of(entries(journal, ACCESSES.name, partition) for partition in partitions)


def accesses_of(partitions: Iterable[Iterable[Entry]]) -> Iterator[Access]:
    """Yield the accesses, as `accesses` does, from that topic's records by partition."""
    decode = Decoder[AccessPack](AccessPack)
    for found in partitions:
        last: dict[str, tuple[int, int]] = {}
        for pack in records(found, decode):
            for offset, index, access in pack.facts:
                if pack.source and (offset, index) <= last.get(pack.source, (-1, -1)):
                    continue
                last[pack.source] = (offset, index)
                yield access


def users(
    found: Iterable[Access], window: int, view: Callable[[UserRow, Access], None] | None = None
) -> tuple[dict[str, UserRow], dict[str, int]]:
    """Replay `accesses`; return each user's row, and each URL's number of visits.

    A line already in the user's window is ignored; ``view`` receives the user's row and every other one.
    """
    known: dict[str, UserRow] = {}
    visits: dict[str, int] = {}
    for access in _new(found, window, known):
        visits[access.url] = visits.get(access.url, 0) + 1
        if view is not None:
            view(known[access.user], access)
    return known, visits


def ways(found: Iterable[Access], window: int, most: int) -> dict[str, Ways]:
    """Replay `accesses`; return the users' ways to each URL, at most ``most`` records of each."""
    pages: dict[str, Ways] = {}
    for access in _new(found, window, {}):
        pages.setdefault(access.url, Ways()).add(access.user, within(access), most)
    return pages


def _new(found: Iterable[Access], window: int, known: dict[str, UserRow]) -> Iterator[Access]:
    """Yield the accesses that change a user's window, and update the rows."""
    for access in found:
        row = known.setdefault(access.user, UserRow())
        if insert(row.window, Visit(access.time, access.url), window) is not None:
            row.accesses += 1
            yield access


_decode: Any = msgspec.msgpack.Decoder(LearnRow).decode


def read_ledger(parts: Iterable[TablePartition], ledger: Ledger | None = None) -> Ledger:
    """Add up the counts of partitions of the frontier's table, in ``ledger`` or a new one."""
    ledger = Ledger() if ledger is None else ledger
    for each in parts:
        part = Part(ledger)
        for key, raw in chain(each.scan(BLOCK_PREFIX), each.scan(SEGMENT_PREFIX)):
            take_in(part, key, _counts_row(raw))
    return ledger


def read_priors(part: TablePartition) -> dict[str, dict[str, tuple[float, float]]]:
    """Return earlier crawls' counts, by feature and predicate, from a partition of the learner's table."""
    found = ((name_of(key), _decode(raw)) for key, raw in part.scan(PRIOR_PREFIX))
    return {name: row.counts for name, row in found if isinstance(row, PriorRow)}


def read_weightings(part: TablePartition) -> Iterator[tuple[str, Weighting]]:
    """Yield each predicate's combiner from a partition of the learner's table."""
    for key, raw in part.scan(MODEL_PREFIX):
        row = _decode(raw)
        if isinstance(row, ModelRow):
            yield name_of(key), Weighting(row.mean, row.covariance, Calibration(row.calibration).shifts)
