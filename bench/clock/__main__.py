"""``make clock``: hits by the clock, of Scentline and of Scrapy, at a delay a host and the web's latency.

Each crawler runs alone on each web, from its front pages, and is told to end as by Ctrl-C. The record is the
server's: what a crawler still had to read then counts. Times are since its process started, and "of
asking" since its first request. Beside what was measured stands what a virtual crawl says of it.
"""

import argparse
import os
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from bench.clock.simulated import simulated
from bench.clock.table import TIMES, Crawl, ratios, read, table
from bench.clock.webs import NAMES, Pages, Web, judged, web
from bench.crawl.crawlers import Crawler, Scentline, Scrapy
from bench.crawl.measure import started
from scentline.agents.offline.serve import ServerProcess
from scentline.agents.signals import end_as_by_ctrl_c
from scentline_lab.simulation.virtual import Clock, Latency

#: Least seconds between two requests to a host.
DELAY = 1.0
#: Seconds that a crawler has to make its first request, and to end when it is told to.
_PATIENCE, _END_SECONDS = 60.0, 10.0
_LOOK_SECONDS = 0.05
#: First in, first out, which is breadth-first, as Scrapy's FAQ has it, and politely.
_POLITE = {
    "DEPTH_PRIORITY": "1", "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    "DOWNLOAD_DELAY": f"{DELAY:g}", "RANDOMIZE_DOWNLOAD_DELAY": "False",
}  # fmt: skip


def main() -> None:
    """Parse the command line, crawl, and print a table a web."""
    given = _arguments().parse_args()
    if given.seconds < TIMES[0]:
        raise SystemExit(f"bench: --seconds has to be {TIMES[0]} at least")
    end_as_by_ctrl_c()  # so that what was started is ended
    for of in (web(name, given.webs) for name in given.web or NAMES):
        found, pages = judged(of)
        hits = ", ".join(f"{len(urls)} {name}" for name, urls in pages.hits.items())
        print(f"\n{of.name}: {len(pages.hosts)} hosts, {len(pages.links)} pages, {hits}", flush=True)
        crawls: dict[str, Crawl] = {}
        with tempfile.TemporaryDirectory(prefix="scentline-clock-") as directory:
            for crawler in _crawlers(given, of):
                place = Path(directory) / crawler.name.replace(" ", "-")
                crawls[crawler.name] = _crawled(crawler, of, pages, place, given)
                # What else the machine had to do is part of what a crawl came to.
                print(f"{crawler.name}: load {os.getloadavg()[0]:.1f}", flush=True)
        seeds = of.seeds.read_text().split()
        latency = _at_once if given.no_latency else Latency(given.seed, pages.hosts)
        clock = Clock(given.seconds, latency, DELAY)
        for policy in given.policies:
            name = f"{policy}, simulated"
            crawls[name] = simulated(policy, found, pages, of.sought(), seeds, clock)
        print(table(crawls, DELAY))
        for other in list(crawls)[1:]:
            print(ratios(crawls, next(iter(crawls)), other))


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.clock")
    parser.add_argument("--python", type=Path, required=True, help="the Python that has Scrapy")
    parser.add_argument("--web", action="append", choices=NAMES, help="a web to crawl; all of them")
    parser.add_argument("--webs", type=Path, default=Path("bench-results/webs"), help="where webs are made")
    parser.add_argument("--seconds", type=float, default=75.0, help="of each crawl, from its first request")
    parser.add_argument("--policies", nargs="*", default=("learned", "breadth-first"), help="of Scentline")
    parser.add_argument("--set", action="append", default=[], help="a further setting of Scentline, NAME=VALUE")
    parser.add_argument("--scrapy", nargs="*", type=int, default=(16, 64), help="concurrent requests of Scrapy")
    parser.add_argument("--no-latency", action="store_true", help="every host answers at once")
    parser.add_argument("--seed", type=int, default=1, help="of the latency")
    return parser


def _crawlers(given: argparse.Namespace, of: Web) -> list[Crawler]:
    seeds, python = of.seeds.absolute(), given.python.absolute()
    labels = None if of.labels is None else of.labels.absolute()
    ours: list[Crawler] = [
        Scentline(seeds, None, policy, labels, policy, of.predicates, DELAY, settings=given.set)
        for policy in given.policies
    ]
    return ours + [
        Scrapy(seeds, None, f"Scrapy {most}", python, {**_POLITE, "CONCURRENT_REQUESTS": str(most)}, within="")
        for most in given.scrapy
    ]


def _crawled(crawler: Crawler, of: Web, pages: Pages, place: Path, given: argparse.Namespace) -> Crawl:
    """Let a crawler crawl for so many seconds from its first request on. Raises `ServerProcessError`."""
    place.mkdir()
    log = place / "asked.log"
    latency = [] if given.no_latency else [f"--latency={given.seed}"]
    arguments = [f"--archive={of.archive.absolute()}", f"--log={log}", *latency]
    with ServerProcess("bench.clock.serve", arguments) as server:
        began = time.time()
        with started(crawler, server.url, place) as process:
            asked = began
            while process.poll() is None and time.time() < asked + given.seconds:
                time.sleep(_LOOK_SECONDS)
                if log.stat().st_size == 0 and time.time() < began + _PATIENCE:
                    asked = time.time()
            seconds = time.time() - began
            process.terminate()  # all take it as Ctrl-C, which may be ignored where a shell started this
            with suppress(subprocess.TimeoutExpired):  # Scrapy waits for hosts that hang
                process.wait(_END_SECONDS)
        return read(log, began, pages, of.seeds.read_text().split(), seconds)


def _at_once(url: str) -> float:
    """Say that the answer at a URL does not wait."""
    return 0.0


if __name__ == "__main__":
    main()
