"""A synthetic web as files: an archive, a log, labels and seeds, in the formats of webs that were recorded."""

import gzip
from collections.abc import Iterable
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from scentline.agents.offline.answer import Answer
from scentline_lab.synthetic.web import SyntheticWeb

#: When all was recorded: equal webs make equal files.
_DATE = "2024-01-08T08:00:00Z"


def export(web: SyntheticWeb, directory: Path, users: int, accesses: int) -> dict[str, Path]:
    """Write a web's files into a directory that exists, and return them by what they hold.

    Two hundred seeds at most are noted. Without users there is no line in the log.
    """
    files = {
        "archive": directory / "pages.warc.gz",
        "log": directory / "access.log.gz",
        "labels": directory / "topics.tsv.gz",
        "seeds": directory / "seeds.txt",
    }
    with files["archive"].open("wb") as file:
        for url in web.urls():
            file.write(record(url, web.answer(url, {})))
    _write(files["log"], web.access_log(users, accesses))
    _write(files["labels"], (f"{url}\t{category}" for url, category in web.labels()))
    files["seeds"].write_text("".join(f"{url}\n" for url in web.seeds(200)), encoding="utf-8")
    return files


def record(url: str, answer: Answer) -> bytes:
    """Return what is answered at a URL as a record in a gzip member of its own."""
    phrase = HTTPStatus(answer.status).phrase
    headers = [*answer.headers, ("Content-Length", str(len(answer.body)))]
    out = BytesIO()
    writer = WARCWriter(out, gzip=False)
    written = writer.create_warc_record(
        url,
        "response",
        payload=BytesIO(answer.body),
        length=len(answer.body),
        warc_headers_dict={"WARC-Date": _DATE, "WARC-Record-ID": f"<urn:uuid:{uuid5(NAMESPACE_URL, url)}>"},
        http_headers=StatusAndHeaders(f"{answer.status} {phrase}", headers, protocol="HTTP/1.1"),
    )
    writer.write_record(written)
    return gzip.compress(out.getvalue(), mtime=0)


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
