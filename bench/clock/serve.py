"""``python -m bench.clock.serve``: an archive as a forward proxy whose hosts answer as late as the web's.

`agents.offline.process.ServerProcess` starts it: it writes ``ready URL``, and serves until standard input
closes.
"""

import argparse
import asyncio
from collections.abc import Iterable
from hashlib import blake2b
from math import exp, log
from pathlib import Path
from statistics import NormalDist
from urllib.parse import urlsplit

from agents.offline.archive import Archive
from agents.offline.serve import OfflineServer, serve_on

MEDIAN_SECONDS, LONGEST_SECONDS = 0.3, 5.0
#: Deviations of the logarithm of the seconds: of a host's from others', and of a page's from its host's.
_OF_HOSTS, _OF_PAGES = 0.6, 0.8
#: One host of so many hangs, and at least one does; its answers wait for longer than crawlers do.
_HOSTS_A_HANGING = 20
_HANGING_SECONDS = 600.0


class Latency:
    """Seconds that the answer at a URL waits: log-normal, by host and by URL; equal seeds give equal ones.

    >>> late = Latency(1, ["a.example", "b.example"])
    >>> sorted(late(f"http://{host}.example/") for host in "ab")[1]
    600.0
    """

    def __init__(self, seed: int, hosts: Iterable[str]) -> None:
        self._seed = seed
        known = sorted(set(hosts), key=self._deviation)
        self._hanging = frozenset(known[: max(1, len(known) // _HOSTS_A_HANGING)])

    def __call__(self, url: str) -> float:
        """Return the seconds of a URL's answer."""
        host = urlsplit(url).netloc
        if host in self._hanging:
            return _HANGING_SECONDS
        exponent = _OF_HOSTS * self._deviation(host) + _OF_PAGES * self._deviation(url)
        return min(LONGEST_SECONDS, exp(log(MEDIAN_SECONDS) + exponent))

    def _deviation(self, name: str) -> float:
        digest = blake2b(f"{self._seed} {name}".encode(), digest_size=6).digest()
        return NormalDist().inv_cdf((int.from_bytes(digest, "big") + 0.5) / 2**48)


def main() -> None:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(prog="bench.clock.serve")
    parser.add_argument("--archive", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--latency", type=int, help="seed; without one answers do not wait")
    asyncio.run(_serve(parser.parse_args()))


async def _serve(given: argparse.Namespace) -> None:
    with Archive([given.archive]) as archive:
        hosts = (urlsplit(url).netloc for url in archive.urls())
        latency = None if given.latency is None else Latency(given.latency, hosts)
        async with OfflineServer(archive.answer, log=given.log, latency=latency) as server:
            await serve_on(server.url, _ready, until_stdin_closes=True)


def _ready(url: str) -> None:
    print("ready", url, flush=True)


if __name__ == "__main__":
    main()
