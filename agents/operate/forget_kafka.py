"""Forget one user of a crawl on Kafka whose workers are stopped.

Raw lines, sightings and evidence are useless once absorbed, and are deleted. Accesses stay in a crawl's first
week, as long as all are retained: an audit recounts from them.

The pseudonym is replaced in the tables' changelogs. All are claimed, as by a worker, which fences earlier
writers. Then every partition gets a mark, with which no worker starts: the *deciding* partition last, with the
replacement. So without the mark in the deciding partition nothing has been replaced, or everything has; with
it, only the replacement has been written since, and any later call completes it. At the end the deciding
partition's mark is removed first.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from scentline.agents.operate.record import accesses_of
from scentline.agents.operate.replacement import (
    Bounds,
    Replacement,
    bounds,
    choose,
    pages_of,
    pseudonym_of,
    visitors_of,
)
from scentline.agents.operate.topics import lags
from scentline.models.facts import Access
from scentline.models.frontier.keys import page_key
from scentline.models.frontier.rows import FrontierRow, PageRow
from scentline.streams.runtime import Bus, FencedError
from scentline.streams.settings import Settings
from scentline.streams.topics import (
    ACCESSES,
    DEAD_LETTERS,
    EVIDENCE,
    HOUR,
    INBOXES,
    PROXY_LOG,
    SIGHTINGS,
    TABLES,
    TOPICS,
    Topic,
    changelog_of,
    declared,
    group_of,
)
from scentline.streams.transport.commits import FORGETTING, ChangelogWriter
from scentline.streams.transport.database import Entry, Place
from scentline.streams.transport.kafka.admin import Admin, kept
from scentline.streams.transport.kafka.bus import KafkaBus
from scentline.streams.transport.kafka.connection import KafkaError

#: Whether a record (key, value) is wanted.
Wanted = Callable[[bytes, bytes], bool]


class Changelogs:
    """The partitions ``places`` of changelogs; the last one decides, and is best a small one."""

    def __init__(self, settings: Settings, bus: ChangelogWriter, places: Sequence[Place]) -> None:
        self._settings = settings
        self._bus = bus
        self.places = places

    async def claim(self) -> None:
        """Become the only writer of them all."""
        await asyncio.gather(*(self._bus.claim(*place) for place in self.places))

    async def replacement(self) -> Replacement | None:
        """Return the replacement in progress: begun, and maybe not completed."""
        found = await asyncio.to_thread(find, self._settings, self.places[-1], lambda key, _: key == FORGETTING)
        return next((msgspec.msgpack.decode(raw, type=Replacement) for raw in found.values()), None)

    async def hold(self, replacement: Replacement) -> None:
        """Mark every partition: from then on no worker starts, and the replacement is fixed."""
        *others, deciding = self.places
        await self._put_mark(others, b"")
        await self._put_mark([deciding], msgspec.msgpack.encode(replacement))

    async def release(self) -> None:
        """Remove the marks, if any."""
        *others, deciding = self.places
        await self._put_mark([deciding], None)
        await self._put_mark(others, None)

    async def replace(self, place: Place, replacement: Replacement) -> int:
        """Rewrite the rows that hold the pseudonym, each atomically; return their number.

        The mark holds it, too, and stays.
        """
        rows = await asyncio.to_thread(find, self._settings, place, replacement.concerns)
        rows.pop(FORGETTING, None)
        append = self._bus.append_batch
        await asyncio.gather(*(append(*place, replacement.of(key, value)) for key, value in rows.items()))
        return len(rows)

    async def _put_mark(self, places: Iterable[Place], mark: bytes | None) -> None:
        await asyncio.gather(*(self._bus.append_batch(*place, [(FORGETTING, mark)]) for place in places))


def find(settings: Settings, place: Place, wanted: Wanted) -> dict[bytes, bytes]:
    """Return the wanted newest values of a compacted topic's partition, by key."""
    return newest(kept(settings, *place), wanted)


def newest(entries: Iterator[Entry], wanted: Wanted) -> dict[bytes, bytes]:
    """Return the wanted newest values, by key; the others take no memory.

    >>> changes = [Entry(0, 0.0, b"a", b"1"), Entry(1, 0.0, b"b", b"1"), Entry(2, 0.0, b"a", None)]
    >>> newest(iter(changes), lambda key, value: value == b"1")
    {b'b': b'1'}
    """
    found: dict[bytes, bytes] = {}
    for _, _, key, value in entries:
        if key is None:
            continue
        if value is not None and wanted(key, value):
            found[key] = value
        else:
            found.pop(key, None)
    return found


