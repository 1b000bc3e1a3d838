"""An archive served by a process of its own, as `agents.offline.process` starts it.

Writes ``indexed NUMBER PATH`` lines while it reads archives and then ``ready URL`` on standard output;
serves until standard input is closed.
"""

import argparse
import asyncio
from pathlib import Path

from scentline.agents.offline.serve import serve_archive
from scentline.agents.offline.warc import ArchiveError


def main() -> None:
    """Parse the command line and serve; an error that explains itself ends the process with status 1."""
    parser = argparse.ArgumentParser(prog="scentline.agents.offline")
    parser.add_argument("--log", type=Path)
    parser.add_argument("paths", type=Path, nargs="+")
    given = parser.parse_args()
    served = serve_archive(given.paths, log=given.log, ready=ready, progress=_indexed, until_stdin_closes=True)
    try:
        asyncio.run(served)
    except (ArchiveError, OSError) as error:
        raise SystemExit(str(error)) from error


def ready(url: str) -> None:
    """Publish the address to the parent process."""
    print("ready", url, flush=True)


def _indexed(path: Path, records: int) -> None:
    # It raises once the parent is gone, and so ends the indexing.
    print("indexed", records, path, flush=True)


if __name__ == "__main__":
    main()
