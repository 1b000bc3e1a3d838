"""What the laboratory's tests share: small webs and lines of logs written, tables read."""

import csv
import io
from datetime import UTC, datetime
from pathlib import Path

from scentline_lab.experiment import Progress
from scentline_lab.synthetic.web import SyntheticWeb, export

BROWSER = "Mozilla/5.0 (X11; Linux x86_64) Firefox/120.0"
PNG = b"\x89PNG\r\n\x1a\n"


def quiet() -> Progress:
    """Return a progress display that nobody sees."""
    return Progress(io.StringIO())


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def small_web(directory: Path) -> SyntheticWeb:
    """Write a web of six sites: pages.warc.gz, access.log.gz, topics.tsv.gz, seeds.txt."""
    web = SyntheticWeb(3, 6, 30, 4)
    export(web, directory, users=8, accesses=300)
    return web


def line(
    user: int, second: int, path: str, referrer: str = "-", agent: str = BROWSER, status: int = 200
) -> str:
    """Return a line of a log whose paths have no host."""
    time = datetime.fromtimestamp(1_700_000_000 + second, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
    client = f"10.0.{user // 250}.{user % 250}"
    return f'{client} - - [{time}] "GET {path} HTTP/1.1" {status} 5 "{referrer}" "{agent}"'
