"""How far each role's consumer group is behind the end of what it reads."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scentline.streams.settings import Settings
from scentline.streams.topics import INBOXES, group_of
from scentline.streams.transport.kafka.admin import Admin


class Lag(NamedTuple):
    """One partition: offsets of its end and of what the group has committed, and the messages that wait.

    ``committed`` is None where the group has committed nothing: then all that is kept waits. ``dropped`` are
    messages that the group has not read and never will, for the broker keeps them no more.
    """

    group: str
    topic: str
    partition: int
    end: int
    committed: int | None
    lag: int
    dropped: int


def lags(settings: Settings, roles: Iterable[str] = tuple(INBOXES)) -> Iterator[Lag]:
    """Yield the lag of every partition of the roles' groups, all in the order in which messages flow.

    Raises `streams.transport.kafka.admin.AdminError`; a topic that is missing is passed over.
    """
    with Admin(settings) as admin:
        inboxes = {role: INBOXES[role] for role in roles}
        found = admin.topics(topic.name for topic in inboxes.values())
        for role, topic in inboxes.items():
            if topic.name not in found:
                continue
            places = [(topic.name, partition) for partition in range(found[topic.name].partitions)]
            # What was committed before the ends are asked for is never beyond them.
            committed = admin.committed(group_of(role))
            starts, ends = admin.starts(places), admin.ends(places)
            for place in places:
                yield _lag(group_of(role), place, starts[place], ends[place], committed.get(place))


def _lag(group: str, place: tuple[str, int], start: int, end: int, committed: int | None) -> Lag:
    dropped = 0 if committed is None else max(start - committed, 0)
    lag = end - max(start, committed or 0)
    return Lag(group, *place, end, committed, lag, dropped)
