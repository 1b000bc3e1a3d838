"""What a Kafka broker is told of each topic: its partitions, and its configuration key by key.

One pure function, so that ``scentline topics create``, ``scentline topics check`` and the manifests of
Kubernetes can't differ. The keys are Kafka's (kafka.apache.org/documentation, "Topic Configs"): sizes are in
bytes, times in milliseconds, and every bound in bytes is one of each partition.
"""

from dataclasses import dataclass, field

from streams.topics import (
    APP_ID,
    DAY,
    DEAD_LETTERS,
    FETCHES,
    HARVEST,
    OUTCOMES,
    PAGES,
    TABLES,
    TOPICS,
    Topic,
    changelog_of,
)

MIB = 1024 * 1024
GIB = 1024 * MIB

#: Bytes of one message at most, which is one record batch: a fetched page, or a pack of facts.
MESSAGE_BYTES = 16 * MIB
#: Bytes of one group's changed rows at most: they are one record batch, appended whole or not at all. A broker
#: takes no request beyond 100 MiB (``socket.request.max.bytes``).
GROUP_BYTES = 64 * MIB

#: Bytes kept of each partition, where it is another number than the usual.
_KEPT = {
    PAGES.name: 16 * GIB,
    OUTCOMES.name: 16 * GIB,
    FETCHES.name: GIB,
    HARVEST.name: GIB,
    DEAD_LETTERS.name: GIB,
}
_USUALLY_KEPT = 8 * GIB


@dataclass(frozen=True)
class Declared:
    """A topic as a broker has to have it."""

    name: str
    partitions: int
    configs: dict[str, str] = field(hash=False)


def declared(partitions: int, replication: int = 1) -> list[Declared]:
    """Return every topic, then every table's changelog, where topics that shard have ``partitions``.

    With three replicas or more, a message counts as written when two have it.

    >>> [(topic.name, topic.partitions) for topic in declared(4)][-2:]
    [('scentline-interests-changelog', 4), ('scentline-harvest-changelog', 4)]
    >>> declared(4)[0].configs["retention.ms"]
    '604800000'
    """
    common = {
        "min.insync.replicas": "2" if replication >= 3 else "1",
        "unclean.leader.election.enable": "false",
        # The broker's clock: another one that jumps would drop messages early, or keep them for ever.
        "message.timestamp.type": "LogAppendTime",
    }
    topics = [
        Declared(topic.name, partitions if topic.shards else 1, common | _configs(topic)) for topic in TOPICS
    ]
    changelogs = [
        Declared(changelog_of(APP_ID, table), partitions, common | _compacted(GROUP_BYTES)) for table in TABLES
    ]
    return topics + changelogs


def _configs(topic: Topic) -> dict[str, str]:
    if topic.compacted or topic.retention is None:
        return _compacted(MESSAGE_BYTES)
    return {
        "cleanup.policy": "delete",
        "retention.ms": str(topic.retention * 1000),
        "retention.bytes": str(_KEPT.get(topic.name, _USUALLY_KEPT)),
        # A segment goes as a whole: nothing is kept for longer than an eighth beyond its time.
        "segment.ms": str(topic.retention * 1000 // 8),
        "segment.bytes": str(128 * MIB),
        "max.message.bytes": str(MESSAGE_BYTES),
    }


def _compacted(batch: int) -> dict[str, str]:
    return {
        "cleanup.policy": "compact",
        # The newest segment is not compacted, and it has to hold the largest batch.
        "segment.bytes": str(GROUP_BYTES),
        "max.message.bytes": str(batch),
        # A recovery reads about 1.4 times the rows at most, beside the newest segment.
        "min.cleanable.dirty.ratio": "0.3",
        # What was replaced or deleted, a forgotten user's row for one, is gone a day later.
        "max.compaction.lag.ms": str(DAY * 1000),
        # A table on a worker's disk that is behind by more than this misses deletions.
        "delete.retention.ms": str(7 * DAY * 1000),
    }
