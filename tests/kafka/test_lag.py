"""``scentline lag`` on a real broker."""

import json
from pathlib import Path

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.structs import OffsetAndMetadata

from scentline.agents.operate.topics import Lag, create, lags
from scentline.streams.topics import INBOXES
from tests.agents.commands import printed, scentline
from tests.kafka.test_topics import settings


def send(address: str, topic: str, partition: int, values: list[bytes]) -> None:
    with KafkaProducer(bootstrap_servers=address.removeprefix("kafka://")) as producer:
        for value in values:
            producer.send(topic, value, partition=partition)
        producer.flush()


def commit(address: str, group: str, topic: str, partition: int, offset: int) -> None:
    servers = address.removeprefix("kafka://")
    with KafkaConsumer(bootstrap_servers=servers, group_id=group, enable_auto_commit=False) as consumer:
        place = TopicPartition(topic, partition)
        consumer.assign([place])
        consumer.commit({place: OffsetAndMetadata(offset)})


def drop(address: str, topic: str, partition: int, before: int) -> None:
    with KafkaAdminClient(bootstrap_servers=address.removeprefix("kafka://")) as admin:
        admin.delete_records({TopicPartition(topic, partition): before})


def test_lag_is_what_waits_in_each_partition_of_each_role_s_inbox(empty_kafka: str) -> None:
    create(settings(empty_kafka, 2))
    send(empty_kafka, "pages", 1, [b"page"] * 5)
    commit(empty_kafka, "scentline-judge", "pages", 1, 3)
    send(empty_kafka, "fetches", 0, [b"order"] * 4)
    found = list(lags(settings(empty_kafka, 2)))
    assert [each.topic for each in found] == [topic.name for topic in INBOXES.values() for _ in range(2)]
    assert Lag("scentline-judge", "pages", 1, 5, 3, 2, 0) in found
    assert Lag("scentline-judge", "pages", 0, 0, None, 0, 0) in found
    assert Lag("scentline-fetch", "fetches", 0, 4, None, 4, 0) in found
    assert sum(each.lag for each in found) == 6


def test_messages_that_went_unread_are_told(empty_kafka: str, tmp_path: Path) -> None:
    create(settings(empty_kafka, 1))
    send(empty_kafka, "proxy-log", 0, [b"line"] * 5)
    commit(empty_kafka, "scentline-observe", "proxy-log", 0, 1)
    drop(empty_kafka, "proxy-log", 0, 4)
    assert next(lags(settings(empty_kafka))) == Lag("scentline-observe", "proxy-log", 0, 5, 1, 1, 3)
    run = scentline(tmp_path, "lag", "--broker", empty_kafka)
    assert run.stderr.startswith("proxy-log/0: 3 messages expired before scentline-observe read them")
    assert run.stdout.splitlines()[:2] == [
        "group\ttopic\tpartition\tend\tcommitted\tlag",
        "scentline-observe\tproxy-log\t0\t5\t1\t1",
    ]


def test_without_topics_there_is_no_lag(empty_kafka: str, tmp_path: Path) -> None:
    assert json.loads(printed(tmp_path, "lag", "--broker", empty_kafka, "--json")) == []
