"""Topics as Strimzi's ``KafkaTopic``: those of ``scentline topics create``, managed by an operator."""

from typing import Any

from scentline.streams.topics import TOPICS, Declared, declared

#: The name of the Kafka cluster, and the prefix of its services' and secrets' names.
CLUSTER = "scentline"
#: As in production; the overlay dev has less.
PARTITIONS = 12
REPLICAS = 3
#: The label of the topics whose number of partitions an overlay may change.
SHARDS = "scentline/shards"
#: Topics with 1 partition, whatever the setting says.
_WHOLE = {topic.name for topic in TOPICS if not topic.shards}


def topics(prefix: str = "") -> list[dict[str, Any]]:
    """Return a ``KafkaTopic`` for every topic and changelog; ``prefix`` is the setting ``kafka.prefix``."""
    return [_topic(prefix, topic) for topic in declared(PARTITIONS, REPLICAS)]


def _topic(prefix: str, topic: Declared) -> dict[str, Any]:
    return {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaTopic",
        "metadata": {
            "name": prefix + topic.name,
            "labels": {"strimzi.io/cluster": CLUSTER, SHARDS: str(topic.name not in _WHOLE).lower()},
        },
        "spec": {"partitions": topic.partitions, "replicas": REPLICAS, "config": topic.configs},
    }
