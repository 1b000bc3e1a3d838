"""What the topics at a broker differ in from what is declared."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from streams.settings import Settings
from streams.topic_configs import Declared, declared
from streams.transport.kafka.admin import Admin, Found


class Difference(NamedTuple):
    """One thing about a topic that is not as declared; ``found`` is None where it is not there at all."""

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
    """Yield what is missing, and what differs: partitions, replication, each configuration."""
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
