"""A web recorded in WARC files, which answers each URL as recorded."""

import logging
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import BufferedReader, ChunkedDataException, DecompressingBufferedReader
from warcio.exceptions import ArchiveLoadFailed
from warcio.limitreader import LimitReader
from warcio.recordloader import ArcWarcRecord

from scentline.models.errors import ScentlineError
from scentline.models.url import canonical

MAX_BODY = 64 * 1024 * 1024
#: Bytes of a record's headers, HTTP's included: warcio's time grows with the square of a line.
MAX_HEAD = 1024 * 1024
#: Most headers of an answer, and bytes of a value: clients refuse more.
MAX_HEADERS, MAX_VALUE = 64, 4000
_BLOCK = 65536
_GZIP = b"\x1f\x8b"
_UNREADABLE = (ArchiveLoadFailed, ChunkedDataException, EOFError, OSError, ValueError, zlib.error)
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# RFC 9110, section 7.6.1, and the two that the server writes for the body that it sends.
_NOT_FORWARDED = frozenset({
    "connection", "proxy-connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    "proxy-authenticate", "proxy-authorization", "content-length",
})  # fmt: skip

_log = logging.getLogger(__name__)


class ArchiveError(ScentlineError):
    """A file that can't be read as WARC; the text names the file, the byte offset and the reason."""


class CutShortError(ArchiveError):
    """A file that ends inside its last record."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response: ``status`` from 200 to 599, end-to-end ``headers`` in order, and the whole ``body``."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


def plain(status: int, text: str) -> Answer:
    r"""Return an answer of one line of plain text.

    >>> plain(404, "no such page").body
    b'no such page\n'
    """
    return Answer(status, (("Content-Type", "text/plain; charset=utf-8"),), f"{text}\n".encode())


class Archive:
    """The response records of WARC files (plain, or with each record in its own gzip member), by URL.

    The files are read once to index them; the last record of a URL wins. A last record that is cut short is
    left out, with a line in `warnings`. Raises `ArchiveError` for a file that is damaged or not WARC, OSError
    for one that can't be opened.

    A record is read when its URL is requested. Answers carry the recorded status, end-to-end headers and body;
    404 without a record, 502 for a record that can't be served.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self.warnings: list[str] = []
        self._places: dict[str, tuple[Path, BinaryIO, int]] = {}
        with ExitStack() as opened:
            for path in paths:
                self._index(path, opened.enter_context(path.open("rb")))
            self._files = opened.pop_all()

    def __len__(self) -> int:
        return len(self._places)

    def urls(self) -> Iterator[str]:
        """Return the canonical URLs that have a record, in the order of their first records."""
        return iter(self._places)

    def answer(self, url: str, headers: Mapping[str, str]) -> Answer:
        """Return the recorded answer of ``url``; the request's ``headers`` change nothing."""
        asked = canonical(url)
        place = self._places.get(asked) if asked is not None else None
        if place is None:
            return plain(404, "no record of this URL")
        path, _, offset = place
        try:
            recorded, answer = read(*place)
            if canonical(recorded) != asked:
                raise ArchiveError(f"archive {path}, byte {offset}: found another record than when indexed")
        except ArchiveError as error:
            _log.warning("%s", error)
            return plain(502, "the record of this URL can't be read")
        return answer

    def close(self) -> None:
        """Close the files."""
        self._files.close()

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _index(self, path: Path, file: BinaryIO) -> None:
        try:
            for offset, record in records(path, file):
                url = canonical(target_url(record)) if record.rec_type == "response" else None
                if url is not None:
                    self._places[url] = (path, file, offset)
        except CutShortError as error:
            self.warnings.append(f"{error}; the file is cut short there, and this record is left out")


# records


def target_url(record: ArcWarcRecord) -> str:
    """Return a record's target URL, as written."""
    return record.rec_headers.get_header("WARC-Target-URI") or ""


def records(path: Path, file: BinaryIO) -> Iterator[tuple[int, ArcWarcRecord]]:
    """Yield the byte offset and the headers of each record; bodies are skipped.

    Raises `CutShortError` where the file ends inside a record after its first, `ArchiveError` for anything else
    that is not a WARC record.
    """
    offset = 0
    found = ArchiveIterator(file, no_record_parse=True)
    found.reader = lines = _Lines(file)
    try:
        for record in found:
            lines.left = MAX_HEAD
            found.read_to_end()
            _check(record)
            yield offset, record
            if found.offset <= offset:  # warcio counts back over a damaged member
                raise ValueError("its record ends before it begins")
            offset = found.offset
        rest = os.fstat(file.fileno()).st_size - offset
        if rest or not offset:
            raise ValueError(f"found {rest} bytes that hold none" if rest else "the file is empty")
    except _UNREADABLE as error:
        cut = offset and lines.left >= 0 and _ends_inside(path, offset)
        raise (CutShortError if cut else ArchiveError)(_told(path, offset, "WARC", error)) from error


