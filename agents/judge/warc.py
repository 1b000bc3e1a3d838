"""A kept page as WARC 1.1 (ISO 28500:2017): request, response and metadata, each a gzip member of its own.

The body is stored without transfer and content encodings; so the response's headers are those that the crawler
keeps, with the length of this body, and name no encoding. Their values are ASCII, with anything else
percent-encoded, as in a URL. The request has method, URL, host and User-Agent. Identifiers derive from URL and
time, so a page written twice, as after a crash, is the same one.

An unchanged revisit of a kept page has a revisit record (section 6.7): of the profile "server not modified"
after a 304, else "identical payload digest" where it is the same byte for byte.
"""

import io
import re
import string
from base64 import b32encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha1
from http import HTTPStatus
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import NAMESPACE_URL, uuid5

from isal import isal_zlib
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from scentline.models.page import Page, Verdict, keeps
from scentline.models.records import MOST_ITEM_NAME, FetchedPage
from scentline.models.url import crawlable
from scentline.streams.logging import printable

VERSION = "1.1"
_PROFILES = f"http://netpreserve.org/warc/{VERSION}/revisit/"
#: Headers that no longer fit the body once its encodings are undone.
_UNDONE = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_TITLE = 300
# Compression level and window of a gzip member. ISA-L's best level takes a tenth of zlib's time at level 9, to
# which warcio is fixed, for members 6 % larger.
_LEVEL, _GZIP = isal_zlib.ISAL_BEST_COMPRESSION, 31
# The name of a header (RFC 9110, 5.6.2).
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_ASCII = string.printable
_PHRASES = {int(status): status.phrase for status in HTTPStatus}


def date_of(time: float) -> str:
    """Return seconds since the epoch as a WARC-Date; raises ValueError for a time without a date.

    >>> date_of(1.5)
    '1970-01-01T00:00:01.500000Z'
    """
    try:
        date = datetime.fromtimestamp(time, UTC)
    except (OverflowError, OSError) as error:
        raise ValueError(f"time {time} has no date; expected seconds since the epoch") from error
    return date.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def information(name: str, software: str) -> bytes:
    """Return the record that begins a file: its name, and the program that writes it."""
    writer = WARCWriter(out := io.BytesIO(), gzip=True, warc_version=VERSION)
    told = {"software": software, "format": f"WARC File Format {VERSION}"}
    writer.write_record(writer.create_warcinfo_record(name, told))
    return out.getvalue()


def packed(fetched: FetchedPage, body: bytes, page: Page, verdict: Verdict, user_agent: str) -> bytes:
    """Return the records of a page; raises ValueError for a URL or time that none can hold."""
    url = fetched.order.url
    if not crawlable(url):
        raise ValueError("expected a canonical URL")
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    request = StatusAndHeaders(
        f"GET {target or '/'} HTTP/1.1",
        [("Host", parts.netloc), ("User-Agent", _ascii(user_agent))],
        is_http_request=True,
    )
    return (
        _member(fetched, "request", b"", http=request)
        + _member(fetched, "response", body, http=_response(fetched, len(body)))
        + _member(fetched, "metadata", _metadata(fetched, page, verdict), kind="application/warc-fields")
    )


def packed_again(fetched: FetchedPage, body: bytes | None) -> bytes:
    """Return the record of an unchanged kept page; ``body`` is None if the server sent none.

    Raises ValueError as `packed` does.
    """
    order = fetched.order
    assert order.revisit is not None
    if not crawlable(order.url):
        raise ValueError("expected a canonical URL")
    headers = {"WARC-Refers-To-Target-URI": order.url, "WARC-Refers-To-Date": date_of(order.revisit.judged)}
    if body is None:
        headers["WARC-Profile"] = f"{_PROFILES}server-not-modified"
    else:
        headers["WARC-Profile"] = f"{_PROFILES}identical-payload-digest"
        digest = sha1(body, usedforsecurity=False).digest()
        headers["WARC-Payload-Digest"] = f"sha1:{b32encode(digest).decode()}"
    return _member(fetched, "revisit", b"", http=_response(fetched, len(body or b"")), more=headers)


def _member(
    fetched: FetchedPage,
    record_type: str,
    payload: bytes,
    http: StatusAndHeaders | None = None,
    kind: str = "",
    more: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """Return a record as a gzip member, with ``more`` headers beside those of all records."""
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=False, warc_version=VERSION)
    headers = {"WARC-Record-ID": _identifier(fetched, record_type), "WARC-Date": date_of(fetched.time), **more}
    if record_type in ("request", "metadata"):
        headers["WARC-Concurrent-To"] = _identifier(fetched, "response")
    record = writer.create_warc_record(
        fetched.order.url,
        record_type,
        payload=io.BytesIO(payload),
        length=len(payload),
        warc_content_type=kind,
        warc_headers_dict=headers,
        http_headers=http,
    )
    writer.write_record(record)
    member: bytes = isal_zlib.compress(out.getbuffer(), _LEVEL, _GZIP)
    return member


def _identifier(fetched: FetchedPage, record_type: str) -> str:
    return f"<urn:uuid:{uuid5(NAMESPACE_URL, f'{record_type} {fetched.time!r} {fetched.order.url}')}>"


def _response(fetched: FetchedPage, length: int) -> StatusAndHeaders:
    status = fetched.status
    headers = [
        (name, _ascii(value))
        for name, value in fetched.headers.items()
        if name not in _UNDONE and _TOKEN.fullmatch(name)
    ]
    headers.append(("content-length", str(length)))
    return StatusAndHeaders(f"{status} {_PHRASES.get(status, '')}", headers, protocol="HTTP/1.1")


def _ascii(value: str) -> str:
    return quote(printable(value, len(value)), safe=_ASCII)


def _metadata(fetched: FetchedPage, page: Page, verdict: Verdict) -> bytes:
    fields = [
        ("fetchTimeMs", str(round(fetched.host.elapsed * 1000))),
        ("hopsFromSeed", str(fetched.order.depth)),
        ("title", printable(page.title, _TITLE)),
        *(("predicate", name) for name, holds in verdict.items() if holds),
        *(("item", printable(name, MOST_ITEM_NAME)) for name in fetched.items),
    ]
    return "".join(f"{name}: {value}\r\n" for name, value in fields).encode()


class Packing:
    """Makes the records of the pages that ``which``, the setting `keep.pages`, keeps.

    They are empty for a page that is not kept, with the reason if no record can hold it.
    """

    def __init__(self, which: str, user_agent: str) -> None:
        self._which = which
        self._user_agent = user_agent

    def record(self, fetched: FetchedPage, body: bytes, page: Page, verdict: Verdict) -> tuple[bytes, str]:
        """Return a page's records, or why there are none."""
        kept = keeps(self._which, verdict)
        return _unless_broken(packed, fetched, body, page, verdict, self._user_agent) if kept else (b"", "")

    def again(self, fetched: FetchedPage, body: bytes | None) -> tuple[bytes, str]:
        """Return the record of an unchanged page, if it was kept, or why there is none."""
        revisit = fetched.order.revisit
        kept = revisit is not None and revisit.judged and keeps(self._which, revisit.verdict)
        return _unless_broken(packed_again, fetched, body) if kept else (b"", "")


def _unless_broken(pack: Callable[..., bytes], *page: Any) -> tuple[bytes, str]:
    try:
        return pack(*page), ""
    except Exception as error:  # of this page alone: the others are judged and kept
        return b"", type(error).__name__
