"""What is declared of topics holds together, whatever the number of partitions."""

from hypothesis import given
from hypothesis import strategies as st

from scentline.streams.topics import TABLES, TOPICS, Declared, changelog_of, declared
from tests.cases import each_case

DECLARED = declared(4)


def ids(topic: Declared) -> str:
    return topic.name


@given(st.integers(1, 500))
def test_an_inbox_and_its_changelog_have_the_same_partitions(partitions: int) -> None:
    numbers = {topic.name: topic.partitions for topic in declared(partitions)}
    for table, inbox in TABLES.items():
        assert numbers[changelog_of("scentline", table)] == numbers[inbox.name] == partitions
    assert {numbers[topic.name] for topic in TOPICS if not topic.shards} == {1}


def test_every_topic_and_changelog_is_declared_once() -> None:
    names = [topic.name for topic in DECLARED]
    assert len(set(names)) == len(names) == len(TOPICS) + len(TABLES)


@each_case("topic", DECLARED)
def test_no_topic_grows_without_bound(topic: Declared) -> None:
    if topic.configs["cleanup.policy"] == "compact":
        assert int(topic.configs["max.compaction.lag.ms"]) > 0
        assert "retention.ms" not in topic.configs
    else:
        assert int(topic.configs["retention.ms"]) > int(topic.configs["segment.ms"]) > 0
        assert int(topic.configs["retention.bytes"]) > int(topic.configs["segment.bytes"])


@each_case("topic", DECLARED)
def test_a_segment_holds_the_largest_batch_and_a_request_too(topic: Declared) -> None:
    assert int(topic.configs["max.message.bytes"]) <= int(topic.configs["segment.bytes"])
    assert int(topic.configs["max.message.bytes"]) < 100 * 1024 * 1024


def test_with_three_replicas_two_have_to_have_a_message() -> None:
    assert {topic.configs["min.insync.replicas"] for topic in declared(4, 3)} == {"2"}
    assert {topic.configs["min.insync.replicas"] for topic in declared(4, 2)} == {"1"}
