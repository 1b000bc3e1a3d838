"""A synthetic web as files, in the formats of recorded webs, or served by a process of its own."""

import argparse
import asyncio
import gzip
from collections.abc import Iterable
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from scentline.agents.offline.archive import Answer
from scentline.agents.offline.process import ServerProcess
from scentline.agents.offline.serve import serve
from scentline_lab.synthetic.web import SyntheticWeb

#: When all was recorded: equal webs make equal files.
_DATE = "2024-01-08T08:00:00Z"
#: The files of a web by what they hold.
FILES = {
    "archive": "pages.warc.gz", "log": "access.log.gz", "labels": "topics.tsv.gz", "seeds": "seeds.txt",
}  # fmt: skip


def export(web: SyntheticWeb, directory: Path, users: int, accesses: int) -> dict[str, Path]:
    """Write a web's files into a directory that exists, and return them by what they hold."""
    files = {what: directory / name for what, name in FILES.items()}
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
    named = {"WARC-Date": _DATE, "WARC-Record-ID": f"<urn:uuid:{uuid5(NAMESPACE_URL, url)}>"}
    told = StatusAndHeaders(f"{answer.status} {phrase}", headers, protocol="HTTP/1.1")
    body = {"payload": BytesIO(answer.body), "length": len(answer.body)}
    writer.write_record(
        writer.create_warc_record(url, "response", warc_headers_dict=named, http_headers=told, **body)
    )
    return gzip.compress(out.getvalue(), mtime=0)


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))


def synthetic_server(
    seed: int, sites: int = 12, pages_per_site: int = 200, topics: int = 12, *, log: Path | None = None
) -> ServerProcess:
    """Serve the synthetic web of these parameters, which are those of `SyntheticWeb`; return its process."""
    web = (str(seed), str(sites), str(pages_per_site), str(topics))
    return ServerProcess("scentline_lab.synthetic.serve", web, log=log)


def main() -> None:
    """Serve the process that started this one, as `ServerProcess` expects."""
    parser = argparse.ArgumentParser(prog="scentline_lab.synthetic.serve")
    parser.add_argument("--log", type=Path)
    parser.add_argument("web", type=int, nargs=4, metavar="NUMBER", help="seed, sites, pages a site, topics")
    given = parser.parse_args()
    answer = SyntheticWeb(*given.web).answer
    try:
        asyncio.run(serve(answer, log=given.log))
    except OSError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
