"""An offline web in a process of its own, as `agents.offline.process` starts it.

Writes ``indexed NUMBER PATH`` lines while it reads archives and then ``ready URL`` on standard output;
serves until standard input is closed.
"""

import argparse
import asyncio
from pathlib import Path

from scentline.agents.offline.serve import serve_archive, serve_synthetic
from scentline.agents.offline.synthetic.web import SyntheticWeb
from scentline.agents.offline.warc import ArchiveError


def main() -> None:
    """Parse the command line and serve; an error that has an explanation ends with it and status 1."""
    given = _arguments().parse_args()
    try:
        asyncio.run(_serve(given))
    except (ArchiveError, OSError) as error:
        raise SystemExit(str(error)) from error


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scentline.agents.offline")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path)
    webs = parser.add_subparsers(dest="web", required=True)
    webs.add_parser("archive").add_argument("paths", type=Path, nargs="+")
    synthetic = webs.add_parser("synthetic")
    synthetic.add_argument("seed", type=int)
    synthetic.add_argument("--sites", type=int, required=True)
    synthetic.add_argument("--pages-per-site", type=int, required=True)
    synthetic.add_argument("--topics", type=int, required=True)
    return parser


async def _serve(given: argparse.Namespace) -> None:
    if given.web == "archive":
        await serve_archive(
            given.paths, given.host, given.port, given.log, _ready, progress=_indexed, until_stdin_closes=True
        )
    else:
        synthetic = SyntheticWeb(given.seed, given.sites, given.pages_per_site, given.topics)
        await serve_synthetic(synthetic, given.host, given.port, given.log, _ready, until_stdin_closes=True)


def _ready(url: str) -> None:
    print("ready", url, flush=True)


def _indexed(path: Path, records: int) -> None:
    # To write, not only to inform: when the parent is gone this raises, and the indexing ends too.
    print("indexed", records, path, flush=True)


if __name__ == "__main__":
    main()
