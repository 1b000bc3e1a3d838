"""A synthetic web served by a process of its own, so that serving pages takes no time from crawling them."""

import argparse
import asyncio
from pathlib import Path

from scentline.agents.offline.__main__ import ready
from scentline.agents.offline.process import ServerProcess, log_option
from scentline.agents.offline.serve import serve
from scentline_lab.synthetic.web import SyntheticWeb


def synthetic_server(
    seed: int, sites: int = 12, pages_per_site: int = 200, topics: int = 12, *, log: Path | None = None
) -> ServerProcess:
    """Serve the synthetic web of these parameters, which are those of `SyntheticWeb`; return its process."""
    web = (str(seed), str(sites), str(pages_per_site), str(topics))
    return ServerProcess("scentline_lab.synthetic.serve", [*log_option(log), *web])


def main() -> None:
    """Serve until standard input is closed; write ``ready URL`` first, as `ServerProcess` expects."""
    parser = argparse.ArgumentParser(prog="scentline_lab.synthetic.serve")
    parser.add_argument("--log", type=Path)
    parser.add_argument("web", type=int, nargs=4, metavar="NUMBER", help="seed, sites, pages a site, topics")
    given = parser.parse_args()
    answer = SyntheticWeb(*given.web).answer
    try:
        asyncio.run(serve(answer, log=given.log, ready=ready, until_stdin_closes=True))
    except OSError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
