"""The operator's connection to Kafka, by kafka-python: topics, their configuration, groups and records."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from kafka import KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, OffsetSpec
from kafka.errors import KafkaError as ClientError
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError

from scentline.streams.settings import Settings
from scentline.streams.topics import Declared
from scentline.streams.transport.database import Entry, Place
from scentline.streams.transport.kafka.connection import (
    KafkaError,
    addresses,
    kafka_python_arguments,
    probe,
)

T = TypeVar("T")
_CONNECT_MS = 10_000  #: Enough for brokers that are just starting, too.
#: How long a broker may be unready, and a change may take to show.
_PATIENCE_SECONDS = 15.0
_PAUSE_SECONDS = 0.1
_POLL_MS = 1000
#: Records of a poll at most, and milliseconds that a broker waits for the first of them.
_POLL_RECORDS, _FETCH_MS = 10_000, 100
_SILENT_POLLS = 30  #: Empty polls in a row, though records are left, that are an error.


class AdminError(KafkaError):
    """Brokers that can't be reached, or refuse; the text names them, the request, and the answer."""


def _client(settings: Settings, make: Callable[..., T], **options: Any) -> T:
    """Return a connected client; raises `KafkaError` with the reason, which the library's time-out lacks."""
    try:
        return make(**kafka_python_arguments(settings), bootstrap_timeout_ms=_CONNECT_MS, **options)
    except ClientError as error:
        asyncio.run(probe(settings))
        raise AdminError(f"{_named(settings)}: can't connect: {error}") from error


@dataclass(frozen=True)
class Found:
    """A topic as a broker has it; ``replication`` is the least number of replicas of a partition."""

    name: str
    partitions: int
    replication: int
    configs: Mapping[str, str | None]


class Admin:
    """A connection for queries and changes, by the crawl's own names (`streams.settings.Settings.named`).

    Every method raises `AdminError`, the constructor any `KafkaError`.
    """

    def __init__(self, settings: Settings) -> None:
        self._broker = _named(settings)
        self._settings, self._named = settings, settings.named
        self._client = _client(settings, KafkaAdminClient)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def topics(self, names: Iterable[str]) -> dict[str, Found]:
        """Return the topics that exist, by name, with every configuration in force."""
        described = [
            topic
            for topic in self._ask("topics", "describe_topics", list(map(self._named, names)))
            if topic["error_code"] != UnknownTopicOrPartitionError.errno
        ]
        resources = [ConfigResource(ConfigResourceType.TOPIC, topic["name"]) for topic in described]
        answers = self._ask("configurations", "describe_configs", resources, config_filter="all")
        configs = answers.get("topic", {})
        return {
            (name := _own(self._settings, topic["name"])): Found(
                name,
                len(topic["partitions"]),
                min((len(partition["replica_nodes"]) for partition in topic["partitions"]), default=0),
                {key: config["value"] for key, config in configs.get(topic["name"], {}).items()},
            )
            for topic in described
        }

    def create(self, topics: Iterable[Declared], replication: int) -> None:
        """Make topics; one that exists by then is left as it is."""
        asked = {
            self._named(topic.name): {
                "num_partitions": topic.partitions, "replication_factor": replication, "configs": topic.configs,
            }
            for topic in topics
        }  # fmt: skip
        if not asked:
            return
        answers = self._ask("new topics", "create_topics", asked, raise_errors=False)["topics"]
        for answer in answers:
            if answer["error_code"] not in (0, TopicAlreadyExistsError.errno):
                raise AdminError(f"{self._broker}: can't make {answer['name']}: {answer['error_message']}")
        self._ask("new topics", "wait_for_topics", list(asked), timeout_ms=_PATIENCE_SECONDS * 1000)

    def configure(self, configs: Mapping[str, Mapping[str, str]]) -> None:
        """Set configurations of topics, and wait until they show; those not named stay."""
        resources = [
            ConfigResource(ConfigResourceType.TOPIC, self._named(name), dict(values))
            for name, values in configs.items()
        ]
        if not resources:
            return
        answers = self._ask("configurations", "alter_configs", resources)["topic"]
        for name, answer in answers.items():
            if answer != "OK":
                raise AdminError(f"{self._broker}: can't configure {name}: {answer}")

        end = time.monotonic() + _PATIENCE_SECONDS
        found = self.topics(configs)
        while not all(values.items() <= found[name].configs.items() for name, values in configs.items()):
            if time.monotonic() > end:
                raise AdminError(f"{self._broker}: configurations were set, and are not seen")
            time.sleep(_PAUSE_SECONDS)
            found = self.topics(configs)

    def starts(self, places: Iterable[Place]) -> dict[Place, int]:
        """Return the first kept offset of each partition (topic, number)."""
        return self._offsets(places, OffsetSpec.EARLIEST)

    def ends(self, places: Iterable[Place]) -> dict[Place, int]:
        """Return the next offset of each partition (topic, number)."""
        return self._offsets(places, OffsetSpec.LATEST)

    def committed(self, group: str) -> dict[Place, int]:
        """Return the committed offsets of a consumer group."""
        name = self._named(group)
        found = self._ask(f"offsets of {name}", "list_group_offsets", [name])[name]
        return {_place(self._settings, place): offset.offset for place, offset in found.items()}

    def members(self, groups: Iterable[str]) -> dict[str, int]:
        """Return the number of members of each consumer group that exists."""
        known = {group["group_id"] for group in self._ask("groups", "list_groups")}
        asked = sorted(known.intersection(map(self._named, groups)))
        described = self._ask("members of groups", "describe_groups", asked) if asked else {}
        return {_own(self._settings, group): len(found["members"]) for group, found in described.items()}

    def delete_before(self, offsets: Mapping[Place, int]) -> None:
        """Delete the messages of each partition (topic, number) before an offset."""
        if offsets:
            asked = {_asked(self._settings, place): offset for place, offset in offsets.items()}
            self._ask("deleting messages", "delete_records", asked)

    def _offsets(self, places: Iterable[Place], spec: Any) -> dict[Place, int]:
        asked = {_asked(self._settings, place): spec for place in places}
        found = self._ask("offsets", "list_partition_offsets", asked)
        return {_place(self._settings, place): offset.offset for place, offset in found.items()}

    def _ask(self, what: str, method: str, *arguments: Any, **options: Any) -> Any:
        """Return the client's answer; retry what a broker can't answer yet."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return getattr(self._client, method)(*arguments, **options)
            except ClientError as error:
                if not error.retriable or time.monotonic() > end:
                    raise AdminError(f"{self._broker}: {what}: {error}") from error
                time.sleep(_PAUSE_SECONDS)


def kept(settings: Settings, topic: str, partition: int) -> Iterator[Entry]:
    """Yield the partition's records up to its current end, in no group; raises `AdminError`."""
    for _, found in all_kept(settings, {(topic, partition): None}):
        yield from found


