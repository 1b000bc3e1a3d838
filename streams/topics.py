"""Every topic, declared once: this file is the topology.

A record's partition is decided by `partition_of` on the key column's value, so that all that concerns a host,
a user, a feature or a URL meets in one place.
"""

import zlib
from dataclasses import dataclass

#: Begins the names of changelogs and of consumer groups.
APP_ID = "scentline"

HOUR = 3600
DAY = 24 * HOUR


@dataclass(frozen=True)
class Topic:
    """One topic: what its messages are, how they are partitioned and kept, who writes and who reads.

    ``shards`` is False for a topic that always has one partition; ``retention`` is in seconds, None with
    ``compacted`` (the newest message of each key is kept for ever). ``most`` bounds the messages that the
    embedded log keeps of a partition; on Kafka bytes are bounded (`streams.topic_configs`). ``fenced`` is True
    where each partition has one writer at a time, by the broker's word
    (`streams.transport.publisher.Publisher.take_over`).
    """

    name: str
    key: str
    record: str
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    retention: int | None = 7 * DAY
    compacted: bool = False
    shards: bool = True
    most: int | None = None
    fenced: bool = False


PROXY_LOG = Topic(
    "proxy-log", "any", "one raw log line (bytes)",
    writers=("log shippers",), readers=("observe",),
)  # fmt: skip
ACCESSES = Topic(
    "accesses", "user", "Pack[Access]",
    writers=("observe", "feed", "crawl"), readers=("browse", "audit"),
)  # fmt: skip
SIGHTINGS = Topic(
    "sightings", "host of the URL", "Pack[Sighting]",
    writers=("browse", "judge", "fetch", "frontier", "crawl", "control"), readers=("frontier",),
)  # fmt: skip
FETCHES = Topic(
    "fetches", "host of the URL", "FetchOrder",
    writers=("frontier",), readers=("fetch",), retention=DAY,
)  # fmt: skip
PAGES = Topic(
    "pages", "host of the URL", "FetchedPage",
    writers=("fetch",), readers=("judge",), retention=DAY,
)  # fmt: skip
OUTCOMES = Topic(
    "outcomes", "URL", "Outcome (JSON)",
    writers=("judge",), readers=("harvest", "matches", "audit", "people"), retention=30 * DAY,
)  # fmt: skip
EVIDENCE = Topic(
    "evidence", "feature or predicate", "Pack[Evidence]",
    writers=("frontier", "state import"), readers=("learn",),
)  # fmt: skip
INTERESTS = Topic(
    "interests", "feature", "Interest",
    writers=("learn",), readers=("frontier", "learn (every worker reads all of it)"),
    retention=None, compacted=True,
)  # fmt: skip
HARVEST = Topic(
    "harvest", "predicate", "HarvestPoint (JSON)",
    writers=("harvest",), readers=("crawl", "people"), retention=30 * DAY, fenced=True,
)  # fmt: skip
HARVEST_PARTS = Topic(
    "harvest-parts", "predicate and partition", "HarvestPart",
    writers=("harvest",), readers=("harvest (every worker reads all of it)",),
    retention=None, compacted=True, shards=False,
)  # fmt: skip
PREDICATES = Topic(
    "predicates", "name", "PredicateDefinition (JSON)",
    writers=("crawl", "control"), readers=("judge", "frontier", "learn (every worker reads all of it)"),
    retention=None, compacted=True, shards=False,
)  # fmt: skip
DEAD_LETTERS = Topic(
    "dead-letters", "any", "DeadLetter",
    writers=("observe", "feed", "every agent"), readers=("people",), retention=30 * DAY, shards=False,
    most=20_000,
)  # fmt: skip

LOG_POSITIONS = Topic(
    "log-positions", "the log's fingerprint", "LogPosition",
    writers=("feed", "crawl"), readers=("feed", "crawl"),
    retention=None, compacted=True, shards=False,
)  # fmt: skip

TOPICS: tuple[Topic, ...] = (
    PROXY_LOG, ACCESSES, SIGHTINGS, FETCHES, PAGES, OUTCOMES, EVIDENCE, INTERESTS, HARVEST, HARVEST_PARTS,
    PREDICATES, DEAD_LETTERS, LOG_POSITIONS,
)  # fmt: skip

#: The stateful agents' tables, each with the topic that is its inbox.
TABLES: dict[str, Topic] = {
    "users": ACCESSES,
    "duplicates": PAGES,
    "frontier": SIGHTINGS,
    "interests": EVIDENCE,
    "harvest": OUTCOMES,
}

#: What the consumer group of each role reads.
INBOXES: dict[str, Topic] = {
    "observe": PROXY_LOG,
    "browse": ACCESSES,
    "frontier": SIGHTINGS,
    "fetch": FETCHES,
    "judge": PAGES,
    "learn": EVIDENCE,
    "harvest": OUTCOMES,
}


def partition_of(key: str | bytes, partitions: int) -> int:
    """Return the partition of ``key`` among ``partitions``: CRC-32 of its UTF-8 bytes, the same for ever.

    >>> partition_of("example.org", 1)
    0
    >>> partition_of("example.org", 4) == partition_of(b"example.org", 4)
    True
    """
    data = key.encode() if isinstance(key, str) else key
    return zlib.crc32(data) % partitions


def changelog_of(app_id: str, table: str) -> str:
    """Return the name of the topic that holds a table's changelog.

    >>> changelog_of("scentline", "frontier")
    'scentline-frontier-changelog'
    """
    return f"{app_id}-{table}-changelog"


def group_of(role: str) -> str:
    """Return the name of a role's consumer group.

    >>> group_of("judge")
    'scentline-judge'
    """
    return f"{APP_ID}-{role}"
