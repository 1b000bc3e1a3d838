"""The index of a crawl, of which each step of work is short: whoever has it says how often there is one."""

import sqlite3
from pathlib import Path

from scentline.agents.window.index import changes, hosts, letters, pages, texts
from scentline.agents.window.index.changes import ChangeIndex
from scentline.agents.window.index.hosts import HostIndex
from scentline.agents.window.index.letters import LetterIndex
from scentline.agents.window.index.newest import NewestPages
from scentline.agents.window.index.pages import PageIndex
from scentline.agents.window.index.store import Store
from scentline.agents.window.index.texts import TextIndex
from scentline.streams.logging import EventLog
from scentline.streams.transport.journal import Journal

log = EventLog("window")


class Index:
    """What is looked up by other keys than the crawl's; all of it belongs to one thread.

    A step takes 50 ms at most, so that a view waits no longer.
    """

    def __init__(self, data: Path, journal: Journal) -> None:
        schema = pages.SCHEMA + changes.SCHEMA + texts.SCHEMA + hosts.SCHEMA + letters.SCHEMA
        self._store = Store(data, journal, schema)
        self._data = data
        self._open(journal)

    def _open(self, journal: Journal) -> None:
        self._journal = journal
        self.pages = PageIndex(self._store, journal)
        self.newest = NewestPages(self.pages, journal)
        self.changes = ChangeIndex(self._store, journal)
        self.texts = TextIndex(self._store, self._data)
        self.hosts = HostIndex(self._store, journal, self.pages)
        self.letters = LetterIndex(self._store, journal)
        self._parts: list[PageIndex | ChangeIndex | TextIndex | HostIndex | LetterIndex] = [
            self.pages, self.changes, self.texts, self.hosts, self.letters,
        ]  # fmt: skip

    def step(self) -> bool:
        """Do a piece of the work that there is, of each part in turn; return whether there is more."""
        self._parts = [*self._parts[1:], *self._parts[:1]]
        try:
            return any(part.step() for part in reversed(self._parts))
        except sqlite3.DatabaseError as error:
            log.warning("the index is made anew", reason=str(error))
            self._begin_anew(lasting=not isinstance(error, sqlite3.OperationalError))
            return True

    def _begin_anew(self, *, lasting: bool) -> None:
        """Go on with an empty one: the other is damaged or, where it is not ``lasting``, has no room."""
        self.texts.close()
        try:
            self._store.begin_anew(lasting=lasting)
            self._open(self._journal)
        except sqlite3.DatabaseError as error:
            log.error("there is no index any more", reason=str(error))
            self._parts = []

    def close(self) -> None:
        """Let go of it."""
        self.texts.close()
        self._store.close()
