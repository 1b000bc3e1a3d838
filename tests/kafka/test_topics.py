"""``scentline topics create`` and ``check`` on a real broker."""

import json
from pathlib import Path

import pytest
from kafka.admin import KafkaAdminClient

from deploy.ports import free_port
from scentline.agents.operate.topics import Difference, TopicsError, check, create
from scentline.streams.configuration import load
from scentline.streams.settings import Settings
from scentline.streams.topics import declared
from scentline.streams.transport.kafka.admin import Admin, AdminError
from tests.agents.commands import complaint, printed, scentline
from tests.patience import wait_for


def settings(broker: str, partitions: int = 3, replication: int = 1) -> Settings:
    options = {"broker": broker, "streams.partitions": partitions, "kafka.replication": replication}
    return load(options, environ={}).settings


def configure(address: str, topic: str, configs: dict[str, str]) -> None:
    with Admin(settings(address)) as admin:
        admin.configure({topic: configs})


def delete(address: str, topic: str) -> None:
    with KafkaAdminClient(bootstrap_servers=address.removeprefix("kafka://")) as admin:
        admin.delete_topics([topic])
        wait_for(f"{topic} to go", lambda: topic not in admin.list_topics())


def test_every_topic_and_changelog_is_made_as_it_is_declared(empty_kafka: str) -> None:
    done = create(settings(empty_kafka))
    assert [each.topic for each in done] == [topic.name for topic in declared(3)]
    assert {each.done for each in done} == {"made"}
    with Admin(settings(empty_kafka)) as admin:
        found = admin.topics(topic.name for topic in declared(3))
    for topic in declared(3):
        there = found[topic.name]
        assert (there.partitions, there.replication) == (topic.partitions, 1)
        assert {key: there.configs[key] for key in topic.configs} == topic.configs
    assert check(settings(empty_kafka)) == []


def test_again_changes_nothing(empty_kafka: str) -> None:
    create(settings(empty_kafka))
    assert {each.done for each in create(settings(empty_kafka))} == {"unchanged"}


def test_a_topic_that_is_there_gets_the_declared_configuration(empty_kafka: str) -> None:
    create(settings(empty_kafka))
    configure(empty_kafka, "pages", {"retention.ms": "1000", "compression.type": "zstd"})
    configure(empty_kafka, "interests", {"cleanup.policy": "delete"})
    assert check(settings(empty_kafka)) == [
        Difference("pages", "retention.ms", "86400000", "1000"),
        Difference("interests", "cleanup.policy", "compact", "delete"),
    ]
    done = {each.topic: each for each in create(settings(empty_kafka))}
    assert (done["pages"].done, done["pages"].keys) == ("configured", ("retention.ms",))
    assert done["fetches"].done == "unchanged"
    assert check(settings(empty_kafka)) == []
    with Admin(settings(empty_kafka)) as admin:
        assert admin.topics(["pages"])["pages"].configs["compression.type"] == "zstd"  # nobody declares it


def test_a_missing_topic_is_told_and_made(empty_kafka: str) -> None:
    create(settings(empty_kafka))
    delete(empty_kafka, "outcomes")
    assert check(settings(empty_kafka)) == [Difference("outcomes", "topic", "3 partitions", None)]
    assert [each.topic for each in create(settings(empty_kafka)) if each.done != "unchanged"] == ["outcomes"]


def test_another_number_of_partitions_is_refused_before_anything_is_changed(empty_kafka: str) -> None:
    create(settings(empty_kafka, 2))
    configure(empty_kafka, "pages", {"retention.ms": "1000"})
    with pytest.raises(TopicsError, match=r"^proxy-log has 2 partitions, expected 3\..*--partitions 2"):
        create(settings(empty_kafka, 3))
    found = check(settings(empty_kafka, 3))
    assert Difference("scentline-users-changelog", "partitions", "3", "2") in found
    assert Difference("pages", "retention.ms", "86400000", "1000") in found
    assert "predicates" not in {each.topic for each in found}


def test_another_number_of_replicas_is_refused(empty_kafka: str) -> None:
    create(settings(empty_kafka))
    assert Difference("accesses", "replication", "2", "1") in check(settings(empty_kafka, replication=2))
    with pytest.raises(TopicsError, match=r"has 1 replicas, expected 2: .*--replication 1"):
        create(settings(empty_kafka, replication=2))


def test_more_replicas_than_brokers_is_the_broker_s_own_error(empty_kafka: str) -> None:
    with pytest.raises(AdminError, match=r"can't make proxy-log: .*only 1 broker"):
        create(settings(empty_kafka, replication=2))


def test_a_broker_that_is_not_there_is_named_with_the_reason(tmp_path: Path) -> None:
    port = free_port()
    said = complaint(tmp_path, "topics", "check", "--broker", f"kafka://127.0.0.1:{port}")
    assert said == f"127.0.0.1:{port}: can't connect: KafkaConnectionError: 111 ECONNREFUSED"


def test_the_commands_print_what_was_done_and_what_differs(empty_kafka: str, tmp_path: Path) -> None:
    made = printed(tmp_path, "topics", "create", "--broker", empty_kafka, "--partitions", "2")
    assert made.splitlines()[:2] == ["name\tpartitions\tdone", "proxy-log\t2\tmade"]
    two = ("--broker", empty_kafka, "--partitions", "2")
    assert printed(tmp_path, "topics", "check", *two) == "every topic is as declared\n"
    assert json.loads(printed(tmp_path, "topics", "check", *two, "--json")) == []
    delete(empty_kafka, "fetches")
    run = scentline(tmp_path, "topics", "check", *two)
    assert run.returncode == 1
    assert run.stdout == "topic\twhat\tdeclared\tfound\nfetches\ttopic\t2 partitions\tmissing\n"
    assert "proxy-log has 2 partitions" in complaint(
        tmp_path, "topics", "create", "--broker", empty_kafka, "--partitions", "4"
    )


def test_the_embedded_log_makes_its_topics_itself(tmp_path: Path) -> None:
    assert "expected kafka://HOST:PORT" in complaint(tmp_path, "topics", "create")
