"""The page views of logs, in the order of their lines, and how far the reading is."""

import secrets
from collections.abc import Iterator

from agents.lab.progress import Progress
from agents.observe.logfile import LogFile
from agents.observe.observer import Observer
from streams.records import Access
from streams.settings import ObserveSettings

#: Lines between two looks at how far the reading is.
_STEP = 1_000
_PER_CENT = 100


class LogReader:
    """Reads logs one after the other; whom a line names is known by a pseudonym that only tells users apart.

    The pseudonyms' ``key`` is drawn by chance, and gone with the reader, unless one is given. ``everywhere`` is
    for `Observer`.
    """

    def __init__(
        self,
        settings: ObserveSettings,
        progress: Progress,
        *,
        everywhere: bool = False,
        key: bytes | None = None,
    ) -> None:
        self._all = Observer(settings, key or secrets.token_bytes(32), everywhere=everywhere)
        self._one = self._all
        self._line = b""
        self._progress = progress

    def read(self, source: str, phase: str | None = None) -> Iterator[Access]:
        """Yield the page views of a log; ``phase`` is what the reading is called.

        Raises `agents.observe.logfile.LogFileError` and `models.accesslog.recognise.LogFormatError`.
        """
        self._one = self._all.another()
        with LogFile(source) as log:
            self._one.recognise(log.sample)
            self._progress.phase(f"{phase or f'read {log.name}'}, per cent", _PER_CENT)
            done = 0
            for number, self._line in log:
                access = self._one.observe(self._line)
                if isinstance(access, Access):
                    yield access
                part = _PER_CENT * log.consumed // log.size if log.size and number % _STEP == 0 else 0
                if part > done:
                    self._progress.advance(part - done)
                    done = part
            if done < _PER_CENT:
                self._progress.advance(_PER_CENT - done)

    @property
    def agent(self) -> str | None:
        """The user agent of the page view that came last."""
        return self._one.agent(self._line)

    @property
    def lines(self) -> int:
        """How many lines of all logs were read."""
        return self._all.lines

    @property
    def passed(self) -> dict[str, int]:
        """How many of them are no page views, by reason."""
        return {**self._all.filtered, "malformed": self._all.malformed}
