"""Every topic and changelog made at a broker, and those that are there brought up to what is declared."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scentline.models.errors import ScentlineError
from scentline.streams.settings import Settings
from scentline.streams.topics import Declared, declared
from scentline.streams.transport.kafka.admin import Admin, Found


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


class TopicsError(ScentlineError):
    """Topics that are there and can't become what is declared; the text says what to do."""


class Done(NamedTuple):
    """What was done about a topic: "made", "configured" (the ``keys`` that differed) or "unchanged"."""

    topic: str
    partitions: int
    done: str
    keys: tuple[str, ...] = ()


def create(settings: Settings) -> list[Done]:
    """Make the topics that are missing, set what differs of the others, and return what was done.

    Again is harmless. Raises `streams.transport.kafka.admin.AdminError`. Raises `TopicsError`, before
    anything is changed, where a topic has another number of partitions or replicas.
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
