"""The log that a process is connected to: where its messages go, and what its agents run on."""

from typing import Protocol

import faust

from streams.transport.publisher import Publisher
from streams.transport.reader import LogReader


class Log(Protocol):
    """A log with every topic made, connected to: the embedded one, or Kafka."""

    @property
    def publisher(self) -> Publisher:
        """What sends messages to it."""

    @property
    def reader(self) -> LogReader:
        """What reads it directly, in no consumer group."""

    def app(self, role: str) -> faust.App:
        """Return the Faust app that a role runs in; several roles may share one."""
