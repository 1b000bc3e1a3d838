"""A kept page as WARC 1.1 (ISO 28500:2017): request, response and metadata, each a gzip member of its own.

The body is what the crawler read, after every transfer and content encoding was undone; so the response's
headers are those that the crawler keeps, with the length of this body, and name no encoding. The request has
what identifies it: method, URL, host and User-Agent. Identifiers are derived from URL and time: a page that is
written twice, as after a crash, is the same one.
"""

import io
from datetime import UTC, datetime
from http.client import responses
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from models.page import Page
from models.verdict import Verdict
from streams.logging import printable
from streams.records import FetchedPage

VERSION = "1.1"
#: Headers that no longer fit the body once its encodings are undone.
_UNDONE = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_TITLE = 300


def date_of(time: float) -> str:
    """Return seconds since the epoch as WARC-Date writes them.

    >>> date_of(1.5)
    '1970-01-01T00:00:01.500000Z'
    """
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def packed(fetched: FetchedPage, body: bytes, page: Page, verdict: Verdict, user_agent: str) -> bytes:
    """Return the records of a page."""
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True, warc_version=VERSION)
    url = fetched.order.url
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    request = StatusAndHeaders(
        f"GET {target or '/'} HTTP/1.1",
        [("Host", parts.netloc), ("User-Agent", printable(user_agent))],
        is_http_request=True,
    )
    _write(writer, fetched, "request", b"", http=request)
    _write(writer, fetched, "response", body, http=_response(fetched, len(body)))
    _write(writer, fetched, "metadata", _metadata(fetched, page, verdict), kind="application/warc-fields")
    return out.getvalue()


def _write(
    writer: WARCWriter,
    fetched: FetchedPage,
    record_type: str,
    payload: bytes,
    http: StatusAndHeaders | None = None,
    kind: str = "",
) -> None:
    headers = {
        "WARC-Record-ID": _identifier(fetched, record_type),
        "WARC-Date": date_of(fetched.time),
    }
    if record_type != "response":
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


def _identifier(fetched: FetchedPage, record_type: str) -> str:
    return f"<urn:uuid:{uuid5(NAMESPACE_URL, f'{record_type} {fetched.time!r} {fetched.order.url}')}>"


def _response(fetched: FetchedPage, length: int) -> StatusAndHeaders:
    status = fetched.status
    headers = [
        (name, printable(value, len(value))) for name, value in fetched.headers.items() if name not in _UNDONE
    ]
    headers.append(("content-length", str(length)))
    return StatusAndHeaders(f"{status} {responses.get(status, '')}", headers, protocol="HTTP/1.1")


def _metadata(fetched: FetchedPage, page: Page, verdict: Verdict) -> bytes:
    fields = [
        ("fetchTimeMs", str(round(fetched.elapsed * 1000))),
        ("hopsFromSeed", str(fetched.order.depth)),
        ("title", printable(page.title, _TITLE)),
        *(("predicate", name) for name, holds in verdict.items() if holds),
    ]
    return "".join(f"{name}: {value}\r\n" for name, value in fields).encode()
