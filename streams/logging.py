"""The program's own log: structured, one event per line on standard error, safe to read and to keep.

Values are bounded and escaped, so that hostile text can't forge a line or move a terminal's cursor; URLs lose
their login, query string and fragment; fields that would name a person are refused where they are written.
"""

import errno
import json
import logging
import math
import re
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

from scentline.models.errors import ROOT, ScentlineError

if TYPE_CHECKING:
    from scentline.streams.settings import LogSettings

TEXT_LIMIT = 500  # characters of a value
TRACEBACK_LIMIT = 4000  # characters of a traceback, its end

#: Names of fields that hold a URL or a part of one.
URLS = frozenset({"url", "path", "target", "referrer", "parent", "child", "seed", "proxy"})
_URL = re.compile(r"(?<=://)(?:[^\s/?#@]*@)?([^\s?#]*)(?:[?#]\S*)?")
_BARE = re.compile(r"[^\s\"=]+")
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
#: A full disk, no rights, no descriptors, a read-only file system, a failing disk.
_NUMBERS = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE,
    errno.EIO, errno.ENOMEM, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ESTALE,
})  # fmt: skip
#: RocksDB's errors have no types, only texts; some are OSErrors without a number.
_STORAGE = re.compile(r"(?:IO error|No space left|Corruption)\b|.*\(os error \d+\)\Z", re.DOTALL)


def configure(settings: "LogSettings") -> None:
    """Send all events to standard error, other libraries' from warnings up, Kafka clients' at debug only."""
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _StandardError)]:
        root.removeHandler(handler)
    handler = _StandardError()
    handler.setFormatter(EventFormatter(json_lines=settings.json_lines))
    if settings.level != "debug":
        handler.addFilter(_of_no_client)
    root.addHandler(handler)
    level = _LEVELS[settings.level]
    root.setLevel(max(level, logging.WARNING))
    logging.getLogger(ROOT).setLevel(level)
    # The parts of the transport are Faust services, which log their every start and stop.
    logging.getLogger("scentline.streams.transport").setLevel(max(level, logging.WARNING))
    # On a busy machine it warns of each late timer; the health check reports a stuck loop.
    logging.getLogger("mode.timers").setLevel(logging.ERROR)
    logging.captureWarnings(True)


def _of_no_client(record: logging.LogRecord) -> bool:
    """Drop what Kafka's clients log of each attempt: a loss is logged once, lasting errors are raised."""
    return record.name.partition(".")[0] not in ("aiokafka", "kafka")


class EventFormatter(logging.Formatter):
    """``2026-01-01T00:00:00.000Z info frontier: lease expired attempts=2``, or an event as one JSON object."""

    def __init__(self, *, json_lines: bool = False) -> None:
        super().__init__()
        self._json_lines = json_lines

    def format(self, record: logging.LogRecord) -> str:
        """Return the event's line."""
        event = _event(record)
        if self._json_lines:
            return json.dumps(event, ensure_ascii=False)
        head = f"{event.pop('time')} {event.pop('level')} {event.pop('name')}: {event.pop('event')}"
        return " ".join([head, *(f"{name}={_bare(value)}" for name, value in event.items())])


def printable(text: str, limit: int = TEXT_LIMIT) -> str:
    r"""Return ``text`` on one line, escaped and bounded.

    >>> printable("a\nb\x1b[2J")
    'a\\nb\\x1b[2J'
    """
    if len(text) > limit:
        text = text[:limit] + "..."
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def without_query(text: str) -> str:
    """Return ``text`` with every absolute URL in it cut to scheme, host and path.

    >>> without_query("can't fetch https://me:pw@example.org/a?q=secret#top: timed out")
    "can't fetch https://example.org/a timed out"
    """
    return _URL.sub(r"\1", text) if "://" in text else text


def of_the_machine(error: BaseException) -> bool:
    """Return whether an error is the machine's, such as a full disk.

    >>> of_the_machine(OSError(errno.ENOSPC, "No space left on device"))
    True
    >>> of_the_machine(Exception("IO error: while open a file for lock: /data/LOCK: Too many open files"))
    True
    >>> of_the_machine(TimeoutError()), of_the_machine(ValueError("IO error"))
    (False, False)
    """
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in _NUMBERS
    return type(error) in (Exception, OSError) and _STORAGE.match(str(error)) is not None


def told(error: BaseException) -> str:
    """Return the text of a machine's error: the file, if it has one, and what is wrong.

    >>> told(OSError(errno.ENOSPC, "No space left on device", "data/policy"))
    'data/policy: No space left on device'
    >>> told(OSError(errno.ENOSPC, "No space left on device"))
    'writing output: No space left on device'
    """
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'writing output'}: {error.strerror}"
    return f"{error}"


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to the current standard error, which a live display may have replaced."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, _: TextIO) -> None:
        raise AttributeError("the stream is always standard error")


def _event(record: logging.LogRecord) -> dict[str, Any]:
    time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    event: dict[str, Any] = {
        "time": time.removesuffix("+00:00") + "Z",
        "level": record.levelname.lower(),
        "name": printable(record.name.removeprefix(f"{ROOT}.")),
        "event": _text(record.getMessage().strip()),
    }
    fields: Mapping[str, object] = getattr(record, "fields", {})
    for name, value in fields.items():
        event[name] = _value(name, value)
    if record.exc_info and record.exc_info[1] is not None and not _explains_itself(record.exc_info[1]):
        lines = "".join(traceback.format_exception(record.exc_info[1]))
        event["traceback"] = printable(without_query(lines[-TRACEBACK_LIMIT:]), 2 * TRACEBACK_LIMIT)
    return event


def _explains_itself(error: BaseException) -> bool:
    """Return whether a traceback would add nothing to an error's text for those who can fix it."""
    return (isinstance(error, ScentlineError) and error.explains_itself) or of_the_machine(error)


def _value(name: str, value: object) -> str | int | float | bool | None:
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)
    if name in URLS or name.endswith("_url"):
        text = re.split(r"[?#]", text[: 4 * TEXT_LIMIT], maxsplit=1)[0]
    return _text(text)


def _text(text: str) -> str:
    # Cut first: the search for URLs must not cost more than what can be shown.
    return printable(without_query(text[: 4 * TEXT_LIMIT]))


def _bare(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if _BARE.fullmatch(text) else json.dumps(text, ensure_ascii=False)
