"""A crawl on Kafka: create and check its topics, report each consumer group's lag, and copy it.

A *snapshot* has topics as a journal and changelogs as tables. Records keep their offsets, so the marks in the
tables stay valid and a crawl can continue from the copy, on the embedded log. A copy with ``follow`` is a
mirror: a moment behind, and its tables at different moments.
"""

import shutil
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from rocksdict import WriteBatch

from scentline.agents.operate.record import entries, outcomes_of
from scentline.agents.worker.directory import keep_settings
from scentline.models.errors import ScentlineError
from scentline.models.frontier.rows import INSTANT
from scentline.models.published import read_counted
from scentline.streams.settings import ConfigurationError, Settings
from scentline.streams.topics import (
    FETCHES,
    INBOXES,
    OUTCOMES,
    PAGES,
    PROXY_LOG,
    RENDERS,
    TABLES,
    TOPICS,
    Declared,
    changelog_of,
    declared,
    group_of,
)
from scentline.streams.transport.commits import check_not_forgetting
from scentline.streams.transport.database import Entry, Place
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.kafka.admin import Admin, Found, all_kept, arriving
from scentline.streams.transport.kafka.bus import CLAIM


class Difference(NamedTuple):
    """One deviation of a topic from its declaration; ``found`` is None if the topic is missing."""

    topic: str
    what: str
    declared: str
    found: str | None


def check(settings: Settings) -> list[Difference]:
    """Return every difference at the broker; raises `streams.transport.kafka.admin.AdminError`."""
    topics = declared(settings.streams.partitions, settings.kafka.replication)
    with Admin(settings) as admin:
        found = admin.topics(topic.name for topic in topics)
    return list(differences(topics, settings.kafka.replication, found))


def differences(
    topics: Sequence[Declared], replication: int, found: Mapping[str, Found]
) -> Iterator[Difference]:
    """Yield missing topics, and differing partitions, replication and configurations."""
    for topic in topics:
        there = found.get(topic.name)
        if there is None:
            yield Difference(topic.name, "topic", f"{topic.partitions} partitions", None)
            continue
        if there.partitions != topic.partitions:
            yield Difference(topic.name, "partitions", str(topic.partitions), str(there.partitions))
        if there.replication != replication:
            yield Difference(topic.name, "replication", str(replication), str(there.replication))
        for key, value in topic.configs.items():
            if there.configs.get(key) != value:
                yield Difference(topic.name, key, value, there.configs.get(key))


class TopicsError(ScentlineError):
    """Existing topics that can't become as declared; the text says what to do."""


class Done(NamedTuple):
    """What was done about a topic: "made", "configured" (the ``keys`` that differed) or "unchanged"."""

    topic: str
    partitions: int
    done: str
    keys: tuple[str, ...] = ()


def create(settings: Settings) -> list[Done]:
    """Create missing topics, configure those that differ, and return what was done.

    Raises `TopicsError`, before anything is changed, where a topic has another number of partitions or
    replicas, and `streams.transport.kafka.admin.AdminError`.
    """
    replication = settings.kafka.replication
    topics = declared(settings.streams.partitions, replication)
    with Admin(settings) as admin:
        wrong = list(differences(topics, replication, admin.topics(topic.name for topic in topics)))
        _refuse(wrong)
        plan = [_planned(topic, wrong) for topic in topics]
        made = [topic for topic, do in zip(topics, plan, strict=True) if do.done == "made"]
        admin.create(made, replication)
        admin.configure(
            {
                topic.name: {key: topic.configs[key] for key in do.keys}
                for topic, do in zip(topics, plan, strict=True)
                if do.keys
            }
        )
    return plan


def _planned(topic: Declared, wrong: Iterable[Difference]) -> Done:
    keys = tuple(difference.what for difference in wrong if difference.topic == topic.name)
    if keys == ("topic",):
        return Done(topic.name, topic.partitions, "made")
    return Done(topic.name, topic.partitions, "configured" if keys else "unchanged", keys)


