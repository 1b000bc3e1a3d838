"""The assignment of every partition to this one process, by Faust's own assignor."""

from collections.abc import Mapping
from typing import Any

MEMBER = "embedded"


class _Topics:
    """The part of a Kafka client's cluster metadata that Faust's assignor asks for."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts

    def partitions_for_topic(self, topic: str) -> set[int]:
        return set(range(self._counts.get(topic, 0)))


def assign_everything(assignor: Any, counts: Mapping[str, int]) -> None:
    """Run one round of the group protocol with this process as the only member.

    ``counts`` holds the number of partitions of every topic subscribed to.
    """
    member = assignor.metadata(set(counts))
    assignments = assignor.assign(_Topics(counts), {MEMBER: member})
    assignor.on_assignment(assignments[MEMBER])
