"""What Faust's consumer and producer over a journal have in common."""

from typing import Any

from mode import Service

from streams.transport.journal import Journal


class OnJournal(Service):
    """Has its transport's journal open while it runs."""

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