def _refuse(wrong: Sequence[Difference]) -> None:
    for topic, what, expected, found in wrong:
        if what == "partitions":
            raise TopicsError(
                f"{topic} has {found} partitions, expected {expected}. The number can't change, because it "
                f"decides where each row lives: continue with --partitions {found}, or delete the topics and "
                "the workers' data directories and start over"
            )
        if what == "replication":
            raise TopicsError(
                f"{topic} has {found} replicas, expected {expected}: continue with --replication {found}, or "
                "move its partitions with Kafka's kafka-reassign-partitions.sh"
            )


class Lag(NamedTuple):
    """One partition: its end offset, the group's committed offset, and the lag in messages.

    ``committed`` is None if the group has committed nothing: its lag is then all that is retained. ``dropped``
    messages left the broker unread.
    """

    group: str
    topic: str
    partition: int
    end: int
    committed: int | None
    lag: int
    dropped: int


def lags(settings: Settings, roles: Iterable[str] = tuple(INBOXES)) -> Iterator[Lag]:
    """Yield the lag of every partition of the roles' groups; by default of all, along the flow of messages.

    Raises `streams.transport.kafka.admin.AdminError`; a missing topic is skipped.
    """
    with Admin(settings) as admin:
        inboxes = {role: INBOXES[role] for role in roles}
        found = admin.topics(topic.name for topic in inboxes.values())
        for role, topic in inboxes.items():
            if topic.name not in found:
                continue
            places = [(topic.name, partition) for partition in range(found[topic.name].partitions)]
            # Offsets committed before the ends are read are never beyond them.
            committed = admin.committed(group_of(role))
            starts, ends = admin.starts(places), admin.ends(places)
            for place in places:
                yield _lag(group_of(role), place, starts[place], ends[place], committed.get(place))


def _lag(group: str, place: tuple[str, int], start: int, end: int, committed: int | None) -> Lag:
    dropped = 0 if committed is None else max(start - committed, 0)
    lag = end - max(start, committed or 0)
    return Lag(group, *place, end, committed, lag, dropped)


#: Topics that are not copied, only their ends: pages, orders, and lines that name users.
LEFT_OUT = frozenset({PAGES.name, FETCHES.name, RENDERS.name, PROXY_LOG.name})
#: Newest outcomes of a partition in which the crawl's policy is looked up.
NEWEST = 1_000
#: Seconds between two progress reports of a copy.
TELL_SECONDS = 5.0
#: Seconds between two times that a mirror drops what has expired.
TIDY_SECONDS = 60.0

#: Reports how far a copy is.
Progress = Callable[[str], None]


def take(settings: Settings, progress: Progress) -> int:
    """Copy the crawl at the broker to the data directory of ``settings``; return the number of records.

    All changelogs are cut at one moment, and topics after it, as after a crash. Raises `ConfigurationError` if
    the directory is not empty or a user is being forgotten, `AdminError` if the broker can't be read.
    """
    with closing(follow(settings, progress)) as copied:
        return next(copied)


def follow(settings: Settings, progress: Progress) -> Generator[int]:
    """Copy the crawl as `take` does, then follow it without end.

    Yields the number of records of the copy, then, each second or so, that of new ones.
    """
    data, whole = settings.data, False
    if data.exists() and any(data.iterdir()):
        raise ConfigurationError(f"data {data}: not empty; a snapshot needs a directory of its own")
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        keep_settings(settings)
        with Admin(settings) as admin, Journal.open(data / "journal") as journal:
            copying = _Copying(settings, admin, journal, progress)
            records = copying.run()
            whole = True
            yield records
            yield from copying.follow()
    finally:
        if not whole:
            shutil.rmtree(data)  # a partial copy looks like a whole one


