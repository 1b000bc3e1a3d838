"""The embedded log of a crawl's data directory, with every topic and table made."""

from agents.operate.privacy.plan import check_nothing_pending
from streams.configuration import ConfigurationError
from streams.settings import Settings
from streams.topics import TABLES, TOPICS
from streams.transport.journal import Journal


def open_journal(settings: Settings) -> Journal:
    """Open the data directory's journal for writing and make the topics and tables that are missing.

    Raises `ConfigurationError` where the settings ask for another log than the one embedded there, or for
    another number of partitions than it has, and where forgetting a user was interrupted.
    """
    check_nothing_pending(settings.data)
    embedded = f"embedded://{settings.data.absolute()}"
    if settings.broker != embedded:
        raise ConfigurationError(
            f"broker is {settings.broker}; expected {embedded}, the embedded log of the data directory"
        )
    journal = Journal.open(settings.data / "journal")
    try:
        _make_topics(journal, settings.streams.partitions)
    except ValueError as error:
        journal.close()
        raise ConfigurationError(f"streams.partitions: {error}") from error
    except BaseException:
        journal.close()
        raise
    return journal


def _make_topics(journal: Journal, partitions: int) -> None:
    for topic in TOPICS:
        journal.create_topic(
            topic.name,
            partitions if topic.shards else 1,
            retention=topic.retention,
            compacted=topic.compacted,
            most=topic.most,
        )
    for table in TABLES:
        journal.create_table(table, partitions)