def read(path: Path, file: BinaryIO, offset: int) -> tuple[str, Answer]:
    """Return the target URL and the recorded answer of the response record at ``offset``, or of the next one.

    The body comes without chunks and gzip or deflate encoding. Raises `ArchiveError` for a missing record, one
    that is not an HTTP response, or a body over 64 MB.
    """
    file.seek(offset)
    try:
        found = ArchiveIterator(file)
        found.reader = _Lines(file)
        with closing(iter(found)) as each:  # which else refers to ``found``, as that does to it
            record = next((record for record in each if record.rec_type == "response"), None)
            if record is None or record.http_headers is None:
                raise ValueError("found no HTTP response")
            return target_url(record), _recorded(record)
    except _UNREADABLE as error:
        raise ArchiveError(_told(path, offset, "response", error)) from error


class _Lines(DecompressingBufferedReader):
    """Reads heads of at most ``left`` bytes; ValueError for a longer one."""

    left = MAX_HEAD

    def readline(self, length: int | None = None) -> bytes:
        """Return the next line, or its first ``length`` bytes."""
        line: bytes = super().readline(self.left + 1 if length is None else min(length, self.left + 1))
        self.left -= len(line)
        if self.left < 0:
            raise ValueError(f"its headers have more than {MAX_HEAD} bytes")
        return line


def _told(path: Path, offset: int, kind: str, error: BaseException) -> str:
    reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return f"archive {path}, byte {offset}: expected a {kind} record: {reason}"


def _check(record: ArcWarcRecord) -> None:
    if record.format != "warc":
        raise ValueError(f"found the format {record.format}")
    rest = record.raw_stream
    if not isinstance(rest, LimitReader):
        raise ValueError("it has no Content-Length")
    if rest.limit:
        raise ValueError(f"{rest.limit} bytes of its Content-Length are missing")


def _ends_inside(path: Path, offset: int) -> bool:
    """Return whether the file ends inside the record at ``offset``, which is intact up to there."""
    with path.open("rb") as file:
        file.seek(offset)
        block = file.read(_BLOCK)
        if not block.startswith(_GZIP):
            head, blank, _ = block.partition(b"\r\n\r\n")
            begun = head[:5] == b"WARC/"[: len(head)]
            # A whole head can only have been refused for a short body or a missing length.
            return begun and (not blank or b"\r\ncontent-length:" in head.lower())
        member = zlib.decompressobj(wbits=31)
        try:
            while block and not member.eof:
                member.decompress(block)
                block = file.read(_BLOCK)
        except zlib.error:
            return False
    return not member.eof


def _recorded(record: ArcWarcRecord) -> Answer:
    http = record.http_headers
    status = int(http.get_statuscode())
    if not 200 <= status <= 599:
        raise ValueError(f"found status {status}")
    if "chunked" in (http.get_header("Transfer-Encoding") or "").lower():
        http.replace_header("Transfer-Encoding", "chunked")
    encoding = (http.get_header("Content-Encoding") or "").strip().lower().removeprefix("x-")
    undone = encoding in BufferedReader.get_supported_decompressors()
    if undone:
        http.replace_header("Content-Encoding", encoding)
    body = record.content_stream().read(MAX_BODY + 1)
    if len(body) > MAX_BODY:
        raise ValueError(f"its body is over {MAX_BODY} bytes")
    return Answer(status, _end_to_end(http.headers, {"content-encoding"} if undone else set()), body)


def _end_to_end(given: list[tuple[str, str]], undone: set[str]) -> tuple[tuple[str, str], ...]:
    """Return the headers that a proxy may forward: none that is hop-by-hop, malformed or the length."""
    named = {
        name.strip().lower() for key, value in given if key.lower() == "connection" for name in value.split(",")
    }
    dropped = _NOT_FORWARDED | named | undone
    kept = (
        (name, value)
        for name, value in given
        if name.lower() not in dropped
        and _NAME.fullmatch(name) is not None
        and _CONTROL.search(value) is None
        and len(value.encode(errors="replace")) <= MAX_VALUE
    )
    return tuple(kept)[:MAX_HEADERS]
