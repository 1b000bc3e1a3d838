"""The base of this program's errors, the classification of failures, and log events.

An event refuses fields that would identify a person; `streams.logging` formats events.
"""

import logging
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar


class ScentlineError(Exception):
    """Base class of the errors that this program raises.

    If it ``explains_itself``, its text is all that users need: what was done, the value, and what was
    expected. A command exits with it as one line, and a log shows no traceback. Otherwise it is internal: it
    should not reach users, and comes with its traceback if it does.

    >>> class MapError(ScentlineError):
    ...     "A map that can't be read."
    >>> MapError("map.txt: empty; expected one line a place").explains_itself
    True
    """

    explains_itself: ClassVar[bool] = True


class StorageError(ScentlineError):
    """A failed write to disk, or damaged data on it; the text says which and where."""


#: Failures of the machine: a disk, a socket, a file that can't be opened, no memory left.
MACHINE = (OSError, MemoryError, StorageError)

_ROOT = Path(__file__).parents[1]


def quarantinable(error: BaseException) -> bool:
    """Return whether an error is the fault of the record being processed, not of the machine."""
    return isinstance(error, Exception) and not isinstance(error, MACHINE)


def cause(error: BaseException) -> str:
    """Return an error's type and the function it came from, without its text: that may quote anything.

    >>> from scentline.models.records import encode
    >>> try:
    ...     encode(object())
    ... except TypeError as error:
    ...     cause(error)
    'TypeError in models/records.py, encode'
    """
    kind = type(error).__name__
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(_ROOT):
            return f"{kind} in {path.relative_to(_ROOT)}, {frame.name}"
    return kind


ROOT = "scentline"

#: Names of fields that would put a person's identity, or a secret, into the log.
PERSONAL = frozenset({
    "address", "authorization", "client", "client_ip", "cookie", "cookies", "email", "ip", "login",
    "password", "remote_addr", "remote_user", "secret", "token", "user", "user_id", "user_key", "username",
    "users", "visitor", "visitors",
})  # fmt: skip
RESERVED = frozenset({"time", "level", "name", "event"})  #: Names that every event carries already.
_REFUSED = PERSONAL | RESERVED


class EventLog:
    """Logs a part's events: a constant text and named values; a refused name is a ValueError at any level."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"{ROOT}.{name}")

    def debug(self, event: str, /, **fields: object) -> None:
        """Log a detail for debugging."""
        self._write(logging.DEBUG, event, fields)

    def info(self, event: str, /, **fields: object) -> None:
        """Log a normal event."""
        self._write(logging.INFO, event, fields)

    def warning(self, event: str, /, **fields: object) -> None:
        """Log what needs attention."""
        self._write(logging.WARNING, event, fields)

    def error(self, event: str, /, *, cause: BaseException | None = None, **fields: object) -> None:
        """Log a failure; ``cause`` adds its traceback."""
        self._write(logging.ERROR, event, fields, cause)

    def _write(
        self, level: int, event: str, fields: Mapping[str, object], cause: BaseException | None = None
    ) -> None:
        if not _REFUSED.isdisjoint(fields):
            refused = ", ".join(sorted(_REFUSED.intersection(fields)))
            raise ValueError(f"log event {event!r}: a field can't be named {refused}")
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", event, exc_info=cause, extra={"fields": fields})