@dataclass
class Deleted:
    """The number of deleted messages, by topic, and of `proxy-log`'s unread ones, which stay."""

    messages: dict[str, int] = field(default_factory=dict)
    unread: int = 0


def delete_taken_in(admin: Admin, partitions: Mapping[str, int], done: Deleted) -> None:
    """Delete messages that may hold a pseudonym, or a name, up to their readers' committed offsets.

    Their number is added to ``done``.
    """
    for role, topic in INBOXES.items():
        if topic not in (PROXY_LOG, ACCESSES, SIGHTINGS, EVIDENCE):
            continue
        places = [(topic.name, partition) for partition in range(partitions[topic.name])]
        starts = admin.starts(places)
        if topic is ACCESSES and not any(starts.values()):
            continue
        committed = admin.committed(group_of(role))
        taken_in = {place: max(starts[place], committed.get(place, 0)) for place in places}
        admin.delete_before(taken_in)
        done.messages[topic.name] = done.messages.get(topic.name, 0) + _apart(starts, taken_in)
        if topic is PROXY_LOG:
            done.unread = _apart(taken_in, admin.ends(places))


def left(settings: Settings, partitions: Mapping[str, int], pseudonym: str) -> dict[Topic, float]:
    """Return the topics whose messages still hold a pseudonym, and when the last was written, in seconds."""
    found: dict[Topic, float] = {}
    for topic in (ACCESSES, DEAD_LETTERS):
        for partition in range(partitions[topic.name]):
            for entry in kept(settings, topic.name, partition):
                if pseudonym.encode() in (entry.value or b""):
                    found[topic] = max(entry.timestamp, found.get(topic, 0.0))
    return found


def _apart(first: Mapping[Place, int], last: Mapping[Place, int]) -> int:
    return sum(last[place] - offset for place, offset in first.items())


#: The frontier's; all changelogs are declared alike.
_CHANGELOG = changelog_of("frontier")
#: The roles whose inboxes have facts with pseudonyms.
CONCERNED = ("browse", "frontier", "learn")
#: Seconds that a broker takes at most to find and remove what has expired.
LOOK_SECONDS = HOUR
#: Reports the next step.
Progress = Callable[[str], None]


def bounds_on_kafka(old: str, settings: Settings, partitions: Mapping[str, int]) -> Bounds:
    """Return what `agents.operate.replacement.bounds_of` does; ``partitions`` has each topic's number.

    The accesses are read twice, so that only those of the pages of ``old`` are kept in memory.
    """

    def accesses() -> Iterator[Access]:
        return accesses_of(
            kept(settings, ACCESSES.name, partition) for partition in range(partitions[ACCESSES.name])
        )

    visitors = visitors_of(pages_of(old, accesses()), accesses())
    keys = frozenset(map(page_key, visitors))
    rows = (
        row for partition in range(partitions[_CHANGELOG]) for row in _pages(settings, partition, old, keys)
    )
    return bounds(old, visitors, rows, settings.frontier.visitors)


def _pages(settings: Settings, partition: int, old: str, keys: frozenset[bytes]) -> Iterator[PageRow]:
    held = old.encode()
    decode = msgspec.msgpack.Decoder(FrontierRow).decode
    found = find(settings, (_CHANGELOG, partition), lambda key, value: key in keys or held in value)
    for raw in found.values():
        row = decode(raw)
        if isinstance(row, PageRow):
            yield row


class UnrestError(KafkaError):
    """A crawl that still runs, or has not absorbed everything; the text says where."""


def partitions_on_kafka(admin: Admin) -> dict[str, int]:
    """Return the number of partitions of each topic and changelog; raises `KafkaError` where one is missing."""
    names = [topic.name for topic in TOPICS] + [changelog_of(table) for table in TABLES]
    found = admin.topics(names)
    missing = sorted(set(names) - found.keys())
    if missing:
        raise KafkaError(f"forget-user: no topic {missing[0]} at the broker; expected those of a crawl")
    return {name: topic.partitions for name, topic in found.items()}


def check_nobody_works(admin: Admin) -> None:
    """Raise `UnrestError` where a role's consumer group has members."""
    for group, members in admin.members(map(group_of, INBOXES)).items():
        if members:
            raise UnrestError(
                f"forget-user: {group} has {members} live members; stop all workers first (a killed one counts "
                "for kafka.session_seconds)"
            )


def check_taken_in(settings: Settings) -> None:
    """Raise `UnrestError` if messages wait that may hold a pseudonym."""
    for each in lags(settings, CONCERNED):
        if each.lag:
            raise UnrestError(
                f"forget-user: {each.group} has not absorbed {each.lag} messages of {each.topic}/"
                f"{each.partition}; start the workers, wait until scentline lag shows 0, and stop them"
            )


