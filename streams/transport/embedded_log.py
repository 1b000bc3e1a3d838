"""The embedded log of a data directory, as a worker is connected to it."""

import time

import faust

from streams.app import create_app
from streams.settings import Settings
from streams.transport.journal import Journal
from streams.transport.publisher import JournalPublisher


class EmbeddedLog:
    """A journal in this process; all roles share one app, whose messages never leave the process.

    Who made the ``journal`` closes it.
    """

    def __init__(self, settings: Settings, journal: Journal) -> None:
        self.journal = self.reader = journal
        self.publisher = JournalPublisher(journal, time.time)
        self._app = create_app(settings)

    def app(self, role: str) -> faust.App:
        """Return the app of all roles."""
        return self._app
