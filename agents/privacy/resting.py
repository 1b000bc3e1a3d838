"""Whether a crawl on Kafka is at rest: no worker is there, and none has left anything that may name a user."""

from agents.topics.lag import lags
from streams.settings import Settings
from streams.topics import APP_ID, INBOXES, TABLES, TOPICS, changelog_of, group_of
from streams.transport.kafka.admin import Admin
from streams.transport.kafka.connection import KafkaError

#: The roles whose inbox has facts that bear pseudonyms.
CONCERNED = ("browse", "frontier", "learn")


class UnrestError(KafkaError):
    """A crawl that goes on, or has not taken everything in; the text says by what."""


def partitions_there(admin: Admin) -> dict[str, int]:
    """Return the number of partitions of each topic and changelog; raises `KafkaError` where one is missing."""
    names = [topic.name for topic in TOPICS] + [changelog_of(APP_ID, table) for table in TABLES]
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
                f"forget-user: {group} has {members} live members; expected all workers to be stopped (one "
                "that was killed counts until kafka.session_seconds are over)"
            )


def check_taken_in(settings: Settings) -> None:
    """Raise `UnrestError` where messages wait that may bear a pseudonym."""
    for each in lags(settings, CONCERNED):
        if each.lag:
            raise UnrestError(
                f"forget-user: {each.group} has not taken in {each.lag} messages of {each.topic}/"
                f"{each.partition}; expected 0: start the workers, wait until scentline lag says so, stop them"
            )
