"""Events of the program's own log, as its parts write them; `streams.logging` formats them.

Fields that would name a person are refused where they are written.
"""

import logging
from collections.abc import Mapping

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
