"""The topics at a broker: made and compared by their declaration, and how far each consumer group is behind."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scentline.models.errors import ScentlineError
from scentline.streams.settings import Settings
from scentline.streams.topics import INBOXES, Declared, declared, group_of
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
    """One partition: offsets of its end and of what the group has committed, and the messages that wait.

    ``committed`` is None where the group has committed nothing: then all that is kept waits. ``dropped`` are
    messages that the group has not read and never will, for the broker keeps them no more.
    """

    group: str
    topic: str
    partition: int
    end: int
    committed: int | None
    lag: int
    dropped: int


def lags(settings: Settings, roles: Iterable[str] = tuple(INBOXES)) -> Iterator[Lag]:
    """Yield the lag of every partition of the roles' groups, all in the order in which messages flow.

    Raises `streams.transport.kafka.admin.AdminError`; a topic that is missing is passed over.
    """
    with Admin(settings) as admin:
        inboxes = {role: INBOXES[role] for role in roles}
        found = admin.topics(topic.name for topic in inboxes.values())
        for role, topic in inboxes.items():
            if topic.name not in found:
                continue
            places = [(topic.name, partition) for partition in range(found[topic.name].partitions)]
            # What was committed before the ends are asked for is never beyond them.
            committed = admin.committed(group_of(role))
            starts, ends = admin.starts(places), admin.ends(places)
            for place in places:
                yield _lag(group_of(role), place, starts[place], ends[place], committed.get(place))


def _lag(group: str, place: tuple[str, int], start: int, end: int, committed: int | None) -> Lag:
    dropped = 0 if committed is None else max(start - committed, 0)
    lag = end - max(start, committed or 0)
    return Lag(group, *place, end, committed, lag, dropped)
