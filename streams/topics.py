"""Every topic, declared once: the topology, and the configuration of a Kafka broker.

A record's partition is `partition_of` its key column, so that all facts of a host, user, feature or URL meet.
`declared` gives the commands and the Kubernetes manifests the same configuration, in Kafka's keys
(kafka.apache.org/documentation, "Topic Configs"): bytes, of each partition, and milliseconds.
"""

from dataclasses import dataclass, field

from scentline.models import facts, published, records

APP_ID = "scentline"  #: Begins the names of changelogs and of consumer groups.

HOUR = 3600
DAY = 24 * HOUR
MIB = 1024 * 1024
GIB = 1024 * MIB
BY_ALL = "(every worker reads all of it)"


@dataclass(frozen=True)
class Topic:
    """One topic."""

    name: str
    key: str
    record: str
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    retention: int | None = 7 * DAY  #: Seconds; None where the newest message of each key is kept for ever.
    shards: bool = True  #: Whether it has more than one partition.
    size: int = 8 * GIB  #: Bytes of a partition that Kafka keeps where there is a retention.
    most: int | None = None  #: Messages of a partition that the embedded log keeps.
    fenced: bool = False  #: Whether each partition has one writer at a time (`Bus.take_over`).

    @property
    def compacted(self) -> bool:
        """Whether the newest message of each key is kept for ever."""
        return self.retention is None


PROXY_LOG = Topic("proxy-log", "any", "one raw log line (bytes)", ("log shippers",), ("observe",))
ACCESSES = Topic("accesses", "user", "Pack[Access]", ("observe", "feed", "crawl"), ("browse", "audit"))
SIGHTINGS = Topic(
    facts.SIGHTINGS, "host of the URL", "Pack[Sighting]",
    writers=("browse", "judge", "fetch", "render", "door", "frontier", "crawl", "control"),
    readers=("frontier",),
)  # fmt: skip
FETCHES = Topic(
    records.FETCHES, "host of the URL", "FetchOrder", ("frontier",), ("fetch", "door"), DAY, size=GIB
)
RENDERS = Topic(records.RENDERS, "host of the URL", "FetchOrder", ("frontier",), ("render",), DAY, size=GIB)
PAGES = Topic(
    "pages", "host of the URL", "FetchedPage", ("fetch", "render", "door"), ("judge",), DAY, size=16 * GIB
)
OUTCOMES = Topic(
    published.OUTCOMES, "URL", "Outcome (JSON)",
    writers=("judge", "frontier"), readers=("harvest", "matches", "audit", "people"),
    retention=30 * DAY, size=16 * GIB,
)  # fmt: skip
CHANGES = Topic(
    published.CHANGES, "URL", "Change (JSON)", ("frontier",), ("changes", "people"), 30 * DAY, size=GIB,
)  # fmt: skip
EVIDENCE = Topic(
    facts.EVIDENCE, "predicate or feature", "Pack[Evidence]", ("frontier", "state import"), ("learn",)
)
INTERESTS = Topic(
    "interests", "partition and block, predicate, or partition and number", "Interests", ("frontier", "learn"),
    (f"frontier {BY_ALL}",), retention=None,
)  # fmt: skip
HARVEST = Topic(
    "harvest", "predicate", "HarvestPoint (JSON)",
    writers=("harvest",), readers=("crawl", "people"),
    retention=30 * DAY, size=GIB, fenced=True,
)  # fmt: skip
CONTROL = Topic(
    "control", "what and name", "Control (JSON)",
    writers=("crawl", "control", "frontier"), readers=("judge", "frontier", f"learn {BY_ALL}"),
    retention=None, shards=False,
)  # fmt: skip
STANDING = Topic(
    "standing", "what and whose",
    record="HarvestPart, FreshnessPart, LogPosition, or Standing or DoorStanding (JSON)",
    writers=("harvest", "frontier", "door", "feed", "crawl"),
    readers=(f"harvest {BY_ALL}", f"door {BY_ALL}", "feed", "crawl", "window"),
    retention=None, shards=False,
)  # fmt: skip
DEAD_LETTERS = Topic(
    "dead-letters", "any", "DeadLetter",
    writers=("observe", "feed", "every agent"), readers=("people",),
    retention=30 * DAY, size=GIB, shards=False, most=20_000,
)  # fmt: skip

TOPICS: tuple[Topic, ...] = (
    PROXY_LOG, ACCESSES, SIGHTINGS, FETCHES, RENDERS, PAGES, OUTCOMES, CHANGES, EVIDENCE, INTERESTS, HARVEST,
    CONTROL, STANDING, DEAD_LETTERS,
)  # fmt: skip

#: The stateful agents' tables, each with the topic that is its inbox.
TABLES: dict[str, Topic] = {
    "users": ACCESSES, "duplicates": PAGES, "frontier": SIGHTINGS, "interests": EVIDENCE, "harvest": OUTCOMES,
}  # fmt: skip

#: What the consumer group of each role reads.
INBOXES: dict[str, Topic] = {
    "observe": PROXY_LOG, "browse": ACCESSES, "frontier": SIGHTINGS, "fetch": FETCHES, "judge": PAGES,
    "learn": EVIDENCE, "harvest": OUTCOMES, "render": RENDERS,
}  # fmt: skip


def changelog_of(table: str) -> str:
    """Return the name of the topic that holds a table's changelog."""
    return f"{APP_ID}-{table}-changelog"


def group_of(role: str) -> str:
    """Return the name of a role's consumer group."""
    return f"{APP_ID}-{role}"


#: Bytes of one message at most, which is one record batch: a fetched page, or a pack of facts.
MESSAGE_BYTES = 16 * MIB
#: Bytes of one group's changed rows at most: they are one record batch, appended whole or not at all. A broker
#: takes no request beyond 100 MiB (``socket.request.max.bytes``).
GROUP_BYTES = 64 * MIB


@dataclass(frozen=True)
class Declared:
    """A topic as a broker must have it."""

    name: str
    partitions: int
    configs: dict[str, str] = field(hash=False)


def declared(partitions: int, replication: int = 1) -> list[Declared]:
    """Return every topic, then every table's changelog, where topics that shard have ``partitions``.

    With three replicas or more, a message counts as written when two have it.
    """
    common = {
        "min.insync.replicas": "2" if replication >= 3 else "1",
        "unclean.leader.election.enable": "false",
        # The broker's clock: a client's that jumps would drop messages early, or keep them for ever.
        "message.timestamp.type": "LogAppendTime",
    }
    topics = [
        Declared(topic.name, partitions if topic.shards else 1, common | _configs(topic)) for topic in TOPICS
    ]
    changelogs = [
        Declared(changelog_of(table), partitions, common | _compacted(GROUP_BYTES)) for table in TABLES
    ]
    return topics + changelogs


def _configs(topic: Topic) -> dict[str, str]:
    if topic.retention is None:
        return _compacted(MESSAGE_BYTES)
    return {
        "cleanup.policy": "delete",
        "retention.ms": str(topic.retention * 1000),
        "retention.bytes": str(topic.size),
        # A segment is deleted whole: nothing is kept for more than an eighth beyond its time.
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
        # Replaced and deleted rows, a forgotten user's for one, are gone a day later.
        "max.compaction.lag.ms": str(DAY * 1000),
        # A table on a worker's disk that lags by more than this misses deletions.
        "delete.retention.ms": str(7 * DAY * 1000),
    }
