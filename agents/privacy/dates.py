"""By when a broker is rid of what was replaced, and of what is left to its time, as the topics are declared."""

from streams.topic_configs import declared
from streams.topics import APP_ID, HOUR, TABLES, Topic, changelog_of

#: What a broker takes at most until it looks again for what may go, and has removed it.
LOOK_SECONDS = HOUR
#: One of the topics that are compacted: all have the same times.
_CHANGELOG = changelog_of(APP_ID, next(iter(TABLES)))


def gone_at(topic: Topic, written: float) -> float:
    """Return by when a message is gone that was written at a time, in seconds: its segment goes as a whole."""
    return written + _seconds(topic.name, "retention.ms") + _seconds(topic.name, "segment.ms") + LOOK_SECONDS


def replaced_at(written: float) -> float:
    """Return by when compaction has removed rows in whose place others were written at a time, in seconds."""
    return written + _seconds(_CHANGELOG, "max.compaction.lag.ms") + LOOK_SECONDS


def deleted_at(written: float) -> float:
    """Return by when the keys that were deleted at a time are gone, too: one compaction later."""
    return replaced_at(replaced_at(written) + _seconds(_CHANGELOG, "delete.retention.ms"))


def _seconds(topic: str, key: str) -> float:
    [found] = (each for each in declared(1) if each.name == topic)
    return int(found.configs[key]) / 1000
