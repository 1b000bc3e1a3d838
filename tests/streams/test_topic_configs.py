"""What is declared of topics holds together, whatever the number of partitions."""

from hypothesis import given
from hypothesis import strategies as st

from scentline.streams.topics import TABLES, TOPICS, changelog_of, declared


@given(st.integers(1, 500))
def test_an_inbox_and_its_changelog_have_the_same_partitions(partitions: int) -> None:
    numbers = {topic.name: topic.partitions for topic in declared(partitions)}
    for table, inbox in TABLES.items():
        assert numbers[changelog_of("scentline", table)] == numbers[inbox.name] == partitions
    assert {numbers[topic.name] for topic in TOPICS if not topic.shards} == {1}


def test_every_topic_is_declared_once_and_none_grows_without_bound() -> None:
    topics = {topic.name: topic for topic in declared(4)}
    assert len(topics) == len(declared(4)) == len(TOPICS) + len(TABLES)
    for name, topic in topics.items():
        numbers = {key: int(value) for key, value in topic.configs.items() if value.isdigit()}
        if topic.configs["cleanup.policy"] == "compact":
            assert numbers["max.compaction.lag.ms"] > 0 and "retention.ms" not in numbers, name
        else:
            assert numbers["retention.ms"] > numbers["segment.ms"] > 0, name
            assert numbers["retention.bytes"] > numbers["segment.bytes"], name
        # A segment and a request hold the largest batch.
        assert numbers["max.message.bytes"] <= min(numbers["segment.bytes"], 100 * 1024 * 1024 - 1), name


def test_with_three_replicas_two_have_to_have_a_message() -> None:
    assert {topic.configs["min.insync.replicas"] for topic in declared(4, 3)} == {"2"}
    assert {topic.configs["min.insync.replicas"] for topic in declared(4, 2)} == {"1"}
