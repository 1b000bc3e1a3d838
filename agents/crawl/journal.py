"""The embedded log of a crawl's data directory, with every topic made."""

from streams.app import APP_ID
from streams.settings import Settings
from streams.topics import TOPICS, changelog_of
from streams.transport.journal import Journal

TABLES = {"users": "accesses", "frontier": "sightings", "interests": "evidence", "harvest": "outcomes"}


def open_journal(settings: Settings) -> Journal:
    """Open the data directory's journal for writing and make the topics that are missing."""
    journal = Journal.open(settings.data / "journal")
    try:
        for topic in TOPICS:
            partitions = settings.streams.partitions if topic.shards else 1
            journal.create_topic(topic.name, partitions, retention=topic.retention, compacted=topic.compacted)
        for table in TABLES:
            journal.create_topic(
                changelog_of(APP_ID, table), settings.streams.partitions, retention=None, compacted=True
            )
    except BaseException:
        journal.close()
        raise
    return journal