def all_kept(settings: Settings, ends: Mapping[Place, int | None]) -> Iterator[tuple[Place, list[Entry]]]:
    """Yield the records of partitions before their ends, None for the current one, as `kept` does."""
    silent, asked = 0, {_asked(settings, place): end for place, end in ends.items()}
    with _consuming(settings, asked) as consumer:
        consumer.seek_to_beginning(*asked)
        present = consumer.end_offsets([place for place, end in asked.items() if end is None])
        left = {place: present[place] if end is None else end for place, end in asked.items()}
        while left:
            # The position passes over what compaction removed, at the end of the log too.
            done = [place for place, end in left.items() if consumer.position(place) >= end]
            for place in done:
                del left[place]
            consumer.pause(*done)
            polled = consumer.poll(_POLL_MS) if left else {}
            silent = 0 if polled or done else silent + 1
            if silent == _SILENT_POLLS:
                topic, seconds = next(iter(left)).topic, _SILENT_POLLS * _POLL_MS // 1000
                raise AdminError(f"{_named(settings)}: {topic}: nothing came for {seconds} s")
            for place, records in polled.items():
                found = [_entry(record) for record in records if record.offset < left[place]]
                yield _place(settings, place), found


def arriving(settings: Settings, offsets: Mapping[Place, int]) -> Iterator[dict[Place, list[Entry]]]:
    """Yield partitions' records from ``offsets`` on, 0 the beginning, without end; raises `AdminError`."""
    asked = {_asked(settings, place): offset for place, offset in offsets.items()}
    with _consuming(settings, asked) as consumer:
        for place, offset in asked.items():
            consumer.seek(place, offset) if offset else consumer.seek_to_beginning(place)
        while True:
            polled = consumer.poll(_POLL_MS)
            yield {
                _place(settings, place): [_entry(record) for record in found] for place, found in polled.items()
            }


@contextmanager
def _consuming(settings: Settings, places: Collection[TopicPartition]) -> Iterator[KafkaConsumer]:
    """Yield a consumer of partitions, in no group; raises `AdminError`."""
    # Brokers verify checksums on append; verifying them again in Python takes more time than all else.
    consumer = _client(
        settings, KafkaConsumer, enable_auto_commit=False, allow_auto_create_topics=False, check_crcs=False,
        max_poll_records=_POLL_RECORDS, fetch_max_wait_ms=_FETCH_MS,
    )  # fmt: skip
    broker, topics = _named(settings), {place.topic for place in places}
    try:
        if missing := sorted(topics - consumer.topics()):
            raise AdminError(f"{broker}: has no topic {missing[0]}: make it with scentline topics create")
        consumer.assign(list(places))
        yield consumer
    except ClientError as error:
        raise AdminError(f"{broker}: {', '.join(sorted(topics))}: {error}") from error
    finally:
        consumer.close()


def _asked(settings: Settings, place: Place) -> TopicPartition:
    return TopicPartition(settings.named(place[0]), place[1])


def _own(settings: Settings, name: str) -> str:
    return name.removeprefix(settings.named(""))


def _place(settings: Settings, asked: TopicPartition) -> Place:
    return (_own(settings, asked.topic), asked.partition)


def _entry(record: Any) -> Entry:
    return Entry(record.offset, record.timestamp / 1000, record.key, record.value)


def _named(settings: Settings) -> str:
    """Return the brokers as messages name them."""
    return ",".join(addresses(settings.broker))
