"""The index of a crawl, built in short steps that its owner schedules."""

import sqlite3

from scentline.agents.window.index import hosts, pages
from scentline.agents.window.index.hosts import HostIndex
from scentline.agents.window.index.pages import PageIndex
from scentline.agents.window.index.recent import RecentChanges, RecentLetters, RecentPages
from scentline.agents.window.index.store import Store
from scentline.streams.logging import EventLog
from scentline.streams.transport.journal import Journal

log = EventLog("window")


class Index:
    """What is looked up by other keys than the crawl's, in one thread; a step takes 50 ms at most."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.changes = RecentChanges(journal)
        self.letters = RecentLetters(journal)
        self._open()

    def _open(self) -> None:
        self._store = Store(pages.SCHEMA + hosts.SCHEMA)
        self.pages = PageIndex(self._store, self._journal)
        self.newest = RecentPages(self.pages, self._journal)
        self.hosts = HostIndex(self._store, self._journal, self.pages)
        self._parts: list[PageIndex | HostIndex] = [self.pages, self.hosts]

    def step(self) -> bool:
        """Do a piece of the work that there is, of each part in turn; return whether there is more."""
        self._parts = self._parts[::-1]
        try:
            return any(part.step() for part in self._parts)
        except sqlite3.IntegrityError as error:
            log.warning("the index is made anew", reason=str(error))
            self.close()
            self._open()
        except sqlite3.DatabaseError as error:  # it has no room, above all
            log.error("the index stays as it is", reason=str(error))
            self._parts = []
        return True

    def close(self) -> None:
        """Let go of it."""
        self._store.db.close()
