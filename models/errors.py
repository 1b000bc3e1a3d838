"""The base of this program's own errors, whose failure an error is, and the events that its parts log.

Fields of an event that would name a person are refused; `streams.logging` formats events.
"""

import logging
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar


class ScentlineError(Exception):
    """An error that this program raises by itself.

    Where it ``explains_itself``, its text is all that people need: what was done, the value, and what was
    expected. A command ends with that as one line, and a log shows no traceback. Where it does not, it is meant
    for the program: nobody should see it, and who does needs the traceback.

    >>> class MapError(ScentlineError):
    ...     "A map that can't be read."
    >>> MapError("map.txt: empty; expected one line a place").explains_itself
    True
    """

    explains_itself: ClassVar[bool] = True


class StorageError(ScentlineError):
    """The disk does not take what is written, or what it holds is damaged; the text says which and where."""


#: Failures of the machine: a disk, a socket, a file that can't be opened, memory that is used up.
MACHINE = (OSError, MemoryError, StorageError)

_ROOT = Path(__file__).parents[1]


def quarantinable(error: BaseException) -> bool:
    """Tell whether an error is the failure of what was being taken in."""
    return isinstance(error, Exception) and not isinstance(error, MACHINE)


def cause(error: BaseException) -> str:
    """Return the kind of an error and the line of this program it came from; its text may quote anybody.

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
    """Writes a part's events: a constant text and named values; a user's name is a ValueError at any level."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"{ROOT}.{name}")

    def debug(self, event: str, /, **fields: object) -> None:
        """Write what helps to find a fault."""
        self._write(logging.DEBUG, event, fields)

    def info(self, event: str, /, **fields: object) -> None:
        """Write what happened."""
        self._write(logging.INFO, event, fields)

    def warning(self, event: str, /, **fields: object) -> None:
        """Write what somebody should look at."""
        self._write(logging.WARNING, event, fields)

    def error(self, event: str, /, *, cause: BaseException | None = None, **fields: object) -> None:
        """Write what went wrong; ``cause`` adds its traceback."""
        self._write(logging.ERROR, event, fields, cause)

    def _write(
        self, level: int, event: str, fields: Mapping[str, object], cause: BaseException | None = None
    ) -> None:
        if not _REFUSED.isdisjoint(fields):
            refused = ", ".join(sorted(_REFUSED.intersection(fields)))
            raise ValueError(f"log event {event!r}: a field can't be named {refused}")
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "%s", event, exc_info=cause, extra={"fields": fields})
