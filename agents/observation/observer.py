"""What is made of one log line: an access, or why there is none."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

import msgspec

from agents.observation.pseudonym import Pseudonyms
from models.accesslog.entry import Entry, LogLineError, text_of
from models.accesslog.filter import page_view
from models.accesslog.recognise import FORMATS, recognise
from models.url import canonical, without_query
from streams.records import Access
from streams.settings import ObserveSettings

_log = logging.getLogger(__name__)


class Filtered(msgspec.Struct, frozen=True):
    """A line that is not the view of a page that could be crawled; why is "method", "status", ..."""

    reason: str


class Malformed(msgspec.Struct, frozen=True):
    """A line that could not be read; the reason does not quote it."""

    reason: str


Observed: TypeAlias = Access | Filtered | Malformed


class Observer:
    """Reads log lines one by one and counts what became of them.

    Every line is exactly one of ``accepted``, ``filtered`` (by reason: those of `page_view`, then "site" for
    a path without a site, "url" for a URL that can't be crawled) and ``malformed``. The format is the one in
    the settings; with "auto" each line may be of any format, since one observer may serve several logs and
    senders: the format that `recognise` found is tried first.

    Raises ValueError when ``observe.base_url`` is no site.
    """

    def __init__(self, settings: ObserveSettings, key: bytes) -> None:
        self.accepted: int = 0
        self.filtered: dict[str, int] = {}
        self.malformed: int = 0
        self._pseudonyms: Final = Pseudonyms(key)
        self._site: Final = _site(settings.base_url)
        self._keep_query: Final = settings.keep_query
        self._auto: Final = settings.format == "auto"
        self._likely: Callable[[str], Entry] | None = None if self._auto else FORMATS[settings.format]

    @property
    def lines(self) -> int:
        """How many lines were observed."""
        return self.accepted + sum(self.filtered.values()) + self.malformed

    def recognise(self, lines: Sequence[bytes]) -> None:
        """Look at a log's first lines: with "auto", raises `LogFormatError` when no format fits them.

        Without lines (an empty log) there is nothing to recognise.
        """
        if lines and self._auto:
            self._likely = FORMATS[recognise(lines)]

    def observe(self, line: bytes) -> Observed:
        """Return the access that a raw line tells of, or why it tells of none."""
        try:
            entry = self._entry(text_of(line))
        except LogLineError as error:
            self.malformed += 1
            return Malformed(str(error))
        reason = page_view(entry)
        if reason is not None:
            return self._filter(reason)
        url = entry.url
        if url.startswith("/"):
            if self._site is None:
                return self._filter("site")
            url = self._site + url
        known_as = self._canonical(url)
        if known_as is None:
            return self._filter("url")
        self.accepted += 1
        return Access(
            self._pseudonyms.of(entry.user or entry.client),
            known_as,
            entry.time,
            None if entry.referrer is None else self._canonical(entry.referrer),
            entry.status,
            entry.content_type,
        )

    def _entry(self, line: str) -> Entry:
        failure: LogLineError | None = None
        if self._likely is not None:
            try:
                return self._likely(line)
            except LogLineError as error:
                failure = error
        if self._auto:
            for parse in FORMATS.values():
                with suppress(LogLineError):
                    return parse(line)
        raise failure or LogLineError(f"of no known format ({', '.join(FORMATS)})")

    def _canonical(self, url: str) -> str | None:
        found = canonical(url)
        return found if found is None or self._keep_query else without_query(found)

    def _filter(self, reason: str) -> Filtered:
        if reason == "site" and reason not in self.filtered:
            _log.warning(
                "observe: the log has lines with a path only and no site is set: they are left out; name the "
                "site with observe.base_url, such as https://example.org"
            )
        self.filtered[reason] = self.filtered.get(reason, 0) + 1
        return Filtered(reason)


def _site(base_url: str | None) -> str | None:
    """Return the scheme and host of the site whose paths a log holds (a log's path is from the root)."""
    if base_url is None:
        return None
    known_as = canonical(base_url)
    if known_as is None:
        raise ValueError(f"observe.base_url is {base_url!r}, expected a site such as https://example.org")
    return "/".join(known_as.split("/", 3)[:3])
