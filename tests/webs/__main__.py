"""A web of the tests in a process of its own, as `tests.webs.process` starts it.

Writes ``ready URL`` on standard output, and serves until standard input is closed.
"""

import argparse
import asyncio
from pathlib import Path

from scentline.agents.offline.serve import serve_on
from tests.webs.dangers.rivals import KINDS, Rivals
from tests.webs.dangers.server import DangerServer
from tests.webs.newspaper.server import NewspaperServer
from tests.webs.newspaper.site import Site


def main() -> None:
    """Parse the command line and serve; what keeps it from that is the last thing said, with status 1."""
    given = _arguments().parse_args()
    try:
        asyncio.run(_serve(_server(given)))
    except OSError as error:
        raise SystemExit(str(error)) from error


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests.webs")
    webs = parser.add_subparsers(dest="web", required=True)
    webs.add_parser("dangers").add_argument("record", type=Path)
    rivals = webs.add_parser("rivals")
    rivals.add_argument("record", type=Path)
    rivals.add_argument("kinds", nargs="*", choices=(*KINDS, []))
    rivals.add_argument("--seed", type=int, required=True)
    rivals.add_argument("--commented", type=float, required=True)
    newspaper = webs.add_parser("newspaper")
    newspaper.add_argument("record", type=Path)
    for name in ("old", "first", "articles", "every"):
        newspaper.add_argument(f"--{name}", type=int, required=True)
    return parser


def _server(given: argparse.Namespace) -> DangerServer | NewspaperServer:
    if given.web == "dangers":
        return DangerServer(given.record)
    if given.web == "rivals":
        return DangerServer(given.record, web=Rivals(tuple(given.kinds), given.seed, given.commented))
    return NewspaperServer(Site(given.old, given.first, given.articles, given.every), given.record)


async def _serve(web: DangerServer | NewspaperServer) -> None:
    async with web as server:
        await serve_on(server.url, _ready, until_stdin_closes=True)


def _ready(url: str) -> None:
    print("ready", url, flush=True)


if __name__ == "__main__":
    main()
