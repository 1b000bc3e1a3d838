"""From the lines of logs to the page views of sites."""

import secrets

from agents.depth.places import Places
from agents.depth.sites import Sites
from agents.lab.progress import Progress
from agents.observation.logfile import LogFile
from agents.observation.observer import Observer
from models.depth.applications import unbrowsed
from models.depth.sessions import ELSEWHERE
from streams.records import Access
from streams.settings import ObserveSettings

#: Lines between two steps of the progress display.
_STEP = 1_000


class Reader:
    """Reads logs into sites: whom a line names is known only by a pseudonym, whose key is gone at the end.

    ``everywhere`` is for `Observer`.
    """

    def __init__(self, settings: ObserveSettings, places: Places, sites: Sites, *, everywhere: bool) -> None:
        self._observer = Observer(settings, secrets.token_bytes(32), everywhere=everywhere)
        self._places = places
        self._sites = sites

    def read(self, source: str, progress: Progress) -> None:
        """Read a log to its end; raises `LogFileError` and `LogFormatError`."""
        observer = self._observer.another()
        with LogFile(source) as log:
            observer.recognise(log.sample)
            if log.size is not None:
                progress.phase(f"read {log.name}, bytes", log.size)
            consumed = 0
            for number, line in log:
                self._take(observer, line)
                if log.size is not None and number % _STEP == 0:
                    consumed, before = log.consumed, consumed
                    progress.advance(consumed - before)
            if log.size is not None:
                progress.advance(log.size - consumed)

    @property
    def passed(self) -> dict[str, int]:
        """How many lines are no page views, by reason."""
        return {**self._observer.filtered, "malformed": self._observer.malformed}

    @property
    def lines(self) -> int:
        """How many lines were read."""
        return self._observer.lines

    def _take(self, observer: Observer, line: bytes) -> None:
        access = observer.observe(line)
        if not isinstance(access, Access):
            return
        page = self._places.page(access.url)
        reason = unbrowsed(access.url) if page is not None else "another site"
        if reason:
            self._sites.passed[reason] += 1
        if reason or page is None:
            return
        site = self._sites.site(page.site)
        if site is None:
            return
        referrer = self._places.referrer(access.referrer, page.site)
        if referrer and access.referrer is not None and unbrowsed(access.referrer):
            referrer = ELSEWHERE
        originals = self._sites.originals
        visitor = f"{access.user} {observer.agent(line)}"
        if referrer is not None:
            referrer = originals.get(referrer, referrer)
        site.view(visitor, access.time, originals.get(page.name, page.name), referrer)
