"""Taking a snapshot: topics become a journal, changelogs become tables.

Records keep their offsets, so that the marks in the tables say of the journal what they said of Kafka.
"""

import shutil
from collections.abc import Callable, Iterator
from itertools import islice

from rocksdict import WriteBatch

from agents.crawl.fixed import keep_fixed
from agents.frontier.rows import INSTANT
from agents.harvest.agent import read_counted
from agents.operate.inspect.record import entries, outcomes_of
from streams.configuration import ConfigurationError
from streams.forgetting import check_not_forgetting
from streams.settings import Settings
from streams.topics import APP_ID, FETCHES, OUTCOMES, PAGES, PROXY_LOG, TABLES, TOPICS, changelog_of
from streams.transport.journal import Journal
from streams.transport.kafka.admin import Admin, kept
from streams.transport.kafka.publisher import CLAIM
from streams.transport.layout import Entry

#: Topics of which only the ends are kept: pages, what led to them, and lines that name users.
LEFT_OUT = frozenset({PAGES.name, FETCHES.name, PROXY_LOG.name})
#: Records written at once.
CHUNK = 1_000

#: Is told what is copied next.
Progress = Callable[[str], None]


def take(settings: Settings, progress: Progress) -> int:
    """Copy what the crawl at the broker of ``settings`` knows to their data directory; return the records.

    Changelogs are copied first: messages that come meanwhile then count as not absorbed yet. Raises
    `ConfigurationError` where something is in the directory or a user is just being forgotten, `AdminError`
    where the broker can't be read.
    """
    data = settings.data
    if data.exists() and any(data.iterdir()):
        raise ConfigurationError(f"data {data}: not empty; a snapshot needs a directory of its own")
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        keep_fixed(settings)
        with Admin(settings) as admin, Journal.open(data / "journal") as journal:
            return _Copying(settings, admin, journal, progress).run()
    except BaseException:
        shutil.rmtree(data)  # half of a crawl looks like a whole one
        raise


class _Copying:
    def __init__(self, settings: Settings, admin: Admin, journal: Journal, progress: Progress) -> None:
        self._settings = settings
        self._admin = admin
        self._journal = journal
        self._progress = progress

    def run(self) -> int:
        changelogs = {changelog_of(APP_ID, table): table for table in TABLES}
        names = [*changelogs, *(topic.name for topic in TOPICS)]
        found = self._admin.topics(names)
        missing = sorted(set(names) - found.keys())
        if missing:
            raise ConfigurationError(f"no topic {missing[0]} at the broker; expected those of a crawl")
        records = 0
        for name, table in changelogs.items():
            self._progress(name)
            self._journal.create_table(table, found[name].partitions)
            records += sum(self._table(name, table, n) for n in range(found[name].partitions))
        for topic in TOPICS:
            self._progress(topic.name)
            count = found[topic.name].partitions
            self._journal.create_topic(
                topic.name, count, retention=topic.retention, compacted=topic.compacted, most=topic.most
            )
            records += self._topic(topic.name, count)
        self._check_policy(found[OUTCOMES.name].partitions)
        return records

    def _check_policy(self, partitions: int) -> None:
        """Raise `ConfigurationError` where the newest page that a policy chose was chosen by another one."""
        rule = self._settings.frontier.rule
        for partition in range(partitions):
            newest = max(0, self._journal.end(OUTCOMES.name, partition) - CHUNK)
            found = outcomes_of(entries(self._journal, OUTCOMES.name, partition, newest), read_counted)
            first = (page for page in found if not (page.again or page.later))
            chosen = [page.policy for page in first if page.policy != INSTANT]
            if chosen and chosen[-1] != rule:
                raise ConfigurationError(
                    f"snapshot: the crawl has the policy {chosen[-1]}, the settings have {rule}; "
                    "use the workers' settings"
                )

    def _table(self, changelog: str, table: str, partition: int) -> int:
        records = 0
        store = self._journal.table(table)[partition]
        for chunk in _chunks(kept(self._settings, changelog, partition)):
            rows = {entry.key: entry.value for entry in chunk if entry.key not in (None, CLAIM)}
            batch = WriteBatch(raw_mode=True)
            store.stage(batch, {key: value for key, value in rows.items() if key})
            store.write(batch)
            records += len(chunk)
        check_not_forgetting(store, "snapshot")
        return records

    def _topic(self, name: str, partitions: int) -> int:
        records = 0
        ends = self._admin.ends([(name, partition) for partition in range(partitions)])
        for (_, partition), end in ends.items():
            if name not in LEFT_OUT:
                for chunk in _chunks(kept(self._settings, name, partition)):
                    self._journal.place(name, partition, [entry for entry in chunk if entry.offset < end])
                    records += len(chunk)
            self._journal.go_on_at(name, partition, end)
        return records


def _chunks(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    while chunk := list(islice(entries, CHUNK)):
        yield chunk
