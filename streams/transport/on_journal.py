"""What Faust's consumer and producer over a journal have in common."""

from typing import Any

from mode import Service

from streams.transport.declaration import declare
from streams.transport.journal import Journal


class OnJournal(Service):
    """Has its transport's journal open while it runs, and makes topics in it."""

    transport: Any
    _journal: Journal

    async def on_start(self) -> None:
        """Open the journal."""
        self._journal = self.transport.open_journal()
        await super().on_start()

    async def on_shutdown(self) -> None:
        """Close the journal: nothing reads, appends or commits any more."""
        await super().on_shutdown()
        self._journal.close()

    async def create_topic(
        self,
        topic: str,
        partitions: int,
        replication: int,
        *,
        retention: Any = None,
        compacting: bool | None = None,
        **_: Any,
    ) -> None:
        """Make a topic in the journal."""
        declare(self._journal, topic, partitions, retention, compacting)
