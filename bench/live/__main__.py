"""``python -m bench.live``: seconds from a visitor's request through Squid to a candidate, on Kafka."""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from statistics import median

from bench.command import COMMAND, WIKISPEEDIA, needs
from bench.faults.cluster import Cluster
from bench.faults.crawl import wikispeedia
from bench.faults.workers import USER_KEY, WorkerError
from bench.live.browsing import Visitor
from bench.live.squid import Squid, SquidError
from bench.live.watch import WatchError, delays
from deploy.kafka.jars import BrokerError
from scentline.agents.offline.serve import ServerProcess
from scentline.agents.signals import end_as_by_ctrl_c

#: Seconds after which a page that is no candidate has failed.
PATIENCE = 120.0


def main() -> None:
    """Parse the command line, browse, and print the delays."""
    parser = argparse.ArgumentParser(prog="bench.live")
    parser.add_argument("--data", type=Path, default=WIKISPEEDIA, help="directory of the Wikispeedia pages")
    parser.add_argument("--pages", type=int, default=40, help="pages that the visitor asks for")
    given = parser.parse_args()
    end_as_by_ctrl_c()  # so that what was started is ended
    needs(given.data / "pages.warc.gz", "live")
    try:
        with tempfile.TemporaryDirectory(prefix="scentline-live-") as directory:
            found = sorted(_measure(given.data, given.pages, Path(directory)))
    except (WorkerError, BrokerError, SquidError, WatchError) as error:
        raise SystemExit(f"live: {error}") from error
    print(
        f"{len(found)} pages: median {median(found):.2f} s, longest {found[-1]:.2f} s from request to candidate"
    )


def _measure(data: Path, pages: int, directory: Path) -> list[float]:
    crawl = wikispeedia(data, directory / "none.log", 0)
    with ExitStack() as resources:
        web = resources.enter_context(ServerProcess.archive([crawl.pages]))
        squid = resources.enter_context(Squid(web.url))
        cluster = resources.enter_context(Cluster(directory, crawl, {"one": ("all",)}, partitions=1))
        cluster.seed()
        cluster.wait_for_pages(1)
        resources.enter_context(_following(cluster, squid.log))
        print("browsing", file=sys.stderr, flush=True)
        visitor = Visitor(squid.url, Random(1))
        resources.callback(visitor.close)
        found: list[float] = []
        for url in visitor.walk(crawl.seeds[-1], pages):
            asked = {url: time.time()}
            found += delays(cluster.workers["one"].data, asked, time.time, PATIENCE).values()
        return found


@contextmanager
def _following(cluster: Cluster, log: Path) -> Iterator[None]:
    """Follow the log while the block runs."""
    process = subprocess.Popen(  # noqa: S603 - no shell reads it
        [
            *COMMAND, "feed", str(log), "--follow", "--data", str(cluster.directory / "feeder"),
            *cluster.options, "--set", f"observe.user_key={USER_KEY}",
        ],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main()
