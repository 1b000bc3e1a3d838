"""Messages that a broker keeps for a time: what of them is deleted when a user is forgotten.

Raw lines, sightings and evidence are of no use to anybody once they are taken in. Accesses are: an audit
recounts from them, as long as all are kept, which is in a crawl's first week. For that week they stay.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from streams.settings import Settings
from streams.topics import ACCESSES, DEAD_LETTERS, EVIDENCE, INBOXES, PROXY_LOG, SIGHTINGS, Topic, group_of
from streams.transport.kafka.admin import Admin, kept
from streams.transport.waiting import Place


@dataclass
class Deleted:
    """How many messages were deleted, by topic, and how many on `proxy-log` nobody has read yet: they stay."""

    messages: dict[str, int] = field(default_factory=dict)
    unread: int = 0


def delete_taken_in(admin: Admin, partitions: Mapping[str, int], done: Deleted) -> None:
    """Delete messages that may bear a pseudonym, or a name, up to where those who read them have committed.

    How many they were is added to ``done``.
    """
    for role, topic in INBOXES.items():
        if topic not in (PROXY_LOG, ACCESSES, SIGHTINGS, EVIDENCE):
            continue
        places = [(topic.name, partition) for partition in range(partitions[topic.name])]
        starts = admin.starts(places)
        if topic is ACCESSES and not any(starts.values()):
            continue
        committed = admin.committed(group_of(role))
        taken_in = {place: max(starts[place], committed.get(place, 0)) for place in places}
        admin.delete_before(taken_in)
        done.messages[topic.name] = done.messages.get(topic.name, 0) + _apart(starts, taken_in)
        if topic is PROXY_LOG:
            done.unread = _apart(taken_in, admin.ends(places))


def left(settings: Settings, partitions: Mapping[str, int], pseudonym: str) -> dict[Topic, float]:
    """Return the topics whose messages still bear a pseudonym, and when the last was written, in seconds."""
    found: dict[Topic, float] = {}
    for topic in (ACCESSES, DEAD_LETTERS):
        for partition in range(partitions[topic.name]):
            for entry in kept(settings, topic.name, partition):
                if pseudonym.encode() in (entry.value or b""):
                    found[topic] = max(entry.timestamp, found.get(topic, 0.0))
    return found


def _apart(first: Mapping[Place, int], last: Mapping[Place, int]) -> int:
    return sum(last[place] - offset for place, offset in first.items())