class _Copying:
    def __init__(self, settings: Settings, admin: Admin, journal: Journal, progress: Progress) -> None:
        self._settings = settings
        self._admin = admin
        self._journal = journal
        self._progress = progress
        #: The table of each changelog, and the end of the copy of each partition.
        self._changelogs = {changelog_of(table): table for table in TABLES}
        self._copied: dict[Place, int] = {}
        self._tidied = time.monotonic()

    def run(self) -> int:
        names = [*self._changelogs, *(topic.name for topic in TOPICS)]
        found = self._admin.topics(names)
        missing = sorted(set(names) - found.keys())
        if missing:
            raise ConfigurationError(f"no topic {missing[0]} at the broker; expected those of a crawl")
        # All tables are cut at once, and the topics after them: no table is ahead of its inbox.
        tables = self._ends(self._changelogs, found)
        for name, table in self._changelogs.items():
            self._journal.create_table(table, found[name].partitions)
        records = self._copy("tables", tables)
        for table in TABLES:
            for part in self._journal.table(table).values():
                check_not_forgetting(part, "snapshot")
        for topic in TOPICS:
            self._journal.create_topic(
                topic.name, found[topic.name].partitions, retention=topic.retention,
                compacted=topic.compacted, most=topic.most,
            )  # fmt: skip
        topics = self._ends([topic.name for topic in TOPICS], found)
        records += self._copy(
            "topics", {place: end for place, end in topics.items() if place[0] not in LEFT_OUT}
        )
        for (name, partition), end in topics.items():
            self._journal.go_on_at(name, partition, end)
        self._copied = tables | {place: end for place, end in topics.items() if place[0] not in LEFT_OUT}
        self._check_policy(found[OUTCOMES.name].partitions)
        return records

    def _ends(self, names: Iterable[str], found: Mapping[str, Found]) -> dict[Place, int]:
        return self._admin.ends((name, number) for name in names for number in range(found[name].partitions))

    def _copy(self, what: str, ends: Mapping[Place, int]) -> int:
        """Copy records up to each partition's cut, with progress reports; return their number."""
        records, told = 0, time.monotonic()
        self._progress(f"copying {what}: {len(ends)} partitions")
        for (name, partition), arrived in all_kept(self._settings, ends):
            self._take_in(name, partition, arrived)
            records += len(arrived)
            if time.monotonic() >= told + TELL_SECONDS:
                told = time.monotonic()
                self._progress(f"copying {what}: {records:,} records")
        return records

    def _take_in(self, name: str, partition: int, arrived: Sequence[Entry]) -> None:
        if name in self._changelogs:
            self._stage(self._changelogs[name], partition, arrived)
        else:
            self._journal.place(name, partition, arrived)

    def _check_policy(self, partitions: int) -> None:
        """Raise `ConfigurationError` if another policy made the newest choice of a page."""
        rule = self._settings.frontier.rule
        for partition in range(partitions):
            newest = max(0, self._journal.end(OUTCOMES.name, partition) - NEWEST)
            found = outcomes_of(entries(self._journal, OUTCOMES.name, partition, newest), read_counted)
            first = (page for page in found if not (page.again or page.later))
            chosen = [page.policy for page in first if page.policy != INSTANT]
            if chosen and chosen[-1] != rule:
                raise ConfigurationError(
                    f"snapshot: the crawl has the policy {chosen[-1]}, the settings have {rule}; "
                    "use the workers' settings"
                )

    def follow(self) -> Iterator[int]:
        """Copy new records; yield the number of each batch."""
        for found in arriving(self._settings, self._copied):
            for (name, partition), arrived in found.items():
                self._take_in(name, partition, arrived)
                if name not in self._changelogs:
                    self._journal.go_on_at(name, partition, arrived[-1].offset + 1)
            self._tidy()
            yield sum(map(len, found.values()))

    def _tidy(self) -> None:
        if time.monotonic() >= self._tidied + TIDY_SECONDS:
            self._tidied = time.monotonic()
            self._journal.drop_expired(time.time())
            left_out = [(name, number) for name in LEFT_OUT for number in range(self._journal.partitions(name))]
            for (name, partition), end in self._admin.ends(left_out).items():
                self._journal.go_on_at(name, partition, end)

    def _stage(self, table: str, partition: int, chunk: Iterable[Entry]) -> None:
        store = self._journal.table(table)[partition]
        batch = WriteBatch(raw_mode=True)
        store.stage(batch, {entry.key: entry.value for entry in chunk if entry.key and entry.key != CLAIM})
        store.write(batch)