def gone_at(topic: Topic, written: float) -> float:
    """Return by when a message written at a time is deleted, in seconds: with its whole segment."""
    return written + _seconds(topic.name, "retention.ms") + _seconds(topic.name, "segment.ms") + LOOK_SECONDS


def replaced_at(written: float) -> float:
    """Return by when compaction has removed rows that were replaced at a time, in seconds."""
    return written + _seconds(_CHANGELOG, "max.compaction.lag.ms") + LOOK_SECONDS


def deleted_at(written: float) -> float:
    """Return by when keys deleted at a time are gone, too: one compaction later."""
    return replaced_at(replaced_at(written) + _seconds(_CHANGELOG, "delete.retention.ms"))


def _seconds(topic: str, key: str) -> float:
    [found] = (each for each in declared(1) if each.name == topic)
    return int(found.configs[key]) / 1000


@dataclass
class ForgottenOnKafka:
    """The number of rows and values of compacted topics that held the pseudonym, and of all users' ``deleted``
    messages.

    Times are in seconds since the epoch: by when compaction removes the old rows, by when their keys, and by
    when retention removes the messages ``left`` with the pseudonym, by topic.
    """

    entries: int
    deleted: Deleted
    replaced_at: float
    deleted_at: float
    left: dict[str, float]


def forget_user_on_kafka(settings: Settings, user: str, is_name: bool, progress: Progress) -> ForgottenOnKafka:
    """Do what `agents.operate.forget.forget_user` does, on the broker of the settings.

    Raises `UnrestError` if workers live, have not absorbed everything, or start meanwhile,
    `ConfigurationError` if the pseudonym can't be computed, and `KafkaError`.
    """
    old = pseudonym_of(settings, user, is_name)
    with Admin(settings) as admin:
        partitions = partitions_on_kafka(admin)
        check_nobody_works(admin)
        try:
            return asyncio.run(_Forgetting(settings, admin, partitions, progress).run(old))
        except FencedError as error:
            raise UnrestError(
                f"forget-user: {error}; no worker may start meanwhile: stop them, and run the same "
                "command again"
            ) from error


class _Forgetting:
    def __init__(
        self, settings: Settings, admin: Admin, partitions: Mapping[str, int], progress: Progress
    ) -> None:
        self._settings = settings
        self._admin = admin
        self._partitions = partitions
        self._progress = progress
        self._entries = 0
        self._deleted = Deleted()

    async def run(self, old: str) -> ForgottenOnKafka:
        async with KafkaBus(self._settings) as bus:
            # The last place decides, so it is read: the table harvest has the smallest rows.
            places = self._places(changelog_of(table) for table in TABLES)
            changelogs = Changelogs(self._settings, bus, places)
            await changelogs.claim()
            replacement = await changelogs.replacement()
            if replacement is not None:
                await self._complete(changelogs, bus, replacement)
            await changelogs.release()
            if replacement is None or replacement.old != old:
                check_taken_in(self._settings)
                self._progress("looking for what may take its place")
                found = await asyncio.to_thread(bounds_on_kafka, old, self._settings, self._partitions)
                replacement = choose(old, found, self._partitions[ACCESSES.name])
                await changelogs.hold(replacement)
                await self._complete(changelogs, bus, replacement)
                await changelogs.release()
        return self._report(old)

    async def _complete(self, changelogs: Changelogs, bus: Bus, replacement: Replacement) -> None:
        for topic, partition in changelogs.places:
            self._progress(f"replacing it in {topic}/{partition}")
            self._entries += await changelogs.replace((topic, partition), replacement)
        for topic, partition in self._places(topic.name for topic in TOPICS if topic.compacted):
            self._progress(f"replacing it in {topic}/{partition}")
            found = await asyncio.to_thread(find, self._settings, (topic, partition), replacement.concerns)
            changes = [change for entry in found.items() for change in replacement.of(*entry)]
            await bus.send_all([(topic, partition, key, value) for key, value in changes])
            self._entries += len(found)
        self._progress("deleting messages")
        await asyncio.to_thread(delete_taken_in, self._admin, self._partitions, self._deleted)

    def _report(self, old: str) -> ForgottenOnKafka:
        bearing = left(self._settings, self._partitions, old)
        times = {topic.name: gone_at(topic, written) for topic, written in bearing.items()}
        now = time.time()
        return ForgottenOnKafka(self._entries, self._deleted, replaced_at(now), deleted_at(now), times)

    def _places(self, topics: Iterable[str]) -> list[Place]:
        return [(topic, partition) for topic in topics for partition in range(self._partitions[topic])]
