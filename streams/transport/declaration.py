"""Topics as Faust declares them."""

from typing import Any

from mode.utils.times import want_seconds

from streams.transport.journal import Journal
from streams.transport.layout import TopicMeta


def declare(
    journal: Journal, topic: str, partitions: int, retention: Any = None, compacting: bool | None = None
) -> None:
    """Make a topic; what the declaration leaves open stays as it is for a topic that exists.

    ``retention`` is in seconds or a timedelta. Raises `ValueError` when the topic exists with another number
    of partitions.
    """
    known = journal.topics().get(topic) or TopicMeta(0, partitions)
    journal.create_topic(
        topic,
        partitions,
        retention=known.retention if retention is None else want_seconds(retention),
        compacted=known.compacted if compacting is None else compacting,
        most=known.most,
    )
