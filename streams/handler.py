"""What a stateful agent is to its inbox."""

from typing import Any, Generic, TypeVar

from streams.inbox import Shard

Row = TypeVar("Row")


class Handler(Generic[Row]):
    """What a stateful agent does with facts: `absorb`, and what else it has a use for.

    Each method is synchronous and touches its shard only.
    """

    def opened(self, shard: Shard[Row]) -> None:
        """A partition became ours and its rows are recovered."""

    def closed(self, shard: Shard[Row]) -> None:
        """A partition is no longer ours; what was kept of it in memory must go."""

    def absorb(self, shard: Shard[Row], fact: Any) -> None:
        """Change rows and emit, as a function of the rows and the fact alone."""
        raise NotImplementedError

    def committed(self, shard: Shard[Row]) -> None:
        """A group of the shard is safe."""

    def restored(self, shard: Shard[Row]) -> None:
        """The open group was taken back, and its messages come again; what was kept of it in memory must go."""

    def refused(self, shard: Shard[Row], value: bytes) -> None:
        """A message, or a fact of it, was quarantined: whoever waits for an answer must be given one."""
