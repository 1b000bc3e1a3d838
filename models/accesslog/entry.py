"""One line of an access log, whatever its format."""

import re

import msgspec

from scentline.models.errors import ScentlineError

MAX_LINE = 8192
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")


class LogLineError(ScentlineError, ValueError):
    """A line that is not of the format it was read as.

    The text says what is wrong and never quotes the line, which would tell who its user was.
    """

    explains_itself = False


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One request as a log line tells it.

    ``client`` is the client's address, ``user`` the authenticated user, if any. ``time`` is in seconds since
    the epoch, ``size`` in bytes, 0 where it is not known. ``url`` is as written: absolute, or a path where the
    log is a single site's.
    ``method`` and ``url`` are "-" where no request came, ``status`` is 0 where there was no answer.
    """

    client: str
    user: str | None
    time: float
    method: str
    url: str
    status: int
    size: int
    content_type: str | None = None
    referrer: str | None = None
    agent: str | None = None


def cut_short(action: str) -> bool:
    """Return whether an answer did not reach its client as a whole, by what Squid says that it did.

    >>> cut_short("TCP_MISS_ABORTED"), cut_short("TCP_MISS")
    (True, False)
    """
    return action.endswith(("_ABORTED", "_TIMEDOUT"))


def text_of(line: bytes) -> str:
    r"""Return a raw line as ASCII text without its line end, for a format's parser.

    Bytes beyond ASCII, valid UTF-8 or not, are percent-encoded, which is what they mean in a URL. Raises
    `LogLineError` for an empty line and for one of more than 8,192 bytes.

    >>> text_of(b"GET /caf\xc3\xa9 \xff\r\n")
    'GET /caf%C3%A9 %FF'
    """
    line = line.rstrip(b"\r\n")
    if not line:
        raise LogLineError("empty line")
    if len(line) > MAX_LINE:
        raise LogLineError(f"more than {MAX_LINE} bytes")
    if not line.isascii():
        line = _BEYOND_ASCII.sub(lambda match: b"%%%02X" % ord(match[0]), line)
    return line.decode("ascii")
