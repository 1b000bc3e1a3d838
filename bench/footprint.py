"""``python -m bench.footprint``: the peak memory of crawls of so many recorded pages.

It is the proportional set size (PSS), in which a page of memory that several processes share counts once, of
the crawler's process, of its page reader's, and of both at one moment.
"""

import argparse
import subprocess
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil

from bench.command import WIKISPEEDIA
from bench.crawl.crawlers import BOTH, Scentline
from bench.crawl.web import unpack
from scentline.agents.offline.process import ServerProcess

_POLL_SECONDS = 0.4


def main() -> None:
    """Parse the command line, crawl and print."""
    parser = argparse.ArgumentParser(prog="bench.footprint")
    parser.add_argument("--policies", nargs="*", default=["breadth-first", "learned"])
    parser.add_argument("--budgets", type=int, nargs="*", default=[400, 1_500, 4_598], help="pages to fetch")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as directory,
        ServerProcess.archive([WIKISPEEDIA / "pages.warc.gz"]) as server,
    ):
        seeds = Path(directory) / "seeds.txt"
        seeds.write_text("\n".join(unpack(WIKISPEEDIA / "pages.warc.gz", Path(directory) / "web").seeds))
        for policy in given.policies:
            for budget in given.budgets:
                name = f"{policy}-{budget}"
                crawler = Scentline(seeds, WIKISPEEDIA / "topics.tsv.gz", budget, name, policy, BOTH)
                peaks = peak(crawler, server.url, Path(directory) / name)
                sizes = "".join(f"{what:>10}{size / 1e6:6.0f} MB" for what, size in sorted(peaks.items()))
                print(f"{policy:<15}{budget:>6} pages{sizes}", flush=True)


def peak(crawler: Scentline, proxy: str, directory: Path) -> Counter[str]:
    """Crawl; return the peak memory of each process and of ``both``, in bytes."""
    directory.mkdir()
    most: Counter[str] = Counter()
    with (directory / "output.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - this project's own command
            crawler.command(directory, proxy), env=crawler.environment(proxy), stdout=log, stderr=log
        )
        while process.poll() is None:
            most |= _look(process.pid)
            time.sleep(_POLL_SECONDS)
    if process.returncode != 0:
        raise SystemExit(f"the crawl ended with status {process.returncode}")
    return most


def _look(pid: int) -> Counter[str]:
    sizes: Counter[str] = Counter()
    with suppress(psutil.Error):  # a process that has just ended
        crawler = psutil.Process(pid)
        sizes["crawler"] = crawler.memory_full_info().pss
        sizes["reader"] = sum(child.memory_full_info().pss for child in crawler.children())
    sizes["both"] = sizes.total()
    return sizes


if __name__ == "__main__":
    main()
