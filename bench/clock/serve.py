"""``python -m bench.clock.serve``: an archive as a forward proxy whose hosts answer as late as the web's.

`agents.offline.serve.ServerProcess` starts it.
"""

import argparse
import asyncio
from pathlib import Path

from scentline.agents.offline.archive import Archive
from scentline.agents.offline.serve import serve
from scentline.models.url import host
from scentline_lab.simulation.virtual import Latency


def main() -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(prog="bench.clock.serve")
    parser.add_argument("--archive", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--latency", type=int, help="seed; without one answers do not wait")
    asyncio.run(_serve(parser.parse_args()))


async def _serve(given: argparse.Namespace) -> None:
    with Archive([given.archive]) as archive:
        latency = None if given.latency is None else Latency(given.latency, map(host, archive.urls()))
        await serve(archive.answer, log=given.log, latency=latency)


if __name__ == "__main__":
    main()
