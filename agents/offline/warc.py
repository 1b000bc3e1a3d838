"""Reading WARC files: all records in order, for an index, and one record at its offset."""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import BufferedReader, ChunkedDataException, DecompressingBufferedReader
from warcio.exceptions import ArchiveLoadFailed
from warcio.limitreader import LimitReader
from warcio.recordloader import ArcWarcRecord

from scentline.agents.offline.answer import Answer, end_to_end
from scentline.models.errors import ScentlineError

MAX_BODY = 64 * 1024 * 1024
#: Bytes of a record's headers, HTTP's included: warcio's time grows with the square of a line.
MAX_HEAD = 1024 * 1024
_BLOCK = 65536
_GZIP = b"\x1f\x8b"
_UNREADABLE = (ArchiveLoadFailed, ChunkedDataException, EOFError, OSError, ValueError, zlib.error)


class ArchiveError(ScentlineError):
    """A file that can't be read as WARC; the text names the file, the byte offset and the reason."""


class CutShortError(ArchiveError):
    """A file that ends inside its last record."""


def target_url(record: ArcWarcRecord) -> str:
    """Return the URL that a record is about, as it was written."""
    return record.rec_headers.get_header("WARC-Target-URI") or ""


def records(path: Path, file: BinaryIO) -> Iterator[tuple[int, ArcWarcRecord]]:
    """Yield the byte offset and the headers of each record; bodies are skipped.

    Raises `CutShortError` where the file ends inside a record that is not its first, `ArchiveError` for
    anything else that is no WARC record.
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
        if rest:
            raise ValueError(f"found {rest} bytes that hold none")
    except _UNREADABLE as error:
        text = f"archive {path}, byte {offset}: expected a WARC record: {_first_line(error)}"
        cut = offset and lines.left >= 0 and _ends_inside(path, offset)
        kind = CutShortError if cut else ArchiveError
        raise kind(text) from error
    if not offset:
        raise ArchiveError(f"archive {path}, byte 0: expected a WARC record: the file is empty")


def read(path: Path, file: BinaryIO, offset: int) -> tuple[str, Answer]:
    """Return the target URL and the recorded answer of the response record at ``offset``.

    Chunks and a gzip or deflate content encoding are undone. Raises `ArchiveError` where there is no such
    record, it is no HTTP response, or its body is over 64 MB.
    """
    file.seek(offset)
    try:
        found = ArchiveIterator(file)
        found.reader = _Lines(file)
        record = next(iter(found), None)
        if record is None or record.http_headers is None:
            raise ValueError("found no HTTP response")
        return target_url(record), _answer(record)
    except _UNREADABLE as error:
        raise ArchiveError(
            f"archive {path}, byte {offset}: expected a response record: {_first_line(error)}"
        ) from error


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


def _check(record: ArcWarcRecord) -> None:
    if record.format != "warc":
        raise ValueError(f"found the format {record.format}")
    rest = record.raw_stream
    if not isinstance(rest, LimitReader):
        raise ValueError("it has no Content-Length")
    if rest.limit:
        raise ValueError(f"{rest.limit} bytes of its Content-Length are missing")


def _ends_inside(path: Path, offset: int) -> bool:
    """Return whether the file ends inside the record at ``offset``, which is sound up to there."""
    with path.open("rb") as file:
        file.seek(offset)
        if file.read(len(_GZIP)) != _GZIP:
            return _plain_ends_inside(file, offset)
        file.seek(offset)
        member = zlib.decompressobj(wbits=31)
        try:
            while block := file.read(_BLOCK):
                member.decompress(block)
                if member.eof:
                    return False
        except zlib.error:
            return False
    return True


def _plain_ends_inside(file: BinaryIO, offset: int) -> bool:
    file.seek(offset)
    head, blank, _ = file.read(_BLOCK).partition(b"\r\n\r\n")
    begun = head[:5] == b"WARC/"[: len(head)]
    # A whole head can only have been refused because its body is short, or for its missing length.
    return begun and (not blank or b"\r\ncontent-length:" in head.lower())


def _answer(record: ArcWarcRecord) -> Answer:
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
    headers = end_to_end(http.headers)
    if undone:
        headers = tuple(pair for pair in headers if pair[0].lower() != "content-encoding")
    return Answer(status, headers, body)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
