"""Kept pages as one WARC file: their records are copied byte for byte."""

import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from warcio.recordloader import ArcWarcRecord
from warcio.warcwriter import WARCWriter

from scentline.agents.judge.keep.records import VERSION, date_of
from scentline.agents.judge.keep.store import DIRECTORY, files
from scentline.agents.offline.archive import ArchiveError, CutShortError, records, target_url
from scentline.models.errors import EventLog

log = EventLog("keep")

_BLOCK = 65536
#: The types of kept records, and the header with the time of their page's outcome.
_TYPES = dict.fromkeys(("request", "response", "metadata"), "WARC-Date") | {"revisit": "WARC-Refers-To-Date"}


def export(data: Path, wanted: Mapping[str, float], out: BinaryIO, software: str) -> int:
    """Write the kept records of pages, given by URL and time of fetch; return how many pages were kept.

    Later visits that found a page unchanged go with it. A crawl may be running: records that it is about to
    write, or drops meanwhile, are left out.
    """
    writer = WARCWriter(out, gzip=True, warc_version=VERSION)
    information = {"software": software, "format": f"WARC File Format {VERSION}"}
    writer.write_record(writer.create_warcinfo_record("matches.warc.gz", information))
    dates: dict[str, str] = {}
    for url, time in wanted.items():
        with suppress(ValueError):  # of such a time nothing was kept
            dates[url] = date_of(time)
    written: set[tuple[str, str, str]] = set()
    for path in files(data / DIRECTORY):
        for offset, record in _records(path):
            url, kind = target_url(record), record.rec_type
            date, told = (record.rec_headers.get_header(name) for name in ("WARC-Date", _TYPES.get(kind, "")))
            if date and told and dates.get(url) == told and (url, kind, date) not in written:
                written.add((url, kind, date))
                out.write(_member(path, offset))
    return sum(kind == "response" for _, kind, _ in written)


def _records(path: Path) -> Iterator[tuple[int, ArcWarcRecord]]:
    try:
        with path.open("rb") as file:
            yield from records(path, file)
    except (FileNotFoundError, CutShortError):
        return
    except ArchiveError as error:
        if path.stat().st_size:  # else the crawl has just begun it
            log.warning("a file of kept pages can't be read completely", reason=str(error))


def _member(path: Path, offset: int) -> bytes:
    found = bytearray()
    member = zlib.decompressobj(wbits=31)
    with path.open("rb") as file:
        file.seek(offset)
        while not member.eof and (block := file.read(_BLOCK)):
            member.decompress(block)
            found += block
    return bytes(found[: len(found) - len(member.unused_data)])
