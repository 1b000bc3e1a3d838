"""Topics as Strimzi's ``KafkaTopic``: what ``scentline topics create`` would make, kept by an operator."""

from typing import Any

from scentline.streams.topics import TOPICS, Declared, declared

#: The name of the Kafka cluster, and what the names of its services and secrets begin with.
CLUSTER = "scentline"
#: As in production; the overlay dev has less.
PARTITIONS = 12
REPLICAS = 3
#: The label by which an overlay gives another number of partitions to all topics that have it.
SHARDS = "scentline/shards"
#: Topics whose number of partitions is 1, whatever the setting says.
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
